"""Run tasks on a Dask cluster: an existing one, or one that is started on this machine for the time of a sweep.

Workers simulate and return arrays; only the client writes. Each task carries its cell, with explorers of the user's
own, so workers hold nothing that could be lost with them. Only a few tasks per core are in flight: results do not pile
up, and 10⁵ tasks burden the scheduler no more than ten.
"""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from feint.simulation.dataset import versions
from feint.support.extras import need
from feint.sweep.study import Study
from feint.sweep.task import Shard, Task, Work, perform, work_of

_TASKS_PER_CORE = 2  # in flight: one that runs and one that waits
_PATIENCE = 60.0  # seconds for the first worker
_LOOK = 2.0  # seconds between two looks at the number of cores


@contextmanager
def connected(scheduler: Any, workers: int | None) -> Iterator[Any]:
    """Yield a `distributed.Client`: the one given, one of a scheduler's address, or one of `workers` processes."""
    need("distributed", "A cluster of Dask")
    import distributed

    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConnectionError(f"No Dask scheduler answers at {scheduler}: {error}.") from None
        with client:
            yield client
        return
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",  # any free port, of which nothing is said where 8787 is taken
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def cores_of(client: Any) -> int:
    """Return how many tasks run at a time."""
    return sum(client.nthreads().values())


def wait_for_workers(client: Any) -> int:
    """Wait until there are workers, and return the number of cores."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ConnectionError(
            f"The scheduler has no workers after {_PATIENCE:.0f} s; start some with `dask worker ADDRESS`."
        ) from None
    return cores_of(client)


def run_on_cluster(
    study: Study, tasks: Iterable[Task], client: Any
) -> Generator[tuple[Task, Shard | Exception], None, None]:
    """Yield each task once, with its result or its error, as they finish. Closing the generator cancels the others."""
    from distributed import as_completed

    left, done = iter(tasks), as_completed(loop=client.loop)
    running: dict[str, tuple[Any, Task]] = {}
    ours, room, looked = versions(), _TASKS_PER_CORE, -_LOOK

    def top_up() -> None:
        nonlocal room, looked
        if time.monotonic() - looked > _LOOK:  # workers come and go
            room, looked = _TASKS_PER_CORE * max(1, cores_of(client)), time.monotonic()
        for task in islice(left, max(0, room - len(running))):
            future = client.submit(_perform_pickled, _pickled(work_of(study, task)), pure=False)
            running[future.key] = (future, task)
            done.add(future)

    try:
        top_up()
        while running:
            future = next(done)
            if future.key not in running:  # told twice: Dask reruns tasks of workers that died
                continue
            outcome = _outcome(future, ours)
            _, task = running.pop(future.key)
            top_up()
            yield task, outcome
    finally:
        with _ignored():
            client.cancel([future for future, _ in running.values()])


def _pickled(work: Work) -> bytes:
    """Pickle by cloudpickle, which includes classes from notebooks and from a study's files. Dask alone would only name
    the latter, and a worker that does not find one fails.
    """
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(work)
    except Exception as error:
        raise ValueError(f"A cell cannot be sent to workers: {type(error).__name__}: {error}") from None
    return data


def _perform_pickled(data: bytes) -> Shard:
    import cloudpickle

    return perform(cloudpickle.loads(data))


def _outcome(future: Any, ours: dict[str, str]) -> Shard | Exception:
    """Return what a task left or raised; end the sweep if the cluster is gone or its versions differ from ours."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    gone = ConnectionError("The Dask scheduler is gone; start one and run the sweep again: what is recorded stays.")
    if future.status == "cancelled":
        raise gone
    try:
        shard: Shard = future.result()
    except (CancelledError, CommClosedError):
        raise gone from None
    except Exception as error:
        return error
    theirs = shard.versions
    for name in ("feint", "numpy", "numba"):
        if theirs[name] != ours[name]:
            raise ValueError(
                f"A worker has {name} {theirs[name]} and this process {ours[name]}, which may draw other numbers; "
                "install the same version everywhere."
            )
    return shard


@contextmanager
def _ignored() -> Iterator[None]:
    """Ignore the errors of a cluster that is gone."""
    try:
        yield
    except Exception:
        return
