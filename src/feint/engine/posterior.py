r"""Best-arm probabilities as bounds: exact ones (both bounds equal), or rigorous ones over a region of posteriors.

Between pulls of other arms only the posterior of the most pulled arm D moves. Let its mean lie in [m₋, m₊] and its
standard deviation in [s₁, s₀], and let Z be standard normal.

*Any other arm a.* P(a) = ∫ φ_a ∏_{j≠a,D} Φ_j · Φ((x − m)/s) dx grows with the distribution function of D. Put
κ = 9(s₀/s₁ − 1). For every x

    Φ((x − m)/s) ≤ Φ((x − m₋)/s₀ + κ):      for x < m₋ since s ≤ s₀ (and m ≥ m₋); for z = (x − m₋)/s₀ ∈ [0, 9] since
                                           z·s₀/s ≤ z + z(s₀/s₁ − 1) ≤ z + κ; and for z > 9 up to a factor 1 + 2e-19;
    Φ((x − m)/s) ≥ Φ((x − m₊)/s₁ − κ′),     κ′ = 9(1 − s₁/s₀): for x < m₊ since s ≥ s₁; for z = (x − m₊)/s₁ ∈ [0, 9] since
                                           z·s₁/s ≥ z − z(1 − s₁/s₀) ≥ z − κ′; for z > 9 up to a factor 1 − 1e-18.

Both right sides are distribution functions of normals, N(m₋ − κs₀, s₀²) and N(m₊ + κ′s₁, s₁²): put into the exact
kernel in D's place they give an upper and a lower bound of every other P(a).

*Arm D.* P(D) = E[G(m + sZ)] with G = ∏_{j≠D} Φ_j increasing. For |Z| ≤ 9, m₋ − 9(s₀ − s₁) + s₁Z ≤ m + sZ ≤
m₊ + 9(s₀ − s₁) + s₀Z, and the part Z < −9 (upper bound) or what is left out there (lower bound) is below 2e-19 of
P(D), again because G increases; for Z > 9 both inequalities hold without the middle term. So the kernel with
N(m₋ − 9(s₀ − s₁), s₁²) and with N(m₊ + 9(s₀ − s₁), s₀²) bounds P(D) itself. Where D is the likeliest arm, one minus
the bounds of the others is sharper and free.

All bounds are widened by SLACK, which exceeds the kernel's error (1e-12), the factors above, and the rounding of the few
operations that a decision makes of them.
"""

import math

from feint.explorers.base import P_HIGH, P_LOW, W_HIGH, W_LOW, FloatArray
from feint.numerics._jit import inlined, kernel
from feint.numerics.best_arm_kernel import SHIFT, SUM, Workspace, best_arm_sums, single_arm_sum

SLACK = 1e-11
_NINE = 9.0

# Rows of the reference's bounds; the private bounds have the rows of `explorers.base`.
PI_LOW, PI_HIGH, LOG_LOW, LOG_HIGH = 0, 1, 2, 3


@inlined
def _log(arms: FloatArray, a: int) -> float:
    return math.log(arms[SUM, a]) + arms[SHIFT, a]


@kernel
def exact_private(means: FloatArray, sds: FloatArray, ws: Workspace, bounds: FloatArray, logs: FloatArray) -> None:
    """Private best-arm probabilities with both bounds equal."""
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        logs[a] = _log(ws.arms, a)
        bounds[P_LOW, a] = math.exp(logs[a])
        bounds[P_HIGH, a] = bounds[P_LOW, a]
    _fill_relative(bounds, logs, logs)


