"""P(arm is the largest) for independent normals, by one shared grid of Gauss–Legendre panels.

With F(x) = ∏_j Φ_j(x) and h_a = φ_a/Φ_a (reverse hazard), P(a is largest) = ∫ F(x)·h_a(x) dx. Every arm uses the
same nodes, so a node costs K tail evaluations, not K². All terms are positive, so tails keep their relative
accuracy. Each integrand g_a = F·h_a = φ_a·∏_{j≠a} Φ_j is log-concave, from which three facts follow that decide where
the grid lies:

**Left end.** Φ_j(x) = φ_j(x)·M_j(x) with M_j (Mills' ratio) increasing. So for any set J of arms that contains a, g_a
is the normal density with precision P = Σ_J 1/σ_j² and mean m = Σ_J μ_j/σ_j² / P, times an increasing function.
Hence the share of g_a's mass to the left of m − 7.6/√P is below Φ(−7.6) = 1.5e-14, for every J; the largest such bound
is used. J is taken among the sets "a and the k arms of largest mean": the k that makes m largest, the k that is best
without a, and each k whose last arm is more precise than all before it together (so there are few).

**Right end.** Beyond two points x₁ < x₂ with g_a(x₂) < g_a(x₁), log-concavity gives
∫_{x₂}^∞ g_a ≤ g_a(x₂)·(x₂ − x₁)/log(g_a(x₁)/g_a(x₂)): the arm is done when this is below 2e-15 of its sum. Where
|log g| is so large (above 1e12) that rounding hides the decay, the sum of width × slope, a lower bound of the
decay, ends the arm instead.

**Between** the supports of the arms nothing is integrated: the grid jumps to the next left end. Very deep tails, which
peak away from the main region, cost a few panels of their own.

A panel has 24 nodes. Its width follows the curvature of log g_a at its left end, where the curvature of each log Φ_j is
greatest, and the standard deviation of the sharpest arm whose Φ is not yet 1 (z < 8.2). What a panel holds is in
`best_arm_panel`.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import bits_float, float_bits, inlined, part
from feint.numerics.best_arm_panel import SATURATED, WEIGHTS, add_to_arm, fill_panel, set_boundary
from feint.numerics.best_arm_workspace import (
    ACTIVE,
    CENTRE,
    CURVATURE,
    DECAY,
    DONE,
    FALL,
    HALF,
    HAZARD,
    LEFT,
    LEFT_END,
    MIDDLE,
    NODES,
    OPEN,
    ORDER,
    PRECISION,
    SHIFT,
    SHIFT_BEFORE,
    STARTED,
    STATE,
    SUM,
    SUM_BEFORE,
    WAITING,
    WANTED,
    NormalWorkspace,
    fill_normal_left_ends,
    standardise,
    times_power_of_two,
)
from feint.numerics.normal import exp_or_little, reverse_hazard
from feint.numerics.sorting import sort_by

# Panel widths. 24 nodes integrate exp(−y²/2) over 8.2 to 1e-15 of its peak, over 9.2 to 1e-14 of the whole, and exp(−y)
# over 33 to 1e-15. tests/numerics/test_best_arm.py halves them and sees no change.
_WIDTH = 9.2
_SLOPE_WIDTH = 30.0
_FINEST = 2.0**-47


@inlined
def _evaluate_boundary(arms: FloatArray, n: int, x: float) -> None:
    """Set hazard and curvature of every log Φ at x."""
    for a in range(n):
        z = (x - arms[CENTRE, a]) * arms[PRECISION, a]
        set_boundary(arms, a, z, reverse_hazard(z) if z < SATURATED else 0.0)


@inlined
def _narrow_for_arm(arms: FloatArray, a: int, x: float, slope_sum: float, curvature_sum: float, widest: float) -> float:
    """Return how wide a panel at x may be for the integrand of arm a, at most `widest`, and record its decay rate."""
    precision = arms[PRECISION, a]
    curvature = curvature_sum - arms[CURVATURE, a] + precision * precision
    # On a piece that starts e^−decay below the peak, 24 nodes may err e^decay more, which is e^(decay/33) in width.
    ease = 1.0 + arms[DECAY, a] / 49.0
    width = _WIDTH * ease / math.sqrt(curvature)
    fall = (x - arms[CENTRE, a]) * precision * precision - (slope_sum - arms[HAZARD, a])
    arms[FALL, a] = fall
    if fall * width > _SLOPE_WIDTH * ease:
        width = _SLOPE_WIDTH * ease / fall
    return width if width < widest else widest


@inlined
def _cut_width(width: float) -> float:
    """Return the width cut to 5 significant bits, so that panel ends and middles add up without rounding.

    A rounded sum x + width would leave a gap of 1e-16·|x| between panels. For an arm that is 1e8 times sharper than its
    distance from the origin, that is 1e-8 of its width.
    """
    return bits_float(float_bits(width) & ~((1 << 48) - 1))


@inlined
def _on_grid(x: float, width: float) -> float:
    """Return x moved left to a multiple of the last bit of a short half-width."""
    _, exponent = math.frexp(width)
    scaled = times_power_of_two(x, 6 - exponent)
    return times_power_of_two(float(math.floor(scaled)), exponent - 6) if abs(scaled) < 9007199254740992.0 else x


@part
def best_arm_sums(means: FloatArray, sds: FloatArray, ws: NormalWorkspace) -> None:
    """Leave P(arm a is the largest) = arms[SUM, a]·exp(arms[SHIFT, a]) for every arm.

    `means`, `sds`: (K,), finite, sds > 0, K ≥ 1, spread below 1e150 sds. The relative error of each P is below 1e-12.
    """
    place_arms(means, sds, ws)
    while add_panel(ws):
        pass


@part
def single_arm_sum(means: FloatArray, sds: FloatArray, ws: NormalWorkspace, arm: int) -> None:
    """Leave only P(`arm` is the largest), using only the panels under its integrand."""
    place_arms(means, sds, ws)
    ws.ranks[ORDER, 0] = arm
    ws.counts[WANTED] = 1
    while add_panel(ws):
        pass


@part
def place_arms(means: FloatArray, sds: FloatArray, ws: NormalWorkspace) -> None:
    """Place the arms, before anything is integrated."""
    n = means.size
    arms = ws.arms
    ranks = ws.ranks
    standardise(means, sds, arms)
    fill_normal_left_ends(arms, ranks, n)
    sort_by(arms[LEFT], ranks[ORDER], 1.0)
    for a in range(n):
        ranks[STATE, a] = WAITING
        arms[SUM, a] = 0.0
        arms[SHIFT, a] = -math.inf
        arms[DECAY, a] = 0.0
    ws.counts[WANTED] = n
    ws.counts[STARTED] = 0
    ws.counts[OPEN] = 0


@part
def add_panel(ws: NormalWorkspace) -> bool:
    """Add the next panel to the sums of all arms that it concerns; return False if there is none left."""
    n = ws.arms.shape[1]
    arms = ws.arms
    ranks = ws.ranks
    exponents = ws.exponents
    mantissas = ws.mantissas
    products = ws.products
    ratios = ws.ratios
    wanted = ws.counts[WANTED]
    started = ws.counts[STARTED]
    active = ws.counts[OPEN]
    if started == wanted and active == 0:
        return False
    x = ws.panel[LEFT_END]
    jumped = active == 0
    if jumped:
        x = arms[LEFT, ranks[ORDER, started]]
        _evaluate_boundary(arms, n, x)
    slope_sum = 0.0
    curvature_sum = 0.0
    width = math.inf
    for a in range(n):
        slope_sum += arms[HAZARD, a]
        curvature_sum += arms[CURVATURE, a]
        z = (x - arms[CENTRE, a]) * arms[PRECISION, a]
        if z < SATURATED:
            found = _WIDTH * (z - 2.0 if z > 3.0 else 1.0) / arms[PRECISION, a]
            width = found if found < width else width
    for a in range(n):
        if ranks[STATE, a] == ACTIVE:
            width = _narrow_for_arm(arms, a, x, slope_sum, curvature_sum, width)
    # Far away (1e14 widths from the origin) a panel must still be wider than the gaps between floats.
    finest = abs(x) * _FINEST
    while started < wanted:
        a = ranks[ORDER, started]
        if arms[LEFT, a] > x + (width if width > finest else finest):
            break
        width = _narrow_for_arm(arms, a, x, slope_sum, curvature_sum, width)
        ranks[STATE, a] = ACTIVE
        started += 1
        active += 1

    width = _cut_width(width if width > finest else finest)
    if jumped:
        x = _on_grid(x, width)
    half = 0.5 * width
    middle = x + half
    fill_panel(arms, ranks, exponents, mantissas, ratios, middle, half)
    top = exponents[NODES - 1]
    for i in range(NODES):
        products[i] = WEIGHTS[i] * mantissas[i] * exp_or_little(exponents[i] - top)
    for a in range(n):
        arms[SUM_BEFORE, a] = arms[SUM, a]
        arms[SHIFT_BEFORE, a] = arms[SHIFT, a]
        if ranks[STATE, a] == ACTIVE and add_to_arm(arms, exponents, mantissas, products, ratios, a, middle, half):
            ranks[STATE, a] = DONE
            active -= 1
    ws.panel[LEFT_END] = x + width
    ws.panel[MIDDLE] = middle
    ws.panel[HALF] = half
    ws.counts[STARTED] = started
    ws.counts[OPEN] = active
    return True
