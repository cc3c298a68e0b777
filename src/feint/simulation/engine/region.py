r"""A region of posteriors, and rigorous bounds of all best-arm probabilities over it.

Between pulls of other arms only the posterior of the most pulled arm D moves. The family says for which posteriors of D
every P(a) is largest and smallest over a region of its mean and pulls (`families.base.fill_region`, with the proofs in
the families' files). Put into the exact kernel in D's place, they bound every P(a). Where D is the likeliest arm, one
minus the bounds of the others is sharper and free.

All bounds are widened by the family's `slack`, which is relative, and by a share of |log p| in deep tails. This exceeds
the kernel's error and the rounding of the few operations in a decision.

The region's radius balances two costs. In τ steps D's mean moves by about √(τ/n) of its own standard deviation s, so a
region of radius ρ·s lasts about ρ²·n steps. And a share of steps proportional to ρ stays undecided. The sum of both
costs is least at ρ ∝ n^(−1/3).
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.agent.step import Known
from feint.explorers.base import BOUND_ROWS, P_HIGH, P_LOW, UNDECIDED
from feint.explorers.bounded_draws import LOG_HIGH, LOG_LOW, LOG_ROWS, fill_all_cuts
from feint.families.base import (
    MEAN_HIGH,
    MEAN_LOW,
    MOST,
    OWN_HIGH,
    OWN_LOW,
    Belief,
    fill_log_others,
    fill_region,
    log_best_of,
    slack,
)
from feint.numerics._jit import inlined, part
from feint.numerics.boost_kernel import boost_scalar
from feint.numerics.sorting import find_largest

_RADIUS = 5.0  # radius of a region, in units of s·n^(−1/3); tuned on the paper's instance
WIDEST = 0.5  # the largest radius, in units of s
_COUNT = 9.0  # a region lasts at most radius/9 of D's pulls: they widen the bounds as much as the radius does
_DEEP = 0.2  # share of the slack that each nat of |log p| adds: the kernel's error in deep tails, there and back

# Rows of the reference's bounds; the private bounds have the rows of `explorers.base`.
PI_LOW, PI_HIGH, LOG_PI_LOW, LOG_PI_HIGH = 0, 1, 2, 3
REFERENCE_ROWS = 4
# Rows of `cuts`: for each boosted arm the two cuts of the draw, and the ε that they hold for (−1: none yet).
CUT_BOOSTED, CUT_DOMINANT, CUT_EPSILON = 0, 1, 2


class Region(NamedTuple):
    """A region and its bounds, owned by the caller; `families.base` says what the box of each side holds."""

    public_box: FloatArray  # (3,)
    private_box: FloatArray  # (3,)
    extremes: FloatArray  # (4, 2) scratch
    private: FloatArray  # (BOUND_ROWS, K)
    reference: FloatArray  # (REFERENCE_ROWS, K)
    cuts: FloatArray  # (3, K)
    logs: FloatArray  # (LOG_ROWS, K) scratch


def region(n_arms: int) -> Region:
    """Allocate a region of `n_arms` arms."""
    shapes = (3,), (3,), (4, 2), (BOUND_ROWS, n_arms), (REFERENCE_ROWS, n_arms), (3, n_arms), (LOG_ROWS, n_arms)
    return Region(*(np.empty(shape) for shape in shapes))


@part
def build_region(region: Region, known: Known, dominant: int, bounds_private: bool, bounds_reference: bool) -> None:
    """Build a region about the present posteriors of D, with the bounds that are asked for."""
    radius = choose_radius(known.pulls[dominant])
    max_pulls = choose_max_pulls(known.pulls[dominant], radius)
    fill_region(known.private.family, known.private, dominant, radius, max_pulls, region.private_box, region.extremes)
    if bounds_private:
        bound_private_in_region(known.private, dominant, region)
        fill_all_cuts(region.private, region.logs, region.logs[LOG_LOW], region.logs[LOG_HIGH])
    fill_region(known.public.family, known.public, dominant, radius, max_pulls, region.public_box, region.extremes)
    if bounds_reference:
        bound_reference_in_region(known.public, dominant, region)
    forget_cuts(region)


@inlined
def choose_radius(pulls: int) -> float:
    """Return a region's radius, in standard deviations of D, after this many pulls of D."""
    return min(WIDEST, _RADIUS / float(pulls) ** (1.0 / 3.0))


