"""P(arm is the largest) for independent normals, by one shared grid of Gauss–Legendre panels.

With F(x) = ∏_j Φ_j(x) and h_a = φ_a/Φ_a (reverse hazard), P(a is largest) = ∫ F(x)·h_a(x) dx. Every arm uses the
same nodes, so a node costs K tail evaluations, not K². All terms are positive, so tails keep their relative
accuracy. Each integrand g_a = F·h_a = φ_a·∏_{j≠a} Φ_j is log-concave, and three facts follow that decide where the
grid lies:

**Left end.** Φ_j(x) = φ_j(x)·M_j(x) with M_j (Mills' ratio) increasing. So for any set J of arms that contains a, g_a
is the normal density with precision P = Σ_J 1/σ_j² and mean m = Σ_J μ_j/σ_j² / P, times an increasing function.
Hence the share of g_a's mass to the left of m − 7.6/√P is below Φ(−7.6) = 1.5e-14, for every J; the largest such bound
wins.
J is taken among the sets "a and the k arms of largest mean": the k that makes m largest, the k that is best
without a, and each k whose last arm is more precise than all before it together (so there are few).

**Right end.** Beyond two points x₁ < x₂ with g_a(x₂) < g_a(x₁), log-concavity gives
∫_{x₂}^∞ g_a ≤ g_a(x₂)·(x₂ − x₁)/log(g_a(x₁)/g_a(x₂)): the arm is done when this is below 2e-15 of its sum. Where
|log g| is so large (above 1e12) that rounding hides the decay, the sum of width × slope, a lower bound of the
decay, ends the arm instead.

**Between** the supports of the arms nothing is integrated: the grid jumps to the next left end. Very deep tails, which
peak away from the main region, cost a few panels of their own.

A panel has 24 nodes. Its width follows the curvature of log g_a at its left end, where curvature of each log Φ_j is
greatest, and the standard deviation of the sharpest arm whose Φ is not yet 1 (z < 8.2).

Each factor is kept as mantissa and exponent: Φ(z) = c·exp(−z²/2) for z < 0, so the sum of exponents and the product of
mantissas never underflow, and the exponent of g_a relative to its own panel is what is exponentiated.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feint.numerics._jit import bits_float, float_bits, inlined, kernel, reordered_sum
from feint.numerics.normal import SQRT_2PI, exp_nonpositive, reverse_hazard, scaled_tail

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NODES = 24
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(NODES)
_LAST_GAP = float(_NODES[-1] - _NODES[-2])
_BEFORE, _AFTER = 1.0 / float(_WEIGHTS[-2]), 1.0 / float(_WEIGHTS[-1])

_LEFT_CUT = 7.6  # Φ(−7.6) = 1.5e-14 of an arm's mass is left out on the left
_RIGHT_CUT = 2e-15  # share of an arm's mass left out on the right
_SATURATED = 8.2  # 1 − Φ(8.2) = 1.2e-16: the factor is 1 in float64
_FAR_RIGHT = 25.0  # exp(−25²/2) = 2e-136 is still far from underflow over one panel
_DEEP_LEFT = -30.0  # below this 1 − curvature of log Φ is under 1e-3 and h(h + z) cancels
_DECAY_ENOUGH = 45.0  # e^−45 = 3e-20
# Panel widths. 24 nodes integrate exp(−y²/2) over 8.2 to 1e-15 of its peak, over 9.2 to 1e-14 of the whole, and exp(−y)
# over 33 to 1e-15. tests/numerics/test_best_arm.py halves them and sees no change.
_WIDTH = 9.2
_SLOPE_WIDTH = 30.0
_TINY_MANTISSA = 1e-150
_FINEST = 2.0**-47
_STEEP = 300.0  # nats over one panel: exponents are then combined before they are exponentiated


_GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's sequence


# Rows of Workspace.arms. One array with named rows, not a field each: every array that is passed on costs the
# compiled code two atomic reference counts, which for 17 fields took longer than the integration.
_CENTRE = 0  # mean minus the largest mean, in units of a power of two near the smallest sd
_PRECISION = 1  # 1/sd in that unit
_LEFT = 2  # where the arm's integration starts
_FALL = 3  # −(log g_a)′ near the panel's left end
_DECAY = 4  # lower bound of the decay of log g_a since its peak
_HAZARD = 5  # h_a near the panel's left end
_CURVATURE = 6  # −(log Φ_a)″ there
_PREFIX_PRECISION = 7  # Σ 1/σ² over the arms of largest mean
_PREFIX_MOMENT = 8  # and Σ μ/σ²
SUM = 9  # result: P(a) = arms[SUM, a]·exp(arms[SHIFT, a])
SHIFT = 10
_CENTRE_LOW = 11  # what rounding took from _CENTRE: two sharp arms far from the origin keep their distance
_ARM_ROWS = 12

# Rows of Workspace.ranks.
_ORDER = 0  # arms by mean, then by left end
_RANK = 1  # position of an arm by mean
_CANDIDATES = 2  # sizes k of the sets J to try for every arm
_STATE = 3  # one of the three below
_WAITING, _ACTIVE, _DONE = 0, 1, 2


class Workspace(NamedTuple):
    """Scratch of the best-arm kernel for K arms, owned by the caller; it holds nothing between calls."""

    arms: FloatArray  # (_ARM_ROWS, K)
    ranks: IntArray  # (4, K)
    exponents: FloatArray  # (NODES,) of F
    mantissas: FloatArray  # (NODES,) of F
    products: FloatArray  # (NODES,) F times the quadrature weight, up to the panel's constant
    ratios: FloatArray  # (K, NODES) g_a/F up to the arm's constant


def workspace(n_arms: int) -> Workspace:
    """Allocate the scratch space for `n_arms` arms."""
    return Workspace(
        np.empty((_ARM_ROWS, n_arms)),
        np.empty((4, n_arms), dtype=np.int64),
        np.empty(NODES),
        np.empty(NODES),
        np.empty(NODES),
        np.empty((n_arms, NODES)),
    )


@kernel
def _sort_by(keys: FloatArray, order: IntArray, descending: bool) -> None:
    """Shell sort (Ciura's gaps) of 0 … K−1 by key, ties by index; in place, where a library sort would allocate."""
    n = keys.size
    for i in range(n):
        order[i] = i
    sign = -1.0 if descending else 1.0
    for gap in _GAPS:
        for i in range(gap, n):
            item = order[i]
            key = sign * keys[item]
            k = i
            while k >= gap:
                other = order[k - gap]
                other_key = sign * keys[other]
                if other_key < key or (other_key == key and other < item):
                    break
                order[k] = other
                k -= gap
            order[k] = item


@kernel
def _standardise(means: FloatArray, sds: FloatArray, arms: FloatArray) -> None:
    """Centre on the largest mean and scale by a power of two, both without rounding: centres have two parts."""
    n = means.size
    top = means[0]
    sharpest = sds[0]
    for a in range(1, n):
        top = max(top, means[a])
        sharpest = min(sharpest, sds[a])
    _, exponent = math.frexp(sharpest)
    for a in range(n):
        mean = 0.5 * means[a]  # halves, so that the difference of two of the largest floats does not overflow
        difference = mean - 0.5 * top
        virtual = difference - mean
        error = (mean - (difference - virtual)) - (0.5 * top + virtual)  # Knuth's exact error of a difference
        arms[_CENTRE, a] = math.ldexp(difference, 1 - exponent)
        arms[_CENTRE_LOW, a] = math.ldexp(error, 1 - exponent)
        arms[_PRECISION, a] = 1.0 / math.ldexp(sds[a], -exponent)


@kernel
def _left_ends(arms: FloatArray, ranks: IntArray, n: int) -> None:
    """Where each arm's integration may start; see "Left end" in the module's docstring."""
    _sort_by(arms[_CENTRE], ranks[_ORDER], True)
    total = 0.0
    moment = 0.0
    best = -math.inf
    best_size = 0
    candidates = 0
    for k in range(n):
        a = ranks[_ORDER, k]
        ranks[_RANK, a] = k
        weight = arms[_PRECISION, a] * arms[_PRECISION, a]
        if weight > total:
            ranks[_CANDIDATES, candidates] = k + 1
            candidates += 1
        total += weight
        moment += arms[_CENTRE, a] * weight
        arms[_PREFIX_PRECISION, k] = total
        arms[_PREFIX_MOMENT, k] = moment
        bound = moment / total - _LEFT_CUT / math.sqrt(total)
        if bound > best:
            best = bound
            best_size = k + 1
    for a in range(n):
        # An arm raises the mean of J while its own mean is larger: bisect for the last one that does.
        low = 0
        high = n
        while low < high:
            size = (low + high + 1) // 2
            total, moment = _joined(arms, ranks, a, size - 1)
            if arms[_CENTRE, ranks[_ORDER, size - 1]] * total > moment:
                low = size
            else:
                high = size - 1
        arms[_LEFT, a] = max(_left_bound(arms, ranks, a, low), _left_bound(arms, ranks, a, best_size))
        for c in range(candidates):
            arms[_LEFT, a] = max(arms[_LEFT, a], _left_bound(arms, ranks, a, ranks[_CANDIDATES, c]))


@inlined
def _left_bound(arms: FloatArray, ranks: IntArray, a: int, size: int) -> float:
    total, moment = _joined(arms, ranks, a, size)
    return moment / total - _LEFT_CUT / math.sqrt(total)


@inlined
def _joined(arms: FloatArray, ranks: IntArray, a: int, size: int) -> tuple[float, float]:
    """Precision and moment of the `size` arms of largest mean together with arm a."""
    total = 0.0
    moment = 0.0
    if size > 0:
        total = arms[_PREFIX_PRECISION, size - 1]
        moment = arms[_PREFIX_MOMENT, size - 1]
    if ranks[_RANK, a] >= size:
        weight = arms[_PRECISION, a] * arms[_PRECISION, a]
        total += weight
        moment += arms[_CENTRE, a] * weight
    return total, moment


@inlined
def _evaluate_boundary(arms: FloatArray, n: int, x: float) -> None:
    """Hazard and curvature of every log Φ at x."""
    for a in range(n):
        z = (x - arms[_CENTRE, a]) * arms[_PRECISION, a]
        _set_boundary(arms, a, z, reverse_hazard(z) if z < _SATURATED else 0.0)


@inlined
def _set_boundary(arms: FloatArray, a: int, z: float, hazard: float) -> None:
    precision = arms[_PRECISION, a]
    arms[_HAZARD, a] = hazard * precision
    curvature = 1.0
    if z > _DEEP_LEFT:
        curvature = hazard * (hazard + z)
    arms[_CURVATURE, a] = curvature * precision * precision


@inlined
def _arm_width(arms: FloatArray, a: int, x: float, slope_sum: float, curvature_sum: float) -> float:
    """How wide a panel at x may be for the integrand of arm a; notes its decay rate."""
    precision = arms[_PRECISION, a]
    curvature = curvature_sum - arms[_CURVATURE, a] + precision * precision
    # 24 nodes over a piece that starts e^−decay below the peak may err e^decay more, which is e^(decay/33) in width.
    ease = 1.0 + arms[_DECAY, a] / 49.0
    width = _WIDTH * ease / math.sqrt(curvature)
    fall = (x - arms[_CENTRE, a]) * precision * precision - (slope_sum - arms[_HAZARD, a])
    arms[_FALL, a] = fall
    if fall * width > _SLOPE_WIDTH * ease:
        width = _SLOPE_WIDTH * ease / fall
    return width


@inlined
def _short(width: float) -> float:
    """The width cut to 5 significant bits: then panel ends and middles add up without rounding.

    A sum x + width that rounds leaves a gap of 1e-16·|x| between panels, which is 1e-8 of an arm 1e8 times sharper
    than its distance from the origin.
    """
    return bits_float(float_bits(width) & ~((1 << 48) - 1))


@inlined
def _on_grid(x: float, width: float) -> float:
    """X moved left to a multiple of the last bit of a short half-width."""
    _, exponent = math.frexp(width)
    scaled = math.ldexp(x, 6 - exponent)
    return math.ldexp(math.floor(scaled), exponent - 6) if abs(scaled) < 9007199254740992.0 else x


@inlined
def _density_shift(first: float) -> float:
    """What to add to −z²/2 over a panel that starts at z = first, so that its exponential does not underflow."""
    return -0.5 * first * first if first > _FAR_RIGHT else 0.0


@inlined
def _panel_factor(
    exponents: FloatArray,
    mantissas: FloatArray,
    ratios: FloatArray,
    a: int,
    z0: float,
    step: float,
    shift: float,
    scale: float,
) -> None:
    """Multiply Φ_a into the node products and leave g_a/F in `ratios`; the loops vectorise."""
    # Two loops: one would need more registers than there are.
    for i in range(NODES):
        ratios[a, i] = scaled_tail(abs(z0 + step * _NODES[i]))
    for i in range(NODES):
        z = z0 + step * _NODES[i]
        q = -0.5 * z * z
        density = exp_nonpositive(q - shift)
        tail = ratios[a, i]
        mantissa = tail if z < 0.0 else 1.0 - density * scale * tail
        exponents[i] += q if z < 0.0 else 0.0
        mantissas[i] *= mantissa
        ratios[a, i] = (1.0 if z < 0.0 else density) / mantissa


@inlined
def _panel_products(
    arms: FloatArray,
    ranks: IntArray,
    exponents: FloatArray,
    mantissas: FloatArray,
    ratios: FloatArray,
    middle: float,
    half: float,
) -> None:
    """F at the nodes as mantissa and exponent, and hazards and curvatures at the panel's right end."""
    for i in range(NODES):
        exponents[i] = 0.0
        mantissas[i] = 1.0
    for a in range(arms.shape[1]):
        precision = arms[_PRECISION, a]
        z0 = ((middle - arms[_CENTRE, a]) - arms[_CENTRE_LOW, a]) * precision
        step = half * precision
        first = z0 + step * _NODES[0]
        if first > _SATURATED and ranks[_STATE, a] != _ACTIVE:
            arms[_HAZARD, a] = 0.0
            arms[_CURVATURE, a] = 0.0
            continue
        shift = _density_shift(first)
        scale = exp_nonpositive(shift) if shift < 0.0 else 1.0
        _panel_factor(exponents, mantissas, ratios, a, z0, step, shift, scale)
        last = z0 + step * _NODES[NODES - 1]
        # The last node stands for the next panel's left end: hazard and curvature there are slightly larger.
        _set_boundary(arms, a, last, ratios[a, NODES - 1] * scale / SQRT_2PI)
        if mantissas[0] < _TINY_MANTISSA:
            for i in range(NODES):
                exponents[i] += math.log(mantissas[i])
                mantissas[i] = 1.0


@reordered_sum
def _dot_row(x: FloatArray, rows: FloatArray, row: int) -> float:
    total = 0.0
    for i in range(NODES):
        total += x[i] * rows[row, i]
    return total


@inlined
def _add_panel(
    arms: FloatArray,
    exponents: FloatArray,
    mantissas: FloatArray,
    products: FloatArray,
    ratios: FloatArray,
    a: int,
    middle: float,
    half: float,
) -> bool:
    """Add the panel to the integral of arm a; true when what lies beyond it no longer counts."""
    precision = arms[_PRECISION, a]
    z0 = ((middle - arms[_CENTRE, a]) - arms[_CENTRE_LOW, a]) * precision
    step = half * precision
    first = z0 + step * _NODES[0]
    last = z0 + step * _NODES[NODES - 1]
    top = exponents[NODES - 1]
    rise = top - exponents[0]
    total = 0.0
    if first > 0.0 and (rise > _STEEP or 0.5 * (last - first) * (last + first) > _STEEP):
        # F rises and φ_a falls by more than a float64 can span: only their sum of exponents is moderate.
        shift = -math.inf
        for i in range(NODES):
            z = z0 + step * _NODES[i]
            shift = max(shift, exponents[i] - 0.5 * z * z)
        for i in range(NODES):
            z = z0 + step * _NODES[i]
            # A deep arm's own Φ is 1 to within e^−_STEEP: its mantissa needs no division.
            value = mantissas[i] * exp_nonpositive(exponents[i] - 0.5 * z * z - shift)
            total += _WEIGHTS[i] * value
            if i == NODES - 2:
                before = value
        after = value
    else:
        shift = top + _density_shift(first)
        total = _dot_row(products, ratios, a)
        before = products[NODES - 2] * ratios[a, NODES - 2] * _BEFORE
        after = products[NODES - 1] * ratios[a, NODES - 1] * _AFTER
    scale = step / SQRT_2PI
    if shift > arms[SHIFT, a]:
        arms[SUM, a] *= exp_nonpositive(arms[SHIFT, a] - shift)
        arms[SHIFT, a] = shift
    elif shift < arms[SHIFT, a]:
        scale *= exp_nonpositive(shift - arms[SHIFT, a])
    arms[SUM, a] += total * scale
    if arms[_FALL, a] > 0.0:
        arms[_DECAY, a] += arms[_FALL, a] * 2.0 * half
    # log y ≥ 1 − 1/y spares the logarithm in the bound of "Right end".
    fallen = scale * after * before * _LAST_GAP < _RIGHT_CUT * arms[SUM, a] * (before - after)
    return fallen or arms[_DECAY, a] > _DECAY_ENOUGH


@kernel
def best_arm_sums(means: FloatArray, sds: FloatArray, ws: Workspace) -> int:
    """Leave P(arm a is the largest) = arms[SUM, a]·exp(arms[SHIFT, a]) for every arm; returns the panels used.

    `means`, `sds`: (K,), finite, sds > 0, K ≥ 1, spread below 1e150 sds. Relative error of each P below 1e-12.
    """
    return _integrate(means, sds, ws, -1)


@kernel
def single_arm_sum(means: FloatArray, sds: FloatArray, ws: Workspace, arm: int) -> int:
    """The same for one arm alone: only the panels under its integrand."""
    return _integrate(means, sds, ws, arm)


@kernel
def _integrate(means: FloatArray, sds: FloatArray, ws: Workspace, only: int) -> int:
    n = means.size
    arms = ws.arms
    ranks = ws.ranks
    exponents = ws.exponents
    mantissas = ws.mantissas
    products = ws.products
    ratios = ws.ratios
    _standardise(means, sds, arms)
    _left_ends(arms, ranks, n)
    _sort_by(arms[_LEFT], ranks[_ORDER], False)
    for a in range(n):
        ranks[_STATE, a] = _WAITING
        arms[SUM, a] = 0.0
        arms[SHIFT, a] = -math.inf
        arms[_DECAY, a] = 0.0
    wanted = n
    if only >= 0:
        ranks[_ORDER, 0] = only
        wanted = 1
    started = 0
    active = 0
    panels = 0
    x = 0.0
    while started < wanted or active > 0:
        jumped = active == 0
        if jumped:
            x = arms[_LEFT, ranks[_ORDER, started]]
            _evaluate_boundary(arms, n, x)
        slope_sum = 0.0
        curvature_sum = 0.0
        width = math.inf
        for a in range(n):
            slope_sum += arms[_HAZARD, a]
            curvature_sum += arms[_CURVATURE, a]
            z = (x - arms[_CENTRE, a]) * arms[_PRECISION, a]
            if z < _SATURATED:
                width = min(width, _WIDTH * max(1.0, z - 2.0) / arms[_PRECISION, a])
        for a in range(n):
            if ranks[_STATE, a] == _ACTIVE:
                width = min(width, _arm_width(arms, a, x, slope_sum, curvature_sum))
        # Far out (1e14 widths from the origin) a panel must still be wider than the gaps between floats.
        finest = abs(x) * _FINEST
        while started < wanted and arms[_LEFT, ranks[_ORDER, started]] <= x + max(width, finest):
            a = ranks[_ORDER, started]
            width = min(width, _arm_width(arms, a, x, slope_sum, curvature_sum))
            ranks[_STATE, a] = _ACTIVE
            started += 1
            active += 1

        width = _short(max(width, finest))
        if jumped:
            x = _on_grid(x, width)
        panels += 1
        half = 0.5 * width
        middle = x + half
        _panel_products(arms, ranks, exponents, mantissas, ratios, middle, half)
        top = exponents[NODES - 1]
        for i in range(NODES):
            products[i] = _WEIGHTS[i] * mantissas[i] * exp_nonpositive(exponents[i] - top)
        for a in range(n):
            if ranks[_STATE, a] == _ACTIVE and _add_panel(
                arms, exponents, mantissas, products, ratios, a, middle, half
            ):
                ranks[_STATE, a] = _DONE
                active -= 1
        x += width
    return panels
