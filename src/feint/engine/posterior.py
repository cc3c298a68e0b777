r"""Best-arm probabilities as bounds: exact ones (both bounds equal), or rigorous ones over a region of posteriors.

Between pulls of other arms only the posterior of the most pulled arm D moves. Let its mean lie in [m₋, m₊] and its
standard deviation in [s₁, s₀], and let Z be standard normal.

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
N(m₋ − 9(s₀ − s₁), s₁²) and with N(m₊ + 9(s₀ − s₁), s₀²) bounds P(D) itself. Where D is the likeliest arm, one minus
the bounds of the others is sharper and free.

All bounds are widened by SLACK + _DEEP_SLACK·|log p|, which exceeds the kernel's error (1e-12·max(1, |log p|)), the
factors above, and the rounding of the few operations that a decision makes of them.
"""

import math

from feint.explorers.base import CUT_HIGH, CUT_LOW, P_HIGH, P_LOW, REST_HIGH, REST_LOW, FloatArray
from feint.explorers.draws import fill_cuts
from feint.numerics._jit import inlined, kernel
from feint.numerics.best_arm_kernel import SHIFT, SUM, Workspace, best_arm_sums, single_arm_sum

SLACK = 1e-11
_DEEP_SLACK = 2e-12  # of |log p|: the kernel's error in deep tails, there and back
_NINE = 9.0

# Rows of the reference's bounds; the private bounds have the rows of `explorers.base`.
PI_LOW, PI_HIGH, LOG_LOW, LOG_HIGH = 0, 1, 2, 3
REFERENCE_ROWS = 4

# Rows of `logs`, the scratch of this module; EXACT holds log P(a) after `exact_private`.
EXACT, _LOW, _HIGH, _RELATIVE_LOW, _RELATIVE_HIGH = 0, 1, 2, 3, 4
LOG_ROWS = 5


@inlined
def _log(arms: FloatArray, a: int) -> float:
    return math.log(arms[SUM, a]) + arms[SHIFT, a]


@kernel
def exact_private(means: FloatArray, sds: FloatArray, ws: Workspace, bounds: FloatArray, logs: FloatArray) -> None:
    """Private best-arm probabilities with both bounds equal; their logarithms in row EXACT of `logs`."""
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        logs[EXACT, a] = _log(ws.arms, a)
        bounds[P_LOW, a] = math.exp(logs[EXACT, a])
        bounds[P_HIGH, a] = bounds[P_LOW, a]
    _fill_all_cuts(bounds, logs, EXACT, EXACT)


@inlined
def _fill_all_cuts(bounds: FloatArray, logs: FloatArray, low: int, high: int) -> None:
    """The cuts of a draw among all arms, and among all but the likeliest, whose probabilities may underflow."""
    fill_cuts(bounds, P_LOW, P_HIGH, bounds, CUT_LOW, CUT_HIGH, -1)
    n = logs.shape[1]
    top = 0
    for a in range(1, n):
        if logs[high, a] > logs[high, top]:
            top = a
    scale = -math.inf
    for a in range(n):
        if a != top:
            scale = max(scale, logs[high, a])
    # In logs from here on: relative to the second likeliest arm nothing that matters underflows.
    for a in range(n):
        logs[_RELATIVE_LOW, a] = math.exp(min(0.0, logs[low, a] - scale))
        logs[_RELATIVE_HIGH, a] = math.exp(min(0.0, logs[high, a] - scale))
    fill_cuts(logs, _RELATIVE_LOW, _RELATIVE_HIGH, bounds, REST_LOW, REST_HIGH, top)


@inlined
def likeliest(logs: FloatArray) -> int:
    """The arm with the largest private probability after `exact_private`, the first of equals."""
    top = 0
    for a in range(1, logs.shape[1]):
        if logs[EXACT, a] > logs[EXACT, top]:
            top = a
    return top


