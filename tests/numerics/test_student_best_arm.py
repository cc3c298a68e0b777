"""`student_best_arm_probabilities` agrees with mpmath, closed forms, the normal limit and its symmetries."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from feint import best_arm_probabilities
from feint.numerics.student_best_arm import log_sums, student_best_arm_probabilities
from feint.numerics.student_cdf import log_cdf, log_density, log_peak, rough_log_cdf

TOLERANCE = 1e-10
DIGITS = 25


# Oracles. They share no code with the package.


def exact_log_density(z, dof):
    """Return log f(z) from gamma functions, with 15 more digits for what cancels at 1e10 degrees of freedom."""
    with mp.workdps(DIGITS + 15):
        dof = mp.mpf(dof)
        constant = mp.loggamma((dof + 1) / 2) - mp.loggamma(dof / 2) - mp.log(dof * mp.pi) / 2
        return constant - (dof + 1) / 2 * mp.log1p(mp.mpf(z) ** 2 / dof)


def exact_log_cdf(z, dof):
    """Return log F(z), by a hypergeometric series around 0 and a continued fraction (DLMF 8.17.22) in the tails."""
    with mp.workdps(DIGITS + 15):
        z, dof = mp.mpf(z), mp.mpf(dof)
        if abs(z) < 2.5:
            x = z * z / (dof + z * z)  # Pfaff's transformation of 2F1(½, (ν+1)/2; 3/2; −z²/ν)
            series = mp.hyp2f1(0.5, 1 - dof / 2, 1.5, x) if dof < 1e3 else _positive_series(dof, x)
            rise = z * mp.exp(exact_log_density(0, dof)) * series * mp.sqrt(1 - x)
            return mp.log(0.5 + rise)
        a, b, x = dof / 2, mp.mpf(0.5), dof / (dof + z * z)
        c, d = mp.mpf(1), 1 / (1 - (a + b) * x / (a + 1))
        value = d
        for m in range(1, 100_000):
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            d, c = 1 / (1 + term * d), 1 + term / c
            value *= c * d
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            d, c = 1 / (1 + term * d), 1 + term / c
            value *= c * d
            if abs(c * d - 1) < 1e-20:
                break
        lower = exact_log_density(z, dof) + mp.log(abs(z) * value / dof)
        return lower if z < 0 else mp.log1p(-mp.exp(lower))


def _positive_series(dof, x):
    """2F1(½, 1 − ν/2; 3/2; x) = (1 − x)^(ν/2)·2F1(1, (ν+1)/2; 3/2; x), whose terms are positive (Euler)."""
    term = total = mp.mpf(1)
    n = 0
    while term > mp.mpf(10) ** -35 * total:
        term *= ((dof + 1) / 2 + n) / (1.5 + n) * x
        total += term
        n += 1
    return mp.exp(dof / 2 * mp.log1p(-x)) * total


def log_largest(arms, arm):
    """Return log P(arm is the largest) of (location, scale, dof) arms, by Gauss' rule with 16 nodes on small panels.

    Panels double in width away from every location and are cut further where a factor changes by more than 8 nats.
    Float64 only places them; those that a bound shows to be below 1e-18 of another are left out.
    """
    own = arms[arm]

    def at(x):
        density = -math.log(own[1]) + _rough_log_density((x - own[0]) / own[1], own[2])
        cdfs = [_rough_log_cdf((x - m) / s, v) for j, (m, s, v) in enumerate(arms) if j != arm]
        return np.array([density, *cdfs])

    steps = [0.7 * 2.0**k for k in range(-1, 60)]
    edges = sorted({m + sign * s * step for m, s, _ in arms for step in (0, *steps) for sign in (-1, 1)})
    values = [at(x) for x in edges]

    def weight(low, high, at_low, at_high):
        return math.log(high - low) + max(at_low[0], at_high[0]) + at_high[1:].sum()

    def least(low, high, at_low, at_high):
        return math.log(high - low) + min(at_low[0], at_high[0]) + at_low[1:].sum()

    waiting = [(*x, *v) for x, v in zip(pairwise(edges), pairwise(values), strict=True)]
    best, panels = -math.inf, []
    while waiting:
        best = max(best, *(least(*panel) for panel in waiting))
        split = []
        for low, high, at_low, at_high in waiting:
            if weight(low, high, at_low, at_high) < best - 42:
                continue
            if np.abs(at_high - at_low).max() > 8:
                middle = 0.5 * (low + high)
                split += [(low, middle, at_low, at(middle)), (middle, high, at(middle), at_high)]
            else:
                panels.append((low, high, at_low, at_high))
        waiting = split
    nodes, weights = np.polynomial.legendre.leggauss(16)
    with mp.workdps(DIGITS):
        exact = [tuple(mp.mpf(float(x)) for x in values) for values in arms]
        total = mp.mpf(0)
        for panel in panels:
            if weight(*panel) < best - 42:
                continue
            half, middle = (mp.mpf(panel[1]) - panel[0]) / 2, (mp.mpf(panel[1]) + panel[0]) / 2
            for node, w in zip(nodes.tolist(), weights.tolist(), strict=True):
                z = [(middle + half * node - m) / s for m, s, _ in exact]
                logs = exact_log_density(z[arm], own[2])
                logs += mp.fsum(exact_log_cdf(z[j], v) for j, (_, _, v) in enumerate(arms) if j != arm)
                total += half * w * mp.exp(logs) / exact[arm][1]
        return mp.log(total)


def _rough_log_density(z, dof):
    return -0.92 - (dof + 1) / 2 * math.log1p(z * z / dof)


def _rough_log_cdf(z, dof):
    if z > -2:
        return float(special.log_ndtr(z))
    return _rough_log_density(z, dof) + math.log((dof + z * z) / (dof * -z))


def composite(locations, scales, dofs):
    """Return all p in float64 for up to 60 degrees of freedom, by Gauss' rule with 16 nodes on the cuts of all arms.

    Cuts lie 0.7 scales apart up to 40 scales, then a factor 1.3, so nothing changes by more than 16 nats in between. F
    is the incomplete Beta function, which Boost computes to 1e-13 for so few degrees of freedom.
    """
    steps = np.concatenate([np.arange(0, 40, 0.7), 40 * 1.3 ** np.arange(120)])
    edges = np.unique(locations[:, None] + scales[:, None] * np.concatenate([-steps[1:], steps]))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    middle = 0.5 * (edges[1:] + edges[:-1])
    nearest = locations[np.abs(middle[:, None] - locations).argmin(-1)]  # from where offsets have all their digits
    low, high = edges[:-1] - nearest, edges[1:] - nearest
    offset = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * nodes
    measure = 0.5 * (high - low)[:, None] * weights
    z = (offset + (nearest - locations[:, None])[:, :, None]) / scales[:, None, None]
    v = dofs[:, None, None]
    tail = 0.5 * special.betainc(v / 2, 0.5, v / (v + z * z))
    cdf = np.where(z < 0, tail, 1 - tail)
    constant = np.exp(special.gammaln((v + 1) / 2) - special.gammaln(v / 2)) / np.sqrt(v * math.pi)
    density = constant * (1 + z * z / v) ** (-(v + 1) / 2) / scales[:, None, None]
    others = [np.delete(cdf, a, axis=0).prod(axis=0) for a in range(len(scales))]
    return np.array([(measure * density[a] * others[a]).sum() for a in range(len(scales))])


def cauchy_log(locations, scales):
    """Return log P(X > X′) of two Cauchy variables; their difference is one, with the sum of the scales."""
    with mp.workdps(DIGITS):
        gap = mp.mpf(float(locations[1])) - mp.mpf(float(locations[0]))
        return mp.log(mp.atan2(mp.mpf(float(scales[0])) + mp.mpf(float(scales[1])), gap) / mp.pi)


def check(arms, chosen):
    """Compare p and log p of the chosen arms with mpmath, relative to max(1, |log p|)."""
    parameters = np.transpose(np.array(arms, dtype=float))
    p, logs = (student_best_arm_probabilities(*parameters, log=log) for log in (False, True))
    for a in chosen:
        agrees(p[a], logs[a], log_largest(arms, a))


def agrees(p, log_p, exact):
    assert abs(mp.mpf(float(log_p)) - exact) <= TOLERANCE * max(1, abs(exact))
    if exact > -700:
        assert abs(mp.mpf(float(p)) / mp.exp(exact) - 1) <= TOLERANCE


# The oracles, density and cdf.


def test_the_oracle_on_cauchy_variables():
    assert abs(log_largest([(0, 1, 1), (30, 0.2, 1)], 0) - cauchy_log([0, 30], [1, 0.2])) < 1e-13


@pytest.mark.parametrize("dof", [1, 1.2, 2, 3, 7, 23.9, 24.1, 100.5, 1e3, 1e6, 1e8, 1e10])
def test_density_and_cdf(dof):
    z = np.array([-1e8, -1e4, -100, -37.5, -9, -2.6, -2.01, -1.99, -0.7, 0, 1e-9, 1.3, 1.999, 2.001, 3, 8, 60, 1e6])
    dofs = np.full(z.shape, float(dof))
    density, cdf = log_density(z, dofs, log_peak(dofs)), log_cdf(z, dofs, log_peak(dofs))
    rough = rough_log_cdf(z, dofs, density)
    for i, place in enumerate(z.tolist()):
        exact = exact_log_density(place, dof)
        assert abs(density[i] - exact) <= 1e-14 * max(1, abs(exact))
        exact = exact_log_cdf(place, dof)
        assert abs(cdf[i] - exact) <= 1e-14 * max(1, abs(exact))
        assert abs(rough[i] - exact) <= 0.03


# Against mpmath.


@pytest.mark.parametrize(
    ("arms", "chosen"),
    [
        ([(0, 1, 3), (1, 0.5, 7.5)], [0, 1]),
        ([(0, 1, 1.5), (100, 1, 2.5)], [0]),  # two modes, both tails
        ([(0, 1e-6, 2), (100, 1, 1.25)], [0]),
        ([(0, 1, 1e8), (30, 1, 1e6)], [0]),  # e^−226
        ([(0, 1, 1e8), (100, 1, 3e7)], [0]),  # e^−2500
        ([(0, 1, 1e4), (100, 0.01, 50)], [0]),
        ([(0, 1, 40), (100, 1, 60)], [0]),
        ([(0, 1, 1e8), (100, 1e-6, 1e8)], [0]),
        ([(5, 1e-6, 1e5), (-90, 1, 1e8)], [1]),
        ([(0, 1, 12), (20, 1, 1e7), (-3, 6, 2)], [0, 1]),
        ([(0, 1e-3, 1e3), (0.01, 1e-3, 4), (0, 1, 30)], [0, 1]),
        ([(0, 1, 1), (0, 1e3, 1), (50, 1e-3, 1e8)], [0]),
    ],
)
def test_small_and_large_probabilities(arms, chosen):
    check(arms, chosen)


def test_the_examples_of_the_docstring():
    means, sds, pulls = np.array([0.6, 0.4, 0.1]), np.array([1.0, 0.5, 2.0]), np.array([50, 8, 3])
    exact = composite(means, sds / np.sqrt(pulls), pulls - 1.0)
    assert exact.round(4).tolist() == [0.5201, 0.133, 0.3469]
    assert round(float(log_largest([(0, 1, 1e6), (50, 1, 1e3)], 0)), 3) == -516.131


@pytest.mark.parametrize("n_arms", [2, 3, 6])
def test_random_corners_against_a_composite_rule(n_arms):
    rng = np.random.default_rng(n_arms)
    compared = 0
    for row in range(8):
        scales = 10 ** rng.uniform(-6 * (row % 2), 0, n_arms)
        locations = rng.uniform(-1, 1, n_arms) * 10 ** rng.uniform(-2, 2)
        dofs = 10 ** rng.uniform(0, 1.78, n_arms)
        if n_arms > 2:
            locations[-1], dofs[0] = locations[0], 1
        exact = composite(locations, scales, dofs)
        assert abs(exact.sum() - 1) < 1e-11  # the rule has converged
        p = student_best_arm_probabilities(locations, scales, dofs)
        seen = exact > 1e-200
        compared += seen.sum()
        assert np.abs(p[seen] / exact[seen] - 1).max() < TOLERANCE
    assert compared > 6 * n_arms


# Closed forms.


def test_two_cauchy_variables():
    rng = np.random.default_rng(1)
    locations = rng.uniform(-1, 1, (300, 2)) * 10 ** rng.uniform(-3, 2, (300, 1))
    scales = 10 ** rng.uniform(-6, 0, (300, 2))
    p, logs = (student_best_arm_probabilities(locations, scales, 1, log=log) for log in (False, True))
    for row in range(300):
        for a in (0, 1):
            agrees(p[row, a], logs[row, a], cauchy_log(locations[row, [a, 1 - a]], scales[row, [a, 1 - a]]))


@pytest.mark.parametrize("dof", [1, 1.7, 6, 1e3, 1e8])
def test_a_narrow_arm_is_a_threshold(dof):
    """With an arm of variance τ² at m, P(X > it) = 1 − F(m) − τ²·f′(m)/2 + O(τ⁴): below 1e-12 of it at τ = 1e-6·s/4."""
    for m in (-80.0, -3.0, 0.2, 4.0, 30.0):
        p = student_best_arm_probabilities([0, m], [1, 2.5e-7], [dof, 1e8], log=True)[0]
        exact = exact_log_cdf(-m, dof)
        assert abs(mp.mpf(float(p)) - exact) <= TOLERANCE * max(1, abs(exact))


@pytest.mark.parametrize("n_arms", [2, 3, 10, 100])
@pytest.mark.parametrize("dof", [1, 2.5, 30, 1e4, 1e8])
def test_arms_that_tie(n_arms, dof):
    p = student_best_arm_probabilities(np.full(n_arms, 3.3), 0.07, dof)
    assert np.abs(p * n_arms - 1).max() < 1e-14
    sums = log_sums(np.full((1, n_arms), 3.3), np.full((1, n_arms), 0.07), np.full((1, n_arms), float(dof)))
    assert np.abs(np.exp(sums) * n_arms - 1).max() < TOLERANCE  # as integrated, before normalising


def test_two_arms_at_one_place_are_even_whatever_their_scales():
    rng = np.random.default_rng(2)
    p = student_best_arm_probabilities(-7.1, 10 ** rng.uniform(-6, 0, (200, 2)), 10 ** rng.uniform(0, 8, (200, 2)))
    assert np.abs(p - 0.5).max() < TOLERANCE


# The normal limit.


@pytest.mark.parametrize("n_arms", [2, 4, 30, 100])
def test_many_degrees_of_freedom_are_normal(n_arms):
    """Log f and log F are off by about z⁴/(4ν): where p > 1e-8, |z| < 6 for all but F ≈ 1, so below 1e-7 in all."""
    rng = np.random.default_rng(n_arms)
    locations, scales = rng.normal(size=(10, n_arms)) * 1.5, 10 ** rng.uniform(-1, 0, (10, n_arms))
    normal = best_arm_probabilities(locations, scales)
    p = student_best_arm_probabilities(locations, scales, 1e10)
    seen = normal > 1e-8
    assert np.abs(p[seen] / normal[seen] - 1).max() < 1e-7


def test_the_normal_limit_is_reached_like_one_over_dof():
    locations, scales = [0.0, 1.0, 3.0], [1.0, 2.0, 0.5]
    normal = best_arm_probabilities(locations, scales)
    dofs = 10.0 ** np.arange(3, 7)
    errors = np.abs(student_best_arm_probabilities(locations, scales, dofs[:, None]) / normal - 1)
    slopes = np.diff(np.log10(errors), axis=0)
    assert np.abs(slopes + 1).max() < 0.02


# Symmetries and sums.


def mixed(seed, n_arms, rows):
    rng = np.random.default_rng(seed)
    scales = 10 ** rng.uniform(-1, 0, (rows, n_arms))
    scales[::3] = 10 ** rng.uniform(-6, 0, scales[::3].shape)
    locations = rng.uniform(-1, 1, (rows, n_arms)) * 10 ** rng.uniform(-1, 2, (rows, 1))
    dofs = 10 ** rng.uniform(0, 8, (rows, n_arms))
    dofs[::2] = 10 ** rng.uniform(0, 1.5, dofs[::2].shape)
    return locations, scales, dofs


def differ(logs, others):
    return (np.abs(logs - others) / np.maximum(1, np.abs(others))).max()


@pytest.mark.parametrize(("n_arms", "rows"), [(2, 120), (4, 60), (10, 12), (100, 1)])
def test_units_order_and_sum(n_arms, rows):
    locations, scales, dofs = mixed(n_arms, n_arms, rows)
    sums = log_sums(locations, scales, dofs)
    assert np.abs(np.exp(sums).sum(-1) - 1).max() < 1e-11
    p = student_best_arm_probabilities(locations, scales, dofs)
    logs = student_best_arm_probabilities(locations, scales, dofs, log=True)
    assert np.isfinite(logs).all()
    assert (logs <= 0).all()
    assert np.abs(p.sum(-1) - 1).max() < 1e-12
    seen = p > 1e-300
    assert np.abs(np.exp(logs[seen]) / p[seen] - 1).max() < 1e-12
    if n_arms == 100:
        return
    for unit in (1e-200, 0.3, 7.7e5):
        assert differ(student_best_arm_probabilities(locations * unit, scales * unit, dofs, log=True), logs) < TOLERANCE
    order = np.random.default_rng(0).permutation(n_arms)
    shuffled = (array[:, order] for array in (locations, scales, dofs))
    assert differ(student_best_arm_probabilities(*shuffled, log=True), logs[:, order]) < TOLERANCE


def test_shifts_change_nothing():
    """Locations on a grid of 2^−20, so that shifted by 2^20 they are still exact."""
    locations, scales, dofs = mixed(5, 4, 60)
    locations = np.round(locations * 2**20) / 2**20
    logs = student_best_arm_probabilities(locations, scales, dofs, log=True)
    for shift in (-(2.0**20), 777.0):
        assert differ(student_best_arm_probabilities(locations + shift, scales, dofs, log=True), logs) < TOLERANCE


def test_close_arms_far_from_another_keep_their_digits():
    """An arm 2^27 scales below wins with probability 1e-32: the other two are as if alone."""
    three = student_best_arm_probabilities([0.125 + 2**26, 0.375 + 2**26, -(2**26)], [1, 0.75, 0.5], [4, 9, 1e8])
    alone = student_best_arm_probabilities([0.125, 0.375], [1, 0.75], [4, 9])
    assert np.abs(three[:2] / alone - 1).max() < TOLERANCE


def test_the_log_of_a_near_certain_arm_has_its_digits():
    logs = student_best_arm_probabilities([0, 12], 1, 1e3, log=True)
    assert logs[1] == pytest.approx(-math.exp(logs[0]), rel=1e-12)
    assert logs[0] < -30


# Rows and refusals.


def test_rows_broadcast():
    p = student_best_arm_probabilities(np.tile([0.0, 1.0, 2.0], (3, 1, 1)), np.full((5, 1), 0.7), [1, 2, 3])
    assert p.shape == (3, 5, 3)
    assert p[2, 4] == pytest.approx(student_best_arm_probabilities([0, 1, 2], 0.7, [1, 2, 3]), rel=1e-13)
    assert student_best_arm_probabilities(np.empty((0, 3)), 1.0, 2.0).shape == (0, 3)


def test_blocks_of_rows_do_not_matter():
    locations, scales, dofs = mixed(9, 40, 50)  # 18 rows per block
    locations, dofs = locations[:, :1] + scales, np.minimum(dofs, 30)
    whole = student_best_arm_probabilities(locations, np.ones_like(scales), dofs)
    parts = [student_best_arm_probabilities(locations[i : i + 1], 1, dofs[i : i + 1]) for i in range(0, 50, 7)]
    assert np.abs(np.concatenate(parts) / whole[::7] - 1).max() < 1e-12


@pytest.mark.parametrize(
    ("locations", "scales", "dofs", "says"),
    [
        ([1, math.nan], 1, 1, r"locations contains NaN; .*\.$"),
        ([1, math.inf], 1, 1, r"locations must be finite; .*\.$"),
        ([1, 1], [math.nan, 1], 1, r"scales contains NaN; .*\.$"),
        ([1, 1], [1, 0], 1, r"scales reach from 0 to 1; they must be finite and above 0\.$"),
        ([1, 1], [1, math.inf], 1, r"they must be finite and above 0\.$"),
        ([1, 1], 1, [1, 0.5], r"dofs reach from 0\.5 to 1; they must lie between 1 and 1e10 .*\.$"),
        ([1, 1], 1, [1, math.inf], r"dofs reach from 1 to inf; .*best_arm_probabilities\)\.$"),
        ([1], 1, 1, r"must hold at least 2 of them\.$"),
        (1.0, 1.0, 1.0, r"must hold at least 2 of them\.$"),
        ([1, 1], [1, 1, 1], 1, r"do not broadcast; give them the same shape\.$"),
        ([1, 1], 1, [1, 1, 1], r"do not broadcast; give them the same shape\.$"),
        ([0, 0], [1e-7, 1e6], 1, r"spread over 1e\+13 times its smallest scale; .*\.$"),
        ([-1e308, 1e308], 1, 1, r"spread over inf times its smallest scale; .*\.$"),
        ([1, "a"], 1, 1, r"must be real numbers .*\.$"),
    ],
)
def test_wrong_input_is_explained(locations, scales, dofs, says):
    with pytest.raises(ValueError, match=says):
        student_best_arm_probabilities(locations, scales, dofs)
