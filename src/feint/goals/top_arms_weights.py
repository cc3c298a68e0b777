r"""The optimal shares of boosts for `TopArms`, for kernels: Newton's method on a smooth minimum that is sharpened.

`theory.goal_boosting` solves the same problem for any goal and proves its solution; this is for explorers, which solve
it at every step. With N_a = √(2·w_a/d_a), u = ½·log w, and E_k(N) the evidence of every pair k of an arm i of the top m
and another arm j,

    F(u) = ½·log Σ_a e^{2·u_a} + τ·log Σ_k E_k^{−1/τ}

does not change if w is scaled. Its minimum lies above −log Γ*, by at most τ·log(pairs). Its gradient is w_a − s̄_a, with
s̄ = Σ_k p_k·s_k, p_k ∝ E_k^{−1/τ}, and s_ka the share N_a·D(μ_a, x)/E_k of an arm in a pair: where it vanishes, the
rule of Algorithm 1 keeps w (`goals.base`). For normal rewards F is convex, because 1/E is a sum of 1/N = e^{−u}, and

    ∇²F = 2·(diag w − w·w′) + (Σ_k p_k·s_k·s_k′ − s̄·s̄′)/τ + Σ_k p_k·s_ki·s_kj·(e_i − e_j)·(e_i − e_j)′.

For other families the last term is an approximation, which only slows the steps down. The best public arm has N = ∞,
and its rows are N_i·D(μ_i, μ_{i*}).
"""

import math
from typing import Any

from feint._types import BoolArray, FloatArray
from feint.families.base import divergence_to
from feint.numerics._jit import inlined, part

_SHARPEST = 1e-7  # the last τ: log Γ is then within τ·log(pairs) of log Γ*
_SHARPER = 0.1  # factor on τ
_STEPS = 12  # the most steps per τ
_HALVINGS = 20
_FARTHEST = 3.0  # the most that a step may change any u
_SETTLED = 1e-3  # once a step promises to lower F by less than this times τ, the work on this τ ends
_DECREASE = 1e-4  # the share of the decrease promised by the slope that a step must reach
_FLOOR = 1e-14  # the smallest pivot
SPACE_ROWS = 4  # beside the K rows of ∇²F: u, a trial u, the step, and √(2/d)
_POINT, _TRIAL, _STEP, _REACH = 0, 1, 2, 3


@inlined
def _pair(family: Any, means: FloatArray, i: int, j: int, first: float, second: float) -> tuple[float, float]:
    """Return (E, the share of i) of a pair with these pulls; those of the best public arm are infinite."""
    gap = means[i] - means[j]
    share = 1.0 if second == math.inf else 0.0 if first == math.inf else second / (first + second)
    own = 0.0 if share == 0.0 else first * divergence_to(family, means[i], -share * gap)
    other = 0.0 if share == 1.0 else second * divergence_to(family, means[j], (1.0 - share) * gap)
    return own + other, own / (own + other)


@part
def _smooth_minimum(
    family: Any, means: FloatArray, inside: BoolArray, space: FloatArray, row: int, sharp: float, pairs: FloatArray
) -> float:
    """Return F at the u in a row of the space, and leave p and the first arm's share of all pairs in `pairs`."""
    n = means.size
    point, reach = space[row], space[_REACH]
    least = math.inf
    for i in range(n):
        for j in range(n):
            if inside[i] and not inside[j]:
                first, second = reach[i] * math.exp(point[i]), reach[j] * math.exp(point[j])
                found, share = _pair(family, means, i, j, first, second)
                pairs[0, i, j] = math.log(found)
                pairs[1, i, j] = share
                least = min(least, pairs[0, i, j])
    total, squares = 0.0, 0.0
    for i in range(n):
        if reach[i] < math.inf:
            squares += math.exp(2.0 * point[i])
        for j in range(n):
            if inside[i] and not inside[j]:
                pairs[0, i, j] = math.exp((least - pairs[0, i, j]) / sharp)
                total += pairs[0, i, j]
    for i in range(n):
        for j in range(n):
            if inside[i] and not inside[j]:
                pairs[0, i, j] /= total
    return 0.5 * math.log(squares) - least + sharp * math.log(total)


