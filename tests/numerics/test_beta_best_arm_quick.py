"""Quick best-arm probabilities of Beta and Gamma posteriors are close to the exact ones."""

import numpy as np
import pytest

from feint.families import Bernoulli, Exponential, Poisson
from feint.numerics.beta_best_arm_quick import quick_beta_log_best

FAMILIES = {  # with means, the prior, and how sums of n rewards are drawn
    "bernoulli": (Bernoulli(), (0.6, 0.3, 0.1, 0.2), (1.0, 1.0), lambda rng, n, m: rng.binomial(n, m)),
    "poisson": (Poisson(), (3.0, 2.0, 1.0, 1.5), (0.5, 0.0), lambda rng, n, m: rng.poisson(n * m)),
    "exponential": (Exponential(), (1.0, 0.6, 0.3, 0.4), (0.0, 0.0), lambda rng, n, m: rng.gamma(n, m)),
}


def both(name, pulls, n=2000):
    """Return quick and exact log P, (K, n), after about this many pulls of each arm."""
    family, means, prior, draw = FAMILIES[name]
    rng = np.random.default_rng(0)
    counts = np.ceil(np.asarray(pulls)[:, None] * np.exp(rng.uniform(-0.5, 0.5, (4, n)))).astype(np.int64)
    sums = draw(rng, counts, np.asarray(means)[:, None]).astype(float)
    first, second = family.posterior(prior, counts.astype(float), sums)
    return family.quick_log_probabilities(first, second), family.log_probabilities(first.T, second.T).T


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    ("pulls", "middle", "worst"),
    [
        ((1, 1, 1, 1), 0.015, 0.15),
        ((9, 5, 4, 5), 0.008, 0.05),
        ((900, 40, 30, 30), 0.004, 0.03),
        ((3e7, 9e3, 5e3, 5e3), 0.001, 0.01),
    ],
)
def test_what_agents_meet(name, pulls, middle, worst):
    """Differences of log P in the median and at 99 % are largest where arms have been pulled once or twice."""
    found, exact = both(name, pulls)
    median, most = np.quantile(abs(found - exact), (0.5, 0.99))
    assert median < middle
    assert most < worst
    np.testing.assert_allclose(np.exp(found).sum(0), 1.0, rtol=1e-12)


def test_arms_keep_their_places():
    alphas, betas = np.array([[600.0], [8.0], [2.0], [4.0]]), np.array([[400.0], [12.0], [8.0], [11.0]])
    order = [2, 0, 3, 1]
    np.testing.assert_array_equal(
        quick_beta_log_best(alphas[order], betas[order]), quick_beta_log_best(alphas, betas)[order]
    )
    tied = quick_beta_log_best(np.full((2, 1), 30.0), np.full((2, 1), 50.0))
    np.testing.assert_allclose(tied, np.log(0.5), rtol=1e-12)
