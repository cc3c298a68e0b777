"""Run tasks on the cores of this machine, in threads of this process; kernels run in parallel."""

import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from feint.sweep.study import Study
from feint.sweep.task import Task, TaskResult, perform, work_of


class _Ended(Exception):
    """Raised in a task whose client has stopped."""


def run_locally(
    study: Study, tasks: Iterable[Task], cores: int
) -> Generator[tuple[Task, TaskResult | Exception], None, None]:
    """Yield each task with its result or its error, as they finish. Closing the generator stops the tasks."""
    stop = threading.Event()

    def tick(steps: int) -> None:
        if stop.is_set():
            raise _Ended

    pool = ThreadPoolExecutor(cores, thread_name_prefix="feint-sweep")
    running: dict[Future[TaskResult], Task] = {}
    try:
        for task in tasks:
            running[pool.submit(perform, work_of(study, task), tick)] = task
            while len(running) > cores:  # one task waits, so that no core does
                yield from _finished(running)
        while running:
            yield from _finished(running)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _finished(running: dict[Future[TaskResult], Task]) -> Iterator[tuple[Task, TaskResult | Exception]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        error = future.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        yield running.pop(future), error or future.result()
