"""Measure how long a plan takes, against simulating what it draws."""

import math
import time
from functools import partial

from benchmarks.plan_accuracy import INSTANCES as FAMILIES
from feint import Bandit, plan, simulate
from feint.registry.instance_files import PAPER

_PATHS, _RUNS, _END = 4000, 200, 10**7
_DELTA = 1e-3
_QUICK = 1.5  # seconds: what a plan for rewards that are not normal may take
_INSTANCES = (  # the instances of docs/theory.md with four arms, with ε and the seconds that a plan may take
    (PAPER, 0.1, 1.0),
    (PAPER, 0.001, 1.2),
    (PAPER, 1.0, 1.0),
    (PAPER, math.inf, 1.0),
    (Bandit((0.6, 0.1, 0.1, 0.1), (0.2, 0.5, 0.0, 0.0)), 0.1, 1.0),
    (Bandit((0.6, 0.5, 0.0, 0.3), (0.2, 0.5, 0.0, 0.0)), 0.03, 1.0),
)


def cpu_seconds(bandit: Bandit, epsilon: float) -> float:
    """Return the CPU seconds of a plan, best of five, after one that compiles."""
    plan(bandit, epsilon, _DELTA)
    times = []
    for _ in range(5):
        start = time.process_time()
        plan(bandit, epsilon, _DELTA)
        times.append(time.process_time() - start)
    return min(times)


def speed() -> str:
    """Return the table of a plan's CPU seconds, best of five, and of simulating runs until they are sure, on all cores.

    Unlike the plan, the simulated runs say nothing about who notices.
    """
    lines = [
        f"## Plans, K = 4, δ = {_DELTA:g}\n",
        f"| public | private | ε | plan, CPU s | at most | {_PATHS:,} runs simulated, s | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for bandit, epsilon, most in _INSTANCES:
        until_sure = partial(simulate, bandit, epsilon=epsilon, horizon=_END, checkpoints=[_END], delta=_DELTA)
        until_sure(replications=1)
        planned = cpu_seconds(bandit, epsilon)
        start = time.perf_counter()
        until_sure(replications=_RUNS)
        runs = (time.perf_counter() - start) * _PATHS / _RUNS
        cells = [", ".join(f"{mean:g}" for mean in means) for means in (bandit.public, bandit.private)]
        cells += [f"{epsilon:g}", f"{planned:.2f}", f"{most:g}", f"{runs:.0f}", f"{runs / planned:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def families() -> str:
    """Return the table of a plan's CPU seconds for rewards that are not normal, with four arms."""
    lines = [
        "## Plans for other rewards, K = 4\n",
        "| rewards | ε | plan, CPU s | at most |",
        "| --- | --- | --- | --- |",
    ]
    for bandit, epsilon in FAMILIES:
        if bandit.n_arms == 4:
            names = " / ".join(dict.fromkeys(type(family).__name__ for family in bandit.families))
            lines.append(f"| {names} | {epsilon:g} | {cpu_seconds(bandit, epsilon):.2f} | {_QUICK:g} |")
    return "\n".join(lines) + "\n"
