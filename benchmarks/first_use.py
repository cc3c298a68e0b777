"""Measure what a first use costs: CPU seconds from an empty kernel cache, and the wait when the cache is filled.

Sources are compiled to bytecode beforehand, as pip does when it installs; otherwise every start would include this.

`python -m benchmarks.first_use --against FOLDER` compares with the package in FOLDER, the `src` of another checkout.
"""

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import feint

OURS = Path(feint.__file__).resolve().parents[1]
_INSTANCE = ["--public", "0.6,0.3,0,0.2", "--private", "0.2,0.5,0.1,0"]
_RUN = ["-m", "feint", "run", *_INSTANCE, "--horizon", "1000", "--replications", "2"]
_PROBABILITIES = "import feint; feint.best_arm_probabilities([0.0, 1.0], [1.0, 1.0])"


class Cost(NamedTuple):
    """The seconds of one process, including those of the processes that it started."""

    cpu: float  # user and system
    wall: float


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call(arguments: list[str], source: Path, cache: Path, allowed: tuple[int, ...] = (0,)) -> Cost:
    """Run Python on the package in `source` with the kernel cache in `cache`."""
    environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    before, start = _cpu_of_children(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=cache, capture_output=True, text=True, check=False
    )
    cost = Cost(_cpu_of_children() - before, time.perf_counter() - start)
    if done.returncode not in allowed or "Traceback" in done.stderr:
        raise RuntimeError(f"{arguments} in {source} ended with {done.returncode}:\n{done.stderr}")
    return cost


def measure(against: Path | None = None) -> str:
    """Return the table of the four first uses."""
    for source in filter(None, (OURS, against)):
        compileall.compile_dir(source / "feint", quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"

        def fresh() -> Path:
            return Path(tempfile.mkdtemp(dir=folder))

        call([*_RUN, "--log", str(log)], OURS, fresh())
        commands = {
            "feint run": (_RUN, (0,)),
            "feint plan": (["-m", "feint", "plan", *_INSTANCE, "--epsilon", "0.1"], (0,)),
            "feint audit": (["-m", "feint", "audit", str(log)], (0, 1)),  # 1: the claim is rejected
            "best_arm_probabilities": (["-c", _PROBABILITIES], (0,)),
        }
        headings = ["command", "cold, CPU s", "warm, wall s"]
        if against is not None:
            headings += ["the other, cold, CPU s", "ratio"]
        lines = ["## First use: an empty kernel cache, and the next use\n", f"| {' | '.join(headings)} |"]
        lines.append("| --- " * len(headings) + "|")
        for name, (arguments, allowed) in commands.items():
            colds, warms, others = [], [], []
            for _ in range(1 if against is None else 2):  # in turn, so that other work on the machine affects both
                cache = fresh()
                colds.append(call(arguments, OURS, cache, allowed).cpu)
                warms.append(call(arguments, OURS, cache, allowed).wall)
                if against is not None:
                    others.append(call(arguments, against, fresh(), allowed).cpu)
            cells = [name, f"{min(colds):.1f}", f"{min(warms):.2f}"]
            if others:
                cells += [f"{min(others):.1f}", f"{min(colds) / min(others):.2f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def first_use() -> str:
    """Return the section of `make bench`."""
    return measure()


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU seconds of first uses from an empty kernel cache.")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="the src of another checkout, to compare with")
    against = parser.parse_args().against
    if against is not None and not (against / "feint" / "__init__.py").exists():
        parser.error(f"{against} has no package feint; give the src of a checkout.")
    print(measure(against and against.resolve()))


if __name__ == "__main__":
    main()
