"""Posterior probabilities of answers about fifty arms, and their complements, are right to 1e-10 for every family.

They are compared with enumeration where the order of the arms has a law of its own, and otherwise with mpmath.
"""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import feint
from feint.families.base import belief
from feint.goals.base import goal_settings, log_error_of
from feint.numerics._jit import kernel
from numerics.test_top_arms import RELATIVE, probabilities

K = 50
NORMAL, BETA, POISSON, EXPONENTIAL = feint.Gaussian(), feint.Bernoulli(), feint.Poisson(), feint.Exponential()


def check(found, expected):
    """Compare (log P, log of the complement), relative to the probability, or to its logarithm where that is large."""
    for one, other in zip(found, expected, strict=True):
        assert abs(one - float(other)) <= RELATIVE * max(1.0, abs(float(other)))


def leave_in_order(rates, first):
    """P(arms of the groups in `first` are all before the others): of exponential variables with these rates, (rate,
    how many) by group, the next to come is of a group with the probability of its rate's share (Plackett and Luce).
    """
    groups = [rates[g] for g in first]
    others = mp.fsum(mp.mpf(rate) * n for g, (rate, n) in enumerate(rates) if g not in first)
    chances = {(0,) * len(groups): mp.mpf(1)}
    for _ in range(sum(n for _, n in groups)):
        after = {}
        for gone, chance in chances.items():
            left = [mp.mpf(rate) * (n - k) for (rate, n), k in zip(groups, gone, strict=True)]
            for g, rate in enumerate(left):
                if rate > 0:
                    then = (*gone[:g], gone[g] + 1, *gone[g + 1 :])
                    after[then] = after.get(then, 0) + chance * rate / (mp.fsum(left) + others)
        chances = after
    (found,) = chances.values()
    return found


# Rates and sizes of four groups; the first two are to be before the others.
ORDERS = {
    "in doubt": [(3.0, 2), (5.0, 1), (0.1, 40), (0.02, 7)],
    "nearly certain": [(3e14, 2), (5e16, 8), (0.1, 33), (0.02, 7)],
    "more than certain": [(3e18, 2), (5e20, 8), (0.1, 33), (0.02, 7)],
    "nearly impossible": [(0.3, 12), (0.5, 8), (10.0, 20), (7.0, 10)],
}
# Posteriors (first, second) of a mean that grows, or falls, with an exponential variable of rate r.
EXPONENTIALS = {
    "poisson": (POISSON, lambda r: (np.ones_like(r), r), True),
    "exponential": (EXPONENTIAL, lambda r: (np.ones_like(r), r), False),
    "beta, -log(1 - x)": (BETA, lambda r: (np.ones_like(r), r), True),
    "beta, -log(x)": (BETA, lambda r: (r, np.ones_like(r)), False),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("law", EXPONENTIALS)
def test_orders_by_enumeration(law, order):
    family, posterior, grows = EXPONENTIALS[law]
    groups = ORDERS[order]
    rates, is_first = (np.repeat(column, [n for _, n in groups]) for column in ([r for r, _ in groups], [1, 1, 0, 0]))
    with mp.workdps(60):
        chance = leave_in_order(groups, (0, 1))
        expected = mp.log(chance), mp.log1p(-chance)
    assert min(expected) < {"in doubt": -0.01, "nearly impossible": -30}.get(order, -31)
    answer = (is_first == 0) if grows else (is_first == 1)  # the first to come is the smallest variable
    check(probabilities(family, *posterior(rates), answer), expected)


@pytest.mark.parametrize("m", [1, 20, 49])
@pytest.mark.parametrize("family", [NORMAL, BETA, POISSON, EXPONENTIAL])
def test_equal_arms_by_enumeration(family, m):
    """All sets of m arms are equally likely."""
    chance = mp.mpf(1) / mp.binomial(K, m)
    found = probabilities(family, np.full(K, 7.0), np.full(K, 3.0), np.arange(K) < m)
    check(found, (mp.log(chance), mp.log1p(-chance)))


def law_of(family, first, second):
    """Return (density, below, above) of a posterior of the mean, with mpmath; exponential means are 1/rate."""
    a, b = mp.mpf(first), mp.mpf(second)
    if family is NORMAL:
        return lambda x: mp.npdf(x, a, b), lambda x: mp.ncdf(x, a, b), lambda x: mp.ncdf(-x, -a, b)
    if family is BETA:
        return (
            lambda x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
            lambda x: mp.betainc(a, b, 0, x, regularized=True),
            lambda x: mp.betainc(b, a, 0, 1 - x, regularized=True),
        )
    below, above = (
        (lambda y: mp.gammainc(a, 0, b * y, regularized=True)),
        (lambda y: mp.gammainc(a, b * y, regularized=True)),
    )

    def density(y):
        return b * (b * y) ** (a - 1) * mp.exp(-b * y) / mp.gamma(a)

    if family is POISSON:
        return density, below, above
    return lambda x: density(1 / x) / x**2, lambda x: above(1 / x), lambda x: below(1 / x)


def integrate(family, groups, points):
    """Return (log P, log of its complement) for groups (first, second, how many, in the answer), over these panels."""
    laws = [law_of(family, first, second) for first, second, _, _ in groups]

    def both(x):
        rows = [(density(x), below(x), above(x)) for density, below, above in laws]
        inside = mp.fprod(row[2] ** n for row, (_, _, n, there) in zip(rows, groups, strict=True) if there)
        outside = mp.fprod(row[1] ** n for row, (_, _, n, there) in zip(rows, groups, strict=True) if not there)
        rises = [n * row[0] / (row[2] if there else row[1]) for row, (_, _, n, there) in zip(rows, groups, strict=True)]
        right = mp.fsum(r for r, group in zip(rises, groups, strict=True) if group[3]) * inside * outside
        wrong = mp.fsum(r for r, group in zip(rises, groups, strict=True) if not group[3]) * outside * (1 - inside)
        return right, wrong

    nodes = [(mp.mpf(x), mp.mpf(w)) for x, w in mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(3, 120)]
    found = [mp.mpf(0), mp.mpf(0)]
    for left, right in itertools.pairwise(map(mp.mpf, points)):
        half = (right - left) / 2
        for x, w in nodes:
            for i, value in enumerate(both(left + half * (1 + x))):
                found[i] += w * half * value
    return [mp.log(value) for value in found]


# (first, second, how many, in the answer), and panels that mpmath's 24 nodes resolve.
GROUPS = {
    "normal, likely": (NORMAL, [
        (3.0, 0.2, 10, True), (2.5, 0.1, 10, True), (0.0, 0.15, 20, False), (-1.0, 1e-2, 10, False),
    ]),
    "normal, unlikely": (NORMAL, [
        (1.0, 0.3, 10, True), (0.5, 0.2, 10, True), (0.8, 0.3, 20, False), (0.0, 0.5, 10, False),
    ]),
    "beta, likely": (BETA, [
        (80.0, 9.0, 10, True), (70.0, 12.0, 10, True), (3.0, 30.0, 20, False), (5.0, 40.0, 10, False),
    ]),
    "beta, unlikely": (BETA, [
        (8.0, 9.0, 10, True), (7.0, 12.0, 10, True), (6.0, 8.0, 20, False), (2.5, 4.5, 10, False),
    ]),
    "poisson, likely": (POISSON, [
        (90.0, 10.0, 10, True), (80.0, 11.0, 10, True), (5.5, 10.0, 20, False), (9.5, 12.0, 10, False),
    ]),
    "poisson, unlikely": (POISSON, [
        (9.0, 3.0, 10, True), (8.0, 3.0, 10, True), (5.5, 2.0, 20, False), (4.5, 2.0, 10, False),
    ]),
    "exponential, likely": (EXPONENTIAL, [
        (20.0, 90.0, 10, True), (25.0, 99.0, 10, True), (30.0, 9.0, 20, False), (22.0, 5.0, 10, False),
    ]),
    "exponential, unlikely": (EXPONENTIAL, [
        (9.0, 20.0, 10, True), (8.0, 22.0, 10, True), (7.0, 15.0, 20, False), (6.0, 12.0, 10, False),
    ]),
}  # fmt: skip
RANGES = {NORMAL: (-4.0, 6.0), BETA: (0.0, 1.0), POISSON: (1e-9, 25.0), EXPONENTIAL: (1e-2, 1e8)}


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS)
def test_top_arms_against_mpmath(name):
    family, groups = GROUPS[name]
    low, high = RANGES[family]
    points = np.geomspace(low, high, 181) if family is EXPONENTIAL else np.linspace(low, high, 61)
    with mp.workdps(40):
        expected = integrate(family, groups, points)
    first, second, answer = (
        np.repeat([group[i] for group in groups], [group[2] for group in groups]) for i in (0, 1, 3)
    )
    check(probabilities(family, first, second, answer), expected)
    assert min(expected) < -5


