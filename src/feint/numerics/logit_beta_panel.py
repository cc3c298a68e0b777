"""Integrals of the densities of `logit_beta` over a panel with 24 Gauss–Lobatto nodes, which include both ends.

At the nodes c + t of a panel about c, log g = log g(c) + s(c)·t − N·Q_c(t) for every Beta variable, with the same t and
Q. The integral of g from the left end to each node is a fixed matrix times the values at the nodes.
"""

import math

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import fma, inlined, part
from feint.numerics.logit_beta import (
    NARROW,
    both_odds,
    cumulant_coefficients,
    cumulant_series,
    fall_and_slope,
    mills_ratio,
)
from feint.numerics.normal import exp_nonpositive, log_positive
from feint.numerics.sums import sum_products

NODES = 24
_NEWTON_STEPS = 8  # after the sixth nothing moves
# Widths: 24 nodes interpolate exp(−y²/2) over 4 to 1e-13. tests/numerics/test_beta_best_arm.py halves them and sees no
# change.
_CDF_WIDTH = 4.0
_CDF_RISE = 10.0  # nats: the matrix loses e^10 of the last digit at the left end, which leaves 1e-12
_POLE_WIDTH = 3.0  # because g has poles at y = ±iπ
_NO_POLE = 34.5  # e^−34.5 = 1e-15: further out g is an exponential
_WIDEST = 600.0
# Panels begin and end at multiples of 1/GRID, so sums of their ends do not round; far from 0, sharp arms need that.
GRID = 2.0**40

# Rows of an array of nodes.
POSITION = 0  # t
CUMULANT = 1  # Q
DENSITY = 2


