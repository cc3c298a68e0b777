"""Draws from probabilities of which only bounds are known: the arm, or −1 where the bounds do not decide.

A draw cuts (0, 1) at the cumulative shares of the probabilities in index order. Let A be the sum up to a cut and B the
sum behind it. The cut A/(A + B) grows with every probability before it and falls with every one behind, so it lies
between A_low/(A_low + B_high) and A_high/(A_high + B_low), for all probabilities inside the bounds. A uniform below the
lower bound of a cut and not below the upper bound of the one before is thereby decided.

The bounds of the probabilities are wider than the rounding of these operations (`engine.posterior.SLACK`), so what
they decide is what exact probabilities, computed in float64, would give.
"""

from feint.explorers.base import CUT_HIGH, CUT_LOW, P_HIGH, P_LOW, REST_HIGH, REST_LOW, UNDECIDED, FloatArray, IntArray
from feint.numerics._jit import inlined

_BEYOND = 2.0  # the cut behind the last arm: no uniform reaches it
_SKIPPED = -1.0
_ROUNDING = 1e-13  # of a cut, for up to 1000 arms; close to 1 the width of its bounds may be smaller


@inlined
def fill_cuts(
    source: FloatArray, low: int, high: int, bounds: FloatArray, cut_low: int, cut_high: int, skip: int
) -> None:
    """Bounds of the cuts from bounds of the probabilities (rows `low` and `high` of `source`), leaving out `skip`."""
    behind_low = 0.0
    behind_high = 0.0
    # Sums behind a cut are added up from the end: total − before would cancel where the bounds are wide.
    for a in range(source.shape[1] - 1, -1, -1):
        bounds[cut_low, a] = behind_high
        bounds[cut_high, a] = behind_low
        if a != skip:
            behind_low += source[low, a]
            behind_high += source[high, a]
    before_low = 0.0
    before_high = 0.0
    for a in range(source.shape[1]):
        if a == skip:
            bounds[cut_low, a] = _SKIPPED
            bounds[cut_high, a] = _SKIPPED
            continue
        before_low += source[low, a]
        before_high += source[high, a]
        if _is_last(a, source.shape[1], skip):
            bounds[cut_low, a] = _BEYOND
            bounds[cut_high, a] = _BEYOND
        else:
            lowest = before_low / (before_low + bounds[cut_low, a])
            highest = before_high / (before_high + bounds[cut_high, a])
            exact = before_low == before_high and bounds[cut_low, a] == bounds[cut_high, a]
            bounds[cut_low, a] = lowest if exact else lowest * (1.0 - _ROUNDING)
            bounds[cut_high, a] = highest if exact else highest * (1.0 + _ROUNDING)


@inlined
def _is_last(a: int, n: int, skip: int) -> bool:
    return a == n - 1 or (skip == n - 1 and a == n - 2)


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


@inlined
def select(pulls: IntArray, leader: int, challenger: int, u: float) -> int:
    """Line 6 of Algorithm 1: the leader with probability N_c/(N_c + N_l), else the challenger."""
    return leader if u * (pulls[challenger] + pulls[leader]) < pulls[challenger] else challenger
