"""One task: some replications of one cell. All that it needs comes with it, so it can run in any process."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from numpy.typing import NDArray

from feint.dataset import versions
from feint.numerics._threads import one_thread
from feint.simulation import simulated
from feint.sweep.study import Cell, CellIndex, Study

# Plain Python has one core of a process anyway, and an object of the user's need not bear two threads.
_PLAIN = threading.Lock()


class Task(NamedTuple):
    """Replications first … last − 1 of a cell, and how long they may take."""

    cell: CellIndex
    first: int
    last: int
    seconds: float


class Work(NamedTuple):
    """A task as it travels."""

    cell: Cell
    replications: range
    options: dict[str, Any]
    plain: bool


class Shard(NamedTuple):
    """What a task leaves."""

    values: dict[str, NDArray[Any]]
    versions: dict[str, str]


def work_of(study: Study, task: Task) -> Work:
    """With its cell."""
    plain = bool(study.plain[task.cell[:3]])
    return Work(study.cell(task.cell), range(task.first, task.last), study.options, plain)


def perform(work: Work, tick: Callable[[int], object] | None = None) -> Shard:
    """Simulate on one thread; `tick` may raise to end it."""
    bandit, explorer, reference, budget = work.cell
    with _PLAIN if work.plain else nullcontext(), one_thread():
        runs = simulated(
            bandit, explorer, reference, budget, replications=work.replications, progress=tick or False, **work.options
        )
    return Shard(runs.variables, versions())


def timed(work: Work) -> float:
    """Return the seconds that it takes: of a core, whatever else the machine does; in plain Python, which may also
    wait for something, by the clock.
    """
    clock = time.perf_counter if work.plain else time.thread_time
    start = clock()
    perform(work)
    return clock() - start
