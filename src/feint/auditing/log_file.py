"""A log from a CSV or Parquet file, in chunks: memory does not grow with its length.

CSV is read with the standard library rather than a table library: it knows the line of every row, and a broken line is
told apart from a missing value.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from feint.auditing.checks import Chunk, check
from feint.auditing.claims import CLAIMS
from feint.auditing.columns import Column, as_column

CELLS_A_CHUNK = 60_000  # rows × columns, and rows × arms, in memory at once
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_TIME_NAMES = ("time", "timestamp")
NO_TIME = ""
_PARQUET_BUFFER = 2**20  # bytes a column
MOST_ARMS = 10_000


@dataclass(frozen=True)
class Names:
    """How the columns are called; a probability column is the prefix and the arm's number."""

    arm: str = "arm"
    reward: str = "reward"
    propensity: str = "propensity"
    prefix: str = "p_"
    time: str | None = None  # if None, `time` or `timestamp` where there is one; NO_TIME for none


class Layout(NamedTuple):
    """Which columns matter, by what is there."""

    mode: str
    arm: str
    reward: str | None
    propensity: str | None
    probabilities: list[str]
    time: str | None

    def used(self) -> list[str]:
        """The columns that are read."""
        wanted = [self.arm, self.reward, self.propensity, *self.probabilities, self.time]
        return [name for name in dict.fromkeys(wanted) if name is not None]


def choose_layout(columns: list[str], names: Names, mode: str | None) -> Layout:
    """The strongest mode that the columns allow, or the one asked for."""
    if mode is not None and mode not in CLAIMS:
        raise ValueError(f"There is no mode {mode!r}; choose among {', '.join(CLAIMS)}.")
    for option, name, usual in (
        ("`reward`", names.reward, Names.reward),
        ("`propensity`", names.propensity, Names.propensity),
    ):
        if name not in columns and name != usual:
            raise ValueError(f"There is no column {name!r} among {_listed(columns)}; correct {option}.")
    if names.arm not in columns:
        raise ValueError(f"There is no column {names.arm!r} among {_listed(columns)}; name the arms' with `arm`.")
    if names.time is not None and names.time != NO_TIME and names.time not in columns:
        raise ValueError(f"There is no column {names.time!r} among {_listed(columns)}; correct `time`.")
    time = names.time or next((name for name in _TIME_NAMES if name in columns), None)
    numbered = re.compile(re.escape(names.prefix) + "([0-9]+)")
    named = sorted((int(found.group(1)), name) for name in columns if (found := numbered.fullmatch(name)))
    arms = [arm for arm, _ in named]
    if not arms and names.prefix != Names.prefix:
        raise ValueError(f"There is no column {names.prefix}0 among {_listed(columns)}; correct `prefix`.")
    there = {
        "probabilities": bool(arms),
        "propensities": names.propensity in columns,
        "rewards": names.reward in columns,
    }
    chosen = mode or next((name for name in CLAIMS if there[name]), None)
    if chosen is None or not there[chosen]:
        wanted = {
            "probabilities": f"{names.prefix}0, {names.prefix}1, …",
            "propensities": names.propensity,
            "rewards": names.reward,
        }
        missing = " or ".join(wanted.values()) if chosen is None else wanted[chosen]
        raise ValueError(f"There is no column {missing} among {_listed(columns)}; name it with an option.")
    probabilities = [name for _, name in named] if chosen == "probabilities" else []
    if probabilities and (arms != list(range(len(arms))) or len(arms) < 2):
        raise ValueError(
            f"The probability columns are {_listed(probabilities)}; there must be {names.prefix}0, {names.prefix}1, … "
            "for every arm, without gaps."
        )
    layout = Layout(
        chosen,
        names.arm,
        names.reward if chosen == "rewards" else None,
        names.propensity if chosen == "propensities" else None,
        probabilities,
        time if names.time != NO_TIME else None,
    )
    for name in layout.used():
        if columns.count(name) > 1:
            raise ValueError(f"The column {name!r} appears twice; rename one of them.")
    return layout


def _listed(columns: list[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "…") for name in columns[:12])
    return shown + (", …" if len(columns) > 12 else "")


