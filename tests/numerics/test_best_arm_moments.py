"""Means of all arms, given which one is the largest, agree with adaptive quadrature and 40-digit derivatives."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

from cases import PAPER
from feint.numerics.best_arm_kernel import best_arm_sums
from feint.numerics.best_arm_moments import best_arm_moments
from feint.numerics.best_arm_workspace import SHIFT, SUM, allocate_normal_workspace
from oracles import DIGITS, log_best_arm

CORNERS = {
    "near": ([0.0, 0.3, -0.2], [1.0, 0.5, 0.7]),
    "paper, t = 1e4": (PAPER.public, 1 / np.sqrt([10_000, 60, 25, 40])),
    "equal sds, log p = −50": ([0.0, -0.3, -0.4], [0.02, 0.03, 0.025]),
    "log p = −1e3": ([0.0, -62.0], [1.0, 1.0]),
    "log p = −5e5, a steep panel": ([0.0, -1000.0], [1.0, 1e-3]),
    "sharp among wide ones": ([0.1, 0.0, -2.0], [1.0, 1e-5, 1.0]),
}


def slopes(means, sds):
    found, ws = np.empty((len(means), len(means))), allocate_normal_workspace(len(means))
    best_arm_moments(np.array(means, dtype=float), np.array(sds, dtype=float), ws, found)
    return found, ws


def by_quadrature(means, sds, a, j):
    """Return E[z_j given that a is the largest], by SciPy's adaptive rule about the integrand's peak."""
    means, sds = np.asarray(means, dtype=float), np.asarray(sds, dtype=float)

    def log_density(x):
        z = (x - means) / sds
        return -0.5 * z[a] ** 2 + log_ndtr(np.delete(z, a)).sum()

    def hazard(x):
        z = (x - means[j]) / sds[j]
        return -z if j == a else math.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - log_ndtr(z))

    low, high = means.min() - 12 * sds.max(), means.max() + 12 * sds.max()
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if log_density(left) < log_density(right) else (low, right)
    peak, step = 0.5 * (low + high), sds.min() / 16
    top = log_density(peak)
    ends = [peak, peak]
    for side, sign in ((0, -1), (1, 1)):
        reach = step
        while log_density(peak + sign * reach) > top - 45:
            reach *= 1.25
        ends[side] += sign * reach
    cuts = np.unique(np.clip([*np.linspace(*ends, 40), *(means + np.outer(range(-8, 9), sds)).ravel()], *ends))
    norm, weighted = 0.0, 0.0
    for left, right in pairwise(cuts):
        norm += quad(lambda x: math.exp(log_density(x) - top), left, right, epsabs=0, epsrel=1e-12)[0]
        weighted += quad(lambda x: math.exp(log_density(x) - top) * hazard(x), left, right, epsabs=0, epsrel=1e-12)[0]
    return -weighted / norm


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_slopes_are_conditional_means(name):
    means, sds = CORNERS[name]
    found, _ = slopes(means, sds)
    for a in range(len(means)):
        for j in range(len(means)):
            exact = by_quadrature(means, sds, a, j)
            assert abs(found[a, j] - exact) < 1e-9 * max(1.0, abs(exact))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "log p = −1e3" else [pytest.mark.slow]) for name in CORNERS]
)
def test_slopes_are_the_derivatives_of_log_p(name):
    """The error of a central difference of 1e-8 sds is of the order of 1e-16 and of the third derivative."""
    means, sds = CORNERS[name]
    found, _ = slopes(means, sds)
    step = mp.mpf(10) ** -8
    with mp.workdps(DIGITS):
        for j in range(len(means)):
            moved = []
            for sign in (1, -1):
                places = [mp.mpf(m) + sign * step * mp.mpf(sds[i]) * (i == j) for i, m in enumerate(means)]
                moved.append(log_best_arm([(m, s, 1) for m, s in zip(places, sds, strict=True)]))
            for a in range(len(means)):
                exact = float((moved[0][a] - moved[1][a]) / (2 * step))
                assert abs(found[a, j] - exact) < 1e-9 * max(1.0, abs(exact))


@given(st.data(), st.integers(1, 12))
def test_probabilities_are_the_same_bits_with_and_without_slopes(data, n_arms):
    means = np.array(data.draw(st.lists(st.floats(-3, 3), min_size=n_arms, max_size=n_arms)))
    sds = np.array(data.draw(st.lists(st.floats(-3, 1).map(lambda x: 10**x), min_size=n_arms, max_size=n_arms)))
    _, with_slopes = slopes(means, sds)
    plain = allocate_normal_workspace(n_arms)
    best_arm_sums(means, sds, plain)
    for row in (SUM, SHIFT):
        assert (with_slopes.arms[row] == plain.arms[row]).all()


@given(st.data(), st.integers(2, 8))
def test_slopes_have_their_signs_and_do_not_change_when_all_arms_move_together(data, n_arms):
    """P(a) grows with a's mean and falls with every other."""
    means = np.array(data.draw(st.lists(st.floats(-3, 3), min_size=n_arms, max_size=n_arms)))
    sds = np.array(data.draw(st.lists(st.floats(-2, 1).map(lambda x: 10**x), min_size=n_arms, max_size=n_arms)))
    found, _ = slopes(means, sds)
    assert (found[~np.eye(n_arms, dtype=bool)] <= 0.0).all()
    assert (found.diagonal() >= 0.0).all()
    shifted, _ = slopes(means + 1.0, sds)
    np.testing.assert_allclose(found, shifted, rtol=1e-9, atol=1e-9)
