r"""The probability that both of two correlated normals exceed a threshold, with all of its relative digits.

For standard normals X, Y with correlation ρ and r = √(1 − ρ²),

    P(X > h, Y > k) = ∫_h^∞ φ(x)·Φ((ρx − k)/r) dx.

SciPy's and Genz's methods give this to an absolute 1e-8 to 1e-15, which is useless if the probability is 1e-20. Here
the integral itself is computed. Its integrand e^f is positive, and f is concave with f″ ≤ −1, so e^f has one peak and
falls on both sides of it at least as fast as a normal density of sd 1. What lies 45 nats below the peak is left out.
Only one thing can be sharp: Φ rises or falls around x = k/ρ over a width of r/|ρ|. Panels with Gauss–Legendre nodes are
laid evenly between the ends, and around that place. Nothing is subtracted, so the error is relative: below 1e-12,
compared with mpmath (tests/numerics/test_orthant.py).
"""

import math
from collections.abc import Callable

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.numerics.normal import HALF_LOG_2PI

_DEPTH = 45.0  # nats below the peak
_REACH = math.sqrt(2 * _DEPTH) + 0.1  # no point that high is farther from the peak, since f″ ≤ −1
_HALVINGS, _ROUGHLY = 60, 16
_EVEN = np.linspace(0.0, 1.0, 5)
_AROUND_STEP = np.array([-10.0, -6.0, -3.0, -1.0, 1.0, 3.0, 6.0, 10.0])  # in widths of the step
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_UNCORRELATED = 1e-15


def log_orthant(h: FloatArray, k: FloatArray, rho: FloatArray, r: FloatArray) -> FloatArray:
    """Return log P(X > h, Y > k), (n,), for standard normals of correlation ρ; r = √(1 − ρ²) is given separately, since
    it is known to more digits than 1 − ρ² has.

    >>> found = np.exp(log_orthant(*np.array([[0.0], [0.0], [0.6], [0.8]])))[0]
    >>> bool(abs(found - 0.25 - np.arcsin(0.6) / (2 * np.pi)) < 1e-15)
    True
    """
    from scipy.special import log_ndtr  # imported here, so that what does not need SciPy starts without it

    found = log_ndtr(-h) + log_ndtr(-k)
    same, opposite = (r == 0.0) & (rho > 0.0), (r == 0.0) & (rho < 0.0)
    found[same] = log_ndtr(-np.maximum(h, k)[same])
    found[opposite] = _log_between(h[opposite], -k[opposite])
    other = (r > 0.0) & (np.abs(rho) > _UNCORRELATED)
    if other.any():
        found[other] = _log_integral(h[other], k[other], rho[other], r[other])
    return np.asarray(np.minimum(found, 0.0))


def _log_between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return log P(low < X < high), −∞ where that is empty."""
    from scipy.special import log_ndtr

    upper = low + high > 0.0  # measured in the tail in which both lie
    near = log_ndtr(np.where(upper, -low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.exp(log_ndtr(np.where(upper, -high, low)) - near)
        return np.where(low < high, near + np.log1p(-ratio), -np.inf)


def _log_integral(h: FloatArray, k: FloatArray, rho: FloatArray, r: FloatArray) -> FloatArray:
    from scipy.special import log_ndtr

    def f(x: FloatArray) -> FloatArray:
        more = x.ndim - 1
        a, b, c = (np.expand_dims(value, tuple(range(-more, 0))) for value in (rho, k, r))
        return np.asarray(-0.5 * x * x + log_ndtr((a * x - b) / c))

    def falls(x: FloatArray) -> BoolArray:
        z = (rho * x - k) / r
        hazard = np.exp(-0.5 * z * z - HALF_LOG_2PI - log_ndtr(z))
        return np.asarray(-x + rho / r * hazard < 0.0)

    step, width = k / rho, r / np.abs(rho)
    rising = rho > 0.0
    # Beyond the step Φ is flat, so f has its peak between 0 and there.
    low = np.where(rising, 0.0, np.minimum(step, 0.0) - 10.0 * width)
    high = np.where(rising, np.maximum(step, 0.0) + 10.0 * width, 0.0)
    peak = np.maximum(_bisect(low, high, falls), h)
    floor = f(peak) - _DEPTH
    first, last = (peak + side * _reach(peak, side, lambda x: f(x) < floor) for side in (-1.0, 1.0))
    first = np.maximum(first, h)
    even = first[:, None] + (last - first)[:, None] * _EVEN
    around = np.clip(step[:, None] + width[:, None] * _AROUND_STEP, first[:, None], last[:, None])
    edges = np.sort(np.concatenate([even, around], axis=1), axis=1)
    half = 0.5 * np.diff(edges, axis=1)
    middle = 0.5 * (edges[:, 1:] + edges[:, :-1])
    values = f(middle[:, :, None] + half[:, :, None] * _NODES)
    top = floor + _DEPTH
    total = (np.exp(values - top[:, None, None]) * _WEIGHTS).sum(axis=2)
    return np.asarray(top + np.log((total * half).sum(axis=1)) - HALF_LOG_2PI)


def _reach(peak: FloatArray, side: float, is_low: Callable[[FloatArray], BoolArray]) -> FloatArray:
    """Return how far the integrand reaches to one side of its peak, or up to a thousandth farther."""
    nearest, farthest = (np.full(peak.shape, math.log(distance)) for distance in (1e-17 * _REACH, _REACH))
    return np.exp(_bisect(nearest, farthest, lambda u: is_low(peak + side * np.exp(u)), _ROUGHLY))


def _bisect(
    low: FloatArray, high: FloatArray, is_beyond: Callable[[FloatArray], BoolArray], halvings: int = _HALVINGS
) -> FloatArray:
    """Return where `is_beyond`, false and then true between `low` and `high`, becomes true; it is true there."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        beyond = is_beyond(middle)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high
