r"""Bounds of P(arm is the best) over a region of normal posteriors.

Between pulls of other arms, only the posterior of the most pulled arm D moves. Let its mean lie in
[m₋, m₊] and its standard deviation in [s₁, s₀], and let Z be standard normal.

*Any other arm a.* P(a) = ∫ φ_a ∏_{j≠a,D} Φ_j · Φ((x − m)/s) dx grows with the distribution function of D. Put
κ = 9(s₀/s₁ − 1). For every x

    Φ((x − m)/s) ≤ Φ((x − m₋)/s₀ + κ):      for x < m₋ since s ≤ s₀ and m ≥ m₋; for z = (x − m₋)/s₀ ∈ [0, 9] since
                                           z·s₀/s ≤ z + z(s₀/s₁ − 1) ≤ z + κ; for z > 9 up to a factor 1 + 2e-19;
    Φ((x − m)/s) ≥ Φ((x − m₊)/s₁ − κ′),     κ′ = 9(1 − s₁/s₀): for x < m₊ since s ≥ s₁; for z = (x − m₊)/s₁ ∈ [0, 9]
                                           since z·s₁/s ≥ z − z(1 − s₁/s₀) ≥ z − κ′; for z > 9 both are above
                                           Φ(9s₁/s₀) ≥ Φ(7.3), so up to a factor 1 − 2e-13 (s₁ > 0.81·s₀ here).

Both right sides are distribution functions of normals, N(m₋ − κs₀, s₀²) and N(m₊ + κ′s₁, s₁²): put into the exact
kernel in D's place they give an upper and a lower bound of every other P(a).

*Arm D.* P(D) = E[G(m + sZ)] with G = ∏_{j≠D} Φ_j increasing. For |Z| ≤ 9, m₋ − 9(s₀ − s₁) + s₁Z ≤ m + sZ ≤
m₊ + 9(s₀ − s₁) + s₀Z, and the part Z < −9 (upper bound) or what is left out there (lower bound) is below 2e-19 of
P(D), again because G increases; for Z > 9 both inequalities hold anyway. So the kernel with
N(m₋ − 9(s₀ − s₁), s₁²) and with N(m₊ + 9(s₀ − s₁), s₀²) bounds P(D) itself.
"""

import math
from typing import Any

from feint._types import FloatArray
from feint.families.base import OTHERS_HIGH, OTHERS_LOW, OWN_HIGH, OWN_LOW, Belief, fill_corners
from feint.numerics._jit import inlined, part

_SDS = 9.0  # standard deviations beyond which nothing matters; see the module's docstring


@inlined
def _set(extremes: FloatArray, row: int, mean: float, sd: float) -> None:
    extremes[row, 0] = mean
    extremes[row, 1] = sd


@inlined
def set_corners(corners: FloatArray, low: float, high: float, sd: float, sd_low: float) -> float:
    """Set the corners of a box of means and sds, and return by how much to raise upper bounds (`fill_corners`)."""
    _set(corners, 0, low, sd)
    _set(corners, 1, high, sd)
    _set(corners, 2, low, sd_low)
    _set(corners, 3, high, sd_low)
    return math.log(sd / sd_low)


@part
def fill_normal_region(
    family: Any,
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    extremes: FloatArray,
) -> None:
    """Fill the box, and turn its corners into the posteriors that bound P over it; see the module's docstring."""
    fill_corners(family, belief, arm, radius, max_pulls, box, extremes)
    low, sd, high, sd_low = extremes[0, 0], extremes[0, 1], extremes[3, 0], extremes[3, 1]
    spread = _SDS * (sd - sd_low)
    _set(extremes, OTHERS_HIGH, low - _SDS * (sd / sd_low - 1.0) * sd, sd)
    _set(extremes, OTHERS_LOW, high + _SDS * (1.0 - sd_low / sd) * sd_low, sd_low)
    _set(extremes, OWN_LOW, low - spread, sd_low)
    _set(extremes, OWN_HIGH, high + spread, sd)
