"""How long a plan takes, against simulating what it draws."""

import math
import time
from collections.abc import Callable
from functools import partial

from feint import Bandit, plan, simulate

_PATHS, _RUNS, _END = 4000, 200, 10**7
_DELTA = 1e-3
_INSTANCES = (  # those of docs/theory.md with four arms
    ((0.6, 0.3, 0.0, 0.2), (0.2, 0.5, 0.1, 0.0), 0.1),
    ((0.6, 0.3, 0.0, 0.2), (0.2, 0.5, 0.1, 0.0), 1.0),
    ((0.6, 0.3, 0.0, 0.2), (0.2, 0.5, 0.1, 0.0), math.inf),
    ((0.6, 0.1, 0.1, 0.1), (0.2, 0.5, 0.0, 0.0), 0.1),
    ((0.6, 0.5, 0.0, 0.3), (0.2, 0.5, 0.0, 0.0), 0.03),
)


def _seconds(work: Callable[[], object], times: int) -> float:
    """The least of some."""
    found = math.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


def speed() -> str:
    """A plan on one core, best of five; runs of Algorithm 1 until sure on all, which say nothing of who notices."""
    lines = [
        f"## Plans, K = 4, δ = {_DELTA:g}\n",
        f"| public | private | ε | plan, s | at most | {_PATHS:,} runs simulated, s | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for public, private, epsilon in _INSTANCES:
        bandit = Bandit(public, private)
        until_sure = partial(simulate, bandit, epsilon=epsilon, horizon=_END, checkpoints=[_END], delta=_DELTA)
        until_sure(replications=1)
        planned = _seconds(partial(plan, bandit, epsilon, _DELTA), 5)
        runs = _seconds(partial(until_sure, replications=_RUNS), 1) * _PATHS / _RUNS
        cells = [", ".join(f"{mean:g}" for mean in public), ", ".join(f"{mean:g}" for mean in private), f"{epsilon:g}"]
        cells += [f"{planned:.2f}", "1", f"{runs:.0f}", f"{runs / planned:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
