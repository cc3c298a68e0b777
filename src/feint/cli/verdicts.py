"""What commands with a verdict share: it is printed at once, and exit code 1 means a rejection and nothing else."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from feint.cli.shared import in_options
from feint.support.errors import is_users

_REJECTED, _NOT_WRITTEN = 1, 2  # wrong input ends with 2, in `main`


@contextmanager
def saying(failures: list[str]) -> Iterator[None]:
    """Report what could not be written, note it and continue: the verdict stands."""
    try:
        yield
    except (OSError, ValueError) as error:
        if not is_users(error):
            raise
        failures.append(in_options(str(error)))
        typer.echo(f"feint: {failures[-1]}", err=True)


def exit_code(rejected: bool, failures: list[str]) -> int:
    """Return 1 where a log or a policy is rejected, whatever else went wrong: that is what 1 means."""
    return _REJECTED if rejected else _NOT_WRITTEN if failures else 0


def write_now(text: str) -> None:
    """Print at once. A closed pipe is not an error: nobody reads any more, and the exit code still holds."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python would exit with 120
        if not isinstance(error, BrokenPipeError):
            raise OSError(f"Standard output cannot be written: {error.strerror}.") from None
