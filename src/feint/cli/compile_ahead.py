"""Compile ahead what a first use would compile: each task in its own process, since a process compiles one kernel at a
time.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from feint.bandit import Bandit
from feint.numerics._kernel_files import remove
from feint.numerics._threads import thread_count
from feint.registry import parse_families, registered
from feint.registry.instance_files import PAPER


def _compile_run(bandit: Bandit = PAPER) -> None:
    from feint import simulate

    simulate(bandit, epsilon=0.1, horizon=10, replications=1)


def _observe(bandit: Bandit = PAPER) -> None:
    from feint import simulate

    simulate(bandit, epsilon=0.1, horizon=10, replications=1, observe=True)


def _agent() -> None:
    from feint import Agent, Observer, best_arm_probabilities

    best_arm_probabilities([0.0, 1.0], [1.0, 1.0])
    agent, observer = Agent(4, epsilon=0.1), Observer(4)
    for t in range(5):
        arm = agent.pull()
        agent.update(arm, 0.1 * t, 0.2 * t)
        observer.update(arm, 0.1 * t)
    assert agent.confidence <= 1


def _compile_plan(bandit: Bandit = PAPER) -> None:
    from feint import plan

    plan(bandit, 0.1, 0.1)


def _audit() -> None:
    from feint import Bernoulli, Split, audit
    from feint.agent.public_log import public_log
    from feint.explorers import TopTwo

    log = public_log(PAPER, TopTwo(), epsilon=0.1, horizon=20)
    audit(log["arm"], log["reward"], n_arms=4)
    audit(log["arm"], (log["reward"] > 0).astype(float), n_arms=4, family=Bernoulli())
    audit(log["arm"], probabilities=np.full((20, 4), 0.25))
    audit(log["arm"], propensities=np.full(20, 0.25), n_arms=4)
    audit(np.arange(10_000) * 7 % 11 % 4, n_arms=4, reference=Split(), explain=False)  # long enough for all kernels


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
    from feint.experiments.greedy import Greedy
    from feint.explorers import FixedTilting

    for explorer in (FixedTilting(PAPER.private), Earn(), Greedy()):
        simulate(PAPER, explorer, epsilon=0.1, horizon=10, replications=1)
    simulate(PAPER, Earn(), epsilon=0.1, horizon=10, replications=1, observe=True)


def _audit_rewards(bandit: Bandit) -> None:
    from feint import audit
    from feint.agent.public_log import public_log
    from feint.explorers import TopTwo

    log = public_log(bandit, TopTwo(), epsilon=0.1, horizon=20)
    audit(log["arm"], log["reward"], n_arms=4, family=bandit.families[0])


TASKS: dict[str, Callable[[], None]] = {
    "run": _compile_run,
    "run --observe": _observe,
    "audit": _audit,
    "reproduce figure1": _events,
    "reproduce earning": _earning,
    "reproduce schedules": _schedules,
    "plan": _compile_plan,
    "app": _agent,
}


OF_FAMILIES: dict[str, Callable[[Bandit], None]] = {
    "run": _compile_run,
    "run --observe": _observe,
    "plan": _compile_plan,
    "audit": _audit_rewards,
}


def tasks_of(families: str | None) -> list[tuple[str, str]]:
    """Return what to compile, as pairs (task, families): by default, what commands use with normal rewards.

    `families` is one family, or the public and the private one, as in `feint run --family`; "all" means every pair.
    """
    if families is None:
        return [(task, "") for task in TASKS]
    if families == "all":
        names = list(registered("family"))
        pairs = [public if public == private else f"{public},{private}" for public in names for private in names]
        return [*tasks_of(None), *((task, pair) for pair in pairs for task in OF_FAMILIES)]
    parse_families(families)
    return [(task, families) for task in OF_FAMILIES]


def compile_tasks(families: str | None, say: Callable[[str], object]) -> tuple[float, list[str]]:
    """Compile for these families (see `tasks_of`); return the seconds it took and the failed tasks with their reasons.

    Kernels that the current sources cannot use are removed.
    """
    start = time.monotonic()
    tasks = tasks_of(families)
    remove(stale_only=True)

    def work(task: tuple[str, str]) -> str | None:
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-m", "feint.cli.compile_ahead", *task], capture_output=True, text=True)
        if done.returncode == 0:
            say(f"feint: compiled for {_name(task)} ({time.monotonic() - began:.0f} s)")
            return None
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        return f"{_name(task)} (exit code {done.returncode}: {last})"

    with ThreadPoolExecutor(thread_count()) as pool:
        failures = list(pool.map(work, tasks))
    return time.monotonic() - start, [failure for failure in failures if failure is not None]


def _name(task: tuple[str, str]) -> str:
    return " ".join(filter(None, [task[0], task[1] and f"--family {task[1]}"]))


def _work(task: str, families: str) -> None:
    if families:
        OF_FAMILIES[task](Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.1], family=parse_families(families)))
    else:
        TASKS[task]()


if __name__ == "__main__":
    _work(*sys.argv[1:])
