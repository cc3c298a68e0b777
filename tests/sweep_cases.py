"""Provide studies to sweep, stores to compare byte by byte, and a real Dask cluster on loopback."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import feint
from cases import HANGS, PAPER
from feint.sweep import runner
from feint.sweep.store_writer import StoreWriter

COINS = feint.Bandit([0.6, 0.3], [0.2, 0.5], family=feint.Bernoulli())

# Six cells of two blocks; each cell is a task of some tenths of a second.
LONG = """
horizon = 200_000
replications = 6
checkpoints = [1_000, 200_000]
epsilons = [0.01, 0.1, 1.0]

[bandits.paper]
public = [0.6, 0.3, 0.0, 0.2]
private = [0.2, 0.5, 0.1, 0.0]

[bandits.other]
public = [0.7, 0.3, 0.0, 0.2]
private = [0.2, 0.5, 0.1, 0.0]
"""


def small_sweep(**changes):
    """Return a sweep of eight cells with different numbers of arms and three blocks of replications each."""
    settings = {
        "bandits": {"paper": PAPER, "coins": COINS},
        "explorers": [feint.TopTwo(), feint.Tracking()],
        "epsilons": [0.01, 0.1],
        "horizon": 300,
        "replications": 7,
        "delta": 0.2,
        "method": "eager",  # stores do not care, and it is compiled sooner
    }
    return feint.Sweep(**{**settings, **changes})


def contents(folder):
    """Return the content of every file of a store, by its name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def unpack(files, folder):
    """Write what `contents` read."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def count_tasks(monkeypatch):
    """Return a list to which every task that runs from now on is appended."""
    ran = []

    def watching(study, tasks, cores):
        for task, outcome in original(study, tasks, cores):
            ran.append(task)
            yield task, outcome

    original = runner.run_locally
    monkeypatch.setattr(runner, "run_locally", watching)
    return ran


def missing_blocks(sweep, folder):
    """Return how many blocks a store lacks."""
    return int(StoreWriter(folder, sweep).missing().sum())


def start(*arguments, **options):
    """Start Python with these arguments; its output is kept for messages."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def wait_until(condition, *processes):
    """Wait until the condition holds, looking every 20 ms; fail if one of the processes ends before."""
    end = time.monotonic() + HANGS
    while not condition():
        for process in processes:
            assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.02)


def first_record(folder):
    """Return whether a task has been recorded."""
    return Path(folder).exists() and bool(feint.open_sweep(folder).complete.any())


class Cluster:
    """A `dask scheduler` and two `dask worker` processes of one thread each."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "scheduler.json"
        environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
        options = {"cwd": folder, "env": environment}
        place = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", self.file]
        self.scheduler = start("-m", "dask", "scheduler", *place, **options)
        wait_until(lambda: self.file.exists() and self.file.read_text().endswith("}"), self.scheduler)
        arguments = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--scheduler-file", self.file]
        self.workers = [start("-m", "dask", "worker", *arguments, **options) for _ in range(2)]

    @property
    def address(self):
        import json

        return json.loads(self.file.read_text())["address"]

    def close(self):
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()


@contextmanager
def cluster(folder):
    """Keep a cluster running for the duration of a test."""
    found = Cluster(folder)
    try:
        yield found
    finally:
        found.close()
