"""What every reader of logs gives: batches of raw columns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from feint._types import IntArray
from feint.support.errors import is_users
from feint.support.own_parts import OwnPartError

Tick = Callable[[int], object]
Progress = Callable[[str, int], Tick]  # called with what is done and with its size
EMPTY_LINE = "the line is empty"
WORTH_ARROW = 20_000  # cells: importing Arrow takes longer than reading fewer without it


def no_progress(what: str, total: int) -> Tick:
    """A progress callback that does nothing."""
    return lambda done: None


class Texts(Sequence[str]):
    """Cells that Arrow holds: columns of numbers never become Python's strings."""

    def __init__(self, arrow: Any) -> None:
        self.arrow = arrow

    def __len__(self) -> int:
        return len(self.arrow)

    def __getitem__(self, i: Any) -> Any:
        return Texts(self.arrow[i]) if isinstance(i, slice) else self.arrow[int(i)].as_py()

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrow.to_pylist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as for every list


class Batch(NamedTuple):
    """Some rows of a log."""

    table: dict[str, Any]  # column -> its cells, a sequence or a 1-d NumPy array, n each
    n: int
    lines: IntArray | None  # on which each row starts, from 1; text formats only
    malformed: dict[int, str]  # position in the batch -> what is wrong with the row as such
    last: int | None = None  # the line on which its last row ends; text formats only
    file: str | None = None  # which of several files it is from


class Log(Protocol):
    """A log that is read in batches."""

    name: str  # for messages
    columns: list[str]
    size: int | None  # what `tick` counts up to: bytes of a text file, rows of a table; None if unknown

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        """Yield these columns from the start, in order, at most `n_rows` rows at once; call `tick` with progress."""
        ...


def places(columns: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the positions of the wanted columns."""
    where: dict[str, int] = {}
    twice = {name for i, name in enumerate(columns) if where.setdefault(name, i) != i}
    for name in wanted:
        if name not in where:
            raise ValueError(f"There is no column {name!r}.")
        if name in twice:
            raise ValueError(f"The column {name!r} appears twice; rename one of them.")
    return [where[name] for name in wanted]


def empty_lines(wanted: Sequence[str], cell: str | None, last: int, count: int, n_rows: int) -> Iterator[Batch]:
    """Yield the `count` lines up to `last`, all of them empty: bad rows, since another row follows."""
    for first in range(last - count + 1, last + 1, n_rows):
        n = min(n_rows, last + 1 - first)
        cells = [cell] * n
        lines, malformed = np.arange(first, first + n), dict.fromkeys(range(n), EMPTY_LINE)
        yield Batch(dict.fromkeys(wanted, cells), n, lines, malformed, first + n - 1)


@contextmanager
def naming(name: str, *broken: type[Exception], hint: str = "") -> Iterator[None]:
    """Name the log in the error if it cannot be read; `broken` are a library's own errors, `hint` what to do then."""
    try:
        yield
    except broken as error:
        raise ValueError(f"{name} cannot be read: {_first_line(error)}{hint}.") from None
    except ValueError as error:
        if not (is_users(error) or isinstance(error, UnicodeError)):  # a bug in feint is not the log's fault
            raise
        text, kind = str(error), OwnPartError if isinstance(error, OwnPartError) else ValueError
        raise kind(text if text.startswith(name) else f"{name}: {text}") from error.__cause__
    except OSError as error:
        if str(error).startswith(name):
            raise
        reason = error.strerror or _first_line(error) + hint  # Arrow's errors have no number, and name no file
        raise OSError(f"{name} cannot be read: {reason}.") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".: ")
