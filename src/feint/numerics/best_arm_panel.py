"""One panel of the best-arm integrals: F and g_a at its nodes, and what it adds to each arm.

The notation is that of `best_arm_kernel`, which says where the panels lie.

Each factor is kept as mantissa and exponent: Φ(z) = c·exp(−z²/2) for z < 0, so the sum of exponents and the product of
mantissas never underflow, and the exponent of g_a relative to its own panel is what is exponentiated.
"""

import math

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import fma, inlined, part
from feint.numerics.best_arm_workspace import (
    ACTIVE,
    CENTRE,
    CENTRE_LOW,
    CURVATURE,
    DECAY,
    FALL,
    HALF,
    HAZARD,
    MIDDLE,
    NODES,
    PRECISION,
    SHIFT,
    STATE,
    SUM,
    UNIT,
    NormalWorkspace,
)
from feint.numerics.normal import SQRT_2PI, exp_or_little, scaled_tail
from feint.numerics.sums import sum_products

_NODES, WEIGHTS = np.polynomial.legendre.leggauss(NODES)
_LAST_GAP = float(_NODES[-1] - _NODES[-2])
_BEFORE, _AFTER = 1.0 / float(WEIGHTS[-2]), 1.0 / float(WEIGHTS[-1])

_RIGHT_CUT = 2e-15  # share of an arm's mass left out on the right
SATURATED = 8.2  # 1 − Φ(8.2) = 1.2e-16: the factor is 1 in float64
_ONE_FROM = 8.3  # 1 − Φ(8.3) = 5.2e-17 is below half the distance from 1 to the float before it
_FAR_RIGHT = 25.0  # exp(−25²/2) = 2e-136 is still far from underflow within one panel
_DEEP_LEFT = -30.0  # below this 1 − curvature of log Φ is under 1e-3 and h(h + z) cancels
_DECAY_ENOUGH = 45.0  # e^−45 = 3e-20
_TINY_MANTISSA = 1e-150
_STEEP = 300.0  # nats over one panel: beyond this, exponents are combined before they are exponentiated


@inlined
def set_boundary(arms: FloatArray, a: int, z: float, hazard: float) -> None:
    """Set hazard and curvature of log Φ_a where it is z sds from its mean."""
    precision = arms[PRECISION, a]
    arms[HAZARD, a] = hazard * precision
    curvature = 1.0
    if z > _DEEP_LEFT:
        curvature = hazard * (hazard + z)
    arms[CURVATURE, a] = curvature * precision * precision


@inlined
def _density_shift(first: float) -> float:
    """Return what to subtract from −z²/2 in a panel that starts at z = first, so that exp does not underflow."""
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
    """Multiply Φ_a into the node products and leave g_a/F in `ratios`. The loops vectorise.

    Far to the right Φ_a is 1 in float64, and left of the mean the density is not needed; both are the general case bit
    for bit.
    """
    if fma(step, _NODES[0], z0) > _ONE_FROM:
        for i in range(NODES):
            z = fma(step, _NODES[i], z0)
            ratios[a, i] = exp_or_little(-0.5 * z * z - shift)
        return
    # Two loops, because one would need more registers than there are.
    for i in range(NODES):
        ratios[a, i] = scaled_tail(abs(fma(step, _NODES[i], z0)))
    if fma(step, _NODES[NODES - 1], z0) < 0.0:
        for i in range(NODES):
            z = fma(step, _NODES[i], z0)
            exponents[i] += -0.5 * z * z
            mantissas[i] *= ratios[a, i]
            ratios[a, i] = 1.0 / ratios[a, i]
        return
    for i in range(NODES):
        z = fma(step, _NODES[i], z0)
        q = -0.5 * z * z
        density = exp_or_little(q - shift)
        tail = ratios[a, i]
        mantissa = tail if z < 0.0 else fma(-density * scale, tail, 1.0)
        exponents[i] += q if z < 0.0 else 0.0
        mantissas[i] *= mantissa
        ratios[a, i] = (1.0 if z < 0.0 else density) / mantissa


