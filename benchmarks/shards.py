"""Measure audits in shards: what a row costs, what a task costs, memory per worker, and what a second worker gains.

`python -m benchmarks.shards ROWS GROUPS` measures a log of another size than `make bench` does. One worker is compared
with two by wall seconds, which needs both cores, and by CPU seconds of the busier worker, which works on a machine that
others use too. What a row costs is measured on 10⁶ rows at most, with the same number of rows per group.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import distributed
import pyarrow as pa

import feint
from benchmarks.engine import peak_mebibytes
from benchmarks.honest_logs import write_honest_log
from benchmarks.threads import threads
from feint.auditing.sharded import run

_ROWS, _GROUPS = 1_000_000, 1_000
_EMPTY_TASKS = 200
_TINY = pa.table({"user": [0] * 8, "arm": [0, 1] * 4, "reward": [0, 1, 1, 0] * 2})
CLAIM: dict[str, Any] = {"family": feint.Bernoulli(), "n_arms": 2, "initial_round": False, "group": "user"}


def _timed(perform: Callable[[Any], Any], spent: dict[str, float], name: str) -> Callable[[Any], Any]:
    def measured(task: Any) -> Any:
        start = time.process_time()
        found = perform(task)
        spent[name] = spent.get(name, 0.0) + time.process_time() - start
        return found

    return measured


def cost_per_row(path: Path, rows: int) -> tuple[float, float, float, float]:
    """Return CPU µs per row of an audit as a whole, of cutting into 16 shards, and of their audits; and the bytes per
    row that lie in the scratch folder meanwhile.
    """
    spent: dict[str, float] = {}
    scratch: list[int] = []

    def watching(task: Any) -> Any:
        scratch.append(sum(stop - start for piece in task.streams for start, stop in piece.bounds))
        return audit_shard(task)

    write_piece, audit_shard = run.write_piece, run.audit_shard
    with threads(1):
        feint.audit_log(_TINY, **CLAIM)  # loads kernels
        whole = _timed(lambda source: feint.audit_log(source, explain=False, **CLAIM), spent, "whole")
        whole(path)
        try:
            run.write_piece = _timed(write_piece, spent, "cut")
            run.audit_shard = _timed(watching, spent, "audit")
            feint.audit_log(path, shards=16, **CLAIM)
        finally:
            run.write_piece, run.audit_shard = write_piece, audit_shard
    each = [1e6 * spent[name] / rows for name in ("whole", "cut", "audit")]
    return each[0], each[1], each[2], sum(scratch) / rows


class _Spent(NamedTuple):
    """The cost of an audit on workers that had loaded their kernels."""

    wall: float  # seconds
    busiest: float  # CPU seconds of the worker with most to do: the wall seconds on cores that are free
    memory: list[float]  # MiB, the most that each worker took
    empty: float  # ms of wall per task that does nothing


def on_workers(path: Path, count: int) -> _Spent:
    """Audit a log on this many workers."""
    with distributed.Client(
        n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50, memory_limit=None
    ) as client:
        client.run(feint.audit_log, _TINY, **CLAIM)
        before, start = client.run(time.process_time), time.perf_counter()
        feint.audit_log(path, scheduler=client, **CLAIM)
        wall, after = time.perf_counter() - start, client.run(time.process_time)
        busiest = max(after[worker] - before[worker] for worker in after)
        memory = [*client.run(peak_mebibytes).values()]
        start = time.perf_counter()
        done = [*run.run_tasks(abs, ((i, i) for i in range(_EMPTY_TASKS)), client)]
        return _Spent(wall, busiest, memory, 1e3 * (time.perf_counter() - start) / len(done))


def workers(rows: int = _ROWS, groups: int = _GROUPS) -> str:
    """Return the section of `make bench`."""
    with tempfile.TemporaryDirectory() as folder:
        path, short = Path(folder) / "log.parquet", Path(folder) / "short.parquet"
        write_honest_log(path, rows, groups)
        few = min(rows, 1_000_000)
        write_honest_log(short, few, -(-groups * few // rows))
        whole, cut, audit, scratch = cost_per_row(short, few)
        spent = {count: on_workers(path, count) for count in (1, 2)}
    one = spent[1]
    lines = [
        f"## Audits in 16 shards: Beta Thompson Sampling, two arms, {rows:,} rows, {groups:,} groups, {os.cpu_count()} "
        "cores\n",
        "| CPU µs per row, whole | cutting | 16 shards | bytes per row in the scratch folder |",
        "| --- | --- | --- | --- |",
        f"| {whole:.2f} | {cut:.2f} | {audit:.2f} | {scratch:.0f} |\n",
        "| workers | wall s | times as fast | CPU s of the busiest | times less | at least "
        "| most MiB of each worker | at most | ms per empty task |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for count, its in spent.items():
        lines.append(
            f"| {count} | {its.wall:.1f} | {one.wall / its.wall:.2f} | {its.busiest:.1f} "
            f"| {one.busiest / its.busiest:.2f} | {1.8 if count == 2 else ''} "
            f"| {', '.join(f'{most:.0f}' for most in its.memory)} | 954 | {its.empty:.1f} |"
        )
    return "\n".join(lines) + f"\n\nLoad at the end: {os.getloadavg()[0]:.1f}.\n"


if __name__ == "__main__":
    print(workers(*map(int, sys.argv[1:])))
