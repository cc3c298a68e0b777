r"""Bounds of q* over an interval of p, from knots that are computed only once.

KL(Ber(q) ‖ Ber(p)) is jointly convex, so the pairs with KL ≤ ε form a convex set, and q*(p), its upper edge, is
concave. Between two knots it lies above their chord and below the extended chords of the two neighbouring intervals.
The knots are at p = e^(−i/32), which makes the two bounds differ by less than 1e-3·q*.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import inlined, part
from feint.numerics.boost_kernel import boost_scalar

_KNOTS_PER_NAT = 32.0
_KNOTS = 1024  # down to p = e^−32; below that, q* itself is computed
# Rows of the table: q* at the knots, and the ε for which it holds (NaN at first); the last column has the last ε.
_Q, _EPSILON = 0, 1
TABLE_SHAPE = (2, _KNOTS + 3)  # the shape of an array that the caller owns, NaN at first


@inlined
def _knot(table: FloatArray, i: int, epsilon: float) -> float:
    if table[_EPSILON, i] != epsilon:
        log_p = -i / _KNOTS_PER_NAT
        table[_Q, i] = boost_scalar(math.exp(log_p), log_p, epsilon, True)
        table[_EPSILON, i] = epsilon
    return table[_Q, i]


@part
def _bounds_in_cell(table: FloatArray, p: float, i: int, epsilon: float) -> tuple[float, float]:
    """Return bounds of q*(p) for p in [e^(−(i + 1)/32), e^(−i/32)]; p may lie outside by a rounding error."""
    right, left = math.exp(-i / _KNOTS_PER_NAT), math.exp(-(i + 1) / _KNOTS_PER_NAT)
    q_right, q_left = _knot(table, i, epsilon), _knot(table, i + 1, epsilon)
    low = q_left + (q_right - q_left) * ((p - left) / (right - left))
    # Knots are in geometric progression: the next interval is `ratio` times as wide, the previous one 1/`ratio` times.
    ratio = left / right
    high = q_left + (q_left - _knot(table, i + 2, epsilon)) * ((p - left) / ((right - left) * ratio))
    if i > 0:
        slope = (_knot(table, i - 1, epsilon) - q_right) * ratio / (right - left)
        high = min(high, q_right - slope * (right - p))
    return low, min(high, 1.0)


@part
def boost_bounds(
    table: FloatArray, low: tuple[float, float], high: tuple[float, float], epsilon: float
) -> tuple[float, float]:
    """Return (q₋, q₊) with q₋ ≤ q*(p) ≤ q₊ for all p between two given as (p, log p), up to a few roundings.

    For a budget that changes from step to step the table is not used.
    """
    settled = table[_EPSILON, _KNOTS + 2] == epsilon
    table[_EPSILON, _KNOTS + 2] = epsilon
    if not settled or low[1] <= -_KNOTS / _KNOTS_PER_NAT:
        return boost_scalar(low[0], low[1], epsilon, True), boost_scalar(high[0], high[1], epsilon, True)
    i_low = max(0, int(-low[1] * _KNOTS_PER_NAT))
    i_high = max(0, int(-high[1] * _KNOTS_PER_NAT))
    return _bounds_in_cell(table, low[0], i_low, epsilon)[0], _bounds_in_cell(table, high[0], i_high, epsilon)[1]
