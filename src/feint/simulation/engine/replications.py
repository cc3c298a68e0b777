"""Run all replications of a simulation on all cores: short ones in blocks, long ones in pieces."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from feint.budgets import BudgetPieces
from feint.numerics._threads import thread_count
from feint.simulation.engine.eager import advance_eagerly, advance_plainly
from feint.simulation.engine.event import advance_by_events
from feint.simulation.engine.event_region import events
from feint.simulation.engine.lazy import advance_lazily, lazy
from feint.simulation.engine.lockstep import Lockstep
from feint.simulation.engine.record import Run
from feint.simulation.engine.region import region

_ARM_STEPS_PER_PIECE = 400_000  # arms × steps, well below a second, so that Ctrl-C and the progress bar are served soon
_EVENTS_PER_PIECE = 20_000
_SLOWER = 10  # how much slower a step is where every step is evaluated
_SLOWEST = 1000  # how much slower a step is in plain Python
_IN_PYTHON = "plain", "lockstep"
MOST_TOGETHER = 250  # replications in lockstep: a call in Python is little for so many, and memory stays small


class Course(NamedTuple):
    """How far to run, by which method, and with which budget."""

    horizon: int
    replications: int
    method: str  # "lazy", "eager", "event", "plain" or "lockstep"
    follows_posterior: bool
    budget: Any
    slow: bool  # whether every step is evaluated
    keeps_state: bool  # whether something in it may change, so that every replication needs a run of its own


def run_all(make_run: Callable[[], Run], course: Course, tick: Callable[[int], object]) -> None:
    """Fill the records of every replication. An interrupt or an error ends the threads at their next piece.

    Threads take blocks from one iterator. It does not matter which thread runs which block, since the draws of a
    replication depend on its number alone.
    """
    pace = _SLOWEST if course.method in _IN_PYTHON else _SLOWER if course.slow else 1
    piece = max(100, _ARM_STEPS_PER_PIECE // pace)
    blocks = _blocks(course, piece)
    lock, stop = threading.Lock(), threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run = make_run()
            n_arms = run.known.pulls.size
            advance = _advance(course, n_arms)
            budget = BudgetPieces(course.budget, n_arms)
            used = False
            while not stop.is_set():
                with lock:
                    block = next(blocks, None)
                if block is None:
                    return
                if used and course.keeps_state:
                    run = make_run()
                used = True
                _run_block(run, budget, advance, course, block, max(100, piece // n_arms), stop, tick)
        except BaseException as error:
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(_threads(course))]
    if len(threads) == 1:  # stay in the caller's thread: plain Python may not allow another
        work()
    else:
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)  # in between, Ctrl-C is served
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    if failures:
        raise failures[0]


def _threads(course: Course) -> int:
    return 1 if course.method in _IN_PYTHON else min(thread_count(), course.replications)


def _blocks(course: Course, piece: int) -> Iterator[tuple[int, int]]:
    """Yield blocks of consecutive replications, each about a piece long, but at least a few blocks per thread."""
    size = max(1, min(piece // course.horizon, -(-course.replications // (4 * _threads(course)))))
    size = MOST_TOGETHER if course.method == "lockstep" else 1 if course.keeps_state else size
    for first in range(0, course.replications, size):
        yield first, min(first + size, course.replications)


def _advance(course: Course, n_arms: int) -> Callable[..., tuple[int, int]]:
    if course.method == "plain":
        return advance_plainly
    if course.method == "lockstep":
        return Lockstep().advance
    if course.method == "eager":
        return advance_eagerly
    if course.method == "event":
        around, between = region(n_arms), events(n_arms)
        return lambda run, first, last, t, row, t_end: advance_by_events(
            run, around, between, first, last, t, row, t_end, _EVENTS_PER_PIECE if last - first == 1 else -1
        )
    space = lazy(n_arms)
    return lambda run, *where: advance_lazily(run, space, course.follows_posterior, *where)


def _run_block(
    run: Run,
    budget: BudgetPieces,
    advance: Callable[..., tuple[int, int]],
    course: Course,
    block: tuple[int, int],
    piece: int,
    stop: threading.Event,
    tick: Callable[[int], object],
) -> None:
    first, last = block
    t, row = 0, 0
    at_once = last - first > 1 and course.method != "lockstep"
    while not stop.is_set():
        whole = at_once or course.method == "event"  # the event method returns in between by itself
        t_end = course.horizon if whole else min(t + piece, course.horizon)
        problem = run.problem._replace(budget=budget.settings(t, t_end))
        before = t
        t, row = advance(run._replace(problem=problem), first, last, t, row, t_end)
        stopped = not np.isnan(run.records.stopping_time[first:last]).any()
        if t == course.horizon or at_once or stopped:
            tick((course.horizon - before) * (last - first))
            return
        tick((t - before) * (last - first))
