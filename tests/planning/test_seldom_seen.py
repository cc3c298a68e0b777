"""Plans where private rewards are seldom or never seen: paths against simulated runs, and the pieces of their law."""

import numpy as np
import pytest

import feint
from cases import PAPER
from feint.planning.plan import planned_median
from feint.planning.seldom_seen import private_side
from feint.support.intervals import median_interval

SELDOM = feint.Bandit(PAPER.public, PAPER.private, sigma=0.5, feedback=feint.Sometimes(0.2, 0.8))
LINKED = feint.Bandit(PAPER.public, feedback=feint.Linked([0] * 4, [-1, -1.5, -1, -1]))


def test_estimates_of_paths_have_the_law_of_the_belief():
    """After leaps of 1, 9 and 90 pulls: unbiased, of the belief's variance, and correlated with the public mean by
    ρσ_xσ_y/N; within 5 standard errors of 40,000 paths.
    """
    rng, paths = np.random.default_rng(1), 40_000
    side, mu = private_side(SELDOM), np.array(SELDOM.public)[:, None]
    sums, public, pulls = (np.zeros((4, paths)) for _ in range(3))
    for count in (1.0, 9.0, 90.0):
        counts = np.full((4, paths), count)
        pulls = pulls + counts
        after = public + counts * mu + 0.5 * np.sqrt(counts) * rng.standard_normal(counts.shape)
        sums = side.learn(sums, pulls, counts, rng.random(counts.shape), (public, after))
        public = after
    estimates, seen = sums / pulls, 1 + 0.2 * 99
    variance = 0.25 * (0.36 / seen + 0.64 / 100)
    error = 5 / np.sqrt(paths)
    np.testing.assert_allclose(estimates.mean(1), SELDOM.private, atol=error * np.sqrt(variance))
    np.testing.assert_allclose(estimates.var(1), variance, rtol=error * np.sqrt(2))
    for arm in range(4):
        shared = np.cov(estimates[arm], public[arm] / 100)[0, 1]
        assert shared == pytest.approx(0.8 * 0.25 / 100, abs=error * np.sqrt(2 * variance * 0.25 / 100))


def test_linked_estimates_follow_public_means():
    side, pulls = private_side(LINKED), np.full((4, 1), 10.0)
    public = 10.0 * np.array([[0.5], [0.2], [0.1], [0.3]])
    found = side.learn(pulls * 0, pulls, pulls, pulls * 0 + 0.5, (pulls * 0, public)) / pulls
    np.testing.assert_allclose(found[:, 0], [-0.5, -0.3, -0.1, -0.3], rtol=1e-15)
    np.testing.assert_allclose(side.variances[:, 0], [1.0, 2.25, 1.0, 1.0], rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("bandit", [SELDOM, LINKED], ids=["seldom", "never"])
def test_plans_agree_with_simulated_runs(bandit):
    """The planned median lies in the simulated one's interval (false failures: 1e-6), widened by the plan's 10 %."""
    runs = feint.simulate(
        bandit, epsilon=0.1, horizon=10**6, replications=3000, seed=1, delta=0.01, checkpoints=[10**6]
    )
    _, low, high = median_interval(runs.stopping_time.values, 1e-6)
    assert 0.9 * low < planned_median(bandit, 0.1, 0.01) < 1.1 * high
