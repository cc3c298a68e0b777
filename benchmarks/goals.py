"""Compare goals with the best arm, by CPU time per step on one core: `python -m benchmarks.goals`, or as a part of
`make bench`.
"""

import time

from benchmarks import engine
from benchmarks.threads import threads
from feint.goals import AboveThreshold, BestArm, TopArms
from feint.simulation.simulate import simulate

HORIZON, REPLICATIONS, ROUNDS = 100_000, 2, 3
METHODS = ("eager", "lazy")
GOALS = BestArm(), TopArms(2), AboveThreshold(0.25)


def seconds(goal: object, method: str, seed: int) -> float:
    """Return the CPU seconds per step of Algorithm 1 on the paper's instance."""
    start = time.process_time()
    simulate(engine.PAPER, goal=goal, epsilon=0.1, horizon=HORIZON, replications=REPLICATIONS, seed=seed, method=method)
    return (time.process_time() - start) / (HORIZON * REPLICATIONS)


def speed() -> str:
    """Return a table of the time per step of each goal, the best of rounds in which all take their turn."""
    best = {(goal, method): float("inf") for goal in GOALS for method in METHODS}
    with threads(1):
        for goal, method in best:
            seconds(goal, method, 0)  # compiles
        for seed in range(1, ROUNDS + 1):
            for goal, method in best:
                best[goal, method] = min(best[goal, method], seconds(goal, method, seed))
    usual = best[GOALS[0], "eager"]
    rows = [
        f"| `{goal!r}` | {1e9 * best[goal, 'eager']:,.0f} ns | {best[goal, 'eager'] / usual:.2f} | "
        f"{1e9 * best[goal, 'lazy']:,.0f} ns | {best[goal, 'eager'] / best[goal, 'lazy']:.1f} times |"
        for goal in GOALS
    ]
    return "\n".join(
        [
            f"## Goals\nA step of Algorithm 1 on the paper's instance, ε = 0.1, T = {HORIZON:,}; one core.\n",
            "| goal | eager step | ÷ that of BestArm | lazy step | lazy over eager |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    print(speed())
