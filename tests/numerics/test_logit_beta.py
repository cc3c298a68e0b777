"""Density, tail and panel integrals of log-odds agree with 40-digit arithmetic."""

import math

import mpmath as mp
import numpy as np
import pytest

from feint.numerics.logit_beta import (
    NARROW,
    SERIES,
    both_odds,
    cumulant_coefficients,
    cumulant_series,
    fall_and_slope,
    fraction_edges,
    lower_quantile,
    mills_ratio,
    mills_ratios,
    peak_density,
)
from feint.numerics.logit_beta_panel import (
    CUMULANT,
    DENSITY,
    LOBATTO_NODES,
    LOBATTO_WEIGHTS,
    NODES,
    POSITION,
    _lobatto,
    accumulate_densities,
    place_nodes,
    place_odds,
    relative_cdf,
)

SIZES = (1e-3, 0.1, 0.5, 1.0, 3.5, 30.0, 1e3, 1e5, 1e8, 1e10)
PAIRS = [(alpha, beta) for alpha in SIZES for beta in SIZES]


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def log_density(alpha, beta, y):
    a, b, y = mp.mpf(alpha), mp.mpf(beta), mp.mpf(y)
    return -a * mp.log1p(mp.exp(-y)) - b * mp.log1p(mp.exp(y)) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)


def tail_over_density(alpha, beta, y):
    """Return R by its power series in x, with positive terms only: 1/α·∑ (N)…(N + n − 1)/((α + 1)…(α + n))·xⁿ."""
    a, n, x = mp.mpf(alpha), mp.mpf(alpha) + mp.mpf(beta), 1 / (1 + mp.exp(-mp.mpf(y)))
    term = total = 1 / a
    k = 0
    while term > 1e-30 * total:
        term *= (n + k) * x / (a + 1 + k)
        total += term
        k += 1
    return total


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_density(alpha, beta):
    mode = mp.log(mp.mpf(alpha) / mp.mpf(beta))
    top = log_density(alpha, beta, mode)
    assert abs(peak_density(alpha, beta) / mp.exp(top) - 1) < 2e-15
    coefficients = np.empty(SERIES + 1)
    n = alpha + beta
    for distance in (-300, -30, -8, -3, -1, -0.1, 0.1, 1, 3, 8, 30, 300):
        y = float(mode) + distance / math.sqrt(alpha / n * beta)
        fall, slope = fall_and_slope(alpha, beta, float(mode), y, coefficients)
        exact = top - log_density(alpha, beta, y)
        loss = 5e-15 + 1e-15 * math.sqrt(alpha / n * beta) * min(abs(distance), 1)
        assert abs(fall - exact) <= loss * max(1, exact)
        x, w = 1 / (1 + mp.exp(-mp.mpf(y))), 1 / (1 + mp.exp(mp.mpf(y)))
        assert abs(slope - (alpha * w - beta * x)) <= 4e-16 * float(alpha * w + beta * x)


@pytest.mark.parametrize(("alpha", "beta"), [(a, b) for a, b in [*PAIRS, (1e5, 1e5)] if a <= 1e3 or a == b == 1e5])
def test_continued_fraction_up_to_its_edge(alpha, beta):
    edge, right_edge = fraction_edges(alpha, beta)
    assert right_edge == pytest.approx(-fraction_edges(beta, alpha)[0], rel=1e-12, abs=1e-12)
    steps = np.array([6.0, 2.0, 0.5, 0.1, 0.0]) / max(1.0, math.sqrt(alpha / (alpha + beta) * beta) / 10)
    odds = np.array([both_odds(edge - step) for step in steps]).T.copy()
    out = np.empty((2, len(steps)))
    mills_ratios(alpha, beta, odds, out, 1)
    for i, step in enumerate(steps):
        exact = tail_over_density(alpha, beta, edge - step)
        assert abs(out[1, i] / exact - 1) < (5e-13 if min(alpha, beta) > 1e6 else 1e-13)
        assert abs(mills_ratio(alpha, beta, odds[0, i], odds[1, i]) / exact - 1) < 5e-13


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_quantile_bounds_the_lower_tail(alpha, beta):
    y = lower_quantile(alpha, beta, 33.0, np.empty(SERIES + 1))
    x, w = 1 / (1 + mp.exp(-mp.mpf(y))), 1 / (1 + mp.exp(mp.mpf(y)))
    log_bound = log_density(alpha, beta, y) - mp.log(mp.mpf(alpha) * w - mp.mpf(beta) * x)  # G ≤ g/s
    assert log_bound < -33
    assert log_bound > -45 if alpha > 1e-2 and beta > 1e-2 else log_bound > -60


