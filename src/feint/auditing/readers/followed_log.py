"""A log that is still being written, from a pipe or a file: rows are given as they arrive."""

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO

from feint.auditing.readers import delimited, json_lines
from feint.auditing.readers.base import Batch, Tick, naming, places
from feint.auditing.readers.decoding import TextDecoder, encoding_of
from feint.auditing.readers.first_bytes import check_text, is_parquet
from feint.auditing.readers.formats import format_of
from feint.auditing.readers.growing_file import GrowingFile
from feint.auditing.readers.lines_seen import SeenLines
from feint.auditing.readers.stored_file import LONGEST_LINE

_AT_ONCE = 2**16  # bytes


class FollowedLog:
    """CSV, TSV or JSON lines from a stream. In JSON lines the first object tells the columns.

    `seen` are the lines of the batches that were given. A file that is rotated is read to its end and then the one in
    its place, of which `seen` speaks from then on; it must have the same columns. `on_rotation` is called in between.
    """

    size: int | None = None

    def __init__(self, stream: BinaryIO | GrowingFile, delimiter: str | None, encoding: str | None) -> None:
        source = getattr(stream, "name", None)
        self.name: str = source if isinstance(source, str) and source != "<stdin>" else "standard input"
        self._stream, self._encoding = stream, encoding_of(encoding)
        self._started = False
        self.on_rotation: Callable[[], object] = lambda: None
        self._rows: _ArrivedRows | None = None
        self.seen, self._lines, self._line = self._start()
        with naming(self.name, csv.Error, hint=delimited.HINT):
            kind = format_of(self._lines.head(), self._encoding).name
            if kind == "json":
                self.columns, self._convert = json_lines.columns_of(self._lines.until_object())
            else:
                self._delimiter = delimited.delimiter_of(delimiter, "\t" if kind == "tsv" else ",")
                self.columns = delimited.header(self._read_header())

    def resume(self, seen: SeenLines) -> None:
        """Continue after the lines that another run saw: a pipe with what comes now, a file if it begins with them."""
        if not (isinstance(self._stream, GrowingFile) and self._stream.is_regular):
            self.seen = self._lines.seen = seen
            return
        with naming(self.name):
            while self.seen.lines < seen.lines:
                lines = self._lines.take(min(seen.lines - self.seen.lines, _AT_ONCE))
                self.seen.count_rows(len(lines))
                if not lines:
                    raise ValueError(
                        f"it has {self.seen.lines:,} lines, fewer than the {seen.lines:,} that the state has seen: it "
                        "was rotated or cut since; give the file that was followed, or another `state`."
                    )
            if seen.lines and self.seen.digest != seen.digest:
                raise ValueError(
                    f"it does not begin with the {seen.lines:,} lines that the state has seen: it was rotated or "
                    "edited since; give the file that was followed, or another `state`."
                )
        self._line = self.seen.lines
        if self._rows is not None:
            self._rows = _ArrivedRows(self._lines, self._delimiter, self._line)

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        """Yield batches as rows arrive, at most `n_rows` at once; can be called once only."""
        if self._started:
            raise ValueError(f"{self.name} can be read only once; save it to a file first.")
        self._started = True
        with naming(self.name, csv.Error, hint=delimited.HINT):
            places(self.columns, columns)
            while True:
                tick(self._lines.n_bytes)
                self._lines.tick = tick
                for batch in self._batches_of_file(columns, n_rows):
                    assert batch.last is not None
                    self.seen.count_rows(batch.last - self._line)
                    self._line = batch.last
                    yield batch
                if not (isinstance(self._stream, GrowingFile) and self._stream.rotated):
                    return
                self._stream.reopen()
                self.seen, self._lines, self._line = self._start()
                self.on_rotation()
                if self._rows is not None and (header := self._read_header()):
                    self._check_columns(delimited.header(header))

    def _batches_of_file(self, columns: list[str], n_rows: int) -> Iterator[Batch]:
        if self._rows is None:
            take_lines = self._lines.take
            return json_lines.lines_to_batches(self._convert, columns, self._line, n_rows, lambda: take_lines(n_rows))
        take_rows = self._rows.take
        return delimited.rows_to_batches(self.columns, columns, self._line, n_rows, lambda: take_rows(n_rows))

    def _start(self) -> tuple[SeenLines, "_Lines", int]:
        """Return (what was seen of a stream, its lines, and up to which of them batches were given), at its start."""
        seen = SeenLines()
        return seen, _Lines(self._stream, self._encoding, seen), 0

    def _read_header(self) -> list[str]:
        self._rows = _ArrivedRows(self._lines, self._delimiter, 0)
        rows, self._line = self._rows.take(1)
        self.seen.count_rows(self._line)
        return rows[0] if rows else []

    def _check_columns(self, columns: list[str]) -> None:
        if columns != self.columns:
            raise ValueError(
                f"the file that has taken its place has the columns {', '.join(map(repr, columns[:12]))}, not those "
                "that it had; audit it separately."
            )


