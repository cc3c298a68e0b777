"""Draws from probabilities that are only known within bounds: an arm, or −1 where the bounds do not decide.

A draw cuts (0, 1) at the cumulative shares of the probabilities in index order. Let A be the sum up to a cut and B the
sum after it. The cut A/(A + B) grows with every probability before it and falls with every one after it. So it lies
between A_low/(A_low + B_high) and A_high/(A_high + B_low) for all probabilities within the bounds. A uniform number is
decided if it is below the lower bound of a cut and not below the upper bound of the cut before.

The bounds of the probabilities are wider than the rounding of these operations (`families.base.slack`). So a decision
from the bounds is the one that exact probabilities, computed in float64, would give.
"""

import math

from feint._types import FloatArray
from feint.explorers.base import CUT_HIGH, CUT_LOW, P_HIGH, P_LOW, REST_HIGH, REST_LOW, UNDECIDED, Range, View
from feint.feedback.base import worth
from feint.numerics._jit import inlined, part, shared_inlined
from feint.numerics.sorting import find_largest

_BEYOND = 2.0  # the cut after the last arm: no uniform reaches it
_SKIPPED = -1.0
NO_ARM = -1
_ROUNDING = 1e-13  # rounding of a cut, for up to 1000 arms; close to 1 its bounds may be closer together than this


@part
def fill_cuts(low: FloatArray, high: FloatArray, cut_low: FloatArray, cut_high: FloatArray, skip: int) -> None:
    """Fill bounds of the cuts from bounds of the probabilities, leaving out the arm `skip` (or NO_ARM)."""
    behind_low = 0.0
    behind_high = 0.0
    # Sums after a cut are added up from the end: total − before would cancel where the bounds are wide.
    for a in range(low.size - 1, -1, -1):
        cut_low[a] = behind_high
        cut_high[a] = behind_low
        if a != skip:
            behind_low += low[a]
            behind_high += high[a]
    before_low = 0.0
    before_high = 0.0
    for a in range(low.size):
        if a == skip:
            cut_low[a] = _SKIPPED
            cut_high[a] = _SKIPPED
            continue
        before_low += low[a]
        before_high += high[a]
        if a == low.size - 1 or (skip == low.size - 1 and a == low.size - 2):  # the last piece
            cut_low[a] = _BEYOND
            cut_high[a] = _BEYOND
        else:
            lowest = before_low / (before_low + cut_low[a])
            highest = before_high / (before_high + cut_high[a])
            exact = before_low == before_high and cut_low[a] == cut_high[a]
            cut_low[a] = lowest if exact else lowest * (1.0 - _ROUNDING)
            cut_high[a] = highest if exact else highest * (1.0 + _ROUNDING)


# Rows of `logs` (5, K): exact log P(a), or its bounds, and two rows of scratch.
EXACT, LOG_LOW, LOG_HIGH, _RELATIVE_LOW, _RELATIVE_HIGH = 0, 1, 2, 3, 4
LOG_ROWS = 5


@part
def fill_all_cuts(bounds: FloatArray, logs: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """Fill the cuts of a draw among all arms, and of one among all but the likeliest; their probabilities may
    underflow.

    `low` and `high` are rows of `logs`.
    """
    fill_cuts(bounds[P_LOW], bounds[P_HIGH], bounds[CUT_LOW], bounds[CUT_HIGH], NO_ARM)
    n = logs.shape[1]
    top = find_largest(high)
    scale = -math.inf
    for a in range(n):
        if a != top:
            scale = max(scale, high[a])
    # From here on in logs: relative to the second likeliest arm, nothing that matters underflows.
    for a in range(n):
        logs[_RELATIVE_LOW, a] = math.exp(min(0.0, low[a] - scale))
        logs[_RELATIVE_HIGH, a] = math.exp(min(0.0, high[a] - scale))
    fill_cuts(logs[_RELATIVE_LOW], logs[_RELATIVE_HIGH], bounds[REST_LOW], bounds[REST_HIGH], top)


@part
def fill_exact_bounds(logs: FloatArray, bounds: FloatArray) -> None:
    """Fill `bounds` with equal lower and upper bounds, from the row EXACT of `logs`."""
    for a in range(logs.shape[1]):
        bounds[P_LOW, a] = math.exp(logs[EXACT, a])
        bounds[P_HIGH, a] = bounds[P_LOW, a]
    fill_all_cuts(bounds, logs, logs[EXACT], logs[EXACT])


@part
def _locate(low: FloatArray, high: FloatArray, u: float) -> int:
    """Return the arm on whose piece u falls, or UNDECIDED."""
    for a in range(low.size):
        if u < low[a]:
            return a
        if u < high[a]:
            return UNDECIDED
    return UNDECIDED


@inlined
def draw_leader(bounds: FloatArray, u: float) -> int:
    """Draw the leader (line 4 of Algorithm 1): arm a with the posterior probability that a is the best private arm."""
    return _locate(bounds[CUT_LOW], bounds[CUT_HIGH], u)


@inlined
def draw_challenger(bounds: FloatArray, scratch: FloatArray, u: float, leader: int) -> int:
    """Draw the challenger (line 5 of Algorithm 1): another arm, in proportion to its probability of being the best."""
    if bounds[REST_LOW, leader] == _SKIPPED:
        return _locate(bounds[REST_LOW], bounds[REST_HIGH], u)
    fill_cuts(bounds[P_LOW], bounds[P_HIGH], scratch[0], scratch[1], leader)
    return _locate(scratch[0], scratch[1], u)


@shared_inlined
def evidence(view: View, arm: int) -> float:
    """Return N of an arm: its pulls, times what each is worth where that differs between arms (`feedback`)."""
    return view.pulls[arm] * worth(view.private_family, arm)


@shared_inlined
def select(view: View, leader: int, challenger: int, u: float) -> int:
    """Select the leader with probability N_c/(N_c + N_l), otherwise the challenger (line 6 of Algorithm 1)."""
    led, challenged = evidence(view, leader), evidence(view, challenger)
    return leader if u * (challenged + led) < challenged else challenger


@inlined
def bound_selection(view: View, within: Range, leader: int, challenger: int) -> tuple[float, float]:
    """Return lower bounds of P(the leader is selected) and P(the challenger is) while one arm's pulls grow."""
    few_l, few_c, family = evidence(view, leader), evidence(view, challenger), view.private_family
    many_l = within.most * worth(family, leader) if leader == within.arm else few_l
    many_c = within.most * worth(family, challenger) if challenger == within.arm else few_c
    return few_c / (few_c + many_l), few_l / (few_l + many_c)
