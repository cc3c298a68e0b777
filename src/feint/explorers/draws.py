"""Draws from probabilities of which only bounds are known: the arm, or −1 where the bounds do not decide.

A draw cuts (0, 1) at the cumulative shares of the probabilities in index order. Let A be the sum up to a cut and B the
sum behind it. The cut A/(A + B) grows with every probability before it and falls with every one behind, so it lies between
A_low/(A_low + B_high) and A_high/(A_high + B_low), for all probabilities inside the bounds. A uniform below the lower
bound of a cut and not below the upper bound of the one before is thereby decided.

The bounds of the probabilities are wider than the rounding of these operations (`engine.posterior.SLACK`), so what
they decide is what exact probabilities, computed in float64, would give.
"""

from feint.explorers.base import CUT_HIGH, CUT_LOW, P_HIGH, P_LOW, REST_HIGH, REST_LOW, UNDECIDED, FloatArray
from feint.numerics._jit import inlined

_BEYOND = 2.0  # the cut behind the last arm: no uniform reaches it
_SKIPPED = -1.0


@inlined
def fill_cuts(source: FloatArray, low: int, high: int, bounds: FloatArray, cut_low: int, cut_high: int, skip: int) -> None:
    """Bounds of the cuts from bounds of the probabilities (rows `low` and `high` of `source`), leaving out `skip`."""
    n = source.shape[1]
    total_low = 0.0
    total_high = 0.0
    last = 0
    for a in range(n):
        if a != skip:
            total_low += source[low, a]
            total_high += source[high, a]
            last = a
    before_low = 0.0
    before_high = 0.0
    for a in range(n):
        if a == skip:
            bounds[cut_low, a] = _SKIPPED
            bounds[cut_high, a] = _SKIPPED
        elif a == last:
            bounds[cut_low, a] = _BEYOND
            bounds[cut_high, a] = _BEYOND
        else:
            before_low += source[low, a]
            before_high += source[high, a]
            slack = before_high - before_low
            bounds[cut_low, a] = before_low / (total_high - slack)
            bounds[cut_high, a] = before_high / (total_low + slack)


@inlined
def _locate(bounds: FloatArray, low: int, high: int, u: float) -> int:
    """The arm on whose piece u falls."""
    for a in range(bounds.shape[1]):
        if u < bounds[low, a]:
            return a
        if u < bounds[high, a]:
            return UNDECIDED
    return UNDECIDED


@inlined
def draw_leader(bounds: FloatArray, u: float) -> int:
    """Line 4 of Algorithm 1: the leader is arm a with the posterior probability that a is the best private arm."""
    return _locate(bounds, CUT_LOW, CUT_HIGH, u)


@inlined
def draw_challenger(bounds: FloatArray, scratch: FloatArray, u: float, leader: int) -> int:
    """Line 5 of Algorithm 1: an arm other than the leader, in proportion to its probability of being the best."""
    if bounds[REST_LOW, leader] == _SKIPPED:
        return _locate(bounds, REST_LOW, REST_HIGH, u)
    fill_cuts(bounds, P_LOW, P_HIGH, scratch, 0, 1, leader)
    return _locate(scratch, 0, 1, u)
