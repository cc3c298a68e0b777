r"""The maximin problems of the paper's Section 5 for any pair of exponential families, each by one bracketed root.

Let 1 be the best private and i* the best public arm, d_a = d(μ_a, μ_{i*}) the public divergence of arm a, D the private
divergence, and N_a the pulls. With x the mean at which both arms would be equally good, the evidence between 1 and a is

    E_a = min_x N_1·D(μ_1, x) + N_a·D(μ_a, x),        x = μ_a + Δ_a/(1 + r),    r = N_a/N_1,

homogeneous in (N_1, N_a) and increasing in both. Boosting makes N_a ∝ √(w_a/d_a); against i*, whose pulls grow faster,
the evidence is N_1·D(μ_1, μ_{i*}). At a common evidence y per pull of arm 1, arm a needs r_a(y) with r_a′ = 1/D(μ_a,
x_a). Maximising y·N_1 on Σ w = 1, that is y²/(d_1 + Σ r_a²·d_a), requires

    Σ_{a ∉ {1, i*}} d_a·r_a·D(μ_1, x_a)/D(μ_a, x_a) = d_1,          w_a/w_1 = r_a²·d_a/d_1,

whose left side increases with y; and y ≤ D(μ_1, μ_{i*}) (if this binds, it is case 2 of Appendix B). For normal rewards
this is the appendix's F(y) = 0, Σ (d_a/d_1)·r_a³ = 1. Without an observer, N_a ∝ w_a, it is Σ_{a≠1} D(μ_1, x_a)/D(μ_a,
x_a) = 1 (Garivier & Kaufmann 2016, Theorem 5). If 1 = i*, Γ = min_a N_a·D(μ_a, μ_1), so w_a ∝ d_a/D(μ_a, μ_1)².

**Digits.** y is nearest to its bound for the arm m with the least D(μ_1, μ_m), so the unknown is log r_m. By the
three-point identity of Bregman divergences, the distance to the bound can be written without a difference,

    D(μ_1, μ_a) − E_a/N_1 = (1 + r)·D(x, μ_a),      D(μ_1, μ_a) − D(μ_1, μ_m) = D(μ_m, μ_a) + (μ_1 − μ_m)·(θ_m − θ_a),

with θ_m − θ_a = (D(μ_m, μ_a) + D(μ_a, μ_m))/(μ_m − μ_a); so nothing cancels, however unequal or nearly equal the gaps
are.
"""

import math
from typing import Any

from feint._types import FloatArray
from feint.families.base import divergence_to
from feint.numerics._jit import shared, shared_inlined
from feint.numerics.sorting import find_largest

COINCIDE, TWO_ARMS, CASE_1, CASE_2, DEGENERATE = 0, 1, 2, 3, 4
_STEPS = 200
_INNER_STEPS = 60
_WIDEST = 600.0  # largest |log r|

# Rows of the scratch (4, K).
_COST, _ABOVE, _CAP, _RATIO = 0, 1, 2, 3
SCRATCH_ROWS = 4


@shared_inlined
def _both_divergences(family: Any, mean: float, gap: float, ratio: float) -> tuple[float, float]:
    """Return D(μ_1, x) and D(μ_a, x) from μ_a, Δ_a and r."""
    share = 1.0 / (1.0 + ratio)
    return divergence_to(family, mean + gap, -gap * (ratio * share)), divergence_to(family, mean, gap * share)


@shared_inlined
def _missing(family: Any, mean: float, gap: float, ratio: float) -> float:
    """Return D(μ_1, μ_a) − E_a/N_1."""
    part_of_gap = gap / (1.0 + ratio)
    return (1.0 + ratio) * divergence_to(family, mean + part_of_gap, -part_of_gap)


