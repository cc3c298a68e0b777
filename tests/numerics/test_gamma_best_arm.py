"""`gamma_best_arm_probabilities` agrees with continued fractions, 18-digit integrals, closed forms and symmetries."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise

import mpmath as mp
import numpy as np
import pytest
from mpmath.calculus.quadrature import GaussLegendre
from scipy import special

from feint import gamma_best_arm_probabilities
from feint.numerics.gamma_best_arm import smallest_arm_log_probabilities

TOLERANCE = 1e-10
DIGITS = 30
_NATS = 50  # what the integrals leave out lies e^−50 = 2e-22 below the peak


# Oracles. They share no code with the package and never take Gamma variables for limits of Beta variables.


def log_exceeds(shape, rate, other_shape, other_rate):
    """Return log P(X > X′) for X ~ Gamma(k, rate r) and X′ ~ Gamma(k′, rate r′), however small.

    With G = rX and G′ = r′X′ of rate 1, B = G′/(G + G′) ~ Beta(k′, k) and X > X′ where B < w = r′/(r + r′). So it is
    I_w(k′, k), and 1 − I_{1−w}(k, k′), of which the continued fraction of DLMF 8.17.22 knows the smaller.
    """
    with mp.workdps(DIGITS):
        k, r, k2, r2 = (mp.mpf(x) for x in (shape, rate, other_shape, other_rate))
        if r2 * (k + 1) < r * (k2 + 1):
            return _log_incomplete_beta(k2, k, r2, r)
        return mp.log1p(-mp.exp(_log_incomplete_beta(k, k2, r, r2)))


def _log_incomplete_beta(a, b, u, v):
    """Return log I_x(a, b) at x = u/(u + v) < (a + 1)/(a + b + 2), by Lentz's algorithm."""
    x = u / (u + v)
    c, d = mp.mpf(1), 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 200_000):
        term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + term * d), 1 + term / c
        value *= c * d
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + term * d), 1 + term / c
        value *= c * d
        if abs(c * d - 1) < mp.mpf(10) ** (6 - DIGITS):
            break
    else:
        raise ArithmeticError("The continued fraction did not converge.")
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return a * mp.log(x) + b * mp.log(v / (u + v)) - log_beta - mp.log(a) + mp.log(value)


def log_largest(groups, arm):
    """Return log P(one arm of the group is the largest) for groups of (shape, rate, number of identical arms).

    Quadrature of f_a·F_a^(n_a − 1)·∏ F_j^(n_j) over y = log λ, with 24 nodes per panel. F comes from its power series,
    whose terms are all positive, at the left end and goes on by integrals of the density. Float64 only places panels.
    """
    edges = _panels(groups, arm)
    with mp.workdps(DIGITS):
        nodes, weights, primitive = _rule()
        exact = [(mp.mpf(k), mp.mpf(r), n) for k, r, n in groups]
        constants = [k * mp.log(r) - mp.loggamma(k) for k, r, _ in exact]
        start = mp.mpf(edges[0])
        cdfs = [_cdf(k, r, start) for k, r, _ in exact]
        panels = []
        for low, high in pairwise(edges):
            half = (mp.mpf(high) - mp.mpf(low)) / 2
            values = [half * w for w in weights]
            positions = [mp.mpf(low) + half * (1 + u) for u in nodes]
            rates = [mp.exp(y) for y in positions]
            for j, (k, r, n) in enumerate(exact):
                density = [mp.exp(k * y - r * x + constants[j]) for y, x in zip(positions, rates, strict=True)]
                if j == arm:
                    values = [v * f for v, f in zip(values, density, strict=True)]
                power = n - (j == arm)
                if power:
                    inside = [cdfs[j] + half * mp.fdot(row, density) for row in primitive]
                    values = [v * cdf**power for v, cdf in zip(values, inside, strict=True)]
                    cdfs[j] += half * mp.fdot(weights, density)
            panels.append(mp.fsum(values))
        total = mp.fsum(panels)
        assert max(panels[0], panels[-1]) < mp.mpf("1e-14") * total  # so beyond them, far less
        return mp.log(total)


