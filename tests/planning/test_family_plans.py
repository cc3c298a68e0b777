"""Plans for rewards that are not normal agree with simulation; docs/theory.md has more instances."""

import math

import numpy as np
import pytest

import feint
from feint import Bandit, Bernoulli, Exponential, Gaussian, Poisson, plan

RATES, COUNTS, WAITS = (0.05, 0.02, 0.03), (3.0, 2.0, 1.0, 1.5), (1.0, 0.6, 0.3, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bandit", "epsilon"),
    [
        (Bandit(RATES, (0.1, 0.2, 0.05), family=Bernoulli()), 0.1),
        (Bandit(COUNTS, (1.0, 2.0, 0.5, 0.8), family=Poisson()), 1.0),
        (Bandit(WAITS, (0.4, 1.0, 0.3, 0.2), family=Exponential()), 1.0),
        (Bandit((0.6, 0.3, 0.1, 0.2), (0.2, 0.5, 0.1, 0.05), family=(Gaussian(0.5), Bernoulli())), 1.0),
    ],
)
def test_algorithm_1_against_simulation(bandit, epsilon):
    """The mean is within 8 %, and the median between order statistics ± 8 %, each with 3.5 standard errors on top."""
    n, end = 600, 10**6
    found = plan(bandit, epsilon, 1e-3)
    runs = feint.simulate(bandit, epsilon=epsilon, horizon=end, replications=n, checkpoints=[end], delta=1e-3, seed=37)
    times = runs.stopping_time.values
    error = math.hypot(times.std() / math.sqrt(n), found.standard_error)
    assert abs(found.time - times.mean()) < 0.08 * times.mean() + 3.5 * error
    off = 3.5 * 0.5 * math.sqrt(1 / n + 1 / 4000)
    low, high = np.quantile(times, (0.5 - off, 0.5 + off), method="nearest")
    assert 0.92 * low < found.quantiles[1] < 1.08 * high
