"""Measure how long a plan takes, against simulating what it draws."""

import math
import time
from functools import partial

from benchmarks.best_arm import seconds
from feint import Bandit, plan, simulate
from feint.registry.instances import PAPER

_PATHS, _RUNS, _END = 4000, 200, 10**7
_DELTA = 1e-3
_INSTANCES = (  # those of docs/theory.md with four arms
    (PAPER, 0.1),
    (PAPER, 1.0),
    (PAPER, math.inf),
    (Bandit((0.6, 0.1, 0.1, 0.1), (0.2, 0.5, 0.0, 0.0)), 0.1),
    (Bandit((0.6, 0.5, 0.0, 0.3), (0.2, 0.5, 0.0, 0.0)), 0.03),
)


def speed() -> str:
    """Return the table of a plan's seconds on one core, best of five, and of simulated runs until sure on all cores.

    The runs say nothing about who notices.
    """
    lines = [
        f"## Plans, K = 4, δ = {_DELTA:g}\n",
        f"| public | private | ε | plan, s | at most | {_PATHS:,} runs simulated, s | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for bandit, epsilon in _INSTANCES:
        until_sure = partial(simulate, bandit, epsilon=epsilon, horizon=_END, checkpoints=[_END], delta=_DELTA)
        until_sure(replications=1)
        planned = seconds(plan, bandit, epsilon, _DELTA)
        start = time.perf_counter()
        until_sure(replications=_RUNS)
        runs = (time.perf_counter() - start) * _PATHS / _RUNS
        cells = [", ".join(f"{mean:g}" for mean in means) for means in (bandit.public, bandit.private)]
        cells += [f"{epsilon:g}", f"{planned:.2f}", "1", f"{runs:.0f}", f"{runs / planned:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