@inlined
def choose_max_pulls(pulls: int, radius: float) -> int:
    """Return for how many more pulls of D a region of this radius holds."""
    return 1 + int(pulls * radius / _COUNT)


@inlined
def forget_cuts(region: Region) -> None:
    """Forget the cuts of the previous region."""
    for a in range(region.cuts.shape[1]):
        region.cuts[CUT_EPSILON, a] = -1.0


@inlined
def is_inside(region: Region, known: Known, dominant: int) -> bool:
    """Return whether D is still inside the region."""
    public, private, pulls = region.public_box, region.private_box, known.pulls[dominant]
    return (
        pulls <= public[MOST]
        and pulls <= private[MOST]
        and public[MEAN_LOW] <= known.public.means[dominant] <= public[MEAN_HIGH]
        and private[MEAN_LOW] <= known.private.means[dominant] <= private[MEAN_HIGH]
    )


@inlined
def _set_dominant(belief: Belief, dominant: int, first: float, second: float) -> None:
    belief.posterior[0, dominant] = first
    belief.posterior[1, dominant] = second


@part
def _bound_others(belief: Belief, dominant: int, region: Region) -> tuple[float, float]:
    """Bound log P(a) for every arm but D, and return bounds of Σ P(a) over them; the belief is left unchanged."""
    wide = slack(belief.family)
    logs, extremes = region.logs, region.extremes
    first, second = belief.posterior[0, dominant], belief.posterior[1, dominant]
    fill_log_others(belief.family, belief.posterior, belief.ws, dominant, extremes, logs[LOG_HIGH], logs[LOG_LOW])
    _set_dominant(belief, dominant, first, second)
    low = 0.0
    high = 0.0
    for a in range(logs.shape[1]):
        logs[LOG_HIGH, a] += wide - _DEEP * wide * logs[LOG_HIGH, a]
        logs[LOG_LOW, a] -= wide - _DEEP * wide * logs[LOG_LOW, a]
        if a != dominant:
            low += math.exp(logs[LOG_LOW, a]) * (1.0 - wide)
            high += math.exp(logs[LOG_HIGH, a]) * (1.0 + wide)
    return low, high


@part
def bound_private_in_region(belief: Belief, dominant: int, region: Region) -> None:
    """Bound the private best-arm probabilities."""
    wide = slack(belief.family)
    bounds, logs, extremes = region.private, region.logs, region.extremes
    others_low, others_high = _bound_others(belief, dominant, region)
    if others_high < 0.5:
        logs[LOG_LOW, dominant] = math.log1p(-others_high) - wide
        logs[LOG_HIGH, dominant] = min(0.0, math.log1p(-others_low) + wide)
    else:
        first, second = belief.posterior[0, dominant], belief.posterior[1, dominant]
        _set_dominant(belief, dominant, extremes[OWN_LOW, 0], extremes[OWN_LOW, 1])
        low = log_best_of(belief.family, belief.posterior, belief.ws, dominant)
        _set_dominant(belief, dominant, extremes[OWN_HIGH, 0], extremes[OWN_HIGH, 1])
        high = log_best_of(belief.family, belief.posterior, belief.ws, dominant)
        _set_dominant(belief, dominant, first, second)
        logs[LOG_LOW, dominant] = low - wide + _DEEP * wide * low
        logs[LOG_HIGH, dominant] = high + wide - _DEEP * wide * high
    for a in range(logs.shape[1]):
        bounds[P_LOW, a] = math.exp(logs[LOG_LOW, a]) * (1.0 - wide)
        bounds[P_HIGH, a] = math.exp(logs[LOG_HIGH, a]) * (1.0 + wide)


@part
def bound_reference_in_region(belief: Belief, dominant: int, region: Region) -> None:
    """Bound the reference's probabilities; those of D follow from the complement."""
    wide = slack(belief.family)
    bounds, logs = region.reference, region.logs
    others_low, others_high = _bound_others(belief, dominant, region)
    for a in range(logs.shape[1]):
        bounds[PI_LOW, a] = math.exp(logs[LOG_LOW, a]) * (1.0 - wide)
        bounds[PI_HIGH, a] = math.exp(logs[LOG_HIGH, a]) * (1.0 + wide)
        bounds[LOG_PI_LOW, a] = logs[LOG_LOW, a]
        bounds[LOG_PI_HIGH, a] = min(0.0, logs[LOG_HIGH, a])
    bounds[PI_LOW, dominant] = max(0.0, 1.0 - others_high) * (1.0 - wide)
    bounds[PI_HIGH, dominant] = max(0.0, 1.0 - others_low) * (1.0 + wide)
    bounds[LOG_PI_LOW, dominant] = math.log1p(-min(1.0, others_high)) - wide if others_high < 1.0 else -math.inf
    bounds[LOG_PI_HIGH, dominant] = min(0.0, math.log1p(-min(1.0, others_low)) + wide) if others_low < 1.0 else 0.0