@shared
def _ratio_at(family: Any, mean: float, gap: float, evidence: float, missing: float) -> float:
    """Return r with E_a/N_1 = evidence, where D(μ_1, μ_a) = evidence + missing, by Newton's method on the smaller one.

    The derivatives of their logarithms in log r are r·D(μ_a, x)/E, and −r/(1 + r)·D(μ_a, x)/D(x, μ_a).
    """
    # For normal rewards r = evidence/missing.
    point = math.log(evidence) - math.log(missing)
    for _ in range(_INNER_STEPS):
        ratio = math.exp(min(_WIDEST, max(-_WIDEST, point)))
        first, second = _both_divergences(family, mean, gap, ratio)
        if evidence < missing:
            found = first + ratio * second
            step = math.log(evidence / found) * found / (ratio * second)
        else:
            found = _missing(family, mean, gap, ratio)
            step = -math.log(missing / found) * found / (ratio * second)
        step = min(2.0, max(-2.0, step))
        point += step
        if abs(step) <= 1e-15 * max(1.0, abs(point)):
            break
    return math.exp(min(_WIDEST, max(-_WIDEST, point)))


@shared
def _balance(
    family: Any, means: FloatArray, best: int, nearest: int, power: float, log_ratio: float, scratch: FloatArray
) -> float:
    """Return log Σ c_a·r_a^power·D(μ_1, x_a)/D(μ_a, x_a) at r_m = exp(log_ratio); leave every r_a in the scratch."""
    ratio = math.exp(log_ratio)
    gap = means[best] - means[nearest]
    first, second = _both_divergences(family, means[nearest], gap, ratio)
    evidence = first + ratio * second
    missing = _missing(family, means[nearest], gap, ratio)
    total = 0.0
    for a in range(means.size):
        if scratch[_COST, a] > 0.0:
            if a == nearest:
                scratch[_RATIO, a] = ratio
            else:
                gap = means[best] - means[a]
                scratch[_RATIO, a] = _ratio_at(family, means[a], gap, evidence, missing + scratch[_ABOVE, a])
            first, second = _both_divergences(family, means[a], means[best] - means[a], scratch[_RATIO, a])
            total += scratch[_COST, a] * scratch[_RATIO, a] ** power * (first / second)
    return math.log(total)


@shared
def _solve_balance(
    family: Any, means: FloatArray, best: int, nearest: int, power: float, goal: float, scratch: FloatArray
) -> float:
    """Return log r_m at which `_balance` is `goal`. It increases, so bracket the root and use the Illinois rule."""
    x = 0.0
    value = _balance(family, means, best, nearest, power, x, scratch) - goal
    step = 1.0 if value < 0.0 else -1.0
    other, other_value = x, value
    while value * other_value > 0.0 and abs(x) < _WIDEST:
        other, other_value = x, value
        x += step
        step *= 2.0
        value = _balance(family, means, best, nearest, power, x, scratch) - goal
    for _ in range(_STEPS):
        if value == 0.0 or abs(x - other) <= 2e-16 * max(1.0, abs(x)):
            break
        following = x - value * (x - other) / (value - other_value)
        found = _balance(family, means, best, nearest, power, following, scratch) - goal
        if found * value < 0.0:
            other, other_value = x, value
        else:
            other_value *= 0.5
        if abs(following - x) <= 1e-16 * max(1.0, abs(x)):
            x = following
            break
        x, value = following, found
    return x


@shared_inlined
def _set_above(family: Any, means: FloatArray, best: int, nearest: int, scratch: FloatArray) -> None:
    """Set D(μ_1, μ_a) − D(μ_1, μ_m) of every arm."""
    for a in range(means.size):
        change = means[a] - means[nearest]
        scratch[_ABOVE, a] = 0.0
        if change != 0.0 and a != best:
            there = divergence_to(family, means[nearest], change)
            back = divergence_to(family, means[a], -change)
            scratch[_ABOVE, a] = there + (means[best] - means[nearest]) * ((there + back) / -change)