class _Lines:
    """The lines that have arrived; one without an end counts once nothing can follow."""

    def __init__(self, stream: BinaryIO | GrowingFile, encoding: str, seen: SeenLines) -> None:
        # Without a buffer, `read` does not wait for all bytes either.
        self._read = stream.read if not hasattr(stream, "read1") else stream.read1
        self._encoding, self._decoder, self.seen = encoding, TextDecoder(encoding), seen
        self._unfinished: list[str] = []  # pieces of a line
        self._length = 0
        self.arrived: deque[str] = deque()
        self.ended = False
        self.n_bytes = 0
        self.tick: Tick = lambda done: None

    def wait(self) -> bytes:
        """Wait for at least one more line, or for the end; return what was read."""
        before, raw = len(self.arrived), []
        while len(self.arrived) == before and not self.ended:
            data = self._read(_AT_ONCE)
            raw.append(data)
            if self.n_bytes == 0:
                self._check_start(data)
            self.n_bytes += len(data)
            self.tick(len(data))
            self.ended = not data
            text = self._decoder.decode(data, final=self.ended)
            self._unfinished.append(text)
            self._length += len(text)
            if self.ended or "\n" in text or "\r" in text:
                self._split()
            if self._length > LONGEST_LINE:
                raise ValueError(f"a line is longer than {LONGEST_LINE:,} characters; a log has one row per line.")
        return b"".join(raw)

    def _check_start(self, data: bytes) -> None:
        """Refuse what is not text, before it is taken for damaged text."""
        if is_parquet(data):
            raise ValueError("it is Parquet, which cannot be read before it is complete.")
        check_text(data, self._encoding)

    def _split(self) -> None:
        """Sort what was read into lines that are complete and the beginning of one."""
        lines = io.StringIO("".join(self._unfinished), newline="").readlines()
        self._unfinished = [lines.pop()] if lines and not self.ended and not lines[-1].endswith(("\n", "\r")) else []
        self._length = sum(map(len, self._unfinished))
        self.arrived += lines

    def head(self) -> bytes:
        """Return the first bytes, at least up to a line that is not blank."""
        head = b""
        while not self.ended and not head.strip() and len(head) < LONGEST_LINE:
            head += self.wait()
        return head

    def until_object(self) -> Iterator[str]:
        """Yield the lines up to the first JSON object, without using them up."""
        for i in range(json_lines.ROWS_FOR_COLUMNS):
            while i >= len(self.arrived):
                if self.ended:
                    return
                self.wait()
            yield self.arrived[i]
            try:
                json_lines.parse_row(self.arrived[i])
                return
            except ValueError:
                continue

    def take(self, n: int) -> list[str]:
        """Return at most n lines, none at the end."""
        if not self.arrived:
            self.wait()
        lines = [self.arrived.popleft() for _ in range(min(n, len(self.arrived)))]
        self.use(lines)
        return lines

    def use(self, lines: list[str]) -> None:
        """Note lines that were used up."""
        for line in lines:
            self.seen.add(line)


class _Pause(Exception):
    """The lines that have arrived end inside a row."""


class _ArrivedRows:
    """Rows of the lines that have arrived; `line` of them came before."""

    def __init__(self, lines: _Lines, delimiter: str, line: int) -> None:
        self._lines = lines
        self._of_row: list[str] = []  # the lines of the row that is being read
        self._reader = csv.reader(self, delimiter=delimiter)
        self._line = line

    def __iter__(self) -> "_ArrivedRows":
        return self

    def __next__(self) -> str:
        """Return the next line, for the CSV reader, which starts its row anew after a pause."""
        if not self._lines.arrived:
            raise StopIteration if self._lines.ended else _Pause
        self._of_row.append(self._lines.arrived.popleft())
        return self._of_row[-1]

    def take(self, n: int) -> tuple[list[list[str]], int]:
        """Return (at most n rows, none at the end; the line on which the last one ends)."""
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
            self._lines.use(self._of_row)
            self._of_row.clear()
        return rows, self._line
