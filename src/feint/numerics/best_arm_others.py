r"""Both bounds of P(arm is the largest) for all normal arms but one, D, whose posterior moves within a box.

The bounds are those of two evaluations by best_arm_kernel.py, one with D at either extreme of its box, bit for bit, but
D's own integral is not asked for. Often D, pulled most and known best, lies far below the arm that is privately best.
Then its integral, which comes first, and those of the others have no panel in common, and two things are left out:

**D's own panels.** Let p be D's precision, and L where its integration starts. If log g_D falls by more than 50·p per
unit at x₀ = L + 100/p, it does so ever after, since g_D is log-concave. A panel is at most 9.2·(1 + 45/49)/p wide,
since the curvature of log g_D is at least p². So D's integral is done, 45 nats below its peak, before x₀ + 40/p. If the
next arm starts beyond L + 200/p, no panel of D's concerns another arm.

**The second evaluation.** If Φ_D is 1 in float64 on all panels of the others, they depend on D only by where they start
and by the unit of length. Where these are the same at both extremes, so are the sums.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import inlined, part
from feint.numerics.best_arm_kernel import add_panel, place_arms
from feint.numerics.best_arm_workspace import (
    CENTRE,
    HALF,
    LEFT,
    LEFT_BEFORE,
    MIDDLE,
    ORDER,
    PRECISION,
    SHIFT,
    SUM,
    WANTED,
    NormalWorkspace,
)

_UNSEEN = 9.0  # Φ is 1 from 8.2 on
_FALLING = 50.0
_FAR, _FARTHER = 100.0, 200.0
_SMOOTH = 1e12  # up to this distance from the origin, in sds, panels are not as short as the gaps between floats


@part
def fill_normal_log_others(
    posterior: FloatArray, arm: int, extremes: FloatArray, ws: NormalWorkspace, first: FloatArray, second: FloatArray
) -> None:
    """Fill `first` and `second`, (K,), with log P of all arms but `arm`, whose mean and sd are in the first and in the
    second row of `extremes`. The second stays in the posterior (2, K); the entry of `arm` in the results means nothing.
    """
    arms = ws.arms
    alone = _place_with(posterior, arm, extremes[0], ws)
    start = _add_panels(ws)
    _take_logs(arms, first)
    another = ws.ranks[ORDER, 0]
    unit = arms[PRECISION, another]
    for a in range(first.size):
        arms[LEFT_BEFORE, a] = arms[LEFT, a]
    same = alone and _is_unseen(arms, arm, start)
    same = _place_with(posterior, arm, extremes[1], ws) and same and _is_unseen(arms, arm, start)
    same = same and arms[PRECISION, another] == unit
    for a in range(first.size):
        same = same and (a == arm or arms[LEFT, a] == arms[LEFT_BEFORE, a])
    if same:
        for a in range(first.size):
            second[a] = first[a]
        return
    _add_panels(ws)
    _take_logs(arms, second)


@inlined
def _is_unseen(arms: FloatArray, arm: int, x: float) -> bool:
    """Return whether Φ of `arm` is 1 from x on."""
    return (x - arms[CENTRE, arm]) * arms[PRECISION, arm] > _UNSEEN


@part
def _add_panels(ws: NormalWorkspace) -> float:
    """Add all panels; return where the first one starts."""
    add_panel(ws)
    start = ws.panel[MIDDLE] - ws.panel[HALF]
    while add_panel(ws):
        pass
    return start


@inlined
def _take_logs(arms: FloatArray, out: FloatArray) -> None:
    for a in range(out.size):
        out[a] = math.log(arms[SUM, a]) + arms[SHIFT, a]


@part
def _place_with(posterior: FloatArray, arm: int, at: FloatArray, ws: NormalWorkspace) -> bool:
    """Place all arms, with `arm` at this mean and sd. If it is alone on its panels, leave it out and return True."""
    posterior[0, arm], posterior[1, arm] = at[0], at[1]
    place_arms(posterior[0], posterior[1], ws)
    arms, ranks = ws.arms, ws.ranks
    precision, left = arms[PRECISION, arm], arms[LEFT, arm]
    if (
        ranks[ORDER, 0] != arm
        or arms[CENTRE, arm] >= 0.0
        or abs(left) * precision > _SMOOTH
        or arms[LEFT, ranks[ORDER, 1]] < left + _FARTHER / precision
    ):
        return False
    x = left + _FAR / precision
    fall = (x - arms[CENTRE, arm]) * precision * precision
    for a in range(arms.shape[1]):
        if a != arm:  # φ/Φ is at most 1 − z left of the mean, and 1 right of it
            z = (x - arms[CENTRE, a]) * arms[PRECISION, a]
            fall -= (1.0 - min(z, 0.0)) * arms[PRECISION, a]
    if fall < _FALLING * precision:
        return False
    for k in range(1, arms.shape[1]):
        ranks[ORDER, k - 1] = ranks[ORDER, k]
    ws.counts[WANTED] = arms.shape[1] - 1
    arms[SUM, arm] = 1.0  # so that it has a logarithm
    arms[SHIFT, arm] = 0.0
    return True