@inlined
def _fill_relative(bounds: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """Rows W: probabilities relative to the second likeliest arm."""
    n = low.size
    top = 0
    for a in range(1, n):
        if high[a] > high[top]:
            top = a
    scale = -math.inf
    for a in range(n):
        if a != top:
            scale = max(scale, high[a])
    for a in range(n):
        bounds[W_LOW, a] = math.exp(low[a] - scale) if a != top else math.inf
        bounds[W_HIGH, a] = math.exp(high[a] - scale) if a != top else math.inf


@kernel
def exact_reference(means: FloatArray, sds: FloatArray, ws: Workspace, bounds: FloatArray) -> None:
    """The reference's probabilities with both bounds equal; near 1 from the exact complement."""
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        bounds[LOG_LOW, a] = _log(ws.arms, a)
        bounds[PI_LOW, a] = math.exp(bounds[LOG_LOW, a])
    for a in range(means.size):
        if bounds[PI_LOW, a] > 0.5:
            rest = 0.0
            for j in range(means.size):
                if j != a:
                    rest += bounds[PI_LOW, j]
            bounds[LOG_LOW, a] = math.log1p(-rest)
    for a in range(means.size):
        bounds[PI_HIGH, a] = bounds[PI_LOW, a]
        bounds[LOG_HIGH, a] = bounds[LOG_LOW, a]


@inlined
def _bound_others(
    means: FloatArray,
    sds: FloatArray,
    ws: Workspace,
    dominant: int,
    mean_low: float,
    mean_high: float,
    sd_low: float,
    sd_high: float,
    log_low: FloatArray,
    log_high: FloatArray,
) -> None:
    """Bounds of log P(a) for every arm but D; `means` and `sds` are left as they were."""
    mean = means[dominant]
    sd = sds[dominant]
    means[dominant] = mean_low - _NINE * (sd_high / sd_low - 1.0) * sd_high
    sds[dominant] = sd_high
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        log_high[a] = _log(ws.arms, a) + SLACK
    means[dominant] = mean_high + _NINE * (1.0 - sd_low / sd_high) * sd_low
    sds[dominant] = sd_low
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        log_low[a] = _log(ws.arms, a) - SLACK
    means[dominant] = mean
    sds[dominant] = sd


@kernel
def region_private(
    means: FloatArray,
    sds: FloatArray,
    ws: Workspace,
    dominant: int,
    mean_low: float,
    mean_high: float,
    sd_low: float,
    sd_high: float,
    bounds: FloatArray,
    log_low: FloatArray,
    log_high: FloatArray,
) -> None:
    """Bounds of the private best-arm probabilities over the region."""
    n = means.size
    _bound_others(means, sds, ws, dominant, mean_low, mean_high, sd_low, sd_high, log_low, log_high)
    others_low = 0.0
    others_high = 0.0
    for a in range(n):
        if a != dominant:
            bounds[P_LOW, a] = math.exp(log_low[a]) * (1.0 - SLACK)
            bounds[P_HIGH, a] = math.exp(log_high[a]) * (1.0 + SLACK)
            others_low += bounds[P_LOW, a]
            others_high += bounds[P_HIGH, a]
    if others_high < 0.5:
        log_low[dominant] = math.log1p(-others_high) - SLACK
        log_high[dominant] = min(0.0, math.log1p(-others_low) + SLACK)
    else:
        mean = means[dominant]
        sd = sds[dominant]
        spread = _NINE * (sd_high - sd_low)
        means[dominant] = mean_low - spread
        sds[dominant] = sd_low
        single_arm_sum(means, sds, ws, dominant)
        log_low[dominant] = _log(ws.arms, dominant) - SLACK
        means[dominant] = mean_high + spread
        sds[dominant] = sd_high
        single_arm_sum(means, sds, ws, dominant)
        log_high[dominant] = _log(ws.arms, dominant) + SLACK
        means[dominant] = mean
        sds[dominant] = sd
    bounds[P_LOW, dominant] = math.exp(log_low[dominant]) * (1.0 - SLACK)
    bounds[P_HIGH, dominant] = math.exp(log_high[dominant]) * (1.0 + SLACK)
    _fill_relative(bounds, log_low, log_high)


@kernel
def region_reference(
    means: FloatArray,
    sds: FloatArray,
    ws: Workspace,
    dominant: int,
    mean_low: float,
    mean_high: float,
    sd_low: float,
    sd_high: float,
    bounds: FloatArray,
    log_low: FloatArray,
    log_high: FloatArray,
) -> None:
    """Bounds of the reference's probabilities over the region; D's from the complement."""
    n = means.size
    _bound_others(means, sds, ws, dominant, mean_low, mean_high, sd_low, sd_high, log_low, log_high)
    others_low = 0.0
    others_high = 0.0
    for a in range(n):
        if a != dominant:
            bounds[LOG_LOW, a] = log_low[a]
            bounds[LOG_HIGH, a] = min(0.0, log_high[a])
            bounds[PI_LOW, a] = math.exp(log_low[a]) * (1.0 - SLACK)
            bounds[PI_HIGH, a] = min(1.0, math.exp(log_high[a]) * (1.0 + SLACK))
            others_low += bounds[PI_LOW, a]
            others_high += bounds[PI_HIGH, a]
    bounds[PI_LOW, dominant] = max(0.0, 1.0 - others_high * (1.0 + SLACK))
    bounds[PI_HIGH, dominant] = min(1.0, 1.0 - others_low * (1.0 - SLACK))
    bounds[LOG_LOW, dominant] = math.log1p(-min(1.0, others_high)) - SLACK if others_high < 1.0 else -math.inf
    bounds[LOG_HIGH, dominant] = min(0.0, math.log1p(-min(1.0, others_low)) + SLACK) if others_low < 1.0 else 0.0
