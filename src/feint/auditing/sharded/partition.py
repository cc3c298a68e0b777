"""A piece of a log, written to a file shard by shard.

A shard has the groups whose label has the same hash, and their rows in the order of the log. Cells are kept as they
were read, with the number of their row in the piece. So the audit of a shard sees these rows as the audit of the whole
log would. A file is a sequence of streams of Arrow: some rows of shard 0, of shard 1, …, and again.
`PieceFile` says where each stream is, so that the rows of a shard are found without reading those of others.
"""

import pickle
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, IntArray
from feint.auditing.by_label import ByLabel
from feint.auditing.chunks import CELLS_PER_CHUNK
from feint.auditing.columns import LogColumns
from feint.auditing.readers import Batch, Log
from feint.auditing.readers.base import Texts

ROW, BEGUN, LINE, MALFORMED = "row", "begun", "line", "malformed"
_CELLS_AT_ONCE = 6_000_000  # in memory, before they are sorted by shard
_PLAIN = {str: "string", int: "int64", float: "float64"}


class PieceFile(NamedTuple):
    """What a piece of a log holds, and where in its file."""

    rows: int
    ends: list[IntArray]  # of each stream in bytes, (S + 1,) each, beginning with where the first one starts
    first_time: Any  # cells; None where there are no times
    last_time: Any
    last_begun: int  # the first row, from 0, of the piece's last instant


class ShardOf(ByLabel):
    """The shard of every label: a fixed hash of its text."""

    def __init__(self, n_shards: int) -> None:
        super().__init__()
        self.n_shards = n_shards

    def number_of(self, label: str) -> int:
        """Return the shard of a label."""
        digest = blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.n_shards


def partition(log: Log, columns: LogColumns, n_shards: int, path: Path) -> PieceFile:
    """Write the rows of a piece to a file, by shard."""
    import pyarrow as pa

    assert columns.group is not None
    used, shard_of, begun = columns.used(), ShardOf(n_shards), _Instants()
    at_once = max(1, CELLS_PER_CHUNK // len(used))
    waiting: list[tuple[IntArray, dict[str, Any]]] = []
    ends: list[IntArray] = []
    rows = held = 0
    with pa.OSFile(str(path), "wb") as file:
        for batch in log.batches(used, at_once, lambda done: None):
            table = {str(i): _as_arrow(batch.table[name]) for i, name in enumerate(used)}
            table |= _about(batch, rows)
            if columns.time is not None:
                table[BEGUN] = pa.array(begun.extend(batch.table[columns.time]))
            waiting.append((shard_of.numbers(batch.table[columns.group]), table))
            rows += batch.n
            held += batch.n * len(table)
            if held >= _CELLS_AT_ONCE:
                ends.append(_write(waiting, n_shards, file))
                waiting, held = [], 0
        if waiting:
            ends.append(_write(waiting, n_shards, file))
    return PieceFile(rows, ends, begun.first, begun.last, begun.start)


class _Instants:
    """Where instants begin: rows of one time that follow each other are one."""

    def __init__(self) -> None:
        self.first: Any = None
        self.last: Any = None
        self.start, self._rows = 0, 0

    def extend(self, times: Any) -> IntArray:
        """Return the first row, from 0, of the instant of each row."""
        changes = np.empty(len(times), dtype=bool)
        changes[0] = self._rows > 0 and times[0] != self.last
        changes[1:] = _differ(times)
        starts = np.where(changes, np.arange(self._rows, self._rows + changes.size), self.start)
        starts = np.maximum.accumulate(starts)
        if not self._rows:
            self.first = times[0]
        self.last, self.start, self._rows = times[len(times) - 1], int(starts[-1]), self._rows + changes.size
        return starts


def _differ(times: Any) -> BoolArray:
    """Return whether each time but the first is another one than that of the row above."""
    if isinstance(times, np.ndarray):
        return np.asarray(times[1:] != times[:-1])
    cells = list(times)
    return np.array([a != b for a, b in zip(cells[1:], cells, strict=False)], dtype=bool)


def _about(batch: Batch, first: int) -> dict[str, Any]:
    """Return what is known of rows as such: their numbers from 0, their lines, and what is wrong with them."""
    import pyarrow as pa

    found = {ROW: pa.array(np.arange(first, first + batch.n))}
    if batch.lines is not None:
        found[LINE] = pa.array(batch.lines)
    if batch.malformed:
        found[MALFORMED] = pa.array([batch.malformed.get(i) for i in range(batch.n)], pa.string())
    else:
        found[MALFORMED] = pa.nulls(batch.n, pa.string())
    return found


def _as_arrow(cells: Any) -> Any:
    """Return cells as an array of Arrow from which `read_cells` makes the same again."""
    import pyarrow as pa

    if isinstance(cells, Texts):
        return cells.arrow
    if isinstance(cells, np.ndarray):
        return pa.array(cells)
    kinds = {*map(type, cells)} - {type(None)}
    if not kinds:
        return pa.nulls(len(cells))
    if len(kinds) == 1 and (plain := _PLAIN.get(next(iter(kinds)))) is not None:
        try:
            return pa.array(cells, plain)
        except (OverflowError, UnicodeError, pa.ArrowInvalid):  # 2⁶⁴, half a surrogate pair
            pass
    return _pickled(cells)


def _pickled(cells: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.array([pickle.dumps(cell) for cell in cells], pa.binary())


def read_cells(column: Any) -> Any:
    """Return the cells of an array of Arrow, as readers give them."""
    import pyarrow as pa

    if pa.types.is_binary(column.type):
        return [None if cell is None else pickle.loads(cell) for cell in column.to_pylist()]
    if column.null_count:
        return column.to_pylist()
    return Texts(column) if pa.types.is_string(column.type) else column.to_numpy(zero_copy_only=False)


def _write(waiting: Sequence[tuple[IntArray, dict[str, Any]]], n_shards: int, file: Any) -> IntArray:
    """Write rows in the order of their shards, one stream per shard. Return where the streams start and end."""
    import pyarrow as pa

    shards = np.concatenate([numbers for numbers, _ in waiting])
    order = np.argsort(shards.astype(np.uint16 if n_shards <= 2**16 else np.int64), kind="stable")
    names = list(waiting[0][1])
    columns = [_joined_arrays([table[name] for _, table in waiting]) for name in names]
    batch = pa.RecordBatch.from_arrays([column.take(pa.array(order)) for column in columns], names)
    edges = np.searchsorted(shards[order], np.arange(n_shards + 1))
    ends = [file.tell()]
    for start, stop in pairwise(edges):
        if stop > start:
            with pa.ipc.new_stream(file, batch.schema) as stream:
                stream.write_batch(batch.slice(start, stop - start))
        ends.append(file.tell())
    return np.array(ends)


def _joined_arrays(arrays: Sequence[Any]) -> Any:
    """Return one array; if batches were read as different types, cell by cell."""
    import pyarrow as pa

    kinds = {array.type for array in arrays} - {pa.null()}
    if len(kinds) > 1:
        cells = [cell for array in arrays for cell in _plain(read_cells(array))]
        return _pickled(cells)
    kind = next(iter(kinds), pa.null())
    return pa.concat_arrays([array if array.type == kind else pa.nulls(len(array), kind) for array in arrays])


def _plain(cells: Any) -> list[Any]:
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
