"""The work that a sweep has left: tasks of about a second or more, and how long they will take."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.simulation.scenario import RunOptions
from feint.sweep.axes import CellIndex
from feint.sweep.store_layout import TOGETHER, StoreLayout
from feint.sweep.study import Study
from feint.sweep.task import Task, Work, timed

TASK_SECONDS = 1.0
_MEASURING = 2.0  # seconds, without compiling; what has not been measured by then is guessed
_ENOUGH, _ENOUGH_TO_STOP = 0.1, 0.5  # seconds that a run is measured for; more if it may stop by itself before its end
_FIRST_STEPS, _FIRST_PLAIN_STEPS, _GROWTH = 200, 4, 5  # after the initial round


@dataclass(frozen=True)
class Workload:
    """The tasks that a sweep still has to run, and what they will take."""

    tasks: list[Task]
    cells: int  # of the study
    blocks: int  # of the study
    missing: int  # blocks that the tasks fill
    failed: int  # cells with failed blocks, which are left out
    cores: int
    seconds: float  # expected on these cores
    store_bytes: int  # at most, when all is done

    def __repr__(self) -> str:
        return f"<Workload: {self}>"

    def __str__(self) -> str:
        done = 1 - self.missing / self.blocks
        there = f" ({done:.0%} of the study is there)" if done else ""
        failed = f", {self.failed} failed cells left out" if self.failed else ""
        return (
            f"{_count(self.cells, 'cell')}, {_count(len(self.tasks), 'task')} to run{there}{failed}: about "
            f"{_span(self.seconds)} on {_count(self.cores, 'core')}; the store takes at most {_size(self.store_bytes)}"
        )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def make_workload(
    study: Study, layout: StoreLayout, missing: BoolArray, failed: int, cores: int, in_threads: bool
) -> Workload:
    """Measure how long cells take, and cut what is missing into tasks; in the threads of one process, plain Python has
    only one core.
    """
    seconds = measure(study, np.asarray(missing.any(axis=(3, 4))))
    tasks = list(cut_into_tasks(study, layout.block, missing, seconds))
    plain = sum(task.seconds for task in tasks if study.plain[task.cell[:3]])
    return Workload(
        tasks,
        int(study.wanted.sum()),
        int(study.wanted.sum()) * layout.n_blocks,
        int(missing.sum()),
        failed,
        cores,
        max(sum(task.seconds for task in tasks) / max(1, cores), plain if in_threads else 0.0),
        store_bytes(study, layout),
    )


def cut_into_tasks(study: Study, block: int, missing: BoolArray, seconds: FloatArray) -> Iterator[Task]:
    """Yield tasks: neighbouring blocks of a cell that take about a second together, or one block that takes longer."""
    n_blocks = missing.shape[-1]
    for index in map(tuple, np.argwhere(missing.any(axis=4)).tolist()):
        each = float(seconds[index[:3]])
        joined = max(1, math.ceil(TASK_SECONDS / max(each * block, 1e-9)))
        open_blocks = missing[index]
        start = 0
        while start < n_blocks:
            if not open_blocks[start]:
                start += 1
                continue
            stop = start + 1
            while stop < n_blocks and stop - start < joined and open_blocks[stop]:
                stop += 1
            first, last = start * block, min(stop * block, study.replications)
            yield Task(index, first, last, each * (last - first))
            start = stop


def measure(study: Study, wanted: BoolArray) -> FloatArray:
    """Return seconds per replication by (bandit, explorer, reference), from short runs on one thread at the middle
    budget.

    Each pair of explorer and reference is measured on one bandit first, then on the others while there is time. Where
    there was none, the mean over the measured bandits is used. Plain Python is always measured: its time cannot be
    guessed from that of kernels.
    """
    seconds = np.full(study.shape[:3], math.nan)
    if not wanted.any():
        return seconds
    places = np.argwhere(wanted)
    # np.unique keeps the first bandit of each pair.
    _, leading = np.unique(places[:, 1:], axis=0, return_index=True)
    others = np.setdiff1d(np.arange(len(places)), leading)
    used = 0.0
    for b, e, r in places[np.concatenate([leading, others])].tolist():
        unknown = np.isnan(seconds[:, e, r]).all()
        if used > _MEASURING and not (unknown and study.plain[b, e, r]):
            continue
        budgets = np.flatnonzero(study.wanted[b, e, r])
        seconds[b, e, r], took = _replication_seconds(study, (b, e, r, int(budgets[budgets.size // 2])))
        used += took
    known = ~np.isnan(seconds)
    pairs = np.where(known, seconds, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    found = np.where(known, seconds, np.where(known.any(0), pairs, math.nan))
    for plain in (True, False):  # times of one kind say nothing about the other
        like = study.plain == plain
        found[like & np.isnan(found)] = seconds[like & known].mean() if (like & known).any() else TASK_SECONDS
    return found


def _replication_seconds(study: Study, index: CellIndex) -> tuple[float, float]:
    """Return (seconds per replication, seconds that the measurement took). Runs of growing length are measured, and the
    last two tell how the time grows beyond them.
    """
    horizon, n_arms = study.options["horizon"], study.cell(index).bandit.n_arms
    plain = bool(study.plain[index[:3]])
    number = min(study.replications, TOGETHER) if study.together[index[:3]] else 1
    stops = study.options["delta"] is not None
    enough = _ENOUGH_TO_STOP if stops else _ENOUGH

    def run(steps: int) -> float:
        shorter = study.options | {"horizon": steps, "checkpoints": [steps]}
        return timed(Work(study.cell(index), RunOptions(replications=number, **shorter), plain)) / number

    steps = min(horizon, n_arms + (_FIRST_PLAIN_STEPS if plain else _FIRST_STEPS))
    try:
        run(steps)  # compiles
        start = time.perf_counter()
        before, now = math.nan, run(steps)
        while number * now < enough and steps < horizon:
            before, steps, last = now, min(horizon, steps * _GROWTH), steps
            now = run(steps)
    except Exception:  # a task that raises is recorded when it is run, not here
        return math.nan, 0.0
    took = time.perf_counter() - start
    growth = 1.0
    if not math.isnan(before) and (stops or not plain):  # otherwise plain Python takes as long for every step
        growth = min(1.0, max(0.0 if stops else 0.5, math.log(max(now / before, 1.0)) / math.log(steps / last)))
    return now * (max(1, horizon - n_arms) / max(1, steps - n_arms)) ** growth, took


def store_bytes(study: Study, layout: StoreLayout) -> int:
    """Return the size of all chunks, uncompressed."""
    block_bytes = sum(
        8 * layout.block * math.prod(layout.sizes[d] for d in dimensions[1:])
        for dimensions, _ in layout.variables.values()
    )
    return block_bytes * layout.n_blocks * int(study.wanted.sum()) + sum(map(len, layout.fixed.values()))


def _span(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s" if seconds >= 1 else "a second"


def _size(count: int) -> str:
    for unit, length in (("GB", 10**9), ("MB", 10**6)):
        if count >= length:
            return f"{count / length:,.1f} {unit}"
    return f"{count / 1000:,.0f} kB"
