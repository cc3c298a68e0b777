"""Where the integral for each arm of a row of Beta posteriors may start.

The integrand of arm a is g_a·∏_{j≠a} G_j = g_a·∏_{j≠a} g_j·R_j over the log-odds, and Mills' ratios R_j increase
(logit_beta.py). So for any set J of arms that contains a, it is ∏_J g_j times an increasing function, and ∏_J g_j is up
to a constant the density for Beta(Σα, Σβ). Hence the share of its mass left of a point is below that of this Beta
variable. The largest of these bounds wins.

J is taken among the sets "a and the k arms of largest mean": the k that makes the mean of J largest, the k that is best
without a, and each k whose last arm has more pulls than all before it together (so there are few).
"""

import math

from feint._types import FloatArray, IntArray
from feint.numerics._jit import inlined, part
from feint.numerics.logit_beta import lower_quantile
from feint.numerics.sorting import sort_by

_LEFT_CUT = 33.0  # e^−33 = 5e-15 of an arm's mass is left out on the left

# Rows of the scratch array of integers.
_ORDER = 0  # arms by mean
_RANK = 1  # position of an arm in it
_CANDIDATES = 2  # sizes k of the sets J to try for every arm


@part
def fill_beta_left_ends(
    alphas: FloatArray, betas: FloatArray, sums: FloatArray, ranks: IntArray, coefficients: FloatArray, out: FloatArray
) -> None:
    """Fill `out` with the log-odds left of which lies at most e^−33 of each arm's integral.

    Scratch: sums (2, K), ranks (3, K).
    """
    n_arms = alphas.size
    for a in range(n_arms):
        out[a] = betas[a] / alphas[a]  # falls with the mean, and keeps its digits where all means round to 1
    sort_by(out, ranks[_ORDER], 1.0)
    alpha = 0.0
    beta = 0.0
    best = -math.inf
    best_size = 0
    candidates = 0
    for k in range(n_arms):
        a = ranks[_ORDER, k]
        ranks[_RANK, a] = k
        if alphas[a] + betas[a] > alpha + beta:
            ranks[_CANDIDATES, candidates] = k + 1
            candidates += 1
        alpha += alphas[a]
        beta += betas[a]
        sums[0, k] = alpha
        sums[1, k] = beta
        bound = lower_quantile(alpha, beta, _LEFT_CUT, coefficients)
        if bound > best:
            best = bound
            best_size = k + 1
    for a in range(n_arms):
        # An arm raises the mean of J as long as its own mean is larger: bisect for the last arm that does.
        low = 0
        high = n_arms
        while low < high:
            size = (low + high + 1) // 2
            alpha, beta = _joined(alphas, betas, sums, ranks, a, size - 1)
            other = ranks[_ORDER, size - 1]
            if alphas[other] * beta > betas[other] * alpha:
                low = size
            else:
                high = size - 1
        out[a] = -math.inf
        for c in range(-2, candidates):
            size = ranks[_CANDIDATES, c] if c >= 0 else (low if c == -1 else best_size)
            if c == -2 or size != best_size:
                alpha, beta = _joined(alphas, betas, sums, ranks, a, size)
                out[a] = max(out[a], lower_quantile(alpha, beta, _LEFT_CUT, coefficients))


@inlined
def _joined(
    alphas: FloatArray, betas: FloatArray, sums: FloatArray, ranks: IntArray, a: int, size: int
) -> tuple[float, float]:
    """Return Σα and Σβ of the `size` arms of largest mean together with arm a."""
    alpha = 0.0
    beta = 0.0
    if size > 0:
        alpha = sums[0, size - 1]
        beta = sums[1, size - 1]
    if ranks[_RANK, a] >= size:
        alpha += alphas[a]
        beta += betas[a]
    return alpha, beta
