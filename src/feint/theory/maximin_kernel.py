r"""The optimal boosting proportions w* of the maximin problem (the paper's Eq. max_min_all), by one bracketed root.

Let arm 1 be the best private arm, i* the best public one, Δ_a the private and d_a the public gaps. In Appendix B,
x_a = w_a/w_1 and √x_a = y·d_a/(Δ_a² − y·d_1), and the optimal y is a root of F. With v_a = y·d_1/(Δ_a² − y·d_1),

    F(y) = 1 − Σ_{a ∉ {1, i*}} (d_a/d_1)²·v_a³,          x_a = (d_a/d_1)²·v_a².

Let m be the arm with the smallest Δ_a there, and v = v_m the unknown; then every

    v_a = Δ_m²·v/((1 + v)(Δ_a² − Δ_m²) + Δ_m²)

is a sum of positive terms, increasing in v, between 0 and v, so the root of Σ c_a·v_a³ = 1, c_a = (d_a/d_1)², lies in
[(Σ c_a)^(−1/3), c_m^(−1/3)]. Case 2 of the appendix (y above Δ_{i*}²/d_1) sets y to that bound, v to
Δ_{i*}²/(Δ_m² − Δ_{i*}²). With every difference of squares taken as (μ_m − μ_a)(Δ_a + Δ_m) there is no cancellation,
however unequal or nearly equal the gaps. If the best arms coincide, w_a ∝ (d_a/Δ_a²)².
"""

import math

import numpy as np
import numpy.typing as npt

from feint.numerics._jit import kernel

FloatArray = npt.NDArray[np.float64]

COINCIDE, TWO_ARMS, CASE_1, CASE_2, DEGENERATE = 0, 1, 2, 3, 4
_STEPS = 200


@kernel
def _excess(v: float, costs: FloatArray, above: FloatArray, smallest: float) -> tuple[float, float]:
    """Σ c_a·v_a³ − 1 and its derivative in log v; `above` holds Δ_a² − Δ_m² and `smallest` is Δ_m²."""
    value = -1.0
    slope = 0.0
    for a in range(costs.size):
        if costs[a] > 0.0:
            bottom = (1.0 + v) * above[a] + smallest
            v_a = smallest * v / bottom
            term = costs[a] * v_a * v_a * v_a
            value += term
            # d log v_a/d log v = Δ_a²/bottom
            slope += 3.0 * term * (above[a] + smallest) / bottom
    return value, slope


@kernel
def optimal_weights(public: FloatArray, private: FloatArray, weights: FloatArray, scratch: FloatArray) -> int:
    """Fill `weights` (K,) with w*, 0 at i*; returns the case. `scratch` is (2, K).

    DEGENERATE, with equal weights, where a tie among the means leaves w* undefined.
    """
    n = public.size
    i_star = 0
    best = 0
    for a in range(1, n):
        if public[a] > public[i_star]:
            i_star = a
        if private[a] > private[best]:
            best = a
    costs = scratch[0]
    above = scratch[1]
    total = 0.0
    # Gaps in units of the largest: squares then neither overflow nor underflow, whatever the rewards' unit.
    public_unit = 0.0
    private_unit = 0.0
    for a in range(n):
        public_unit = max(public_unit, public[i_star] - public[a])
        private_unit = max(private_unit, private[best] - private[a])
    if public_unit == 0.0 or private_unit == 0.0:
        return _equal(weights, i_star)
    if i_star == best:
        for a in range(n):
            weights[a] = 0.0
            if a != best:
                gap = (private[best] - private[a]) / private_unit
                if gap == 0.0 or public[a] == public[best]:
                    return _equal(weights, i_star)
                ratio = (public[best] - public[a]) / public_unit / (gap * gap)
                weights[a] = ratio * ratio
                total += weights[a]
        for a in range(n):
            weights[a] /= total
        return COINCIDE
    d_1 = public[i_star] - public[best]
    gap_i = (private[best] - private[i_star]) / private_unit
    limit = gap_i * gap_i
    if d_1 == 0.0 or limit == 0.0:
        return _equal(weights, i_star)
    if n == 2:
        weights[best] = 1.0
        weights[i_star] = 0.0
        return TWO_ARMS
    nearest = -1
    for a in range(n):
        weights[a] = 0.0
        costs[a] = 0.0
        if a not in (best, i_star):
            if private[a] == private[best] or public[a] == public[i_star]:
                return _equal(weights, i_star)
            costs[a] = ((public[i_star] - public[a]) / d_1) ** 2
            total += costs[a]
            if nearest < 0 or private[a] > private[nearest]:
                nearest = a
    gap_m = (private[best] - private[nearest]) / private_unit
    smallest = gap_m * gap_m
    cost_of_smallest = 0.0
    for a in range(n):
        further = (private[nearest] - private[a]) / private_unit
        above[a] = further * ((private[best] - private[a]) / private_unit + gap_m)
        if costs[a] > 0.0 and above[a] == 0.0:
            cost_of_smallest += costs[a]
    v = _root(costs, above, smallest, math.log(total) / -3.0, math.log(cost_of_smallest) / -3.0)
    case = CASE_1
    room = (private[i_star] - private[nearest]) / private_unit * (gap_m + gap_i)  # Δ_m² − Δ_{i*}²
    if v * room > limit:  # y·d_1 above Δ_{i*}²
        v = limit / room
        case = CASE_2
    total = 1.0
    for a in range(n):
        if costs[a] > 0.0:
            v_a = smallest * v / ((1.0 + v) * above[a] + smallest)
            weights[a] = costs[a] * v_a * v_a
            total += weights[a]
    weights[best] = 1.0
    for a in range(n):
        weights[a] /= total
    return case


@kernel
def _root(costs: FloatArray, above: FloatArray, smallest: float, low: float, high: float) -> float:
    """v with Σ c_a·v_a³ = 1: Newton's method in log v, kept inside the bracket by bisection."""
    x = high
    for _ in range(_STEPS):
        value, slope = _excess(math.exp(x), costs, above, smallest)
        if value > 0.0:
            high = x
        else:
            low = x
        following = x - value / slope
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 1e-16 * max(1.0, abs(x)):
            break
        x = following
    return math.exp(x)


@kernel
def _equal(weights: FloatArray, i_star: int) -> int:
    for a in range(weights.size):
        weights[a] = 0.0 if a == i_star else 1.0 / (weights.size - 1)
    return DEGENERATE