@part
def draw_in_region(region: Region, wide: float, boosted: int, dominant: int, epsilon: float, u: float) -> int:
    """Return the arm whose interval contains u, anywhere in the region, if `boosted` has budget ε; or UNDECIDED.

    If another arm than D is boosted, the cut above which D is drawn falls with ε, so that of a larger ε stays valid and
    is kept. If D itself is boosted, the cut grows as ε falls and is computed anew for every ε.
    """
    cuts = region.cuts
    if cuts_are_old(region, boosted, dominant, epsilon):
        set_cuts(region, wide, boosted, dominant, epsilon)
    if u >= cuts[CUT_DOMINANT, boosted]:
        return dominant
    if u < cuts[CUT_BOOSTED, boosted] and cuts[CUT_EPSILON, boosted] == epsilon:
        return boosted
    return UNDECIDED


@inlined
def cuts_are_old(region: Region, boosted: int, dominant: int, epsilon: float) -> bool:
    """Return whether no cuts are known that hold for ε; see `draw_in_region`."""
    known_for = region.cuts[CUT_EPSILON, boosted]
    return known_for < epsilon or (boosted == dominant and known_for != epsilon)


@part
def set_cuts(region: Region, wide: float, boosted: int, dominant: int, epsilon: float) -> None:
    """Compute the cuts from q* at both bounds of π_boosted."""
    bounds = region.reference
    q_low = boost_scalar(bounds[PI_LOW, boosted], bounds[LOG_PI_LOW, boosted], epsilon, True)
    q_high = q_low
    if boosted != dominant:
        q_high = boost_scalar(bounds[PI_HIGH, boosted], bounds[LOG_PI_HIGH, boosted], epsilon, True)
    place_cuts(region, wide, boosted, dominant, epsilon, (q_low, q_high))


@inlined
def place_cuts(
    region: Region, wide: float, boosted: int, dominant: int, epsilon: float, q: tuple[float, float]
) -> None:
    """Set the two cuts of `boosted`: anywhere in the region it is drawn below the first, and D from the second on.

    Let boosted ≠ D. q grows with π_boosted, and the others, O, have the share ρ = O/(O + π_D) among all but `boosted`.
    Everything but D takes q + (1 − q)·ρ, which grows with both. For boosted = D it takes 1 − q.
    """
    bounds, cuts = region.reference, region.cuts
    q_low, q_high = q
    cuts[CUT_EPSILON, boosted] = epsilon
    if boosted == dominant:
        cuts[CUT_BOOSTED, boosted] = 0.0
        cuts[CUT_DOMINANT, boosted] = (1.0 - q_low) * (1.0 + wide) + wide
        return
    others = 0.0
    for a in range(bounds.shape[1]):
        if a not in (boosted, dominant):
            others += bounds[PI_HIGH, a]
    bottom = others + bounds[PI_LOW, dominant]
    share = others / bottom if bottom > 0.0 else 1.0
    cuts[CUT_BOOSTED, boosted] = q_low if q_low == 1.0 else q_low * (1.0 - wide)
    cuts[CUT_DOMINANT, boosted] = (q_high + (1.0 - q_high) * share) * (1.0 + wide) + wide


@inlined
def sure_by_bounds(bounds: FloatArray, delta: float) -> int:
    """Return 1 or 0 if the private bounds decide whether the likeliest arm has reached 1 − δ, otherwise UNDECIDED.

    The complement of arm m is at least Σ_{a≠m} of the lower bounds, which is least for the m with the largest of them.
    And the complement of the likeliest arm is at most that of this m.
    """
    n = bounds.shape[1]
    top = find_largest(bounds[P_LOW])
    low = 0.0
    high = 0.0
    for a in range(n):
        if a != top:
            low += bounds[P_LOW, a]
            high += bounds[P_HIGH, a]
    if high <= delta:
        return 1
    if low > delta:
        return 0
    return UNDECIDED
