"""Whose mistake an error is: the user's, who is told what to change, or ours, which is to be reported."""

import dis
from collections.abc import Iterator
from contextlib import contextmanager

_RAISE = dis.opmap["RAISE_VARARGS"]


def is_users(error: BaseException) -> bool:
    """Return whether an error is about what the user gave: an OSError, or a ValueError that feint itself raised.

    All checks of what a user gives end in a `raise ValueError` of this package. A ValueError that comes out of NumPy,
    another library or an operation of Python, called by this package, is a mistake in this package.

    >>> try:
    ...     int("seven")
    ... except ValueError as error:
    ...     is_users(error)
    False
    """
    if isinstance(error, OSError):
        return True
    trace = error.__traceback__
    if not isinstance(error, ValueError) or trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    of_package = trace.tb_frame.f_globals.get("__name__", "").split(".")[0] == "feint"
    return of_package and trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


@contextmanager
def blaming(what: str) -> Iterator[None]:
    """Say which part of the user's input an error inside is about; bugs of this package pass as they are."""
    try:
        yield
    except ValueError as error:
        if not is_users(error):
            raise
        raise ValueError(f"{what}{error}") from error.__cause__
