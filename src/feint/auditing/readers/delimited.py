"""CSV and TSV.

Blocks of lines that all have the header's fields and no quotes, as logs of machines do, are split as one text, by
Arrow where it is installed. All others are read with the standard library: it knows the line of every row, and tells a
broken line from a missing value.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import NamedTuple

import numpy as np

from feint._types import IntArray
from feint.auditing.readers.base import EMPTY_LINE, WORTH_ARROW, Batch, Tick, empty_lines, naming, places
from feint.auditing.readers.decoding import USUAL
from feint.auditing.readers.plain_blocks import plain_blocks, split_block
from feint.auditing.readers.stored_file import Stored
from feint.support.extras import is_there

HINT = "; is a quote not closed?"
MOST_CELLS = 60_000  # in memory at once, of all columns
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class Columns(NamedTuple):
    """Complete rows, by column: only the wanted columns."""

    cells: Sequence[Sequence[str]]


Rows = list[list[str]] | Columns


class DelimitedLog:
    """A text file with a header, one row per line."""

    def __init__(self, file: Stored, delimiter: str) -> None:
        self.name = file.name
        self.size: int | None = file.size
        self._file, self._delimiter = file, delimiter
        with naming(self.name, csv.Error, hint=HINT), file.text() as (text, _):
            self.columns = header(next(csv.reader(text, delimiter=delimiter), []))

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        at_once = max(1, min(n_rows, MOST_CELLS // len(self.columns)))
        where = places(self.columns, columns)
        with naming(self.name, csv.Error, hint=HINT), self._file.text() as (text, stream):
            line = done = 0

            def advance() -> None:
                nonlocal done
                tick(stream.position() - done)
                done = stream.position()

            if self._file.encoding == USUAL:
                for cells, n in plain_blocks(stream, self._delimiter, len(self.columns), where, at_once):
                    line = max(line, 1)  # the header's
                    yield Batch(
                        dict(zip(columns, cells, strict=True)), n, np.arange(line + 1, line + n + 1), {}, line + n
                    )
                    line += n
                    advance()
            if line == 0:
                head = csv.reader(text, delimiter=self._delimiter)
                next(head)
                line = head.line_num
            else:
                text.reconfigure(encoding="utf-8")  # a byte-order mark, if there is one, was in the header

            def take() -> tuple[Rows, int]:
                nonlocal line
                lines = list(islice(text, at_once))
                rows: Rows | None = _split_plainly(lines, self._delimiter, len(self.columns), where)
                used = len(lines)
                if rows is None:
                    rows, used = _read_carefully(lines, text, self._delimiter)
                line += used
                advance()
                return rows, line

            yield from rows_to_batches(self.columns, columns, line, at_once, take)


def _split_plainly(lines: list[str], delimiter: str, width: int, where: list[int]) -> Columns | None:
    """Return the columns at these places; None unless every line has `width` fields, without quotes."""
    text = "".join(lines)
    if width == 1 or not text or any(c in text for c in '"\r\0') or "\n" in lines:
        return None
    if len(lines) * width >= WORTH_ARROW and delimiter.isascii() and is_there("pyarrow"):
        found = split_block(text.encode("utf-8", "surrogatepass"), delimiter, width, where)
        return None if found is None else Columns(found)
    if {*map(str.count, lines, repeat(delimiter))} != {width - 1}:
        return None
    cells = text.removesuffix("\n").replace("\n", delimiter).split(delimiter)
    return Columns([cells[i::width] for i in where])


def _read_carefully(lines: list[str], more: Iterator[str], delimiter: str) -> tuple[list[list[str]], int]:
    """Return (the rows of these lines, how many lines they are: a quoted text may go on beyond)."""
    reader = csv.reader(chain(lines, more), delimiter=delimiter)
    rows = []
    while reader.line_num < len(lines):
        rows.append(next(reader))
    return rows, reader.line_num


def delimiter_of(delimiter: str | None, usual: str) -> str:
    """Return the delimiter to use."""
    chosen = usual if delimiter is None else delimiter.replace("\\t", "\t")
    if len(chosen) != 1 or chosen in '"\r\n':
        raise ValueError(f"The delimiter is {delimiter!r}; it must be a single character, such as , or ;.")
    return chosen


def header(row: list[str]) -> list[str]:
    """Return the columns that the first row names."""
    columns = [name.strip() for name in row]
    if not columns:
        raise ValueError("it is empty; its first line must name the columns.")
    if len(columns) == 1 and (other := next((c for c in ";\t|," if c in columns[0]), None)):
        raise ValueError(f"its first line has one column, {columns[0][:40]!r}; is `delimiter` {other!r} meant?")
    return columns


def rows_to_batches(
    columns: list[str], wanted: list[str], line: int, n_rows: int, take: Callable[[], tuple[Rows, int]]
) -> Iterator[Batch]:
    """Yield batches of what `take` returns: the next rows (none: the end) and the last line; `line` is the header's."""
    width, where = len(columns), places(columns, wanted)
    waiting = 0  # empty lines: bad rows if another row follows, nothing at the end of a file
    while True:
        rows, last = take()
        if not rows:
            return
        if isinstance(rows, Columns):
            yield from empty_lines(wanted, "", line, waiting, n_rows)
            waiting = 0
            cells = dict(zip(wanted, rows.cells, strict=True))
            yield Batch(cells, last - line, np.arange(line + 1, last + 1), {}, last)
            line = last
            continue
        lines, malformed = _line_numbers(rows, line, last)
        end = next((i for i in range(len(rows), 0, -1) if rows[i - 1]), 0)
        if end:
            yield from empty_lines(wanted, "", line, waiting, n_rows)
            waiting = 0
        waiting += len(rows) - end
        for i in range(end if {*map(len, rows)} != {width} else 0):
            if len(rows[i]) != width:
                found = f"it has {len(rows[i])} fields, the header {width}" if rows[i] else EMPTY_LINE
                malformed.setdefault(i, found)
                rows[i] = [*rows[i][:width], *[""] * (width - len(rows[i]))]
        if end:
            table = dict(zip(wanted, _transposed(rows[:end], where, width), strict=True))
            yield Batch(table, end, lines[:end], malformed, int(lines[end]) - 1 if end < len(rows) else last)
        line = last


def _transposed(rows: list[list[str]], where: list[int], width: int) -> list[tuple[str, ...]]:
    """Return the columns at these places, in whichever way is faster."""
    if 3 * len(where) < width:
        return [tuple([row[i] for row in rows]) for i in where]
    columns = list(zip(*rows, strict=True))
    return [columns[i] for i in where]


def _line_numbers(rows: list[list[str]], before: int, last: int) -> tuple[IntArray, dict[int, str]]:
    """Return (the line on which each row starts, what is wrong with those that go on for several)."""
    if last - before == len(rows):
        return np.arange(before + 1, last + 1), {}
    lines, malformed, line = [], {}, before + 1
    for i, row in enumerate(rows):
        lines.append(line)
        breaks = sum(len(_LINE_BREAK.findall(cell)) for cell in row)
        line = min(line + 1 + breaks, last + 1)
        if breaks:  # a stray quote may have swallowed whole rows
            malformed[i] = f"a quoted text goes on to line {line - 1}; is its quote closed where it should be?"
    return np.array(lines), malformed
