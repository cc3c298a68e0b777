r"""The posterior probability that a set S of arms has the largest means, and that it has not, each by its own integral.

With f, F of every arm on an axis (posterior_axes.py), R the arms outside S, and F_R = ∏_R F the law of the best of R,

    P(min over S > max over R)     = ∫ Σ_{i∈S} f_i·∏_{S∖i} (1 − F)·∏_R F,
    1 − P                          = ∫ Σ_{j∈R} f_j·∏_{R∖j} F·(1 − ∏_S (1 − F)).

Nothing is subtracted from 1, so both keep their relative accuracy, and everything is kept as logarithms: that of
1 − ∏_S (1 − F) is log(−expm1(Σ log(1 − F))), or log Σ F where all F are tiny.

**Where to integrate.** 1 − ∏_S (1 − F) ≤ Σ_{k∈S} F_k, so either integrand is at most a sum of *terms*, one for every
pair (j, k) or every i, and each term is a product of log-concave functions. On a panel [a, b], a log-concave term lies
below its tangents at a and at b: their intersection bounds it, and the fall of its slope from a to b is the curvature
that 24 Gauss–Legendre nodes must resolve. A stack of panels starts with the whole axis. A panel whose bound is below
e^−36 of the sum so far is dropped, one that is resolved in all terms that matter is integrated, and any other one is
halved; the half with the larger bound goes first. So a sharp arm costs panels only where it matters. Slopes alone do
not show a step of F that has begun left of the panel, so a panel is also at most 8.5 sds of every factor wide that has
not reached 1 (to 1e-17) at its near end; further out, wider ones will do.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.numerics._jit import inlined, part
from feint.numerics.posterior_axes import arm_scale, axis_range, tails, widest_panel

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_NEGLIGIBLE = 36.0  # nats: e^−36 = 2e-16 of the integral, for each panel that is dropped
_MATTERS = 42.0  # nats below the largest bound: a term that is smaller needs no resolution
# 24 nodes integrate exp(−y²/2) over 7.5 and exp(−y) over 30 to 1e-14; tests/numerics/test_top_arms.py compares the
# whole with much narrower panels.
_CURVATURE = 56.0
_SLOPE = 30.0
_TINY = -40.0  # log F below which 1 − ∏(1 − F) is Σ F to e^−40
_DEPTH = 128
_MOST_PANELS = 20_000
_FINEST = 2.0**-50

_SATURATED = -39.0  # the log of 1 − F, or of F, at which the other is 1 in float64
_FACTOR_WIDTH = 8.5

# Rows of `Integral.ends[end]`: of each arm as the density of a term, and as its other factor; and how much of its
# factor is yet to come, with the slope of its log density.
_VALUE, _SLOPE_ROW, _FACTOR, _FACTOR_SLOPE, _TO_COME, _DENSITY_SLOPE = 0, 1, 2, 3, 4, 5
_END_ROWS = 6
# Columns of `Integral.stack`.
_LEFT, _RIGHT, _BOUND, _RESOLVED = 0, 1, 2, 3


class Integral(NamedTuple):
    """Scratch space, owned by the caller; it keeps nothing between calls."""

    ends: FloatArray  # (2, _END_ROWS, K)
    stack: FloatArray  # (_DEPTH, 4)
    values: FloatArray  # (24,)


def allocate_integral(n_arms: int) -> Integral:
    """Allocate the scratch space for `n_arms` arms."""
    return Integral(np.empty((2, _END_ROWS, n_arms)), np.empty((_DEPTH, 4)), np.empty(_POINTS.size))


@part
def log_top_arms(axis: Any, answer: BoolArray, complement: bool, ws: Integral) -> float:
    """Return log P(the arms of `answer` have the largest means), or log of its complement; neither set is empty."""
    low, high = axis_range(axis)
    stack, total, shift = ws.stack, 0.0, -math.inf
    stack[0, _LEFT], stack[0, _RIGHT], stack[0, _BOUND], stack[0, _RESOLVED] = low, high, math.inf, 0.0
    top = 1
    for _ in range(_MOST_PANELS):
        if top == 0:
            break
        top -= 1
        left, right = stack[top, _LEFT], stack[top, _RIGHT]
        reached = shift + math.log(total) if total > 0.0 else -math.inf
        if stack[top, _BOUND] < reached - _NEGLIGIBLE:
            continue
        if stack[top, _RESOLVED] == 1.0 or top + 2 > _DEPTH:
            _fill_values(axis, answer, complement, left, right, ws.values)
            total, shift = _add_panel(ws.values, 0.5 * (right - left), total, shift)
            continue
        middle = 0.5 * (left + right)
        _appraise(axis, answer, complement, left, middle, reached, ws, top)
        _appraise(axis, answer, complement, middle, right, reached, ws, top + 1)
        if stack[top, _BOUND] > stack[top + 1, _BOUND]:
            for column in range(4):
                stack[top, column], stack[top + 1, column] = stack[top + 1, column], stack[top, column]
        top += 2
    return min(0.0, shift + math.log(total))


@inlined
def _add_panel(values: FloatArray, half: float, total: float, shift: float) -> tuple[float, float]:
    """Add ∫ exp(values) over a panel to total·exp(shift)."""
    highest = shift
    for i in range(values.size):
        highest = max(highest, values[i])
    if highest == -math.inf:
        return total, shift
    found = 0.0
    for i in range(values.size):
        found += _WEIGHTS[i] * math.exp(values[i] - highest)
    return total * math.exp(shift - highest) + half * found, highest


@part
def _fill_values(axis: Any, answer: BoolArray, complement: bool, left: float, right: float, values: FloatArray) -> None:
    """Fill the logarithm of the integrand at the nodes of a panel."""
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    for i in range(values.size):
        x = middle + half * _POINTS[i]
        below = 0.0  # Σ log F over R
        above = 0.0  # Σ log(1 − F) over S
        deepest = -math.inf  # the largest log F over S
        few = 0.0  # Σ F over S, relative to it
        fastest = -math.inf  # the largest log f/F over R, or log f/(1 − F) over S
        rate = 0.0  # their sum, relative to it
        for a in range(answer.size):
            log_cdf, log_sf, log_density, _ = tails(axis, a, x)
            if answer[a]:
                above += log_sf
                if log_cdf > deepest:
                    few = few * math.exp(deepest - log_cdf) + 1.0
                    deepest = log_cdf
                else:
                    few += math.exp(log_cdf - deepest)
            else:
                below += log_cdf
            if answer[a] != complement:
                log_rate = log_density - (log_sf if answer[a] else log_cdf)
                if log_rate > fastest:
                    rate = rate * math.exp(fastest - log_rate) + 1.0
                    fastest = log_rate
                else:
                    rate += math.exp(log_rate - fastest)
        if complement:
            above = deepest + math.log(few) if deepest < _TINY else math.log(-math.expm1(above))
        values[i] = below + above + fastest + math.log(rate)


@part
def _set_end(axis: Any, answer: BoolArray, complement: bool, x: float, end: FloatArray) -> None:
    """Set value and slope of every term's two factors at x."""
    value = 0.0
    slope = 0.0
    for a in range(answer.size):
        log_cdf, log_sf, log_density, log_slope = tails(axis, a, x)
        inside, counts = answer[a], True
        log_tail = log_sf if inside and not complement else log_cdf
        hazard = math.exp(log_density - log_tail)
        if inside and not complement:
            hazard = -hazard
        if inside and complement:  # F_k: one of them at a time
            end[_FACTOR, a], end[_FACTOR_SLOPE, a] = log_cdf, hazard
            counts = False
        end[_TO_COME, a] = log_cdf if inside and not complement else log_sf
        end[_DENSITY_SLOPE, a] = log_slope
        if counts:
            value += log_tail
            slope += hazard
            end[_VALUE, a], end[_SLOPE_ROW, a] = log_density - log_tail, log_slope - hazard
    for a in range(answer.size):
        if answer[a] != complement:
            end[_VALUE, a] += value
            end[_SLOPE_ROW, a] += slope


