"""The posterior probability of a set of arms and its complement agree with other integrations and enumeration."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

import feint
from feint.families.placing import middle_point, place_on_axis
from feint.numerics._jit import kernel
from feint.numerics.top_arms import allocate_integral, log_top_arms

RELATIVE = 1e-10


@kernel
def _place(family, posterior, axis):
    place_on_axis(family, posterior, axis, middle_point(family, posterior))


@kernel
def _both(axis, answer, space, out):
    out[0] = log_top_arms(axis, answer, False, space)
    out[1] = log_top_arms(axis, answer, True, space)


def probabilities(family, first, second, answer):
    """Return (log P(answer), log of its complement) by the kernel."""
    settings, out = family.kernel(), np.empty(2)
    posterior = np.array([first, second], dtype=float)
    n_arms = posterior.shape[1]
    axis = type(settings).axis(n_arms)
    _place(settings, posterior, axis)
    _both(axis, np.array(answer), allocate_integral(n_arms), out)
    return out


def by_dense_panels(means, sds, answer):
    """Return the same from 10-point rules in NumPy, on panels of a twentieth of an sd about every arm and pair."""
    points = [np.linspace(m - 10 * s, m + 10 * s, 400) for m, s in zip(means, sds, strict=True)]
    for a, b in itertools.combinations(range(means.size), 2):
        p, q = sds[a] ** -2, sds[b] ** -2
        centre, width = (p * means[a] + q * means[b]) / (p + q), 1 / math.sqrt(p + q)
        points.append(np.linspace(centre - 10 * width, centre + 10 * width, 400))
    edges = np.unique(np.concatenate(points))
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half = 0.5 * np.diff(edges)[:, None]
    x = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes).ravel()
    z = (x - means[:, None]) / sds[:, None]
    below, above = log_ndtr(z), log_ndtr(-z)
    density = -0.5 * z * z - 0.5 * math.log(2 * math.pi) - np.log(sds)[:, None]
    any_below, none_below = logsumexp(below[answer], axis=0), above[answer].sum(0)
    with np.errstate(divide="ignore"):
        one = np.where(any_below < -30, any_below, np.log(-np.expm1(np.minimum(none_below, -1e-300))))
    rest = below[~answer].sum(0)
    right = rest + none_below + logsumexp(density[answer] - above[answer], axis=0)
    wrong = rest + one + logsumexp(density[~answer] - below[~answer], axis=0)
    return logsumexp(right, b=(half * weights).ravel()), logsumexp(wrong, b=(half * weights).ravel())


@pytest.mark.parametrize(("n_arms", "m"), [(2, 1), (4, 2), (4, 3), (7, 3)])
@pytest.mark.parametrize("spread", [0.3, 3.0, 40.0])
def test_normals_against_dense_panels(n_arms, m, spread):
    """Test sharp and wide arms, with likely and unlikely answers."""
    random = np.random.default_rng(100 * n_arms + int(spread))
    for shuffled in (False, True):
        means, sds = random.normal(size=n_arms) * spread, np.exp(1.5 * random.normal(size=n_arms))
        answer = np.isin(np.arange(n_arms), np.argsort(-means)[:m])
        if shuffled:
            random.shuffle(answer)
        found = probabilities(feint.Gaussian(), means, sds, answer)
        expected = by_dense_panels(means, sds, answer)
        for one, other in zip(found, expected, strict=True):
            assert abs(one - other) <= RELATIVE * max(1.0, abs(other))


def test_complements_of_fifty_arms():
    random = np.random.default_rng(50)
    means, sds = random.normal(size=50), np.exp(random.normal(size=50) - 2)
    answer = np.isin(np.arange(50), np.argsort(-means)[:20])
    right, wrong = probabilities(feint.Gaussian(), means, sds, answer)
    assert math.exp(right) + math.exp(wrong) == pytest.approx(1, abs=1e-12)
    assert right < -1


@pytest.mark.parametrize("lead", [1.0, 30.0, 300.0, 3e4])
def test_deep_tails_of_two_normals(lead):
    """P(the other is larger) = Φ(−lead/√(s² + t²)), even where it is e^−4e8."""
    _, wrong = probabilities(feint.Gaussian(), [lead + 5.0, 5.0], [1.0, 1e-3], [True, False])
    assert wrong == pytest.approx(log_ndtr(-lead / math.hypot(1.0, 1e-3)), rel=1e-12)


@pytest.mark.parametrize("pulls", [1e6, 1e8, 1e10])
def test_errors_of_runs_that_know_very_much(pulls):
    """One arm with nearly all pulls and the others with about their root: errors down to e^−2e4."""
    means = np.array([0.2, 1.6, 0.4, 1.7, 0.5])
    counts = np.array([0.08, 0.19, 0.0, 0.15, 0.12]) * math.sqrt(pulls)
    counts[2] = pulls
    answer = np.array([False, True, False, True, False])
    _, wrong = probabilities(feint.Gaussian(), means, counts**-0.5, answer)
    _, expected = by_dense_panels(means, counts**-0.5, answer)
    assert wrong == pytest.approx(expected, rel=1e-12)
    assert expected < -10


@pytest.mark.parametrize("m", [1, 2, 4])
def test_orders_of_exponential_variables_by_enumeration(m):
    """Variables of Gamma(1, r) are in a given order with the probability of Plackett and Luce: ∏ r/Σ of those left."""
    rates, n_arms = [0.3, 2.0, 1.1, 0.7, 5.0], 5
    chance = mp.mpf(0)
    for order in itertools.permutations(range(n_arms)):
        if set(order[n_arms - m :]) == set(range(m)):
            chance += mp.fprod(mp.mpf(rates[a]) / sum(mp.mpf(rates[b]) for b in order[i:]) for i, a in enumerate(order))
    expected = [float(mp.log(chance)), float(mp.log1p(-chance))]
    answer = np.arange(n_arms) < m
    for family, chosen in ((feint.Poisson(), answer), (feint.Exponential(), ~answer)):  # the largest, or smallest, rate
        assert probabilities(family, np.ones(n_arms), rates, chosen) == pytest.approx(expected, rel=RELATIVE)


def test_one_arm_is_what_the_best_arm_kernels_say():
    normal = np.array([0.2, 0.5, 0.1, 0.0]), np.array([1e-4, 0.01, 0.01, 0.02])
    beta = np.array([6e4, 5e4, 4e4, 100.0]), np.array([4e4, 5e4, 6e4, 70.0])
    gamma = np.array([600.5, 8.5, 2.5]), np.array([1000.0, 20.0, 10.0])
    for family, posterior in ((feint.Gaussian(), normal), (feint.Bernoulli(), beta), (feint.Poisson(), gamma)):
        logs = family.log_probabilities(*posterior)
        for arm in range(logs.size):
            right, wrong = probabilities(family, *posterior, np.arange(logs.size) == arm)
            assert right == pytest.approx(logs[arm], rel=RELATIVE, abs=RELATIVE)
            assert wrong == pytest.approx(logsumexp(np.delete(logs, arm)), rel=RELATIVE, abs=RELATIVE)


def test_betas_against_mpmath():
    alphas, betas, answer = [60.0, 40.0, 3.0, 20.0], [40.0, 41.0, 2.0, 45.0], np.array([True, False, True, False])
    with mp.workdps(25):

        def cdf(a, x):
            return mp.betainc(alphas[a], betas[a], 0, x, regularized=True)

        def pdf(a, x):
            return x ** (alphas[a] - 1) * (1 - x) ** (betas[a] - 1) / mp.beta(alphas[a], betas[a])

        def integrand(x):
            below = [cdf(a, x) for a in range(4)]
            return (pdf(1, x) * below[3] + pdf(3, x) * below[1]) * (1 - (1 - below[0]) * (1 - below[2]))

        expected = mp.log(mp.quad(integrand, [0, 0.2, 0.35, 0.45, 0.55, 0.7, 1]))
    right, wrong = probabilities(feint.Bernoulli(), alphas, betas, answer)
    assert wrong == pytest.approx(float(expected), rel=RELATIVE)
    assert math.exp(right) + math.exp(wrong) == pytest.approx(1, abs=1e-13)