class LogFile:
    """A file with its layout; `chunks()` reads it from the start each time."""

    def __init__(self, path: Path, names: Names, mode: str | None, delimiter: str | None) -> None:
        self.path = path
        if path.suffix.lower() not in (".csv", ".tsv", ".txt", ".parquet", ".pq"):
            raise ValueError(f"{path} must be a .csv or a .parquet file.")
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        self._parquet = path.suffix.lower() in (".parquet", ".pq")
        usual = "\t" if path.suffix.lower() == ".tsv" else ","
        self._delimiter = usual if delimiter is None else delimiter.replace("\\t", "\t")
        if len(self._delimiter) != 1 or self._delimiter in '"\r\n':
            raise ValueError(f"The delimiter is {delimiter!r}; it must be a single character, such as , or ;.")
        with self._naming():
            columns = self._parquet_columns() if self._parquet else self._csv_columns()
            self.layout = choose_layout(columns, names, mode)
        self._columns = columns

    @property
    def size(self) -> int:
        """What `chunks` counts up to in its progress: bytes of a CSV, rows of a Parquet file."""
        if not self._parquet:
            return self.path.stat().st_size
        from pyarrow import parquet

        return int(parquet.read_metadata(self.path).num_rows)

    def largest_arm(self, tick: Callable[[int], object]) -> int:
        """The largest arm, −1 if there is none: a first pass, where nothing else tells K. A bad arm must not."""
        largest = -1
        with self._naming():
            for chunk in self.chunks(1, tick, only_arms=True):
                _, bad, _ = check(chunk, 2**53, lambda chunk, findings: None, None)
                if bad:
                    raise ValueError(f"{bad[0]}, so the number of arms is unclear; correct it, or give `n_arms`.")
                largest = max(largest, int(chunk.arm.values.max()))
        return largest

    def chunks(self, n_arms: int, tick: Callable[[int], object], *, only_arms: bool = False) -> Iterator[Chunk]:
        """The rows in order, so few at once that they fit into memory with all arms; `tick` is called with progress."""
        layout, columns = self.layout, len(self._columns if not self._parquet else self.layout.used())
        if only_arms:
            layout = layout._replace(reward=None, propensity=None, probabilities=[], time=None)
        with self._naming():
            n_rows = max(1, CELLS_A_CHUNK // max(columns, n_arms))
            read = self._parquet_chunks if self._parquet else self._csv_chunks
            yield from read(layout, n_rows, tick)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Say which file it was that could not be read."""
        broken: tuple[type[Exception], ...] = (csv.Error,)
        if self._parquet:
            from pyarrow import ArrowException

            broken = (ArrowException,)
        try:
            yield
        except broken as error:
            raise ValueError(f"{self.path} cannot be read: {str(error).splitlines()[0]}.") from None
        except ValueError as error:
            text = str(error)
            raise ValueError(text if text.startswith(str(self.path)) else f"{self.path}: {text}") from None
        except OSError as error:  # Arrow's name no file
            raise OSError(f"{self.path} cannot be read: {error}") from None

    def _csv_columns(self) -> list[str]:
        with open(self.path, newline="", encoding="utf-8-sig", errors="replace") as file:
            columns = [name.strip() for name in next(csv.reader(file, delimiter=self._delimiter), [])]
        if not columns:
            raise ValueError("it is empty; its first line must name the columns.")
        if len(columns) == 1 and (other := next((c for c in ";\t|," if c in columns[0]), None)):
            raise ValueError(f"its first line has one column, {columns[0][:40]!r}; is `delimiter` {other!r} meant?")
        return columns

    def _csv_chunks(self, layout: Layout, n_rows: int, tick: Callable[[int], object]) -> Iterator[Chunk]:
        width = len(self._columns)
        with open(self.path, "rb") as raw:
            # Bytes that are no UTF-8 become �, which no number contains: their row is reported.
            text = io.TextIOWrapper(raw, newline="", encoding="utf-8-sig", errors="replace")
            reader = csv.reader(text, delimiter=self._delimiter)
            next(reader)
            first, done, line = 1, 0, reader.line_num
            waiting: list[list[str]] = []  # empty lines: bad rows if another row follows, nothing at the end of a file
            while batch := list(islice(reader, n_rows)):
                rows = waiting + batch
                lines, malformed = _line_numbers(rows, line, reader.line_num)
                end = next((i for i in range(len(rows), 0, -1) if rows[i - 1]), 0)
                waiting = rows[end:]
                line = reader.line_num - len(waiting)
                for i in range(end if {*map(len, rows)} != {width} else 0):
                    if len(rows[i]) != width:
                        found = f"it has {len(rows[i])} fields, the header {width}" if rows[i] else "the line is empty"
                        malformed.setdefault(i, found)
                        rows[i] = [*rows[i][:width], *[""] * (width - len(rows[i]))]
                if end:
                    table = dict(zip(self._columns, zip(*rows[:end], strict=True), strict=True))
                    yield _chunk(layout, table, lines[:end], first, end, malformed)
                    first += end
                tick(raw.tell() - done)
                done = raw.tell()

    def _parquet_columns(self) -> list[str]:
        from pyarrow import parquet

        return list(parquet.read_schema(self.path).names)

    def _parquet_chunks(self, layout: Layout, n_rows: int, tick: Callable[[int], object]) -> Iterator[Chunk]:
        from pyarrow import parquet

        columns = layout.used()
        first = 1
        # Without these it reads row groups ahead, and memory grows with the file.
        with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=_PARQUET_BUFFER) as file:
            for batch in file.iter_batches(n_rows, columns=columns):
                table = {name: _as_arrays(batch.column(i)) for i, name in enumerate(batch.schema.names)}
                if batch.num_rows:
                    yield _chunk(layout, table, None, first, batch.num_rows, {})
                first += batch.num_rows
                tick(batch.num_rows)


def _line_numbers(rows: list[list[str]], before: int, last: int) -> tuple[Any, dict[int, str]]:
    """(the line on which each row starts, what is wrong with those that go on for several)."""
    if last - before == len(rows):
        return np.arange(before + 1, last + 1), {}
    lines, malformed, line = [], {}, before + 1
    for i, row in enumerate(rows):
        lines.append(line)
        breaks = sum(len(_LINE_BREAK.findall(cell)) for cell in row)
        line = min(line + 1 + breaks, last + 1)
        if breaks:  # a stray quote may have swallowed whole rows
            malformed[i] = f"a quoted text goes on to line {line - 1}; is its quote closed where it should?"
    return np.array(lines), malformed


def _chunk(layout: Layout, table: dict[str, Any], lines: Any, first: int, n: int, malformed: dict[int, str]) -> Chunk:
    def column(name: str | None) -> Column | None:
        return None if name is None else as_column(table[name])

    return Chunk(
        np.arange(first, first + n),
        lines,
        as_column(table[layout.arm]),
        column(layout.reward),
        column(layout.propensity),
        [as_column(table[name]) for name in layout.probabilities],
        None if layout.time is None else table[layout.time],
        malformed,
    )


def _as_arrays(column: Any) -> Any:
    """An Arrow column as a NumPy array where it is numeric and complete, else as a list."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        whole = column.cast(pa.timestamp("ns")) if pa.types.is_date(column.type) else column
        return whole.cast(pa.int64()).to_pylist()
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()