@part
def _set_newton(
    inside: BoolArray, weights: FloatArray, sharp: float, pairs: FloatArray, slope: FloatArray, hessian: FloatArray
) -> None:
    """Fill in the gradient and ∇²F + 1·1′, which has an inverse; at i*, where w = 0, they keep u as it is."""
    n = weights.size
    for a in range(n):
        slope[a] = 0.0
        for b in range(n):
            hessian[a, b] = 0.0
    for i in range(n):
        for j in range(n):
            if inside[i] and not inside[j]:
                p, s = pairs[0, i, j], pairs[1, i, j]
                both = p * s * (1.0 - s)
                slope[i] -= p * s
                slope[j] -= p * (1.0 - s)
                hessian[i, i] += p * s * s / sharp + both
                hessian[j, j] += p * (1.0 - s) ** 2 / sharp + both
                hessian[max(i, j), min(i, j)] += both / sharp - both
    for a in range(n):
        for b in range(a + 1):
            if weights[a] > 0.0 and weights[b] > 0.0:
                hessian[a, b] += 1.0 - 2.0 * weights[a] * weights[b] - slope[a] * slope[b] / sharp
        hessian[a, a] += 2.0 * weights[a] if weights[a] > 0.0 else 1.0
    for a in range(n):
        slope[a] += weights[a]


@part
def _solve(matrix: FloatArray, right: FloatArray) -> None:
    """Replace `right` by the solution of matrix·x = right, by Cholesky's method on the lower half."""
    n = right.size
    for j in range(n):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] ** 2
        matrix[j, j] = math.sqrt(max(matrix[j, j], _FLOOR))
        for k in range(j):
            right[j] -= matrix[j, k] * right[k]
        right[j] /= matrix[j, j]
        for i in range(j + 1, n):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            right[j] -= matrix[k, j] * right[k]
        right[j] /= matrix[j, j]


@part
def _set_weights(space: FloatArray, weights: FloatArray) -> None:
    """Fill in w = e^{2u}, scaled to the sum 1; 0 at i*."""
    top, total = -math.inf, 0.0
    for a in range(weights.size):
        if space[_REACH, a] < math.inf:
            top = max(top, space[_POINT, a])
    for a in range(weights.size):
        # Not below the smallest number: a weight of 0 marks i*.
        weights[a] = math.exp(max(-700.0, 2.0 * (space[_POINT, a] - top))) if space[_REACH, a] < math.inf else 0.0
        total += weights[a]
    for a in range(weights.size):
        weights[a] /= total


@part
def _start(family: Any, means: FloatArray, inside: BoolArray, cost: FloatArray, space: FloatArray) -> bool:
    """Set u to N_a ∝ 1/D(μ_a, the nearest mean on the other side); return False if some D is 0."""
    for a in range(means.size):
        nearest = math.inf
        for b in range(means.size):
            if inside[a] != inside[b]:
                nearest = min(nearest, divergence_to(family, means[a], means[b] - means[a]))
        if nearest == 0.0:
            return False
        space[_REACH, a] = math.sqrt(2.0 / cost[a]) if cost[a] > 0.0 else math.inf
        space[_POINT, a] = -math.log(nearest * space[_REACH, a]) if cost[a] > 0.0 else 0.0
    return True


@part
def _descend(
    family: Any,
    means: FloatArray,
    inside: BoolArray,
    sharp: float,
    pairs: FloatArray,
    space: FloatArray,
    weights: FloatArray,
) -> None:
    """Take Newton's steps from the u in the space until F at this τ hardly falls."""
    n = means.size
    hessian, step = space[SPACE_ROWS:], space[_STEP]
    value = _smooth_minimum(family, means, inside, space, _POINT, sharp, pairs)
    for _ in range(_STEPS):
        _set_weights(space, weights)
        _set_newton(inside, weights, sharp, pairs, space[_TRIAL], hessian)
        promised, longest = 0.0, 0.0
        for a in range(n):
            step[a] = space[_TRIAL, a]
        _solve(hessian, step)
        for a in range(n):
            promised += space[_TRIAL, a] * step[a]
            longest = max(longest, abs(step[a]))
        if not promised > _SETTLED * sharp:
            return
        length = min(1.0, _FARTHEST / longest)
        found = math.inf
        for _ in range(_HALVINGS):
            for a in range(n):
                space[_TRIAL, a] = space[_POINT, a] - length * step[a]
            found = _smooth_minimum(family, means, inside, space, _TRIAL, sharp, pairs)
            if found <= value - _DECREASE * length * promised:
                break
            length *= 0.5
        if not found < value:
            return
        value = found
        for a in range(n):
            space[_POINT, a] = space[_TRIAL, a]


@part
def fill_top_weights(
    family: Any,
    means: FloatArray,
    inside: BoolArray,
    cost: FloatArray,
    pairs: FloatArray,
    space: FloatArray,
    weights: FloatArray,
) -> bool:
    """Fill `weights` (K,) with w* for telling the arms `inside` from the others; return True, or False if means tie.

    `cost` has d_a, 0 for the best public arm alone; `pairs` is (2, K, K) and `space` (K + SPACE_ROWS, K).
    """
    if not _start(family, means, inside, cost, space):
        return False
    sharp = 1.0
    while sharp >= _SHARPEST:
        _descend(family, means, inside, sharp, pairs, space, weights)
        sharp *= _SHARPER
    _set_weights(space, weights)
    return True
