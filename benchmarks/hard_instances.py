"""Compare lazy with eager and NumPy where public means are close or the run is short, by CPU time on one core."""

import time
from typing import NamedTuple

import numpy as np

from benchmarks import bernoulli, engine
from benchmarks.threads import threads
from feint.bandit import Bandit
from feint.families import Bernoulli
from feint.simulation.simulate import simulate

EPSILON = 0.1
ROUNDS = 3  # lazy, eager and NumPy in turn, so that other work on the machine affects all of them
HORIZONS = {10_000: 10, 100_000: 2}  # with the replications of each
PRIVATE = [0.2, 0.5, 0.1, 0.0]


class Row(NamedTuple):
    """One instance and its name in the table."""

    name: str
    bandit: Bandit


def rows() -> list[Row]:
    """Return instances on which lazy evaluation helps least; random means come from a fixed seed."""
    rng = np.random.default_rng(12)
    ten = rng.uniform(-0.2, 0.6, 10)
    return [
        Row("paper", engine.PAPER),
        Row("(0.6, 0.5, 0.4, 0.3)", Bandit([0.6, 0.5, 0.4, 0.3], PRIVATE)),
        Row("(0.5, 0.48, 0.46, 0.44)", Bandit([0.5, 0.48, 0.46, 0.44], PRIVATE)),
        Row("four equal", Bandit([0.5] * 4, PRIVATE)),
        Row("K = 10, gaps of 0.05", Bandit(0.6 - 0.05 * np.arange(10), ten)),
        Row("K = 10, random", Bandit(rng.uniform(0.0, 0.6, 10), rng.uniform(-0.2, 0.6, 10))),
        Row("Bernoulli (0.6, 0.5, 0.4, 0.3)", Bandit([0.6, 0.5, 0.4, 0.3], [0.2, 0.5, 0.1, 0.3], family=Bernoulli())),
    ]


def feint_seconds(bandit: Bandit, horizon: int, replications: int, method: str, seed: int) -> float:
    """Return the CPU seconds per trajectory-step."""
    start = time.process_time()
    simulate(bandit, epsilon=EPSILON, horizon=horizon, replications=replications, seed=seed, method=method)
    return (time.process_time() - start) / (horizon * replications)


def numpy_seconds(bandit: Bandit) -> float:
    """Return the CPU seconds per trajectory-step of a careful NumPy user's version, over 100 seeds."""
    steps = 400 // bandit.n_arms
    start = time.process_time()
    if bandit.families[0] == Bernoulli():
        bernoulli.numpy_run(bandit, EPSILON, steps, 100, all_arms=False)
    else:
        engine.numpy_run(bandit, EPSILON, steps, 100)
    return (time.process_time() - start) / (steps * 100)


def measure(row: Row, horizon: int, replications: int) -> dict[str, float]:
    """Return the µs per trajectory-step of every method: the medians over the rounds."""
    times: dict[str, list[float]] = {"lazy": [], "eager": [], "numpy": []}
    for method in ("lazy", "eager"):
        feint_seconds(row.bandit, 1_000, 1, method, 0)  # compile
    for seed in range(ROUNDS):
        for method in ("lazy", "eager"):
            times[method].append(feint_seconds(row.bandit, horizon, replications, method, seed))
        times["numpy"].append(numpy_seconds(row.bandit))
    return {method: 1e6 * float(np.median(each)) for method, each in times.items()}


def speed() -> str:
    """Return the table."""
    lines = [f"## Hard instances: Algorithm 1, ε = {EPSILON:g}, µs of CPU time per trajectory-step, one core\n"]
    lines.append("| public means | horizon | NumPy, 100 seeds | eager | lazy | eager/lazy | NumPy/lazy |")
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    with threads(1):
        for horizon, replications in HORIZONS.items():
            for row in rows():
                found = measure(row, horizon, replications)
                lazy = found["lazy"]
                lines.append(
                    f"| {row.name} | {horizon:,} | {found['numpy']:.1f} | {found['eager']:.2f} | {lazy:.3f} "
                    f"| {found['eager'] / lazy:.1f} | {found['numpy'] / lazy:.0f} |"
                )
    lines.append(
        "\nPrivate means are the paper's, (0.2, 0.5, 0.1, 0), for four arms with normal rewards, (0.2, 0.5, 0.1, 0.3) "
        "for Bernoulli ones, and random for ten. Lazy and eager trajectories are the same, bit for bit. NumPy is timed "
        "over the first steps of a run.\n"
    )
    return "\n".join(lines)