@kernel
def _log_error(goal, private, answer):
    return log_error_of(goal, private, answer)


@pytest.mark.parametrize("far", [1.0, 30.0])
@pytest.mark.parametrize("family", [NORMAL, BETA, POISSON, EXPONENTIAL])
def test_thresholds_against_mpmath(family, far):
    """1 − ∏ P(arm a is on its side) is right where it is near 1, where it is tiny, and for a wrong answer."""
    random = np.random.default_rng(7)
    side = random.random(K) < 0.5
    if family is NORMAL:
        threshold, first, second = 0.3, 0.3 + far * np.where(side, 1, -1) * random.uniform(0.5, 1, K), np.full(K, 0.4)
    elif family is BETA:
        pulls = 4 * far * random.uniform(1, 2, K)
        threshold, first, second = 0.4, pulls * np.where(side, 0.6, 0.2), pulls * np.where(side, 0.4, 0.8)
    else:
        shape = 4 * far * random.uniform(1, 2, K)
        threshold, first = 2.0, shape
        second = shape * np.where(side, 0.25, 1.0) if family is POISSON else shape * np.where(side, 4.0, 1.0)
    settings = goal_settings(feint.AboveThreshold(threshold), K, family)
    known = belief(family, family.prior(None), np.zeros(K, dtype=np.int64))
    known.posterior[0], known.posterior[1] = first, second
    wrong = side.copy()
    wrong[3] = not wrong[3]
    with mp.workdps(60):
        tails = [law_of(family, a, b)[1:] for a, b in zip(first, second, strict=True)]
        below, above = ([tail[i](mp.mpf(threshold)) for tail in tails] for i in (0, 1))
        for answer in (side, wrong):
            failing = [low if there else high for low, high, there in zip(below, above, answer, strict=True)]
            few = mp.fsum(failing)
            expected = mp.log(few if few < 1e-40 else 1 - mp.fprod(1 - p for p in failing))
            found = _log_error(settings, known, answer)
            assert abs(found - float(expected)) <= RELATIVE * max(1.0, abs(float(expected)))
            assert math.isfinite(found)
        assert (expected > -1e-3) or far < 2