@shared
def optimal_weights(
    public_family: Any,
    private_family: Any,
    public: FloatArray,
    private: FloatArray,
    weights: FloatArray,
    scratch: FloatArray,
) -> int:
    """Fill `weights` (K,) with w*, 0 at i*, and return the case. `scratch` is (SCRATCH_ROWS, K).

    Where a tie among the means leaves w* undefined, the case is DEGENERATE and the weights are equal.
    """
    n = public.size
    i_star = find_largest(public)
    best = find_largest(private)
    for a in range(n):
        tie = (a != best and private[a] == private[best]) or (a != i_star and public[a] == public[i_star])
        if tie:
            return _equal(weights, i_star)
        scratch[_COST, a] = divergence_to(public_family, public[a], public[i_star] - public[a])
    if i_star == best:
        return _coincide(private_family, private, best, weights, scratch)
    if n == 2:
        weights[best] = 1.0
        weights[i_star] = 0.0
        return TWO_ARMS
    goal = math.log(scratch[_COST, best])
    scratch[_COST, best] = 0.0
    scratch[_COST, i_star] = 0.0
    nearest = -1
    for a in range(n):
        if a not in (best, i_star) and (nearest < 0 or private[a] > private[nearest]):
            nearest = a
    _set_above(private_family, private, best, nearest, scratch)
    log_ratio = _solve_balance(private_family, private, best, nearest, 1.0, goal, scratch)
    case = CASE_1
    if private[i_star] > private[nearest]:
        # E_m is bounded by D(μ_1, μ_{i*}) = D(μ_1, μ_m) + above, and above < 0.
        gap = private[best] - private[nearest]
        missing = -scratch[_ABOVE, i_star]
        if _missing(private_family, private[nearest], gap, math.exp(log_ratio)) < missing:
            evidence = divergence_to(private_family, private[best], private[i_star] - private[best])
            log_ratio = math.log(_ratio_at(private_family, private[nearest], gap, evidence, missing))
            case = CASE_2
    _balance(private_family, private, best, nearest, 1.0, log_ratio, scratch)
    total = 1.0
    for a in range(n):
        weights[a] = 0.0
        if scratch[_COST, a] > 0.0:
            weights[a] = scratch[_RATIO, a] ** 2 * (scratch[_COST, a] / math.exp(goal))
            total += weights[a]
    weights[best] = 1.0
    for a in range(n):
        weights[a] /= total
    return case


@shared
def optimal_ratios(family: Any, means: FloatArray, best: int, ratios: FloatArray, scratch: FloatArray) -> None:
    """Fill `ratios` (K,) with w_a/w_1 of the classical allocation, 1 at the best arm."""
    nearest = -1
    for a in range(means.size):
        scratch[_COST, a] = 0.0 if a == best else 1.0
        if a != best and (nearest < 0 or means[a] > means[nearest]):
            nearest = a
    _set_above(family, means, best, nearest, scratch)
    _solve_balance(family, means, best, nearest, 0.0, 0.0, scratch)
    for a in range(means.size):
        ratios[a] = 1.0 if a == best else scratch[_RATIO, a]


@shared
def _coincide(family: Any, means: FloatArray, best: int, weights: FloatArray, scratch: FloatArray) -> int:
    """Set w_a ∝ d_a/D(μ_a, μ_1)², in logarithms because squares of gaps may leave float64's range."""
    top = -math.inf
    for a in range(means.size):
        if a != best:
            own = divergence_to(family, means[a], means[best] - means[a])
            scratch[_CAP, a] = math.log(scratch[_COST, a]) - 2.0 * math.log(own)
            top = max(top, scratch[_CAP, a])
    total = 0.0
    for a in range(means.size):
        weights[a] = math.exp(scratch[_CAP, a] - top) if a != best else 0.0
        total += weights[a]
    for a in range(means.size):
        weights[a] /= total
    return COINCIDE


@shared
def _equal(weights: FloatArray, i_star: int) -> int:
    for a in range(weights.size):
        weights[a] = 0.0 if a == i_star else 1.0 / (weights.size - 1)
    return DEGENERATE