def _cdf(k, r, y):
    """P(G < r·e^y) = f(y)·∑ xⁿ/(k…(k + n)), in fixed point; 1 where the tail is below 1e-26."""
    x = r * mp.exp(y)
    log_density = k * mp.log(x) - x - mp.loggamma(k)
    if x > k + 1 and log_density - mp.log(x - k) < -60:
        return mp.mpf(1)
    bits = mp.mp.prec + 20
    one = 1 << bits
    numerator, denominator = int(mp.ldexp(x, bits)), int(mp.ldexp(k, bits)) + one
    term = total = one
    while term << mp.mp.prec > total or numerator > denominator:
        term = term * numerator // denominator
        total += term
        denominator += one
    return mp.exp(log_density) * mp.ldexp(total, -bits) / k


@cache
def _rule():
    """Return Gauss' 24 nodes and weights on (−1, 1), and the matrix that integrates from −1 to each node."""
    rule = sorted(GaussLegendre(mp.mp).calc_nodes(4, mp.mp.prec + 20))
    nodes, weights = zip(*rule, strict=True)
    legendre = [[mp.mpf(1)] * len(nodes), list(nodes)]
    for n in range(1, len(nodes)):
        last, before = legendre[-1], legendre[-2]
        legendre.append([((2 * n + 1) * u * p - n * o) / (n + 1) for u, p, o in zip(nodes, last, before, strict=True)])
    primitive = []
    for i, u in enumerate(nodes):
        integrals = [u + 1] + [(legendre[n + 1][i] - legendre[n - 1][i]) / (2 * n + 1) for n in range(1, len(nodes))]
        row = [
            w * mp.fsum((2 * n + 1) * legendre[n][j] * integrals[n] for n in range(len(nodes))) / 2
            for j, w in enumerate(weights)
        ]
        primitive.append(row)
    return nodes, weights, primitive


def _panels(groups, arm):
    """Return edges of panels in which no factor changes by more than 6 nats or over more than 3 standard deviations."""

    def log_factors(y):
        return [_rough_log_density(*groups[arm][:2], y)] + [_rough_log_cdf(k, r, y) for k, r, _ in groups]

    powers = [1] + [n - (j == arm) for j, (_, _, n) in enumerate(groups)]

    def log_integrand(y):
        return sum(n * value for n, value in zip(powers, log_factors(y), strict=True))

    modes = [math.log(k / r) for k, r, _ in groups]
    sds = [1 / math.sqrt(k) for k, _, _ in groups]
    low, high = modes[arm], max(modes) + 10 * max(sds)
    while high - low > min(sds) / 4:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if log_integrand(left) < log_integrand(right) else (low, right)
    top = log_integrand(low)
    ends = []
    for sign in (-1, 1):
        inside, outside = 0.0, min(sds)
        while log_integrand(low + sign * outside) > top - _NATS:
            inside, outside = outside, 2 * outside
        while log_integrand(low + sign * outside) < top - 2 * _NATS:
            middle = (inside + outside) / 2
            inside, outside = (
                (middle, outside) if log_integrand(low + sign * middle) > top - _NATS else (inside, middle)
            )
        ends.append(low + sign * outside)
    cuts = {mode + 3 * k * sd for mode, sd in zip(modes, sds, strict=True) for k in range(-4, 5)}
    edges = [ends[0], *sorted(cut for cut in cuts if ends[0] < cut < ends[1]), ends[1]]
    result = [edges[0]]
    for edge in edges[1:]:
        waiting = [edge]
        while waiting:
            change = powers * np.subtract(log_factors(waiting[-1]), log_factors(result[-1]))
            if np.abs(change).max() > 6 or waiting[-1] - result[-1] > 1:
                waiting.append((result[-1] + waiting[-1]) / 2)
            else:
                result.append(waiting.pop())
    return result


