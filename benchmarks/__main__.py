"""Run every benchmark and print its table; `--write` also writes the tables into benchmarks/RESULTS.md."""

import argparse
import datetime
import os
import platform
from pathlib import Path

import numba
import numpy as np
import scipy

from benchmarks import (
    bernoulli,
    best_arm,
    engine,
    events,
    first_use,
    goals,
    hard_instances,
    observer,
    own_explorers,
    plans,
    reading,
    shards,
    sweeps,
)

RESULTS = Path(__file__).with_name("RESULTS.md")


def machine() -> str:
    """Return what the numbers depend on: the processor and the versions."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    return (
        f"{name}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, Numba {numba.__version__}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    arguments = parser.parse_args()
    parts = [f"# Benchmarks\n\n{datetime.date.today()}, {machine()}. Made by `make bench`; absolute times vary.\n"]
    print(parts[0], flush=True)
    sections = [best_arm.speed, best_arm.scaling, engine.speed, engine.profile, hard_instances.speed, events.horizons]
    sections += [bernoulli.speed, observer.updates, observer.audits, observer.many_arms, reading.long_logs]
    sections += [first_use.first_use, goals.speed, own_explorers.choose_many, plans.speed, plans.families]
    sections += [sweeps.overhead, sweeps.workers, sweeps.many_tasks, shards.workers]
    for section in sections:
        parts.append(section())
        print(parts[-1], flush=True)
    if arguments.write:
        RESULTS.write_text("\n".join(parts))


main()
