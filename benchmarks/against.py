"""Compare the speed of warm kernels with the package of another checkout: `python -m benchmarks.against SRC`.

Each task runs in a process of its own, in turn with the other checkout's, so that other work on the machine affects
both. Times are CPU seconds of the best of several calls; a ratio above 1 says that this checkout is slower.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.first_use import OURS

_TURNS = 3
_PAPER = "bandit = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])\n"
_RANDOM = "rng = np.random.default_rng(1)\n"
_TASKS = {
    "P(best), K = 4, 200,000 rows": (
        _RANDOM + "m, s = rng.normal(size=(200_000, 4)), np.exp(rng.normal(size=(200_000, 4)))",
        "feint.best_arm_probabilities(m, s)",
    ),
    "Beta P(best), K = 4, 20,000 rows": (
        _RANDOM + "a, b = np.floor(np.exp(rng.uniform(0, 6, (2, 20_000, 4)))) + 1.0",
        "feint.beta_best_arm_probabilities(a, b)",
    ),
    "boost, 1,000,000 rows": (_RANDOM + "p = rng.uniform(size=1_000_000)", "feint.boost_probability(p, 0.1)"),
    "eager, 40 runs of 10,000": (
        _PAPER,
        "feint.simulate(bandit, epsilon=0.1, horizon=10_000, replications=40, method='eager')",
    ),
    "lazy, 100 runs of 100,000": (_PAPER, "feint.simulate(bandit, epsilon=0.1, horizon=100_000, replications=100)"),
    "event, 20 runs of 10⁹": (
        _PAPER,
        "feint.simulate(bandit, epsilon=0.1, horizon=10**9, replications=20, method='event')",
    ),
    "lazy Bernoulli, 20 runs of 20,000": (
        "bandit = feint.Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.3], family=feint.Bernoulli())",
        "feint.simulate(bandit, epsilon=0.1, horizon=20_000, replications=20)",
    ),
    "Algorithm 1 with an observer, 20 runs of 10,000": (
        _PAPER,
        "feint.simulate(bandit, epsilon=0.1, horizon=10_000, replications=20, observe=True)",
    ),
    "plan": (_PAPER, "feint.plan(bandit, epsilon=0.1, delta=0.001)"),
    "optimal_boosting, 200 times": (_PAPER, "[feint.optimal_boosting(bandit) for _ in range(200)]"),
}
_MEASURE = """
import time
import numpy as np
import feint
{setup}
best = float("inf")
for _ in range(4):  # the first compiles or loads kernels
    start = time.process_time()
    {call}
    best = min(best, time.process_time() - start)
print(best)
"""


def _seconds(source: Path, setup: str, call: str) -> float:
    environment = os.environ | {"PYTHONPATH": str(source), "FEINT_THREADS": "1"}
    script = _MEASURE.format(setup=setup, call=call)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def compare(other: Path) -> str:
    """Return the table of all tasks."""
    lines = ["| task | ours, CPU s | the other, CPU s | ratio |", "| --- | --- | --- | --- |"]
    for name, (setup, call) in _TASKS.items():
        turns = [(_seconds(OURS, setup, call), _seconds(other, setup, call)) for _ in range(_TURNS)]
        ours, theirs = (min(found) for found in zip(*turns, strict=True))
        lines.append(f"| {name} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, metavar="SRC", help="the src of another checkout")
    print(compare(parser.parse_args().other.resolve()))