def _rough_log_density(k, r, y):
    z = y + math.log(r / k)
    return k * (z - math.expm1(z)) + 0.5 * math.log(k / 6.3)


def _rough_log_cdf(k, r, y):
    x = r * math.exp(y)
    cdf = special.gammainc(k, x)
    return math.log(cdf) if cdf > 1e-250 else _rough_log_density(k, r, y) - math.log(k - x)


def trapezoid(shapes, rates):
    """Return P(arm is the largest) of all arms, by the trapezoidal rule over y = log λ in float64, shapes up to 1e3.

    The integrands are analytic and die out at both ends, so the rule converges exponentially; at 6 points per standard
    deviation of the narrowest arm it is exact to rounding.
    """
    modes = np.log(shapes / rates)
    left = modes.min() - 5 - 80 / shapes.sum()
    right = (modes + np.log1p(80 / shapes + 15 / np.sqrt(shapes))).max()
    step = 1 / (6 * math.sqrt(shapes.max() * len(shapes)))
    y = np.arange(left, right, step)
    with mp.workdps(DIGITS):
        peaks = [float(k * mp.log(k) - k - mp.loggamma(k)) for k in shapes]
    density, cdf = np.empty((2, len(shapes), len(y)))
    for a, (k, mode) in enumerate(zip(shapes, modes, strict=True)):
        z = y - mode
        density[a] = np.exp(k * (z - np.expm1(z)) + peaks[a])
        cdf[a] = special.gammainc(k, k * np.exp(z))
    return np.array([(density[a] * np.delete(cdf, a, axis=0).prod(axis=0)).sum() for a in range(len(shapes))]) * step


def check(groups, arms):
    """Compare p and log p of one arm of each of these groups with the integral, relative to max(1, |log p|)."""
    counts = [n for _, _, n in groups]
    shapes, rates = (np.repeat([float(group[i]) for group in groups], counts) for i in (0, 1))
    p = gamma_best_arm_probabilities(shapes, rates)
    logs = gamma_best_arm_probabilities(shapes, rates, log=True)
    for arm in arms:
        first = sum(counts[:arm])
        agrees(p[first], logs[first], log_largest(groups, arm))


def agrees(p, log_p, exact):
    assert abs(mp.mpf(log_p) - exact) <= TOLERANCE * max(1, abs(exact))
    if exact > -700:
        assert abs(mp.mpf(p) / mp.exp(exact) - 1) <= TOLERANCE


# The oracles themselves.


def test_which_way_the_incomplete_beta_function_turns():
    """For exponential variables P(X > X′) = r′/(r + r′)."""
    assert abs(mp.exp(log_exceeds(1, 2, 1, 6)) - 0.75) < 1e-15
    assert gamma_best_arm_probabilities([1, 1], [2, 6]) == pytest.approx([0.75, 0.25], rel=1e-12)


@pytest.mark.parametrize("sizes", [(2.5, 1, 7, 3), (300, 2, 200, 1.1), (0.5, 1e6, 40, 1), (3e3, 1.3, 2e3, 1)])
def test_the_continued_fraction_against_hypergeometric_series(sizes):
    k, r, k2, r2 = sizes
    exact = log_exceeds(*sizes)
    with mp.workdps(80):  # mpmath's series cancel
        reference = mp.log(mp.betainc(k2, k, 0, mp.mpf(r2) / (mp.mpf(r) + mp.mpf(r2)), regularized=True))
        assert abs(exact - reference) <= 1e-22 * max(1, abs(reference))


@pytest.mark.parametrize("sizes", [(2.5, 1, 7, 3), (1e8, 1.0003, 1e8, 1), (0.5, 1, 1e8, 1e6)])
def test_the_integral_against_the_continued_fraction(sizes):
    k, r, k2, r2 = sizes
    exact = log_exceeds(*sizes)
    assert abs(log_largest([(k, r, 1), (k2, r2, 1)], 0) - exact) <= 1e-15 * max(1, abs(exact))


