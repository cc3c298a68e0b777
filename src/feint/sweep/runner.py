"""Run what is missing from a study, and only that, into its store."""

import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

from feint.numerics._threads import thread_count
from feint.support.cluster import check_workers, connected, wait_for_workers
from feint.support.own_parts import OwnPartError
from feint.support.progress import ticking
from feint.sweep.dask_tasks import run_study_on_cluster
from feint.sweep.local import run_locally
from feint.sweep.store_writer import StoreWriter
from feint.sweep.study import Study
from feint.sweep.task import Task, TaskResult
from feint.sweep.workload import Workload, make_workload

Outcomes = Generator[tuple[Task, TaskResult | Exception], None, None]


class SweepWarning(UserWarning):
    """The warning that some tasks of a sweep failed."""


def plan_study(
    study: Study, place: "str | os.PathLike[str]", scheduler: Any, workers: int | None, retry_failed: bool, verify: bool
) -> Workload:
    """Return what `run_study` would do; write nothing and start no cluster."""
    check_workers(scheduler, workers)
    store = StoreWriter(place, study, verify=verify)
    if scheduler is None:
        return _workload(store, workers or thread_count(), retry_failed, workers is None)
    with connected(scheduler, None) as client:
        return _workload(store, wait_for_workers(client), retry_failed, False)


# The arguments are those of `Sweep.run`, in the same order.
def run_study(
    study: Study,
    place: "str | os.PathLike[str]",
    scheduler: Any,
    workers: int | None,
    retry_failed: bool,
    verify: bool,
    progress: Any,
) -> None:
    """Measure how long cells take, cut what is missing into tasks, and run them."""
    check_workers(scheduler, workers)
    show = False if callable(progress) else progress  # a caller's function counts steps, and there are none yet
    store = StoreWriter(place, study, verify=verify, progress=show)
    if scheduler is None and workers is None:
        with store.writing():  # before the measurement, to say at once if the store cannot be written
            plan = _workload(store, thread_count(), retry_failed, True, show)
            _run_tasks(store, plan, run_locally(study, plan.tasks, plan.cores), progress)
    else:
        with connected(scheduler, workers) as client, store.writing():
            plan = _workload(store, wait_for_workers(client), retry_failed, False, show)
            _run_tasks(store, plan, run_study_on_cluster(study, plan.tasks, client), progress)
    if store.failed:
        index, message = store.failed[0]
        warnings.warn(
            f"In {len(store.failed)} of {plan.cells} cells tasks failed; the first: {study.name(index)}, "
            f"{message.rstrip('.')}. Fix it and run again with `retry_failed`.",
            SweepWarning,
            stacklevel=3,
        )


def _workload(
    store: StoreWriter, cores: int, retry_failed: bool, in_threads: bool, show: bool | None = None
) -> Workload:
    failed = 0 if retry_failed else len(store.failed)
    with ticking(show, "measuring", 0, ""):  # which also compiles
        return make_workload(store.study, store.layout, store.missing(retry_failed), failed, cores, in_threads)


def _run_tasks(store: StoreWriter, plan: Workload, outcomes: Outcomes, progress: Any) -> None:
    """Write into the store what tasks return."""
    if progress is True:
        print(f"feint: {plan}", file=sys.stderr)
    with _following(progress, store.study, plan) as finished, closing(outcomes):
        for task, outcome in outcomes:
            try:
                if isinstance(outcome, Exception):
                    store.fail(task.cell, task.first, task.last, _said(outcome))
                else:
                    store.write(task.cell, task.first, outcome.values)
            except OSError as error:
                raise OSError(
                    f"{store.target} cannot be written: {error.strerror or error}. What is recorded stays; fix this "
                    "and run the same sweep again."
                ) from None
            finished(task)


def _said(error: Exception) -> str:
    """Return what the record says about a failure; a user's own part is named in the error itself."""
    return str(error) if isinstance(error, OwnPartError) else f"{type(error).__name__}: {error}"


@contextmanager
def _following(progress: Any, study: Study, plan: Workload) -> Iterator[Callable[[Task], object]]:
    """Yield a function to call with every finished task. It moves a bar, or calls `progress` with the steps just made,
    starting with those that were already in the store.
    """
    if callable(progress):
        horizon = study.options["horizon"]
        left = sum(task.last - task.first for task in plan.tasks)
        progress(horizon * (plan.cells * study.replications - left))
        yield lambda task: progress(horizon * (task.last - task.first))
        return
    with ticking(progress if plan.tasks else False, "sweep", sum(map(_weight, plan.tasks)), "") as tick:
        yield lambda task: tick(_weight(task))


def _weight(task: Task) -> int:
    """Return the expected milliseconds, so that long tasks move the bar further than short ones."""
    return max(1, round(1000 * task.seconds))
