"""Plans where private rewards are seldom or never seen: paths agree with simulated runs, and in each detail."""

import math

import numpy as np
import pytest
from scipy import stats

import feint
from cases import PAPER
from feint.budgets import as_budget
from feint.planning.path_draws import keys_of
from feint.planning.path_setup import draw_paths
from feint.planning.plan import planned_median
from feint.planning.seldom_seen import private_side
from feint.planning.sides import Made
from feint.support.intervals import median_interval

SELDOM = feint.Bandit(PAPER.public, PAPER.private, sigma=0.5, feedback=feint.Sometimes(0.2, 0.8))
LINKED = feint.Bandit(PAPER.public, feedback=feint.Linked([0] * 4, [-1, -1.5, -1, -1]))


def test_estimates_of_paths_have_the_law_of_the_belief():
    """After leaps of 1, 9 and 90 pulls: unbiased, of the belief's variance given how many were seen, and correlated
    with the public mean by ρσ_xσ_y/N; within 5 standard errors of 40,000 paths.
    """
    rng, paths = np.random.default_rng(1), 40_000
    side, mu = private_side(SELDOM), np.array(SELDOM.public)[:, None]
    sums, public, pulls, seen = (np.zeros((4, paths)) for _ in range(4))
    for leap, count in enumerate((1.0, 9.0, 90.0)):
        counts = np.full((4, paths), count)
        pulls, before = pulls + counts, seen
        seen = seen + side.look(counts, keys_of(np.arange(paths)), leap)
        after = public + counts * mu + 0.5 * np.sqrt(counts) * rng.standard_normal(counts.shape)
        sums = side.learn(sums, Made(pulls, counts, before, seen), rng.random(counts.shape), (public, after))
        public = after
    estimates = sums / pulls
    variance = 0.25 * (0.36 / seen + 0.64 / 100)
    error = 5 / np.sqrt(paths)
    np.testing.assert_allclose(estimates.mean(1), SELDOM.private, atol=error * np.sqrt(variance.mean()))
    z = (estimates - np.array(SELDOM.private)[:, None]) / np.sqrt(variance)
    np.testing.assert_allclose(z.var(1), 1.0, atol=error * np.sqrt(2))
    np.testing.assert_allclose(side.posterior(pulls, sums, seen)[1] ** 2, variance, rtol=1e-12)
    for arm in range(4):
        shared = np.cov(estimates[arm], public[arm] / 100)[0, 1]
        assert shared == pytest.approx(0.8 * 0.25 / 100, abs=error * np.sqrt(2 * variance[arm].mean() * 0.25 / 100))


def test_how_many_rewards_are_seen_is_binomial():
    """All of the initial round; later counts have the probabilities of a binomial law, within 5 standard errors."""
    side, keys = private_side(SELDOM), keys_of(np.arange(40_000))
    counts = np.broadcast_to(np.array([[0.0], [1.0], [10.0], [90.0]]), (4, 40_000)).copy()
    assert (side.look(counts, keys, 0) == counts).all()
    for found, count in zip(side.look(counts, keys, 7), (0, 1, 10, 90), strict=True):
        k = np.arange(count + 1)
        expected = stats.binom.pmf(k, count, 0.2)
        observed = (found[:, None] == k).mean(0)
        rounding = 0.004 if count == 90 else 0.0  # a rounded normal number, corrected for its skewness
        assert (abs(observed - expected) <= 5 * np.sqrt(expected / 40_000) + rounding).all()
        assert np.isin(found, k).all()


def test_pulls_that_are_seldom_seen_move_estimates_in_lumps():
    """N·μ̂ = ΣZ·N/n + c·ΣX moves by v = (1 − ρ²)/s² + ρ² where the reward is seen, else by ρ²: E[v²]/E[v]²."""
    share, explained = 0.2, 0.8**2
    chances, moves = np.array([share, 1 - share]), np.array([(1 - explained) / share**2 + explained, explained])
    expected = chances @ moves**2 / (chances @ moves) ** 2
    assert private_side(SELDOM).lumps == pytest.approx(expected, rel=1e-12)
    assert private_side(LINKED).lumps == 1


def test_linked_estimates_follow_public_means():
    side, pulls = private_side(LINKED), np.full((4, 1), 10.0)
    public = 10.0 * np.array([[0.5], [0.2], [0.1], [0.3]])
    made = Made(pulls, pulls, pulls * 0, pulls)
    found = side.learn(pulls * 0, made, pulls * 0 + 0.5, (pulls * 0, public)) / pulls
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


FOUR = [0.9, 0.2, 0.5, 0.0], [0.3, 0.9, 0.6, 0.1]
GOALS_AND_FEEDBACKS = {
    "threshold": (feint.Bandit(PAPER.public, PAPER.private), feint.AboveThreshold(0.25)),
    "threshold, seldom seen": (
        feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Sometimes(0.4, 0.5)),
        feint.AboveThreshold(0.25),
    ),
    "seldom seen": (feint.Bandit(*FOUR, feedback=feint.Sometimes(0.4, 0.5)), feint.BestArm()),
    "top arms": (feint.Bandit(*FOUR), feint.TopArms(2)),
    "top arms, seldom seen": (feint.Bandit(*FOUR, feedback=feint.Sometimes(0.4, 0.5)), feint.TopArms(2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GOALS_AND_FEEDBACKS)
def test_plans_of_goals_and_feedbacks_agree_with_simulated_runs(name):
    """Mean times of runs and of three times as many paths are within 3 % and three standard errors (3 % each;
    docs/theory.md).
    """
    bandit, goal = GOALS_AND_FEEDBACKS[name]
    end, n = 10**8, 12_000 if name == "seldom seen" else 4000  # its times vary 2.5 times their mean
    options = {"epsilon": 1.0, "horizon": end, "replications": n, "seed": 31, "delta": 0.05, "checkpoints": [end]}
    times = feint.simulate(bandit, goal=goal, **options).stopping_time.values
    paths = draw_paths(bandit, feint.TopTwo(), as_budget(1.0), 3 * n, delta=0.05, goal=goal).stopped
    error = math.hypot(*(found.std() / found.mean() / math.sqrt(found.size) for found in (times, paths)))
    assert error < 0.03
    assert abs(math.log(paths.mean() / times.mean())) < 0.03 + 3 * error
