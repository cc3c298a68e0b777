"""The audit of one shard: its own e-process, and the e-value of each of its groups.

E of a shard bets at its own rows only, and each bet is fixed by rows of the shard above it. It is read where the whole
log is read: at the end, and with `blocks` after every block of rows. Blocks are cut between instants, so that a reading
does not depend on the order of the rows of one time.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.auditor import Auditor
from feint.auditing.chunks import CELLS_PER_CHUNK, make_chunk
from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns
from feint.auditing.groups import LogGroups
from feint.auditing.modes import Mode, make_mode
from feint.auditing.readers import Batch
from feint.auditing.row_checks import BadRow, Checked, Chunk
from feint.auditing.sharded.partition import BEGUN, LINE, MALFORMED, ROW, read_cells

_MOST_READINGS = 2**26  # e-values of groups that a shard keeps, over all blocks


class ShardStreams(NamedTuple):
    """What one piece of the log holds of a shard."""

    path: Path
    file: str | None  # what messages call it, if there are several
    first: int  # the number of its first row, from 1
    carried: int  # the first row of the instant to which its first row belongs, perhaps in an earlier piece
    bounds: list[tuple[int, int]]  # of the streams in bytes


class ShardTask(NamedTuple):
    """All that the audit of a shard needs."""

    shard: int
    streams: list[ShardStreams]
    claim: Claim
    columns: LogColumns
    arms: LogArms


class ShardResult(NamedTuple):
    """What the audit of a shard found; B readings, G groups in the order of their arrival in the shard."""

    shard: int
    facts: dict[str, Any]  # what adds up over shards, as plain JSON types
    blocks: IntArray  # (B,) which blocks its rows belong to
    last_rows: IntArray  # (B,) the last row of the shard in each
    log_e: FloatArray  # (B,) log E of the shard after each; impossible pulls are not in it
    labels: list[str]
    arrivals: IntArray  # (G,) the first row of the instant of each group's first row
    tested: IntArray  # (G,)
    group_log_e: FloatArray  # (B, G) log E of each group after each block, 0 before its first row; (B, 0) if not tested


class _ArrivingGroups(LogGroups):
    """Groups that keep when they arrived, and that play no part in E of their shard."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, True)
        self.begun: Any = None  # (n,) of the next chunk: the first row of each row's instant
        self.arrivals: list[int] = []

    def number(self, chunk: Chunk, checked: Checked) -> IntArray:
        """Return the group of every good row as a number, and keep when new ones arrived."""
        before = len(self)
        found = super().number(chunk, checked)
        numbers, first = np.unique(found, return_index=True)
        new = numbers >= before
        self.arrivals += self.begun[checked.good][first[new]].tolist()
        return found

    def extend(self, groups: IntArray, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> FloatArray:
        """Test pulls, and return log E of the shard as it is."""
        super().extend(groups, arms, log_pi, log_e)
        return log_e

    def labels(self) -> list[str]:
        """Return the groups in the order of their arrival."""
        return list(self._numbers.ids)

    def log_e_values(self) -> FloatArray:
        """Return log E of each group, none where groups are not tested."""
        return np.empty(0) if self._test is None else self._test.log_e_values()

    def tested(self) -> IntArray:
        """Return the number of tested pulls of each group, none where groups are not tested."""
        return np.empty(0, dtype=np.int64) if self._test is None else self._test.tested


class _Reading(NamedTuple):
    """E after the last row of a block."""

    block: int
    last_row: int
    log_e: float
    groups: FloatArray  # log E of those that have arrived


class _ShardAuditor(Auditor):
    """The audit of a shard, chunk by chunk."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, grouped=True)
        self._groups: _ArrivingGroups = _ArrivingGroups(mode)
        self._examples_by_row: list[tuple[int, str]] = []

    def feed_rows(self, chunk: Chunk, begun: IntArray) -> None:
        """Check and test the next rows; `begun` is the first row of each one's instant."""
        self._groups.begun = begun
        self.feed(chunk)

    def _note(self, bad: list[BadRow]) -> None:
        super()._note(bad)
        room = len(self._examples) - len(self._examples_by_row)
        self._examples_by_row += [(row.row, str(row)) for row in bad[:room]]

    def read_now(self) -> tuple[float, FloatArray]:
        """Return log E of the shard, and of each group that has arrived."""
        return self.mode.log_e_value(), self._groups.log_e_values()

    def result(self, shard: int, readings: "Sequence[_Reading]") -> ShardResult:
        """Return what was found."""
        group_log_e = np.zeros((len(readings), self._groups.tested().size))
        for i, reading in enumerate(readings):
            group_log_e[i, : reading.groups.size] = reading.groups
        return ShardResult(
            shard=shard,
            facts=self._facts(),
            blocks=np.array([reading.block for reading in readings], dtype=np.int64),
            last_rows=np.array([reading.last_row for reading in readings], dtype=np.int64),
            log_e=np.array([reading.log_e for reading in readings], dtype=np.float64),
            labels=self._groups.labels(),
            arrivals=np.array(self._groups.arrivals, dtype=np.int64),
            tested=self._groups.tested(),
            group_log_e=group_log_e,
        )

    def _facts(self) -> dict[str, Any]:
        return {
            "rows": self._rows,
            "observed": self._observed.tolist(),
            "impossible": self._impossible,
            "smallest": self._smallest,
            "bad": self._bad,
            "examples": self._examples_by_row,
            "tied": self._times.tied,
            "back": self._times.back,
            "repeated": self._units.repeated,
            "changed": self._units.changed,
            "groups": self._groups.log_e_value,
            "mode": self.mode.tally(),
        }


def audit_shard(task: ShardTask) -> ShardResult:
    """Audit the rows of one shard."""
    auditor = _ShardAuditor(make_mode(task.columns.mode, task.claim, task.arms, grouped=True))
    readings: list[_Reading] = []
    block, last, kept = 0, 0, 0
    for number, chunk, begun in _chunks(task):
        if last and number != block:
            readings.append(_Reading(block, last, *auditor.read_now()))
            kept += readings[-1].groups.size
            if kept > _MOST_READINGS:
                raise ValueError(
                    f"Blocks of {task.claim.blocks:,} rows take too much memory, since the e-values of all groups are "
                    "kept after each; give larger `blocks`."
                )
        block, last = number, int(chunk.rows[-1])
        auditor.feed_rows(chunk, begun)
    if last:
        readings.append(_Reading(block, last, *auditor.read_now()))
    return auditor.result(task.shard, readings)


def _chunks(task: ShardTask) -> Iterator[tuple[int, Chunk, IntArray]]:
    """Yield the rows of a shard in order: their block, the rows, and the first row of each one's instant."""
    import pyarrow as pa

    used = task.columns.used()
    n_rows = max(1, CELLS_PER_CHUNK // max(len(used), task.arms.n))
    for piece in task.streams:
        if not piece.path.exists():
            raise ValueError(
                f"A worker does not see {piece.path.parent}, where the shards are; give a folder that all workers "
                "see (`out`)."
            )
        with pa.memory_map(str(piece.path)) as file:
            for start, stop in piece.bounds:
                file.seek(start)
                table = pa.ipc.open_stream(file.read_buffer(stop - start)).read_all()
                for batch in table.to_batches(max_chunksize=n_rows):
                    yield from _of_blocks(task, piece, batch, used)


def _of_blocks(
    task: ShardTask, piece: ShardStreams, batch: Any, used: list[str]
) -> Iterator[tuple[int, Chunk, IntArray]]:
    """Yield rows that were read together, cut where a block ends."""
    names = batch.schema.names
    begun = batch.column(BEGUN if BEGUN in names else ROW).to_numpy()
    begun = np.where(begun > 0, begun + piece.first, piece.carried)
    numbers = np.zeros(begun.size, dtype=np.int64) if task.claim.blocks is None else (begun - 1) // task.claim.blocks
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), begun.size]
    for start, stop in pairwise(edges):
        rows = batch.slice(start, stop - start)
        lines = rows.column(LINE).to_numpy() if LINE in names else None
        wrong = rows.column(MALFORMED)
        reasons = enumerate(wrong.to_pylist()) if wrong.null_count < len(wrong) else ()
        malformed = {i: reason for i, reason in reasons if reason is not None}
        cells = {name: read_cells(rows.column(str(i))) for i, name in enumerate(used)}
        chunk = make_chunk(task.columns, task.arms, Batch(cells, stop - start, lines, malformed, file=piece.file), 1)
        yield int(numbers[start]), chunk._replace(rows=rows.column(ROW).to_numpy() + piece.first), begun[start:stop]
