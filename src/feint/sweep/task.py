"""One task: some replications of one cell. It carries all that it needs, so it can run in any process."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from numpy.typing import NDArray

from feint.numerics._threads import one_thread
from feint.simulation.scenario import RunOptions, Scenario
from feint.simulation.simulate import run_simulation
from feint.sweep.axes import CellIndex
from feint.sweep.study import Study
from feint.version import versions

# Plain Python uses one core of a process anyway, and a user's object may not be safe in two threads.
_PLAIN = threading.Lock()


class Task(NamedTuple):
    """Replications first … last − 1 of a cell, and how long they may take."""

    cell: CellIndex
    first: int
    last: int
    seconds: float


class Work(NamedTuple):
    """A task with its scenario and options, as it is sent to whoever runs it."""

    scenario: Scenario
    options: RunOptions
    plain: bool


class TaskResult(NamedTuple):
    """The result of a task."""

    values: dict[str, NDArray[Any]]
    versions: dict[str, str]


def work_of(study: Study, task: Task) -> Work:
    """Return a task with its scenario and options."""
    options = RunOptions(replications=range(task.first, task.last), **study.options)
    return Work(study.cell(task.cell), options, bool(study.plain[task.cell[:3]]))


def perform(work: Work, tick: Callable[[int], object] | None = None) -> TaskResult:
    """Simulate a task on one thread; `tick` may raise to end it."""
    with _PLAIN if work.plain else nullcontext(), one_thread():
        runs = run_simulation(work.scenario, work.options, tick or False)
    return TaskResult(runs.variables, versions())


def timed(work: Work) -> float:
    """Return the seconds of one core that a task takes, whatever else the machine does; in plain Python, which may
    also wait for something, the seconds by the clock.
    """
    clock = time.perf_counter if work.plain else time.thread_time
    start = clock()
    perform(work)
    return clock() - start