@pytest.mark.parametrize("p", [1e-9, 0.01, 0.3, 0.5, 0.9])
def test_cumulant_series(p):
    coefficients = np.empty(SERIES + 1)
    cumulant_coefficients(p, 1 - p, coefficients)
    for t in (-NARROW, -0.01, 1e-6, 0.05, NARROW):
        exact = mp.log1p(mp.mpf(p) * mp.expm1(mp.mpf(t))) - mp.mpf(p) * mp.mpf(t)
        assert abs(cumulant_series(t, coefficients) / exact - 1) < 1e-14


def test_lobatto_nodes_are_the_zeros_of_the_slope_of_a_legendre_polynomial():
    def slope(x):
        return NODES * (x * mp.legendre(NODES - 1, x) - mp.legendre(NODES, x))  # (1 − x²)·P′

    for node in LOBATTO_NODES[1:-1]:
        assert abs(node - mp.findroot(slope, mp.mpf(node))) <= np.spacing(abs(node))
    assert (LOBATTO_NODES[0], LOBATTO_NODES[-1]) == (-1.0, 1.0)
    assert (np.diff(LOBATTO_NODES) > 0.0).all()


def test_lobatto_nodes_are_real_where_eigenvalues_are_complex(monkeypatch):
    """Those of `numpy.linalg` are, whatever the matrix, since NumPy 2.5."""
    eigenvalues = np.linalg.eigvals
    monkeypatch.setattr(np.linalg, "eigvals", lambda matrix: eigenvalues(matrix).astype(complex))
    for found, known in zip(_lobatto(NODES)[:2], (LOBATTO_NODES, LOBATTO_WEIGHTS), strict=True):
        assert found.dtype == np.float64
        assert (found == known).all()


def test_lobatto_integrates_polynomials_to_every_node():
    nodes = np.empty((3, NODES))
    out = np.empty((1, NODES))
    for degree in range(NODES):
        nodes[DENSITY] = LOBATTO_NODES**degree
        accumulate_densities(nodes, out, 0, 0.25, 2.0)
        exact = 0.25 + 2.0 * (LOBATTO_NODES ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
        assert np.abs(out[0] - exact).max() < 2e-15
        assert LOBATTO_WEIGHTS @ nodes[DENSITY] == pytest.approx((1 + (-1) ** degree) / (degree + 1), abs=1e-15)
    assert pytest.approx(2 / (2 * NODES - 3), rel=1e-14) == LOBATTO_WEIGHTS @ LOBATTO_NODES ** (2 * NODES - 4)


@pytest.mark.parametrize(
    ("c", "half"), [(0.3, 0.05), (-2.0, 0.15), (-2.0, 0.16), (4.0, 1.5), (-40.0, 3.0), (-400.0, 250)]
)
def test_nodes_of_a_panel(c, half):
    nodes = np.empty((3, NODES))
    odds = np.empty((2, NODES))
    p, q = place_nodes(nodes, np.empty(SERIES + 1), c, half)
    place_odds(odds, c, half)
    sigma = 1 / (1 + mp.exp(-mp.mpf(c)))
    assert p == pytest.approx(float(sigma), rel=1e-15)
    assert q == pytest.approx(float(1 - sigma), rel=1e-15)
    for i in range(NODES):
        t = mp.mpf(nodes[POSITION, i])
        assert abs(t - half * LOBATTO_NODES[i]) < 1e-15 * half
        exact = mp.log1p(sigma * mp.expm1(t)) - sigma * t
        first_order = 0 if half <= NARROW else min(sigma, 1 - sigma) * (1 + abs(t))
        assert abs(nodes[CUMULANT, i] - exact) <= 1e-15 * (1 + half / 10) * (exact + first_order)
        assert odds[0, i] == pytest.approx(float(1 / (1 + mp.exp(-c - t))), rel=1e-14, abs=0)
        assert odds[1, i] == pytest.approx(float(1 / (1 + mp.exp(c + t))), rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.1, 0.1), (0.5, 30.0), (30.0, 0.5), (1.0, 1e8), (40.0, 60.0), (900.0, 700.0)]
)
def test_distribution_function_right_of_the_edge(alpha, beta):
    edge, right_edge = fraction_edges(alpha, beta)
    mode = math.log(alpha / beta)
    for share in (0.0, 0.1, 0.4, 0.8, 1.0):
        y = edge + share * (right_edge - edge)
        if 1 / (1 + math.exp(y)) > 0.01:  # where the series converges in time
            exact = mp.exp(log_density(alpha, beta, y)) * tail_over_density(alpha, beta, y)
            ours = relative_cdf(alpha, beta, mode, edge, y, np.empty((3, NODES)), np.empty(SERIES + 1))
            assert abs(ours * peak_density(alpha, beta) / exact - 1) < 3e-13