# Two arms.


def pairs(seed, rows):
    """Draw shapes from 0.5 to 1e8 and rates up to 1e6 apart: anywhere, and up to 38 standard deviations apart."""
    rng = np.random.default_rng(seed)
    shapes = 10 ** rng.uniform(math.log10(0.5), 8, (rows, 2))
    shapes[::3, 1] = shapes[::3, 0] * 10 ** rng.uniform(-0.1, 0, len(shapes[::3]))
    shapes[:6, 0] = 1e8
    rate = 10 ** rng.uniform(-3, 3, rows)
    apart = rng.uniform(0, 38, rows) * np.sqrt((1 / shapes).sum(-1))  # of log X, for large shapes
    close = rate * shapes[:, 1] / shapes[:, 0] * np.exp(-np.minimum(apart, 3))
    other = np.where(rng.random(rows) < 0.8, close, rate * 10 ** rng.uniform(-6, 6, rows))
    return shapes, np.stack([rate, np.clip(other, rate / 1e6, rate * 1e6)], axis=-1)


def test_two_arms_of_any_size():
    shapes, rates = pairs(1, 200)
    p = gamma_best_arm_probabilities(shapes, rates)
    logs = gamma_best_arm_probabilities(shapes, rates, log=True)
    for row, ((k, k2), (r, r2)) in enumerate(zip(shapes, rates, strict=True)):
        agrees(p[row, 0], logs[row, 0], log_exceeds(k, r, k2, r2))
        agrees(p[row, 1], logs[row, 1], log_exceeds(k2, r2, k, r))


def test_two_arms_by_scipy():
    """SciPy's incomplete Beta function has 12 digits or more where shapes and p are moderate."""
    rng = np.random.default_rng(2)
    shapes = 10 ** rng.uniform(math.log10(0.5), 3, (2000, 2))
    rates = shapes * np.exp(rng.normal(size=(2000, 2)) * 2 / np.sqrt(shapes))
    exact = special.betainc(shapes[:, 1], shapes[:, 0], rates[:, 1] / rates.sum(-1))
    p = gamma_best_arm_probabilities(shapes, rates)[:, 0]
    moderate = exact > 1e-10
    assert moderate.sum() > 1800
    assert np.abs(p / exact - 1)[moderate].max() < TOLERANCE


