"""Measure what sweeps add to bare `simulate`, what a second worker gains, and a plan of 10⁵ tasks.

Times are CPU seconds where other work on the machine must not count, and wall seconds where cores are compared.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import feint
from benchmarks.threads import threads
from feint.registry.instance_files import PAPER
from feint.sweep.store_layout import FAILURE
from feint.sweep.store_writer import StoreWriter

EPSILONS = (0.03, 0.1, 0.3, 1.0)
_HORIZON, _REPLICATIONS = 200_000, 40  # a cell is a task or two of one second
_MORE = 160  # replications of a longer sweep, to tell what a sweep costs once from what each task costs
_REPEATS = 3
_MANY = (100, 10, 100)  # bandits, explorers, budgets: 10⁵ cells, each a task of no work
_LEFT = 10  # of these, to be run when resumed


def seconds(replications: int) -> Iterator[tuple[float, float]]:
    """Yield (bare, sweep) CPU seconds of the same runs on one thread, in turn."""
    sweep = feint.Sweep({"paper": PAPER}, epsilons=EPSILONS, horizon=_HORIZON, replications=replications)

    def bare() -> None:
        for epsilon in EPSILONS:
            feint.simulate(PAPER, epsilon=epsilon, horizon=_HORIZON, replications=replications)

    with tempfile.TemporaryDirectory() as folder, threads(1):
        sweep.run(f"{folder}/warm.zarr")
        for repeat in range(_REPEATS):
            start = time.process_time()
            bare()
            between = time.process_time()
            sweep.run(f"{folder}/{repeat}.zarr")
            yield between - start, time.process_time() - between


def overhead() -> str:
    """Return the section of `make bench`."""
    lines = [
        "## Sweeps: what they add to bare simulate\n",
        "| tasks | CPU s per task | simulate, CPU s | sweep, CPU s | overhead | at most |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for replications in (_REPLICATIONS, _MORE):
        bare, swept = np.array(list(seconds(replications))).min(axis=0)
        sweep = feint.Sweep({"p": PAPER}, epsilons=EPSILONS, horizon=_HORIZON, replications=replications)
        tasks = len(sweep.plan("none.zarr").tasks)
        added = 100 * (swept / bare - 1)
        lines.append(f"| {tasks} | {bare / tasks:.2f} | {bare:.2f} | {swept:.2f} | {added:.1f} % | 5 % |")
    return "\n".join(lines) + "\n"


def _wall(sweep: feint.Sweep, place: str, **options: object) -> float:
    start = time.perf_counter()
    sweep.run(place, **options)
    return time.perf_counter() - start


def workers() -> str:
    """Return the table of one worker against two: threads of this process, and processes of a running Dask cluster."""
    import distributed

    sweep = feint.Sweep({"paper": PAPER}, epsilons=EPSILONS, horizon=_HORIZON, replications=_MORE)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        times: dict[tuple[str, int], list[float]] = {}
        for count in (1, 2):
            with _cluster(count, distributed) as client:
                sweep.run(f"{folder}/warm{count}.zarr", client)
                for repeat in range(_REPEATS):
                    key = ("Dask workers", count)
                    times.setdefault(key, []).append(_wall(sweep, f"{folder}/d{count}{repeat}.zarr", scheduler=client))
        for repeat in range(_REPEATS):
            for count in (1, 2):
                with threads(count):
                    key = ("threads", count)
                    times.setdefault(key, []).append(_wall(sweep, f"{folder}/t{count}{repeat}.zarr"))
        for name in ("threads", "Dask workers"):
            one, two = min(times[name, 1]), min(times[name, 2])
            rows.append(f"| {name} | {one:.1f} | {two:.1f} | {one / two:.2f} | 1.8 |")
    lines = [
        f"## Sweeps: two workers against one, {os.cpu_count()} cores\n",
        "| | one, wall s | two, wall s | times as fast | at least |",
        "| --- | --- | --- | --- | --- |",
        *rows,
    ]
    return "\n".join(lines) + "\n"


@contextmanager
def _cluster(count: int, distributed: object) -> Iterator[object]:
    with distributed.Client(n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50) as client:
        yield client


def many_sweep() -> feint.Sweep:
    """Return a sweep of 10⁵ cells, each with one replication of one pull per arm."""
    bandits, explorers, budgets = _MANY
    return feint.Sweep(
        {f"bandit {i}": feint.Bandit([0.6 + i / 1000, 0.3], [0.2, 0.5]) for i in range(bandits)},
        {f"explorer {i}": feint.TopTwo() for i in range(explorers)},
        [i / 1000 for i in range(budgets)],
        horizon=2,
        replications=1,
    )


def _fill(place: Path) -> None:
    """Write all but some blocks of that study as if they had been run, with the chunks of one block everywhere."""
    store = StoreWriter(place, many_sweep())
    with store.writing():
        zeros = {name: np.zeros((1, 1, 2)[: len(d)], dtype=kind) for name, (d, kind) in store.layout.variables.items()}
        chunks = store.layout.encode_block((0, 0, 0, 0), 0, zeros)
        store.target.put(chunks)
        cells = list(np.ndindex(*store.study.shape))[: len(list(store.study.cells())) - _LEFT]
        for key, data in chunks.items():
            name, chunk = key.split("/")
            rest = ".".join(chunk.split(".")[5:])
            for b, e, r, i in cells[1:]:
                with open(f"{place}/{name}/c.{b}.{e}.{r}.{i}.{rest}", "wb", buffering=0) as file:
                    file.write(data)
        mark = store.layout.marker.mark
        records = np.zeros((*store.study.shape, 1, len(chunks), 2), dtype=np.int64)
        for cell in cells:
            for number, (name, data) in enumerate(zip(store.layout.variables, chunks.values(), strict=True)):
                records[(*cell, 0, number)] = mark(store.layout.key_of(name, (*cell, 0)), data)
        store.target.put(store.layout.encode_all_records(records))
    assert not (place / FAILURE).joinpath("c.0.0.0.0").exists()


def _many(place: str) -> None:
    """Plan 10⁵ tasks, then resume with ten left, and print seconds and memory; this runs in a separate process."""
    feint.Sweep({"p": PAPER}, epsilons=[0.1], horizon=4, replications=1).run(Path(place).with_name("warm.zarr"))
    start = time.perf_counter(), time.process_time()
    planned = len(many_sweep().plan(Path(place).with_name("nothing.zarr")).tasks)
    between = time.perf_counter(), time.process_time()
    runs = many_sweep().run(place)
    end = time.perf_counter(), time.process_time()
    assert planned == np.prod(_MANY)
    assert bool(runs.complete.all())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(between[0] - start[0], between[1] - start[1], end[0] - between[0], end[1] - between[1], memory)


def many_tasks() -> str:
    """Return the table of planning 10⁵ tasks, and of resuming when all but ten are done.

    The store is in memory if the system has such a folder: writing its 600,000 files would measure the disk.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        place = Path(folder) / "many.zarr"
        _fill(place)
        command = [sys.executable, "-m", "benchmarks.sweeps", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    plan_wall, plan_cpu, resume_wall, resume_cpu, memory = map(float, done.stdout.split())
    lines = [
        "## Sweeps: 10⁵ tasks of no work\n",
        "| | wall s | CPU s | at most |",
        "| --- | --- | --- | --- |",
        f"| planned | {plan_wall:.1f} | {plan_cpu:.1f} | |",
        f"| resumed, {_LEFT} left | {resume_wall:.1f} | {resume_cpu:.1f} | |",
        f"| both | {plan_wall + resume_wall:.1f} | {plan_cpu + resume_cpu:.1f} | 10 |",
        f"| memory, GiB | {memory:.2f} | | 1 |",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _many(sys.argv[1])