@inlined
def fill_panel(
    arms: FloatArray,
    ranks: IntArray,
    exponents: FloatArray,
    mantissas: FloatArray,
    ratios: FloatArray,
    middle: float,
    half: float,
) -> None:
    """Fill F at the nodes as mantissa and exponent, and set hazards and curvatures at the panel's right end."""
    for i in range(NODES):
        exponents[i] = 0.0
        mantissas[i] = 1.0
    for a in range(arms.shape[1]):
        precision = arms[PRECISION, a]
        z0 = ((middle - arms[CENTRE, a]) - arms[CENTRE_LOW, a]) * precision
        step = half * precision
        first = z0 + step * _NODES[0]
        if first > SATURATED and ranks[STATE, a] != ACTIVE:
            arms[HAZARD, a] = 0.0
            arms[CURVATURE, a] = 0.0
            arms[UNIT, a] = 0.0
            continue
        shift = _density_shift(first)
        scale = exp_or_little(shift) if shift < 0.0 else 1.0
        arms[UNIT, a] = scale / SQRT_2PI
        _panel_factor(exponents, mantissas, ratios, a, z0, step, shift, scale)
        last = z0 + step * _NODES[NODES - 1]
        # The last node is used for the next panel's left end; hazard and curvature are slightly larger at the node.
        set_boundary(arms, a, last, ratios[a, NODES - 1] * scale / SQRT_2PI)
        if mantissas[0] < _TINY_MANTISSA:
            for i in range(NODES):
                exponents[i] += math.log(mantissas[i])
                mantissas[i] = 1.0


@inlined
def add_to_arm(
    arms: FloatArray,
    exponents: FloatArray,
    mantissas: FloatArray,
    products: FloatArray,
    ratios: FloatArray,
    a: int,
    middle: float,
    half: float,
) -> bool:
    """Add the panel to the integral of arm a; return whether the rest beyond it is negligible."""
    precision = arms[PRECISION, a]
    z0 = ((middle - arms[CENTRE, a]) - arms[CENTRE_LOW, a]) * precision
    step = half * precision
    first = z0 + step * _NODES[0]
    last = z0 + step * _NODES[NODES - 1]
    top = exponents[NODES - 1]
    rise = top - exponents[0]
    total = 0.0
    if first > 0.0 and (rise > _STEEP or 0.5 * (last - first) * (last + first) > _STEEP):
        # F rises and φ_a falls by more than float64 can span; only the sum of their exponents is moderate.
        shift = -math.inf
        for i in range(NODES):
            z = z0 + step * _NODES[i]
            exponent = exponents[i] - 0.5 * z * z
            shift = exponent if exponent > shift else shift
        for i in range(NODES):
            z = z0 + step * _NODES[i]
            # A deep arm's own Φ is 1 to within e^−_STEEP, so its mantissa needs no division.
            value = mantissas[i] * exp_or_little(exponents[i] - 0.5 * z * z - shift)
            total += WEIGHTS[i] * value
            if i == NODES - 2:
                before = value
        after = value
    else:
        shift = top + _density_shift(first)
        total = sum_products(products, ratios[a])
        before = products[NODES - 2] * ratios[a, NODES - 2] * _BEFORE
        after = products[NODES - 1] * ratios[a, NODES - 1] * _AFTER
    scale = step / SQRT_2PI
    if shift > arms[SHIFT, a]:
        arms[SUM, a] *= exp_or_little(arms[SHIFT, a] - shift)
        arms[SHIFT, a] = shift
    elif shift < arms[SHIFT, a]:
        scale *= exp_or_little(shift - arms[SHIFT, a])
    arms[SUM, a] += total * scale
    if arms[FALL, a] > 0.0:
        arms[DECAY, a] += arms[FALL, a] * 2.0 * half
    # log y ≥ 1 − 1/y spares the logarithm in the bound of "Right end" of `best_arm_kernel`.
    fallen = scale * after * before * _LAST_GAP < _RIGHT_CUT * arms[SUM, a] * (before - after)
    return fallen or arms[DECAY, a] > _DECAY_ENOUGH


@part
def weigh_nodes(ws: NormalWorkspace, a: int) -> None:
    """Fill `ws.weights` with g_a at the last panel's nodes times their weights, up to a constant."""
    arms, exponents = ws.arms, ws.exponents
    z0 = ((ws.panel[MIDDLE] - arms[CENTRE, a]) - arms[CENTRE_LOW, a]) * arms[PRECISION, a]
    step = ws.panel[HALF] * arms[PRECISION, a]
    first = z0 + step * _NODES[0]
    last = z0 + step * _NODES[NODES - 1]
    if first > 0.0 and max(exponents[NODES - 1] - exponents[0], 0.5 * (last - first) * (last + first)) > _STEEP:
        shift = -math.inf
        for i in range(NODES):
            z = z0 + step * _NODES[i]
            shift = max(shift, exponents[i] - 0.5 * z * z)
        for i in range(NODES):
            z = z0 + step * _NODES[i]
            ws.weights[i] = WEIGHTS[i] * ws.mantissas[i] * exp_or_little(exponents[i] - 0.5 * z * z - shift)
    else:
        for i in range(NODES):
            ws.weights[i] = ws.products[i] * ws.ratios[a, i]
