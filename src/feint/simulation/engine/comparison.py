r"""Decide a step by the bounds of tangents, which hold wherever the posteriors have moved since the last evaluation.

The family bounds every log P(a) (`families.base.fill_log_bounds`, with the proof in its file). Here the bounds become
what a step compares its uniform numbers with: bounds of the private probabilities and their cuts for the explorer, and
bounds of the reference's probabilities for the draw of the arm. What they do not decide is evaluated exactly, and that
point is the next centre. The same bounds with D anywhere in a box make a region, for the price of one step instead of
four evaluations.

All bounds are widened by 1e-8, and by as much of |log p|, which exceeds the error of the slopes and of the kernel.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.agent.step import Known, update, update_means
from feint.explorers.base import BOUND_ROWS, P_HIGH, P_LOW, UNDECIDED
from feint.explorers.bounded_draws import LOG_HIGH, LOG_LOW, LOG_ROWS, fill_all_cuts
from feint.families.base import (
    Belief,
    Tangents,
    displace,
    fill_corners,
    fill_log_best,
    fill_log_bounds,
    has_tangents,
    recentre,
)
from feint.families.base import tangents as tangents_of
from feint.numerics._jit import inlined, part
from feint.numerics.boost_table import TABLE_SHAPE, boost_bounds
from feint.numerics.normal import EXP_FLOOR, exp_nonpositive
from feint.simulation.engine.region import (
    LOG_PI_HIGH,
    LOG_PI_LOW,
    PI_HIGH,
    PI_LOW,
    REFERENCE_ROWS,
    Region,
    choose_max_pulls,
    choose_radius,
    cuts_are_old,
    draw_in_region,
    forget_cuts,
    place_cuts,
)

_WIDE = 1e-8
_RADIUS = 0.5  # radius of a region built without evaluations, relative to others: cheaper regions may be smaller
_NOTHING = 1e-290  # where the others' shares are below this, the exact evaluation decides
MOST_ARMS = 16  # slopes cost K² per node, and widths add up over arms: with more arms, regions alone are faster
_WIDEST = 0.5  # largest width of all bounds together: wider ones decide too little to be worth a look


class Comparison(NamedTuple):
    """The tangents of both sides and the bounds that follow from them, owned by the caller."""

    private: Tangents
    public: Tangents
    bounds: FloatArray  # (BOUND_ROWS, K) of the private probabilities
    reference: FloatArray  # (REFERENCE_ROWS, K)
    logs: FloatArray  # (LOG_ROWS, K) scratch
    more_logs: FloatArray  # (LOG_ROWS, K) scratch
    corners: FloatArray  # (4, 2) scratch
    boosts: FloatArray  # TABLE_SHAPE of `boost_table`
    late: FloatArray  # (1,) 1 if D has been pulled since its posteriors were computed, 0 otherwise


def comparison(n_arms: int) -> Comparison:
    """Allocate a comparison of `n_arms` arms."""
    rows = BOUND_ROWS, REFERENCE_ROWS, LOG_ROWS, LOG_ROWS
    arrays = (np.full(shape, np.nan) for shape in (*((each, n_arms) for each in rows), (4, 2), TABLE_SHAPE, (1,)))
    return Comparison(tangents_of(n_arms, MOST_ARMS), tangents_of(n_arms, MOST_ARMS), *arrays)


@inlined
def compares(known: Known) -> bool:
    """Return whether both sides have tangents that are worth their cost."""
    few = known.pulls.size <= MOST_ARMS
    return few and has_tangents(known.public.family) and has_tangents(known.private.family)


@inlined
def forget_centres(c: Comparison) -> None:
    """Mark both sides as having no centre yet."""
    c.private.log_best[0] = math.nan
    c.public.log_best[0] = math.nan
    c.late[0] = 0.0


@inlined
def evaluate(belief: Belief, side: Tangents, out: FloatArray) -> None:
    """Fill `out` with the exact log P, bit for bit as in the eager method, and put the next centre there."""
    if out.size <= MOST_ARMS:
        recentre(belief.family, belief, side, out)
    else:
        fill_log_best(belief.family, belief.posterior, belief.ws, out)


@part
def update_and_displace(known: Known, c: Comparison, arm: int) -> None:
    """Update the posteriors of an arm that was pulled, and their displacements from the centres."""
    update(known, arm)
    displace(known.private.family, known.private, c.private, arm)
    displace(known.public.family, known.public, c.public, arm)


@inlined
def defer_update(known: Known, c: Comparison, dominant: int) -> None:
    """Update only the means of D after its pull; while a region decides, they are enough."""
    update_means(known, dominant)
    c.late[0] = 1.0


@inlined
def flush_update(known: Known, c: Comparison, dominant: int) -> None:
    """Make the deferred update of D, if there is one; call it before anything that reads D's posteriors."""
    if c.late[0] == 1.0:
        update_and_displace(known, c, dominant)
        c.late[0] = 0.0