@inlined
def log_complement(logs: FloatArray, arm: int) -> float:
    """log(1 − P(arm)) after `exact_private`: the logarithm of the sum of the others."""
    top = -math.inf
    for a in range(logs.shape[1]):
        if a != arm:
            top = max(top, logs[EXACT, a])
    total = 0.0
    for a in range(logs.shape[1]):
        if a != arm:
            total += math.exp(logs[EXACT, a] - top)
    return top + math.log(total)


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
    logs: FloatArray,
) -> None:
    """Bounds of log P(a) for every arm but D; `means` and `sds` are left as they were."""
    mean = means[dominant]
    sd = sds[dominant]
    means[dominant] = mean_low - _NINE * (sd_high / sd_low - 1.0) * sd_high
    sds[dominant] = sd_high
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        log = _log(ws.arms, a)
        logs[_HIGH, a] = log + SLACK - _DEEP_SLACK * log
    means[dominant] = mean_high + _NINE * (1.0 - sd_low / sd_high) * sd_low
    sds[dominant] = sd_low
    best_arm_sums(means, sds, ws)
    for a in range(means.size):
        log = _log(ws.arms, a)
        logs[_LOW, a] = log - SLACK + _DEEP_SLACK * log
    means[dominant] = mean
    sds[dominant] = sd


@inlined
def _fill_others(bounds: FloatArray, low: int, high: int, logs: FloatArray, dominant: int) -> tuple[float, float]:
    """Bounds of P(a) from those of log P(a) for every arm but D, into rows `low` and `high`; returns their sums."""
    others_low = 0.0
    others_high = 0.0
    for a in range(bounds.shape[1]):
        if a != dominant:
            bounds[low, a] = math.exp(logs[_LOW, a]) * (1.0 - SLACK)
            bounds[high, a] = math.exp(logs[_HIGH, a]) * (1.0 + SLACK)
            others_low += bounds[low, a]
            others_high += bounds[high, a]
    return others_low, others_high


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
    logs: FloatArray,
) -> None:
    """Bounds of the private best-arm probabilities over the region."""
    _bound_others(means, sds, ws, dominant, mean_low, mean_high, sd_low, sd_high, logs)
    others_low, others_high = _fill_others(bounds, P_LOW, P_HIGH, logs, dominant)
    if others_high < 0.5:
        logs[_LOW, dominant] = math.log1p(-others_high) - SLACK
        logs[_HIGH, dominant] = min(0.0, math.log1p(-others_low) + SLACK)
    else:
        mean = means[dominant]
        sd = sds[dominant]
        spread = _NINE * (sd_high - sd_low)
        means[dominant] = mean_low - spread
        sds[dominant] = sd_low
        single_arm_sum(means, sds, ws, dominant)
        log = _log(ws.arms, dominant)
        logs[_LOW, dominant] = log - SLACK + _DEEP_SLACK * log
        means[dominant] = mean_high + spread
        sds[dominant] = sd_high
        single_arm_sum(means, sds, ws, dominant)
        log = _log(ws.arms, dominant)
        logs[_HIGH, dominant] = log + SLACK - _DEEP_SLACK * log
        means[dominant] = mean
        sds[dominant] = sd
    bounds[P_LOW, dominant] = math.exp(logs[_LOW, dominant]) * (1.0 - SLACK)
    bounds[P_HIGH, dominant] = math.exp(logs[_HIGH, dominant]) * (1.0 + SLACK)
    _fill_all_cuts(bounds, logs, _LOW, _HIGH)


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
    logs: FloatArray,
) -> None:
    """Bounds of the reference's probabilities over the region; D's from the complement."""
    _bound_others(means, sds, ws, dominant, mean_low, mean_high, sd_low, sd_high, logs)
    others_low, others_high = _fill_others(bounds, PI_LOW, PI_HIGH, logs, dominant)
    for a in range(means.size):
        if a != dominant:
            bounds[LOG_LOW, a] = logs[_LOW, a]
            bounds[LOG_HIGH, a] = min(0.0, logs[_HIGH, a])
    bounds[PI_LOW, dominant] = max(0.0, 1.0 - others_high) * (1.0 - SLACK)
    bounds[PI_HIGH, dominant] = max(0.0, 1.0 - others_low) * (1.0 + SLACK)
    bounds[LOG_LOW, dominant] = math.log1p(-min(1.0, others_high)) - SLACK if others_high < 1.0 else -math.inf
    bounds[LOG_HIGH, dominant] = min(0.0, math.log1p(-min(1.0, others_low)) + SLACK) if others_low < 1.0 else 0.0