@inlined
def _term_bound(start: float, rise: float, stop: float, fall: float, width: float) -> float:
    """Return an upper bound of a concave function from its values and slopes at both ends.

    The tangents are followed from the flatter end: at the other one, values of −1e21 would leave no digits.
    """
    if rise <= 0.0:
        return start
    if fall >= 0.0:
        return stop
    at = min(width, max(0.0, (stop - start - fall * width) / (rise - fall)))
    return start + rise * at if rise < -fall else stop - fall * (width - at)


@inlined
def _factor_width(axis: Any, end: FloatArray, a: int, falls: bool, left: float, right: float) -> float:
    """Return how wide a panel may be for F of arm a, or for 1 − F, which `falls`; `end` is the one with the larger part
    of the step.
    """
    if end[_TO_COME, a] < _SATURATED:
        return math.inf
    scale = arm_scale(axis, a, left, right)
    beyond = end[_DENSITY_SLOPE, a] * scale * (1.0 if falls else -1.0)  # in sds
    return _FACTOR_WIDTH * scale * max(1.0, beyond - 2.0)


@part
def _appraise(
    axis: Any, answer: BoolArray, complement: bool, left: float, right: float, reached: float, ws: Integral, row: int
) -> None:
    """Put a panel on the stack, with a bound of its integral and whether 24 nodes resolve it."""
    width = right - left
    first, last = ws.ends[0], ws.ends[1]
    _set_end(axis, answer, complement, left, first)
    _set_end(axis, answer, complement, right, last)
    log_width = math.log(width)
    n = answer.size
    highest, terms = -math.inf, 0.0
    for again in range(2):
        resolved = width <= widest_panel(axis, left)
        matters = max(highest, reached - log_width) - _MATTERS
        for a in range(n):
            if answer[a] == complement:
                continue
            for k in range(n if complement else 1):
                if complement and not answer[k]:
                    continue
                start, rise, stop, fall = first[_VALUE, a], first[_SLOPE_ROW, a], last[_VALUE, a], last[_SLOPE_ROW, a]
                if complement:
                    start += first[_FACTOR, k]
                    rise += first[_FACTOR_SLOPE, k]
                    stop += last[_FACTOR, k]
                    fall += last[_FACTOR_SLOPE, k]
                bound = _term_bound(start, rise, stop, fall, width)
                if again == 0:
                    highest = max(highest, bound)
                    terms += 1.0
                elif bound > matters:
                    steep = max(abs(rise), abs(fall)) * width
                    resolved = resolved and (rise - fall) * width <= _CURVATURE and steep <= _SLOPE
                    if complement:
                        resolved = resolved and width <= _factor_width(axis, first, k, False, left, right)
        if again == 1 and highest > matters:
            for a in range(n):
                if not answer[a]:
                    resolved = resolved and width <= _factor_width(axis, first, a, False, left, right)
                elif not complement:
                    resolved = resolved and width <= _factor_width(axis, last, a, True, left, right)
    fine = width <= _FINEST * max(abs(left), abs(right))
    stack = ws.stack
    stack[row, _LEFT], stack[row, _RIGHT] = left, right
    stack[row, _BOUND] = highest + log_width + math.log(terms)
    stack[row, _RESOLVED] = 1.0 if resolved or fine else 0.0
