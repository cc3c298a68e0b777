"""Compile what a first use would, ahead of it: each task in a process of its own, since one process compiles one kernel
at a time.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from feint.instances import PAPER
from feint.numerics._threads import thread_count


def _run() -> None:
    from feint import simulate

    simulate(PAPER, epsilon=0.1, horizon=10, replications=1)


def _observe() -> None:
    from feint import simulate

    simulate(PAPER, epsilon=0.1, horizon=10, replications=1, observe=True)


def _agent() -> None:
    from feint import Agent, Observer, best_arm_probabilities

    best_arm_probabilities([0.0, 1.0], [1.0, 1.0])
    agent, observer = Agent(4, epsilon=0.1), Observer(4)
    for t in range(5):
        arm = agent.pull()
        agent.update(arm, 0.1 * t, 0.2 * t)
        observer.update(arm, 0.1 * t)
    assert agent.confidence <= 1


def _plan() -> None:
    from feint import plan

    plan(PAPER, 0.1, 0.1)


def _audit() -> None:
    from feint import Bernoulli, audit
    from feint.explorers import TopTwo
    from feint.logs import public_log

    log = public_log(PAPER, TopTwo(), epsilon=0.1, horizon=20)
    audit(log["arm"], log["reward"], n_arms=4)
    audit(log["arm"], (log["reward"] > 0).astype(float), n_arms=4, family=Bernoulli())
    audit(log["arm"], probabilities=np.full((20, 4), 0.25))
    audit(log["arm"], propensities=np.full(20, 0.25), n_arms=4)


def _events() -> None:
    from feint import RoundRobin, TopTwo, simulate

    for explorer in (TopTwo(), RoundRobin([1])):
        simulate(PAPER, explorer, epsilon=0.1, horizon=100, replications=1, method="event")


def _schedules() -> None:
    from feint import RoundRobin, simulate

    for observe in (False, True):
        simulate(PAPER, RoundRobin([1]), epsilon=0.1, horizon=10, replications=1, observe=observe)


def _earning() -> None:
    from feint import Earn, simulate
    from feint.experiments.earning import Greedy
    from feint.explorers import FixedTilting

    for explorer in (FixedTilting(PAPER.private), Earn(), Greedy()):
        simulate(PAPER, explorer, epsilon=0.1, horizon=10, replications=1)
    simulate(PAPER, Earn(), epsilon=0.1, horizon=10, replications=1, observe=True)


TASKS: dict[str, Callable[[], None]] = {
    "run": _run,
    "run --observe": _observe,
    "audit": _audit,
    "reproduce rate": _events,
    "reproduce earning": _earning,
    "reproduce schedules": _schedules,
    "plan": _plan,
    "app": _agent,
}


def warm_all(say: Callable[[str], object]) -> tuple[float, list[str]]:
    """Run every task; returns the seconds it took and the tasks that failed."""
    start = time.monotonic()

    def work(name: str) -> bool:
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-m", "feint.warming", name], capture_output=True, check=False)
        say(f"feint: compiled for {name} ({time.monotonic() - began:.0f} s)")
        return done.returncode == 0

    with ThreadPoolExecutor(thread_count()) as pool:
        succeeded = list(pool.map(work, TASKS))
    return time.monotonic() - start, [name for name, ok in zip(TASKS, succeeded, strict=True) if not ok]


if __name__ == "__main__":
    TASKS[sys.argv[1]]()