@inlined
def _exp(x: float) -> float:
    """Return exp(x), x ≤ 0: quickly where `exp_nonpositive` holds, exactly below, where a bound must keep falling."""
    return exp_nonpositive(x) if x > EXP_FLOOR else math.exp(x)


@part
def _fill_bounds(logs: FloatArray, bounds: FloatArray) -> bool:
    """Widen the bounds of log P and fill those of P; return False if they are too wide to be useful.

    Probabilities sum to 1, so what all others leave is a bound, too.
    """
    n = logs.shape[1]
    all_low = 0.0
    all_high = 0.0
    for a in range(n):
        low, high = logs[LOG_LOW, a], logs[LOG_HIGH, a]
        logs[LOG_LOW, a] = min(0.0, low - _WIDE + _WIDE * min(0.0, low))
        logs[LOG_HIGH, a] = min(0.0, high + _WIDE - _WIDE * min(0.0, low))
        bounds[P_LOW, a] = _exp(logs[LOG_LOW, a])
        bounds[P_HIGH, a] = _exp(logs[LOG_HIGH, a]) * (1.0 + _WIDE)  # an exact P may round to more than 1
        all_low += bounds[P_LOW, a]
        all_high += bounds[P_HIGH, a]
    if not all_high - all_low < _WIDEST:  # NaN included
        return False
    for a in range(n):
        if bounds[P_HIGH, a] > 0.5:
            most = 1.0 - (all_low - bounds[P_LOW, a]) + _WIDE
            least = 1.0 - (all_high - bounds[P_HIGH, a]) - _WIDE
            if most < bounds[P_HIGH, a]:
                bounds[P_HIGH, a] = most
                logs[LOG_HIGH, a] = math.log(most)
            if least > bounds[P_LOW, a]:
                bounds[P_LOW, a] = least
                logs[LOG_LOW, a] = math.log(least)
    return True


@inlined
def _fill_private_cuts(logs: FloatArray, bounds: FloatArray) -> bool:
    if not _fill_bounds(logs, bounds):
        return False
    fill_all_cuts(bounds, logs, logs[LOG_LOW], logs[LOG_HIGH])
    return True


@inlined
def _fill_reference_cuts(logs: FloatArray, bounds: FloatArray) -> bool:
    if not _fill_bounds(logs, bounds):
        return False
    for a in range(logs.shape[1]):
        bounds[LOG_PI_LOW, a] = logs[LOG_LOW, a]
        bounds[LOG_PI_HIGH, a] = logs[LOG_HIGH, a]
    return True


@part
def bound_private_by_tangents(belief: Belief, c: Comparison) -> bool:
    """Bound the private probabilities and their cuts at the present posteriors; return False if that is of no use."""
    if not has_tangents(belief.family) or math.isnan(c.private.log_best[0]):
        return False
    fill_log_bounds(belief.family, c.private, c.logs[LOG_LOW], c.logs[LOG_HIGH])
    return _fill_private_cuts(c.logs, c.bounds)


@part
def bound_reference_by_tangents(belief: Belief, c: Comparison) -> bool:
    """Bound the reference's probabilities at the present posteriors; return False if that is of no use."""
    if not has_tangents(belief.family) or math.isnan(c.public.log_best[0]):
        return False
    fill_log_bounds(belief.family, c.public, c.logs[LOG_LOW], c.logs[LOG_HIGH])
    return _fill_reference_cuts(c.logs, c.reference)


@part
def _bound_box(belief: Belief, side: Tangents, c: Comparison, dominant: int, raised: float) -> None:
    """Bound log P with D anywhere between the corners; the belief is left unchanged."""
    logs, found = c.logs, c.more_logs
    first, second = belief.posterior[0, dominant], belief.posterior[1, dominant]
    for corner in range(c.corners.shape[0]):
        belief.posterior[0, dominant], belief.posterior[1, dominant] = c.corners[corner, 0], c.corners[corner, 1]
        displace(belief.family, belief, side, dominant)
        fill_log_bounds(belief.family, side, found[LOG_LOW], found[LOG_HIGH])
        for a in range(logs.shape[1]):
            high = found[LOG_HIGH, a] + raised
            logs[LOG_LOW, a] = min(logs[LOG_LOW, a], found[LOG_LOW, a]) if corner > 0 else found[LOG_LOW, a]
            logs[LOG_HIGH, a] = max(logs[LOG_HIGH, a], high) if corner > 0 else high
    belief.posterior[0, dominant], belief.posterior[1, dominant] = first, second
    displace(belief.family, belief, side, dominant)


