"""Run tasks on a Dask cluster: an existing one, or one that is started on this machine for the time of a job.

Each task carries all that it needs, with classes of the user's own, so workers hold nothing that could be lost with
them. Only a few tasks per core are in flight: results do not pile up, and 10⁵ tasks burden the scheduler no more than
ten.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from numbers import Integral
from typing import Any, TypeVar

from feint.support.extras import need

_TASKS_PER_CORE = 2  # in flight: one that runs and one that waits
_PATIENCE = 60.0  # seconds for the first worker
_LOOK = 2.0  # seconds between two looks at the number of cores

_Key = TypeVar("_Key")


def check_workers(scheduler: Any, workers: Any) -> None:
    """Refuse an invalid number of processes, and two ways to run at once."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1):
        raise ValueError(f"workers is {workers!r}; give a whole number of processes, 1 or more.")
    if workers is not None and scheduler is not None:
        raise ValueError("Give either `scheduler`, an existing cluster, or `workers`, to start one; not both.")


@contextmanager
def connected(scheduler: Any, workers: int | None) -> Iterator[Any]:
    """Yield a `distributed.Client`: the one given, one for a scheduler's address, or one for `workers` processes."""
    need("distributed", "A Dask cluster")
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
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def cores_of(client: Any) -> int:
    """Return how many tasks can run at the same time."""
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
    perform: Callable[[Any], Any], tasks: Iterable[tuple[_Key, Any]], client: Any, gone: str
) -> Generator[tuple[_Key, Any], None, None]:
    """Yield the key of each task once, with what `perform(task)` returned or raised, as they finish.

    Closing the generator cancels the others. `gone` says what to do if the cluster is gone.
    """
    from distributed import as_completed

    left, done = iter(tasks), as_completed(loop=client.loop)
    running: dict[str, tuple[Any, _Key]] = {}
    room, looked = _TASKS_PER_CORE, -_LOOK

    def top_up() -> None:
        nonlocal room, looked
        if time.monotonic() - looked > _LOOK:  # workers come and go
            room, looked = _TASKS_PER_CORE * max(1, cores_of(client)), time.monotonic()
        for key, task in islice(left, max(0, room - len(running))):
            future = client.submit(_perform_pickled, _pickled_work((perform, task)), pure=False)
            running[future.key] = (future, key)
            done.add(future)

    try:
        top_up()
        while running:
            future = next(done)
            if future.key not in running:  # reported twice: Dask reruns tasks of workers that died
                continue
            outcome = _outcome(future, gone)
            _, key = running.pop(future.key)
            top_up()
            yield key, outcome
    finally:
        with _ignored():
            client.cancel([future for future, _ in running.values()])


def _pickled_work(work: Any) -> bytes:
    """Pickle with cloudpickle, which includes classes from notebooks and from the user's files. Dask alone would only
    name the latter, and a worker that does not find such a file fails.
    """
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(work)
    except Exception as error:
        raise ValueError(f"A task cannot be sent to workers: {type(error).__name__}: {error}") from None
    return data


def _perform_pickled(data: bytes) -> Any:
    import cloudpickle

    perform, task = cloudpickle.loads(data)
    return perform(task)


def _outcome(future: Any, gone: str) -> Any:
    """Return what a task returned or raised; end the job if the cluster is gone."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    lost = ConnectionError(f"The Dask scheduler is gone; {gone}")
    if future.status == "cancelled":
        raise lost
    try:
        return future.result()
    except (CancelledError, CommClosedError):
        raise lost from None
    except Exception as error:
        return error


def check_versions(theirs: dict[str, str], ours: dict[str, str]) -> None:
    """Refuse what a worker computed with versions other than ours."""
    for name in ("feint", "numpy", "numba"):
        if theirs[name] != ours[name]:
            raise ValueError(
                f"A worker has {name} {theirs[name]} and this process {ours[name]}, which may draw other numbers; "
                "install the same version everywhere."
            )


@contextmanager
def _ignored() -> Iterator[None]:
    """Ignore the errors of a cluster that is gone."""
    try:
        yield
    except Exception:
        return
