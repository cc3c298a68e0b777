"""An audit in shards, here or on a Dask cluster: cut the log by groups, audit every shard, and merge what was found.

First each piece of the log is read once and written to a scratch folder by shard; then each shard is audited from
there. Both are tasks that leave the same result wherever and however often they run, so that equal shards give equal
numbers with any number of workers, and a worker that dies changes nothing.
"""

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns
from feint.auditing.explain import READ_ONCE
from feint.auditing.modes import make_mode
from feint.auditing.readers import naming
from feint.auditing.readers.base import Progress
from feint.auditing.report import AuditReport
from feint.auditing.sharded.kept import KeptShards, describe_audit
from feint.auditing.sharded.merge import merge_shards
from feint.auditing.sharded.partition import PieceFile, partition
from feint.auditing.sharded.pieces import LogPiece, list_pieces
from feint.auditing.sharded.prepared import Prepared
from feint.auditing.sharded.shard import ShardResult, ShardStreams, ShardTask, audit_shard
from feint.auditing.sharded.strongest import explain_strongest
from feint.numerics._threads import one_thread
from feint.support.cluster import check_versions, check_workers, connected, run_on_cluster, wait_for_workers
from feint.support.errors import is_users
from feint.support.extras import need
from feint.support.files import own_folder
from feint.version import versions

USUAL_SHARDS = 16  # with workers
_GONE = "start one and run the audit again: with `out`, shards that are done stay."


class Where(NamedTuple):
    """Where shards are audited and kept: in this process and nowhere, unless said otherwise."""

    scheduler: Any = None  # the address of a Dask cluster, or a client
    workers: int | None = None  # local processes, started by Dask
    out: Path | None = None

    def shards_of(self, claim: Claim) -> int | None:
        """Return the number of shards; None if the log is audited as a whole. Check that all of it fits together."""
        check_workers(self.scheduler, self.workers)
        distributed = self.scheduler is not None or self.workers is not None
        shards = claim.shards or (USUAL_SHARDS if distributed else 1)
        sharded = shards > 1 or claim.blocks is not None or claim.dependent_groups
        if claim.names.group is None and (sharded or distributed):
            raise ValueError(
                "A log without groups is one agent's and cannot be sharded: name the column of groups (`group`), or "
                "leave `shards`, `workers`, `scheduler`, `blocks` and `dependent_groups` out."
            )
        if self.out is not None and not sharded:
            raise ValueError("`out` keeps the shards of an audit, and this one has none; give `shards`, 2 or more.")
        return shards if sharded else None


class _PieceTask(NamedTuple):
    """All that it takes to write a piece by shard."""

    piece: LogPiece
    columns: LogColumns
    n_shards: int
    path: Path


class _TaskAnswer(NamedTuple):
    """What a task left: its result, or what is wrong with the log."""

    result: Any
    refusal: str | None
    versions: dict[str, str]


def audit_sharded(found: Prepared, where: Where, explain: bool, progress: Progress) -> AuditReport:
    """Audit a log in `claim.shards` shards, and look for reasons if it is rejected."""
    need("pyarrow", "An audit in shards")
    claim, columns, arms = found.claim, found.columns, found.arms
    mode = make_mode(columns.mode, claim, arms, grouped=True)
    if claim.dependent_groups and mode.calibration is None:
        raise ValueError(
            "If groups depend on each other, only tests of each group by itself are valid, and these need the exact "
            "probabilities of all arms; leave `dependent_groups` out, or log them."
        )
    assert claim.shards is not None
    pieces = list_pieces(found.source, claim)
    kept = None if where.out is None else _open_kept(found, pieces, where.out)
    done = {shard: result for shard in range(claim.shards) if kept and (result := kept.get(shard)) is not None}
    if len(done) < claim.shards:
        for result in _audit_missing(found, pieces, where, set(done), progress):
            done[result.shard] = result
            if kept is not None:
                kept.put(result)
    report, strongest = merge_shards([done[shard] for shard in range(claim.shards)], mode, found.warnings)
    if explain and strongest is not None:
        if getattr(found.log, "can_be_read_again", True):
            progress("explaining", 0)
            report = explain_strongest(report, strongest, found)
        else:
            report = replace(report, warnings=(*report.warnings, READ_ONCE))
    if kept is not None:
        kept.put_report(report)
    return report