@part
def enter_by_tangents(
    region: Region, known: Known, c: Comparison, dominant: int, bounds_private: bool, bounds_reference: bool
) -> bool:
    """Do what `region.build_region` does without an evaluation; return False if the bounds are of no use."""
    if (bounds_private and math.isnan(c.private.log_best[0])) or (
        bounds_reference and math.isnan(c.public.log_best[0])
    ):
        return False
    public, private, pulls = known.public, known.private, known.pulls[dominant]
    radius = _RADIUS * choose_radius(pulls)
    max_pulls = choose_max_pulls(pulls, radius)
    raised = fill_corners(private.family, private, dominant, radius, max_pulls, region.private_box, c.corners)
    if bounds_private:
        _bound_box(private, c.private, c, dominant, raised)
        if not _fill_private_cuts(c.logs, region.private):
            return False
    raised = fill_corners(public.family, public, dominant, radius, max_pulls, region.public_box, c.corners)
    if bounds_reference:
        _bound_box(public, c.public, c, dominant, raised)
        if not _fill_reference_cuts(c.logs, region.reference):
            return False
    forget_cuts(region)
    return True


@inlined
def _boosts_between(bounds: FloatArray, boosts: FloatArray, boosted: int, epsilon: float) -> tuple[float, float]:
    """Return bounds of q* of the arm `boosted` from those of the reference."""
    low = bounds[PI_LOW, boosted], bounds[LOG_PI_LOW, boosted]
    high = bounds[PI_HIGH, boosted], bounds[LOG_PI_HIGH, boosted]
    return boost_bounds(boosts, low, high, epsilon)


@inlined
def draw_inside(
    region: Region, c: Comparison, wide: float, boosted: int, dominant: int, epsilon: float, u: float
) -> int:
    """Do what `draw_in_region` does, but take new cuts from the table: so cheap a region needs many of them."""
    if cuts_are_old(region, boosted, dominant, epsilon):
        q = _boosts_between(region.reference, c.boosts, boosted, epsilon)
        place_cuts(region, wide, boosted, dominant, epsilon, q)
    return draw_in_region(region, wide, boosted, dominant, epsilon, u)


@part
def draw_by_bounds(pi: FloatArray, boosts: FloatArray, boosted: int, dominant: int, epsilon: float, u: float) -> int:
    """Return the arm that `step.draw_arm` draws from u anywhere inside the reference's bounds, or UNDECIDED.

    Let `boosted` have probability q. Behind it, an arm's cut is q + (1 − q)·A/(A + B), where A is the sum of the others
    up to this arm and B the sum of those behind it. If `boosted` is D, which comes last, it is (1 − q)·A/(A + B). Both
    grow with A and fall with B; the first grows with q and the second falls.
    """
    q_low, q_high = _boosts_between(pi, boosts, boosted, epsilon)
    first_low, first_high = q_low - _WIDE, q_high + _WIDE
    rest_low, rest_high = 1.0 - first_low, 1.0 - first_high
    if boosted == dominant:
        first_low, first_high, rest_low, rest_high = 0.0, 0.0, rest_high, rest_low
    elif u < first_low:
        return boosted
    behind_low = 0.0
    behind_high = 0.0
    for a in range(pi.shape[1]):
        if a != boosted:
            behind_low += pi[PI_LOW, a]
            behind_high += pi[PI_HIGH, a]
    if u < first_high or behind_high < _NOTHING:
        return UNDECIDED
    before_low = 0.0
    before_high = 0.0
    for a in range(pi.shape[1]):
        if a not in (boosted, dominant):
            before_low += pi[PI_LOW, a]
            before_high += pi[PI_HIGH, a]
            behind_low -= pi[PI_LOW, a]
            behind_high -= pi[PI_HIGH, a]
            if u < first_low + rest_low * (before_low / (before_low + behind_high)) - _WIDE:
                return a
            if u < first_high + rest_high * (before_high / (before_high + max(0.0, behind_low))) + _WIDE:
                return UNDECIDED
    return dominant
