"""Time the observer's test and the audit per pull, against the same test in NumPy with the paper's approximations."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.engine import peak_mebibytes
from feint.agent.observer import Observer
from feint.agent.public_log import write_log
from feint.auditing import audit, audit_log
from feint.evidence.boost_mixture import EPSILONS
from feint.evidence.fixed_share import SHARE
from feint.numerics.best_arm import gauss_hermite_rule
from feint.numerics.boost import boost_probability_approx


class NumpyObserver:
    """The test's mixture over boosted arms and budgets, vectorised over both, with Gauss–Hermite 32 and q-hat."""

    def __init__(self, n_arms: int) -> None:
        self.pulls, self.sums = np.ones(n_arms), np.zeros(n_arms)
        self.weights = np.full((len(EPSILONS), n_arms), 1 / n_arms)
        self.log_e = np.zeros(len(EPSILONS))
        self.epsilons = np.array(EPSILONS)[:, None]
        self.rule = np.polynomial.hermite.hermgauss(32)

    def update(self, arm: int, reward: float) -> float:
        pi = gauss_hermite_rule(self.sums / self.pulls, 1 / np.sqrt(self.pulls), *self.rule)
        q = boost_probability_approx(pi, self.epsilons)
        ratios = (1 - q) / (1 - pi)
        ratios[:, arm] = q[:, arm] / pi[arm]
        posterior = self.weights * ratios
        total = posterior.sum(1)
        self.log_e += np.log(total)
        self.weights = (1 - SHARE) * posterior / total[:, None] + SHARE / pi.size
        self.pulls[arm] += 1
        self.sums[arm] += reward
        return float(np.logaddexp.reduce(self.log_e))


def a_log(n_arms: int, rows: int) -> tuple[list[int], list[float]]:
    """Return pulls and rewards like those of Thompson Sampling late in a run."""
    rng = np.random.default_rng(n_arms)
    share = np.r_[0.96, np.full(n_arms - 1, 0.04 / (n_arms - 1))]
    arms = np.r_[np.arange(n_arms), rng.choice(n_arms, rows - n_arms, p=share)]
    means = np.r_[0.6, rng.uniform(0, 0.3, n_arms - 1)]
    return arms.tolist(), (means[arms] + rng.normal(size=rows)).tolist()


def _microseconds(observer: Observer | NumpyObserver, arms: list[int], rewards: list[float]) -> float:
    start = time.perf_counter()
    for arm, reward in zip(arms, rewards, strict=True):
        observer.update(arm, reward)
    return 1e6 * (time.perf_counter() - start) / len(arms)


def updates() -> str:
    """Return the table of µs per update."""
    lines = ["## Observer: µs per update, one core, from Python\n", "| K | NumPy, approximate | feint, exact | ratio |"]
    lines.append("| --- | --- | --- | --- |")
    for n_arms in (2, 4, 10, 50):
        arms, rewards = a_log(n_arms, 4_000)
        _microseconds(Observer(n_arms), arms[:200], rewards[:200])
        ours = min(_microseconds(Observer(n_arms), arms, rewards) for _ in range(3))
        theirs = _microseconds(NumpyObserver(n_arms), arms[:1_000], rewards[:1_000])
        lines.append(f"| {n_arms} | {theirs:.0f} | {ours:.1f} | {theirs / ours:.0f}× |")
    return "\n".join(lines) + "\n"


def audits() -> str:
    """Return the table of µs per row of a file."""
    lines = ["## Audit of a log, K = 4, all cores\n", "| file | rows | µs per row | peak memory grew by |"]
    lines.append("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "parquet"):
            for rows in (100_000, 1_000_000):
                path = Path(folder) / f"{rows}.{suffix}"
                arms, rewards = a_log(4, rows)
                write_log({"time": np.arange(rows), "arm": np.array(arms), "reward": np.array(rewards)}, path)
                del arms, rewards
                before = peak_mebibytes()
                start = time.perf_counter()
                audit_log(path)
                seconds = time.perf_counter() - start
                grown = peak_mebibytes() - before
                lines.append(f"| {suffix} | {rows:,} | {1e6 * seconds / rows:.1f} | {grown:.0f} MiB |")
    return "\n".join(lines) + "\n"


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def many_arms() -> str:
    """Return the table of µs per row with the probabilities of 80 arms."""
    rng = np.random.default_rng(0)
    n_arms, rows = 80, 20_000
    claimed = rng.dirichlet(np.ones(n_arms), rows)
    arms = (claimed.cumsum(1) > rng.random((rows, 1))).argmax(1)
    lines = [
        "## Audit of logged probabilities, K = 80\n",
        "| log | CPU µs per row, best of 5 | at most |",
        "| --- | --- | --- |",
    ]

    def add(name: str, work: Callable[[], object]) -> None:
        work()  # loads kernels
        best = min(_cpu(work) for _ in range(5))
        lines.append(f"| {name} | {1e6 * best / rows:.1f} | 30 |")

    add("arrays", lambda: audit(arms, probabilities=claimed))
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("parquet", "csv"):
            path = Path(folder) / f"log.{suffix}"
            write_log({"arm": arms} | {f"p_{a}": claimed[:, a] for a in range(n_arms)}, path)
            add(suffix, lambda path=path: audit_log(path))
    return "\n".join(lines) + "\n"
