"""A log that is still being written, from a pipe: rows are given as they arrive."""

import codecs
import csv
import io
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from feint.auditing.readers import delimited, json_lines
from feint.auditing.readers.base import Batch, Tick, naming, places
from feint.auditing.readers.sniffing import format_of
from feint.auditing.readers.stored import LONGEST_LINE

_AT_ONCE = 2**16  # bytes


class FollowedLog:
    """CSV, TSV or JSON lines from a stream. Of JSON lines the first object tells the columns."""

    size: int | None = None

    def __init__(self, stream: BinaryIO, delimiter: str | None) -> None:
        source = getattr(stream, "name", None)
        self.name: str = source if isinstance(source, str) and source != "<stdin>" else "standard input"
        self._lines = _Lines(stream)
        self._started = False
        self._rows: _Rows | None = None
        with naming(self.name, csv.Error, hint=delimited.HINT):
            kind = format_of(self._lines.head())
            if kind == "parquet":
                raise ValueError("it is Parquet, which cannot be read before it is complete.")
            if kind == "json":
                self.columns, self._convert = json_lines.columns_of(self._lines.until_object())
            else:
                usual = "\t" if kind == "tsv" else ","
                self._rows = _Rows(self._lines, delimited.delimiter_of(delimiter, usual))
                rows, self._header_end = self._rows.take(1)
                self.columns = delimited.header(rows[0] if rows else [])

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        """As they arrive, at most `n_rows` at once; can be called once only."""
        if self._started:
            raise ValueError(f"{self.name} can be read only once; save it to a file first.")
        self._started = True
        with naming(self.name, csv.Error, hint=delimited.HINT):
            places(self.columns, columns)
            tick(self._lines.n_bytes)
            self._lines.tick = tick
            if self._rows is None:
                yield from json_lines.assemble(self._convert, columns, 0, n_rows, lambda: self._lines.take(n_rows))
            else:
                take = self._rows.take
                yield from delimited.assemble(self.columns, columns, self._header_end, n_rows, lambda: take(n_rows))


class _Lines:
    """The lines that have arrived; one without an end counts once nothing can follow."""

    def __init__(self, stream: BinaryIO) -> None:
        self._read = getattr(stream, "read1", stream.read)  # without buffer, `read` does not wait for all either
        # It keeps back a \r until it is clear whether a \n follows, and bytes that are not yet a character.
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")("replace"), False)
        self._unfinished: list[str] = []  # pieces of a line
        self._length = 0
        self.arrived: deque[str] = deque()
        self.ended = False
        self.n_bytes = 0
        self.tick: Tick = lambda done: None

    def wait(self) -> bytes:
        """Wait for at least one more line, or for the end; what was read."""
        before, raw = len(self.arrived), []
        while len(self.arrived) == before and not self.ended:
            data = self._read(_AT_ONCE)
            raw.append(data)
            self.n_bytes += len(data)
            self.tick(len(data))
            self.ended = not data
            text = self._decoder.decode(data, final=self.ended)
            self._unfinished.append(text)
            self._length += len(text)
            if self.ended or "\n" in text or "\r" in text:
                self._split()
            if self._length > LONGEST_LINE:
                raise ValueError(f"a line is longer than {LONGEST_LINE:,} characters; a log has one row a line.")
        return b"".join(raw)

    def _split(self) -> None:
        """Sort what was read into lines that are complete and the beginning of one."""
        lines = io.StringIO("".join(self._unfinished), newline="").readlines()
        self._unfinished = [lines.pop()] if lines and not self.ended and not lines[-1].endswith(("\n", "\r")) else []
        self._length = sum(map(len, self._unfinished))
        self.arrived += lines

    def head(self) -> bytes:
        """The first bytes, up to a line at least that is not blank."""
        head = b""
        while not self.ended and not head.strip() and len(head) < LONGEST_LINE:
            head += self.wait()
        return head

    def until_object(self) -> Iterator[str]:
        """The lines up to the first JSON object; they are not used up."""
        for i in range(json_lines.ROWS_FOR_COLUMNS):
            while i >= len(self.arrived):
                if self.ended:
                    return
                self.wait()
            yield self.arrived[i]
            try:
                json_lines.parse(self.arrived[i])
                return
            except ValueError:
                continue

    def take(self, n: int) -> list[str]:
        """At most n lines, none at the end."""
        if not self.arrived:
            self.wait()
        return [self.arrived.popleft() for _ in range(min(n, len(self.arrived)))]


class _Pause(Exception):
    """The lines that have arrived end inside a row."""


class _Rows:
    """Rows of the lines that have arrived."""

    def __init__(self, lines: _Lines, delimiter: str) -> None:
        self._lines = lines
        self._of_row: list[str] = []  # the lines of the row that is being read
        self._reader = csv.reader(self, delimiter=delimiter)
        self._line = 0

    def __iter__(self) -> "_Rows":
        return self

    def __next__(self) -> str:
        """The next line, for the CSV reader, which starts its row anew after a pause."""
        if not self._lines.arrived:
            raise StopIteration if self._lines.ended else _Pause
        self._of_row.append(self._lines.arrived.popleft())
        return self._of_row[-1]

    def take(self, n: int) -> tuple[list[list[str]], int]:
        """(at most n rows, none at the end; the line on which the last one ends)."""
        rows: list[list[str]] = []
        while len(rows) < n:
            try:
                row = next(self._reader)
            except StopIteration:
                break
            except _Pause:
                self._lines.arrived.extendleft(reversed(self._of_row))
                self._of_row.clear()
                if rows:
                    break
                self._lines.wait()
                continue
            rows.append(row)
            self._line += len(self._of_row)
            self._of_row.clear()
        return rows, self._line
