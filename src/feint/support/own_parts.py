"""Parts of a user's own (explorers, references, budgets, families): each run has its copy, and failures name them.

A user's own part may keep state. Whatever runs it takes a copy first: `copy.deepcopy` of what was handed in, on which
`start(n_arms)` is called if the part has that method. What was handed in is never run, so it never changes.
"""

import copy
import traceback
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

_NOT_OWN = ("feint", "builtins", "numpy")  # numbers, tuples and arrays are settings, not parts


class OwnPartError(ValueError):
    """A part of the user's own raised an exception, which is the `__cause__`, or returned what it must not."""


def is_own(part: Any) -> bool:
    """Return whether `part` is of a class of the user's own, or holds such a part."""
    held = (getattr(part, field.name) for field in fields(part)) if is_dataclass(part) else ()
    return _is_of_own_class(part) or any(map(is_own, held))


def _is_of_own_class(part: Any) -> bool:
    return type(part).__module__.split(".")[0] not in _NOT_OWN


def fresh(part: Any, n_arms: int) -> Any:
    """Return a copy of a user's own part, ready for its first step; the package's parts keep no state and stay."""
    if not is_own(part):
        return part
    name = type(part).__name__
    try:
        found = copy.deepcopy(part)
    except Exception as error:
        raise OwnPartError(
            f"{name} cannot be copied ({type(error).__name__}: {error}), and every run needs a copy of its own; "
            "create what cannot be copied in start(n_arms), or give the class a method __deepcopy__."
        ) from error
    if callable(getattr(found, "start", None)):
        call(found, "start", None, n_arms)
    return found


def make(cls: Any, **settings: Any) -> Any:
    """Return an object of a user's own class; what its constructor raises is reported with class, file and line.

    A constructor that does not take these arguments is not run; the caller then says which part is meant.
    """
    try:
        return cls(**settings)
    except (Exception, SystemExit) as error:
        if isinstance(error, TypeError) and error.__traceback__.tb_next is None:  # type: ignore[union-attr]
            raise ValueError(str(error)) from error
        raise OwnPartError(
            f"{cls.__name__}(…) failed{_innermost_line(cls, '__init__', error)}: {type(error).__name__}: {error}"
        ) from error


def call(part: Any, method: str, step: int | None, *arguments: Any) -> Any:
    """Return what a method of a part returns; what a user's own part raises is reported with class, method, step (None
    where there is none), file and line.
    """
    try:
        return getattr(part, method)(*arguments)
    except (Exception, SystemExit) as error:
        if not _fails_by_itself(part, error):
            raise
        raise OwnPartError(_failure(part, method, step, error)) from error


def read(part: Any, attribute: str) -> Any:
    """Return an attribute of a part, which may be a property; what it raises is reported as by `call`."""
    try:
        return getattr(part, attribute)
    except (Exception, SystemExit) as error:
        if not _fails_by_itself(part, error):
            raise
        raise OwnPartError(_failure(part, attribute, None, error)) from error


def offers(part: Any, attribute: str) -> bool:
    """Return whether a part has an attribute, without asking a property for its value."""
    return hasattr(type(part), attribute) or attribute in getattr(part, "__dict__", ())


def _fails_by_itself(part: Any, error: BaseException) -> bool:
    """Return whether a user's own part failed itself; if another part failed inside it, that one is named already.

    A part of the package that holds a user's own part is still the package's: its errors are not the user's.
    """
    return _is_of_own_class(part) and not isinstance(error, OwnPartError)


def _failure(part: Any, method: str, step: int | None, error: BaseException) -> str:
    when = "" if step is None else f" at step {step:,}"
    where = _innermost_line(part, method, error)
    return f"{type(part).__name__}.{method} failed{when}{where}: {type(error).__name__}: {error}"


def _innermost_line(part: Any, method: str, error: BaseException) -> str:
    """Return the innermost line in the file that the method is in; its first line if it could not even be called."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without `call`
    inside = [frame for frame in frames if frame.filename == frames[0].filename]
    if inside:
        return f" ({Path(inside[-1].filename).name}, line {inside[-1].lineno})"
    cls = part if isinstance(part, type) else type(part)
    code = getattr(getattr(cls, method, None), "__code__", None)
    return f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code is not None else ""