def _lobatto(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return nodes, weights, and the matrix whose row k is the k-th Lagrange polynomial's integral up to each node.

    The inner nodes are the zeros of P′ for P of degree n − 1, by Newton's method from the extrema of a Chebyshev
    polynomial. Unlike eigenvalues of a companion matrix, these are real and have the same bits with every NumPy.
    """
    legendre = np.polynomial.legendre
    last = legendre.Legendre.basis(n - 1)
    slope, curvature = last.deriv(), last.deriv(2)
    nodes = -np.cos(np.linspace(0.0, np.pi, n))
    for _ in range(_NEWTON_STEPS):
        nodes[1:-1] -= slope(nodes[1:-1]) / curvature(nodes[1:-1])
    nodes = (nodes - nodes[::-1]) / 2  # the two halves may round differently
    values = np.asarray(legendre.legvander(nodes, n), np.float64)  # (node, degree)
    weights = 2.0 / (n * (n - 1) * values[:, n - 1] ** 2)
    degrees = np.arange(n)
    integrals = np.empty((n, n))  # of each P_l up to each node
    integrals[:, 0] = nodes + 1.0
    integrals[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degrees[1:] + 1)
    norms = np.where(degrees < n - 1, 2.0 / (2 * degrees + 1), 2.0 / (n - 1))
    matrix = (weights[:, None] * values[:, :n] / norms) @ integrals.T
    matrix[:, 0] = 0.0
    matrix[:, -1] = weights
    return nodes, weights, matrix


LOBATTO_NODES, LOBATTO_WEIGHTS, _CUMULATIVE = _lobatto(NODES)


@part
def place_nodes(nodes: FloatArray, coefficients: FloatArray, c: float, half: float) -> tuple[float, float]:
    """Fill POSITION and CUMULANT for the panel c ± half, and return σ(c) and σ(−c)."""
    p, q = both_odds(c)
    if half <= NARROW:
        cumulant_coefficients(p, q, coefficients)
        for i in range(NODES):
            t = half * LOBATTO_NODES[i]
            nodes[POSITION, i] = t
            nodes[CUMULANT, i] = cumulant_series(t, coefficients)
        return p, q
    # From the side where σ ≤ ½, Q is the same and 1 + σ·(e^t − 1) loses no digits.
    sign = -1.0 if c > 0.0 else 1.0
    small = min(p, q)
    top = math.exp(half)
    for i in range(NODES):
        t = half * LOBATTO_NODES[i]
        change = small * (exp_nonpositive(sign * t - half) * top - 1.0)
        total = 1.0 + change
        nodes[POSITION, i] = t
        nodes[CUMULANT, i] = log_positive(total) + (change - (total - 1.0)) / total - small * (sign * t)
    return p, q


@part
def place_odds(odds: FloatArray, c: float, half: float) -> None:
    """Fill σ(y) and σ(−y) at the nodes, each to full relative precision."""
    p, q = both_odds(c)
    for i in range(NODES):
        t = half * LOBATTO_NODES[i]
        shrunk = exp_nonpositive(-abs(t))
        success = p if t > 0.0 else p * shrunk
        failure = q if t < 0.0 else q * shrunk
        odds[0, i] = success / (success + failure)
        odds[1, i] = failure / (success + failure)


@inlined
def fill_densities(nodes: FloatArray, n: float, fall: float, slope: float) -> None:
    """Fill DENSITY = exp(s·t − N·Q − fall), where `fall` is that at the centre."""
    for i in range(NODES):
        nodes[DENSITY, i] = exp_nonpositive(slope * nodes[POSITION, i] - n * nodes[CUMULANT, i] - fall)


@inlined
def accumulate_densities(nodes: FloatArray, out: FloatArray, row: int, start: float, scale: float) -> None:
    """Fill out[row] with start + scale × the integral of DENSITY from the left end to each node."""
    for i in range(NODES):
        out[row, i] = start
    for k in range(0, NODES, 4):  # four at a time, for a quarter of the loads and stores
        g0 = scale * nodes[DENSITY, k]
        g1 = scale * nodes[DENSITY, k + 1]
        g2 = scale * nodes[DENSITY, k + 2]
        g3 = scale * nodes[DENSITY, k + 3]
        for i in range(NODES):
            first = fma(_CUMULATIVE[k, i], g0, _CUMULATIVE[k + 1, i] * g1)
            out[row, i] += first + fma(_CUMULATIVE[k + 2, i], g2, _CUMULATIVE[k + 3, i] * g3)


@inlined
def cdf_width(alpha: float, beta: float, p: float, q: float) -> float:
    """Return how wide a panel that starts at σ(y) = p = 1 − q may be to integrate g to each node."""
    slope = alpha * q - beta * p
    precision = math.sqrt((alpha + beta) * p * q)
    # Far right of the mode only the remaining density matters.
    ease = min(max(1.0, -slope / precision - 2.0), 4.0)
    width = _CDF_WIDTH * ease / precision
    return min(width, _CDF_RISE / slope) if slope > 0.0 else width


@inlined
def pole_width(y: float, log_n: float) -> float:
    """Return how wide a panel at y may be because of the poles; wide where e^−|y| makes N·Q negligible on all of it."""
    if y > 0.0:
        return _POLE_WIDTH if y < _NO_POLE + log_n else _WIDEST
    return min(_WIDEST, max(_POLE_WIDTH, -y - _NO_POLE - log_n))


@part
def relative_cdf(
    alpha: float, beta: float, mode: float, edge: float, y: float, nodes: FloatArray, coefficients: FloatArray
) -> float:
    """Return G(y)/g(m) for y right of `edge`, by the continued fraction at the edge and panels from there."""
    n = alpha + beta
    log_n = math.log(n)
    edge = math.floor(edge * GRID) / GRID
    p, q = both_odds(edge)
    fall, _ = fall_and_slope(alpha, beta, mode, edge, coefficients)
    total = math.exp(-fall) * mills_ratio(alpha, beta, p, q)
    start = edge
    while start < y:
        width = math.floor(min(cdf_width(alpha, beta, p, q), pole_width(start, log_n)) * GRID) / GRID
        width = min(width, y - start)
        half = 0.5 * width
        p, q = place_nodes(nodes, coefficients, start + half, half)
        slope = alpha * q - beta * p
        fall -= slope * half + n * nodes[CUMULANT, 0]
        fill_densities(nodes, n, fall, slope)
        total += half * sum_products(nodes[DENSITY], LOBATTO_WEIGHTS)
        fall += n * nodes[CUMULANT, NODES - 1] - slope * half
        start = start + width if width < y - start else y
        p, q = both_odds(start)
    return total