DEEP = {
    "shapes 1e8, log p = −21848": (1e8, 1.03, 1e8, 1),
    "shapes 1e8, log p = −9700": (1e8, 1.02, 1e8, 1),
    "shapes 1e8, log p = −626": (1e8, 1.005, 1e8, 1),
    "shapes 1e5, log p = −1e4": (1e5, 1.9, 1e5, 1),
    "0.5 against 1e8": (0.5, 1, 1e8, 1e4),
    "0.5 against 1e8, rates 1e6 apart": (0.5, 1e6, 1e8, 1e8),
    "1e8 against 0.5": (1e8, 1e6, 0.5, 1e2),
    "1e8 below 700": (1e8, 1e6, 700.5, 1),
    "700 above 1e8": (700.5, 70, 1e8, 1e6),
    "3 above 1e4": (3, 3, 1e4, 1),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_tails_of_two_arms(name):
    k, r, k2, r2 = DEEP[name]
    p = gamma_best_arm_probabilities([k, k2], [r, r2])
    logs = gamma_best_arm_probabilities([k, k2], [r, r2], log=True)
    agrees(p[0], logs[0], log_exceeds(k, r, k2, r2))
    agrees(p[1], logs[1], log_exceeds(k2, r2, k, r))


@pytest.mark.parametrize("shape", [0.5, 3, 1e4, 1e8])
def test_near_ties_of_two_arms(shape):
    for excess in (0, 1e-9, 1e-4):
        rates = [1, 1 + excess]
        p = gamma_best_arm_probabilities([shape, shape], rates)
        logs = gamma_best_arm_probabilities([shape, shape], rates, log=True)
        agrees(p[0], logs[0], log_exceeds(shape, 1, shape, rates[1]))
        agrees(p[1], logs[1], log_exceeds(shape, rates[1], shape, 1))


# More arms.

CORNERS = {
    "Thompson Sampling, t = 1e3": ([(600.5, 1000, 1), (8.5, 20, 1), (2.5, 10, 1), (4.5, 15, 1)], range(4)),
    "Thompson Sampling, t = 1e8": ([(1e8, 1e8, 1), (70.5, 100, 1), (40.5, 80, 1), (170.5, 200, 1)], range(4)),
    "Jeffreys' prior and no reward": ([(0.5, 1, 1), (0.5, 1e6, 2), (0.5, 1e3, 1)], range(3)),
    "no reward beside many": ([(0.5, 100, 1), (1e6, 2e6, 1), (3, 7, 1)], range(3)),
    "rates 1e6 apart": ([(1e8, 1e6, 1), (3, 0.02, 1), (90.5, 1, 1), (1e5, 1000, 1)], range(4)),
    "five sizes": ([(0.5, 0.5, 1), (1e2, 102, 1), (1e4, 1e4, 1), (1e6, 1.001e6, 1), (1e8, 0.9999e8, 1)], range(5)),
    "shapes 1e8, near tie": ([(1e8, 1, 1), (1e8, 1.0002, 1), (9e7, 0.9, 3)], range(3)),
    "shapes 1e8, five standard deviations": ([(1e8, 7, 1), (1e8, 7.0035, 1), (9.99e7, 7, 2)], range(3)),
    "K = 8, shapes 1e6": ([(1e6, 1, 4), (0.9995e6, 1, 2), (1.002e6, 1.001, 2)], range(3)),
    "K = 4, log p = −1500": ([(3e4, 1.4, 1), (3e4, 1, 1), (2.9e4, 1, 1), (10, 1, 1)], [0]),
    "K = 3, log p = −1e4": ([(2e3, 40, 1), (2e3, 0.5, 1), (4e3, 1, 1)], [0]),
    "K = 20 in two groups": ([(6000.5, 4000, 1), (24.5, 20, 19)], range(2)),
    "K = 100 in three groups": ([(0.5, 1, 50), (3.5, 10, 49), (1e6, 2e5, 1)], range(3)),
    "K = 100, shapes 1e4, near tie": ([(1e4, 1, 60), (1e4, 1.01, 39), (9900, 1, 1)], range(3)),
    "K = 100, one of 1e8 among small ones": ([(1e8, 1e7, 1), (5.5, 1, 90), (0.5, 1e-3, 9)], range(3)),
}


@pytest.mark.parametrize("name", CORNERS)
def test_against_integration(name):
    check(*CORNERS[name])


LARGE_TIES = {
    "K = 100, half of them a standard deviation apart": ([(1e8, 1, 50), (1e8, 1.0001, 49), (9e7, 0.9, 1)], range(3)),
    "K = 100, one far below": ([(1e8, 1, 99), (1e8, 1.002, 1)], range(2)),
    "K = 100, one of 0.5": ([(1e8, 1, 99), (0.5, 1e-8, 1)], range(2)),
    "K = 40, one of 0.5": ([(1e8, 1, 39), (0.5, 1e-8, 1)], range(2)),
}


@pytest.mark.parametrize("name", LARGE_TIES)
def test_many_large_arms_that_tie(name):
    check(*LARGE_TIES[name])


@pytest.mark.parametrize("n_arms", range(3, 9))
def test_mixed_shapes_against_the_trapezoidal_rule(n_arms):
    rng = np.random.default_rng(n_arms)
    shapes = 10 ** rng.uniform(math.log10(0.5), 3, (30, n_arms))
    rates = 10 ** rng.uniform(-3, 3, (30, 1)) * shapes * np.exp(rng.normal(size=(30, n_arms)) * 2 / np.sqrt(shapes))
    p = gamma_best_arm_probabilities(shapes, rates)
    exact = np.array([trapezoid(k, r) for k, r in zip(shapes, rates, strict=True)])
    assert np.abs(exact.sum(-1) - 1).max() < 1e-12
    moderate = exact > 1e-100
    assert moderate.mean() > 0.9
    assert np.abs(p / exact - 1)[moderate].max() < TOLERANCE


# Symmetries.


@pytest.mark.parametrize("n_arms", [2, 20, 100])
@pytest.mark.parametrize("shape", [0.5, 1, 37.5, 1e4, 1e6])
def test_identical_arms_share_equally(n_arms, shape):
    """They do so even before p is normalised, since log p is not."""
    p = gamma_best_arm_probabilities(np.full(n_arms, shape), 12.3)
    logs = gamma_best_arm_probabilities(np.full(n_arms, shape), 12.3, log=True)
    assert np.abs(p * n_arms - 1).max() < 1e-14
    assert np.abs(logs + math.log(n_arms)).max() < TOLERANCE


@pytest.mark.parametrize("n_arms", [2, 20, 100])
def test_identical_arms_of_1e8_share_equally(n_arms):
    logs = gamma_best_arm_probabilities(np.full(n_arms, 1e8), 12.3, log=True)
    assert np.abs(logs + math.log(n_arms)).max() < TOLERANCE * max(1, math.log(n_arms))


def mixed(seed, n_arms, rows):
    """Draw rows of unlike shapes up to 1e8 about one mean, with rates up to 1e6 apart and half of the arms tied."""
    rng = np.random.default_rng(seed)
    large = rng.random((rows, n_arms)) < 5 / n_arms
    shapes = 10 ** rng.uniform(math.log10(0.5), np.where(large, 8, 3), (rows, n_arms))
    means = np.exp(rng.normal(size=shapes.shape) * 2 / np.sqrt(shapes))
    rates = np.clip(shapes / means, 1, 1e6)
    half = n_arms // 2
    shapes[:, half : 2 * half] = shapes[:, :half]
    rates[:, half : 2 * half] = rates[:, :half]
    return shapes, rates


def differ(a, b):
    return (np.abs(a - b) / np.maximum(1, np.abs(b))).max()


@pytest.mark.parametrize(("n_arms", "rows"), [(3, 300), (5, 200), (20, 50), (100, 30)])
def test_units_order_and_sum(n_arms, rows):
    shapes, rates = mixed(n_arms, n_arms, rows)
    p = gamma_best_arm_probabilities(shapes, rates)
    logs = gamma_best_arm_probabilities(shapes, rates, log=True)
    seen = p > 1e-300
    for factor in (1e-9, 0.3, 7.7e5):
        scaled = gamma_best_arm_probabilities(shapes, rates * factor)
        assert np.abs(scaled / np.where(seen, p, 1) - 1)[seen].max() < TOLERANCE
        assert differ(gamma_best_arm_probabilities(shapes, rates * factor, log=True), logs) < TOLERANCE
    order = np.random.default_rng(0).permutation(n_arms)
    shuffled = gamma_best_arm_probabilities(shapes[:, order], rates[:, order])
    assert np.abs(shuffled / np.where(seen, p, 1)[:, order] - 1)[seen[:, order]].max() < TOLERANCE
    assert differ(gamma_best_arm_probabilities(shapes[:, order], rates[:, order], log=True), logs[:, order]) < TOLERANCE
    half = n_arms // 2
    assert differ(logs[:, half : 2 * half], logs[:, :half]) < TOLERANCE
    assert np.abs(p.sum(-1) - 1).max() < 1e-9
    assert excess_of_sums(logs) < TOLERANCE


def excess_of_sums(logs):
    """p is normalised and a log p above log ½ is taken from the complement; without one, logs are as integrated."""
    integrated = logs[logs.max(-1) < math.log(0.5)]
    assert len(integrated) > 3
    return np.abs(np.exp(integrated).sum(-1) - 1).max()


# The smallest arm, and exponential variables.


@pytest.mark.parametrize("n_arms", [2, 3, 8, 20, 100])
def test_the_smallest_of_exponential_variables(n_arms):
    """P(arm a is the smallest) = r_a/Σr."""
    rates = 10 ** np.random.default_rng(n_arms).uniform(-3, 3, (20, n_arms))
    exact = np.log(rates / rates.sum(-1, keepdims=True))
    logs = smallest_arm_log_probabilities(np.ones(n_arms), rates)
    assert differ(logs, exact) < TOLERANCE
    assert np.abs(logs - exact).max() < TOLERANCE


@pytest.mark.parametrize("n_arms", [2, 3, 5, 8])
def test_the_largest_of_exponential_variables(n_arms):
    """P(arm a is the largest) = Σ over sets S of others of (−1)^|S|·r_a/(r_a + Σ_S r), in rational numbers."""
    for rates in 10 ** np.random.default_rng(n_arms).uniform(-3, 3, (5, n_arms)):
        p = gamma_best_arm_probabilities(np.ones(n_arms), rates)
        exact_rates = [Fraction(float(r)) for r in rates]
        for a, rate in enumerate(exact_rates):
            others = exact_rates[:a] + exact_rates[a + 1 :]
            exact = sum(
                (-1) ** size * rate / (rate + sum(chosen))
                for size in range(n_arms)
                for chosen in combinations(others, size)
            )
            assert abs(Fraction(float(p[a])) / exact - 1) < TOLERANCE


def test_the_largest_of_three_exponential_variables():
    r1, r2, r3 = 1.0, 2.5, 0.3
    exact = 1 - r1 / (r1 + r2) - r1 / (r1 + r3) + r1 / (r1 + r2 + r3)
    assert gamma_best_arm_probabilities([1, 1, 1], [r1, r2, r3])[0] == pytest.approx(exact, rel=TOLERANCE)


def test_the_smaller_of_two_is_not_the_larger():
    shapes, rates = pairs(3, 60)
    logs = smallest_arm_log_probabilities(shapes, rates)
    for (log_p, _), (k, k2), (r, r2) in zip(logs, shapes, rates, strict=True):
        exact = log_exceeds(k2, r2, k, r)
        assert abs(mp.mpf(log_p) - exact) <= TOLERANCE * max(1, abs(exact))


@pytest.mark.parametrize(
    "arms",
    [
        [(0.5, 1), (3, 2), (40.5, 30)],
        [(1e8, 1.0001), (1e8, 1), (9e7, 0.90005)],
        [(1e8, 1e6), (100.5, 1), (1e4, 101)],
    ],
)
def test_the_smallest_of_three(arms):
    """P(X < X′, X < X″) = 1 − P(X > X′) − P(X > X″) + P(X > X′, X > X″)."""
    logs = smallest_arm_log_probabilities(*np.transpose(arms))
    for a, arm in enumerate(arms):
        others = arms[:a] + arms[a + 1 :]
        with mp.workdps(DIGITS):
            exact = 1 - sum(mp.exp(log_exceeds(*arm, *other)) for other in others)
            exact += mp.exp(log_largest([(k, r, 1) for k, r in (arm, *others)], 0))
        if exact > 1e-4:  # otherwise the terms of this sum cancel
            assert abs(mp.mpf(logs[a]) - mp.log(exact)) <= TOLERANCE * max(1, abs(mp.log(exact)))


def test_an_arm_that_is_never_the_smallest_changes_nothing():
    """Gamma(3e7, 1e6) is 30 ± 0.006, and Gamma(7.5, 2.4) is above 29 with probability 3e-22."""
    logs = smallest_arm_log_probabilities([3e7, 2.4e6, 7.5], [1e6, 1e6, 2.4])
    for log_p, exact in ((logs[1], log_exceeds(7.5, 2.4, 2.4e6, 1e6)), (logs[2], log_exceeds(2.4e6, 1e6, 7.5, 2.4))):
        assert abs(mp.mpf(log_p) - exact) <= TOLERANCE * max(1, abs(exact))


@pytest.mark.parametrize("n_arms", [3, 5])
def test_probabilities_of_the_smallest_sum_to_one(n_arms):
    assert excess_of_sums(smallest_arm_log_probabilities(*mixed(n_arms, n_arms, 200))) < TOLERANCE


# Logarithms, rows and refusals.


def test_logs_are_logarithms_and_never_underflow():
    for n_arms, rows in ((2, 300), (5, 100), (20, 20)):
        shapes, rates = mixed(50 + n_arms, n_arms, rows)
        p = gamma_best_arm_probabilities(shapes, rates)
        logs = gamma_best_arm_probabilities(shapes, rates, log=True)
        assert np.isfinite(logs).all()
        assert (logs <= 0).all()
        seen = p > 1e-300
        assert np.abs(np.exp(logs[seen]) / p[seen] - 1).max() < 2 * TOLERANCE
    assert gamma_best_arm_probabilities([1e8, 1e8, 5], [1.05, 1, 1])[0] == 0
    log_p = gamma_best_arm_probabilities([1e8, 1e8, 5], [1.05, 1, 1], log=True)[0]
    # The third arm is below 200 but for 1e-78, the first two are 1e8.
    exact = log_exceeds(1e8, 1.05, 1e8, 1)
    assert exact < -1e4
    assert abs(mp.mpf(log_p) - exact) <= TOLERANCE * abs(exact)


def test_rows_broadcast():
    shapes, rates = np.tile([60.5, 4.5, 2.5], (3, 1, 1)), np.full((5, 1), 7.0)
    p = gamma_best_arm_probabilities(shapes, rates)
    assert p.shape == (3, 5, 3)
    assert (p[2, 4] == gamma_best_arm_probabilities([60.5, 4.5, 2.5], 7)).all()
    assert gamma_best_arm_probabilities(np.empty((0, 3)), 1.0).shape == (0, 3)


@pytest.mark.parametrize("function", [gamma_best_arm_probabilities, smallest_arm_log_probabilities])
@pytest.mark.parametrize(
    ("shapes", "rates", "says"),
    [
        ([1, math.nan], [1, 1], r"shapes contains NaN; .*\.$"),
        ([1, 1], [math.nan, 1], r"rates contains NaN; .*\.$"),
        ([1, 0], [1, 1], r"shapes reach from 0 to 1; they must lie between 0\.001 and 1e10 .*\.$"),
        ([1, math.inf], [1, 1], r"shapes reach from 1 to inf; they must lie between .*\.$"),
        ([1, 1], [1, -2], r"rates reach down to -2; they must be finite and above 0\.$"),
        ([1, 1], [1, 0], r"rates reach down to 0; they must be finite and above 0\.$"),
        ([1, 1], [1, math.inf], r"they must be finite and above 0\.$"),
        ([1], [1], r"must hold at least 2 of them\.$"),
        (1.0, 1.0, r"must hold at least 2 of them\.$"),
        ([1, 1], [1, 1, 1], r"do not broadcast; give them the same shape\.$"),
        ([1, 1], [1e-20, 2e10], r"differ by more than a factor of 1e30; .*\.$"),
        ([1, "a"], [1, 1], r"must be real numbers .*\.$"),
    ],
)
def test_wrong_input_is_explained(function, shapes, rates, says):
    with pytest.raises(ValueError, match=says):
        function(shapes, rates)