def _open_kept(found: Prepared, pieces: list[LogPiece] | None, out: Path) -> KeptShards:
    if pieces is None:
        raise ValueError("Shards can be kept only for logs read from files. Give files, or omit `out`.")
    return KeptShards(out, describe_audit(found.claim, found.columns, found.arms, pieces))


def _audit_missing(
    found: Prepared, pieces: list[LogPiece] | None, where: Where, done: set[int], progress: Progress
) -> Iterator[ShardResult]:
    """Yield the shards that are not done, as they finish."""
    n_shards = found.claim.shards or 1
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder(where.out or Path(tempfile.gettempdir())))
        client = None
        if where.scheduler is not None or where.workers is not None:
            client = stack.enter_context(connected(where.scheduler, where.workers))
            wait_for_workers(client)
        if pieces is None:
            parts = [partition(found.log, found.columns, n_shards, folder / "0")]
        else:
            tasks = ((i, _PieceTask(piece, found.columns, n_shards, folder / f"{i}")) for i, piece in enumerate(pieces))
            tick, by_piece = progress("sharding", len(pieces)), {}
            for i, part in run_tasks(write_piece, tasks, client):
                by_piece[i] = part
                tick(1)
            parts = [by_piece[i] for i in range(len(pieces))]
        files = [piece.place.name if piece.several else None for piece in pieces or ()] or [None]
        streams = _place_streams(parts, files, folder)
        work = (
            (shard, ShardTask(shard, streams(shard), found.claim, found.columns, found.arms))
            for shard in range(n_shards)
            if shard not in done
        )
        tick = progress("auditing", n_shards - len(done))
        for _, result in run_tasks(audit_shard, work, client):
            yield result
            tick(1)


def write_piece(task: _PieceTask) -> PieceFile:
    """Write one piece of the log by shard, under its name once it is whole."""
    if not task.path.parent.is_dir():
        raise ValueError(
            f"A worker does not see {task.path.parent}, where shards are to be written; give a folder that all workers "
            "see (`out`)."
        )
    log = task.piece.open()
    with naming(log.name), own_folder(task.path.parent) as folder:
        unfinished = folder / task.path.name
        part = partition(log, task.columns, task.n_shards, unfinished)
        unfinished.replace(task.path)  # another worker may have begun the same piece
    return part


def _place_streams(
    parts: list[PieceFile], files: list[str | None], folder: Path
) -> Callable[[int], list[ShardStreams]]:
    """Return a function that says where a shard's rows are, in the order of the log."""
    firsts = list(accumulate((part.rows for part in parts), initial=1))[:-1]
    carried: list[int] = []
    for i, (part, first) in enumerate(zip(parts, firsts, strict=True)):
        goes_on = i > 0 and part.first_time is not None and part.first_time == parts[i - 1].last_time
        begun = first
        if goes_on:
            before = parts[i - 1]
            begun = carried[i - 1] if before.last_begun == 0 else firsts[i - 1] + before.last_begun
        carried.append(begun)

    def streams(shard: int) -> list[ShardStreams]:
        found = []
        for i, part in enumerate(parts):
            bounds = [(int(ends[shard]), int(ends[shard + 1])) for ends in part.ends if ends[shard + 1] > ends[shard]]
            found.append(ShardStreams(folder / f"{i}", files[i], firsts[i], carried[i], bounds))
        return [piece for piece in found if piece.bounds]

    return streams


def run_tasks(
    perform: Callable[[Any], Any], tasks: Iterable[tuple[int, Any]], client: Any
) -> Generator[tuple[int, Any], None, None]:
    """Yield what `perform` returns for each task, in this process or on a cluster. Raise what it refuses."""
    if client is None:
        for key, task in tasks:
            yield key, perform(task)
        return
    ours = versions()
    work = ((key, (perform, task)) for key, task in tasks)
    with closing(run_on_cluster(_do_task, work, client, _GONE)) as outcomes:
        for key, answer in outcomes:
            if isinstance(answer, Exception):
                raise answer
            check_versions(answer.versions, ours)
            if answer.refusal is not None:
                raise ValueError(answer.refusal)
            yield key, answer.result


def _do_task(work: tuple[Callable[[Any], Any], Any]) -> _TaskAnswer:
    """Do a task on one thread. What is wrong with the log is told in words, since a worker's traceback is not kept."""
    perform, task = work
    try:
        with one_thread():
            return _TaskAnswer(perform(task), None, versions())
    except (ValueError, OSError) as error:
        if not is_users(error):
            raise
        return _TaskAnswer(None, str(error), versions())
