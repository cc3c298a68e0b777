"""Compare plans for rewards that are not normal with simulated runs: `python -m benchmarks.plan_accuracy`."""

import math

import numpy as np

from feint import Bandit, Bernoulli, Exponential, Gaussian, Poisson, plan, simulate

DELTA = 1e-3
_END, _SEED = 10**8, 32
_RUNS = 4000  # which bring the standard error of a mean to 1 to 4 %
_RATES = ((0.6, 0.3, 0.1, 0.2), (0.2, 0.5, 0.1, 0.05)), ((0.9, 0.8, 0.6, 0.7), (0.3, 0.4, 0.8, 0.5))
_COUNTS = ((3.0, 2.0, 1.0, 1.5), (1.0, 2.0, 0.5, 0.8)), ((0.6, 0.3, 0.1, 0.2), (0.2, 0.5, 0.1, 0.05))
_WAITS = ((1.0, 0.6, 0.3, 0.4), (0.4, 1.0, 0.3, 0.2)), ((3.0, 1.0, 2.0), (0.5, 0.6, 1.2))
INSTANCES = [
    *((Bandit(*_RATES[0], family=Bernoulli()), epsilon) for epsilon in (0.1, 1.0, 0.01)),
    (Bandit(*_RATES[1], family=Bernoulli()), 0.1),
    (Bandit((0.05, 0.02, 0.03), (0.1, 0.2, 0.05), family=Bernoulli()), 0.1),
    *((Bandit(*_COUNTS[0], family=Poisson()), epsilon) for epsilon in (0.1, 1.0, 0.03)),
    (Bandit(*_COUNTS[1], family=Poisson()), 0.1),
    (Bandit((20.0, 18.0, 15.0), (5.0, 6.0, 9.0), family=Poisson()), 0.3),
    *((Bandit(*_WAITS[0], family=Exponential()), epsilon) for epsilon in (0.1, 1.0, 0.03)),
    (Bandit(*_WAITS[1], family=Exponential()), 0.1),
    (Bandit((1.0, 0.5), (0.5, 1.0), family=Exponential()), 0.03),
    (Bandit(*_RATES[0], family=(Bernoulli(), Gaussian(0.2))), 0.1),
    (Bandit(*_RATES[0], family=(Gaussian(0.5), Bernoulli())), 0.1),
    (Bandit(*_RATES[0], family=(Bernoulli(), Poisson())), 0.1),
    (Bandit(*_COUNTS[0], family=(Poisson(), Exponential())), 0.1),
    (Bandit(_RATES[1][0], _WAITS[0][1], family=(Bernoulli(), Exponential())), 0.1),
]


def row(bandit: Bandit, epsilon: float) -> str:
    """Return a row of the table: the mean and the median of stopping times, simulated and planned."""
    found = plan(bandit, epsilon, DELTA)
    settings = {"epsilon": epsilon, "delta": DELTA, "seed": _SEED}
    runs = simulate(bandit, horizon=_END, replications=_RUNS, checkpoints=[_END], **settings)
    times = np.nan_to_num(runs.stopping_time.values, nan=math.inf)
    mean, median = times.mean(), float(np.median(times))
    names = " / ".join(dict.fromkeys(type(family).__name__ for family in bandit.families))
    cells = [names, *(", ".join(f"{mean:g}" for mean in means) for means in (bandit.public, bandit.private))]
    cells += [f"{epsilon:g}", f"{_RUNS:,}", f"{mean:,.0f} ± {times.std() / math.sqrt(times.size):,.0f}"]
    cells += [f"{found.time:,.0f} ({100 * (found.time / mean - 1):+.1f} %)", f"{median:,.0f}"]
    cells += [f"{found.quantiles[1]:,.0f} ({100 * (found.quantiles[1] / median - 1):+.1f} %)"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    heads = ["rewards", "public means", "private means", "ε", "runs"]
    heads += ["simulated mean", "planned", "simulated median", "planned"]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for instance in INSTANCES:
        print(row(*instance), flush=True)


if __name__ == "__main__":
    main()
