"""Experts whose weights follow Bayes' rule with a fixed share (Herbster & Warmuth 1998), for J sizes of a deviation.

For each size j the experts b = 0 … K − 1 each have a likelihood ratio r_b(A) for the pull A, and

    E_j ← E_j·Σ_b v_b·r_b(A),        v_b ← (1 − η)·v_b·r_b(A)/Σ_b v_b·r_b(A) + η/K.

The share η lets the bet follow a deceiver who turns to another arm. E is the mean of the E_j. A test multiplies the
weights by its ratios, relative to exp(gains) so that none overflows, and `settle` does the rest. Weights cannot
underflow: η/K bounds them from below.
"""

import math
from typing import NamedTuple

import numpy as np

from feint.numerics._jit import kernel
from feint.numerics._validate import FloatArray, as_number

SHARE = 0.05  # best for one boosted arm is 0.01, for arms that change at every step 1; measured on the paper's instance


class Experts(NamedTuple):
    """What has been bet and won so far."""

    sizes: FloatArray  # (J,)
    share: float  # η
    log_e: FloatArray  # (J,) log E_j
    weights: FloatArray  # (J, K) v_b for the coming pull
    followed: FloatArray  # (J, K) Σ_t of the posterior weight of b: how many pulls seem to come from it
    totals: FloatArray  # (J,) Σ_b v_b·r_b, relative to exp(gains)
    gains: FloatArray  # (J,)


def experts(n_arms: int, sizes: FloatArray, share: float) -> Experts:
    """Nothing seen yet."""
    shape = (sizes.size, n_arms)
    vectors = [np.zeros(sizes.size) for _ in range(3)]
    return Experts(sizes, share, vectors[0], np.full(shape, 1.0 / n_arms), np.zeros(shape), vectors[1], vectors[2])


def check_share(share: object) -> float:
    """η as a float."""
    what = "share must be a number above 0 and at most 1"
    number = as_number(share, what)
    if not 0 < number <= 1:
        raise ValueError(f"{what}; got {share!r}.")
    return number


@kernel
def settle(experts: Experts) -> float:
    """Turn the weights, already multiplied by the ratios, into those for the next pull. Returns log E."""
    n_sizes, n_arms = experts.weights.shape
    for j in range(n_sizes):
        experts.log_e[j] += math.log(experts.totals[j]) + experts.gains[j]
        for b in range(n_arms):
            posterior = experts.weights[j, b] / experts.totals[j]
            experts.followed[j, b] += posterior
            experts.weights[j, b] = (1.0 - experts.share) * posterior + experts.share / n_arms
    return log_mean_exp(experts.log_e)


@kernel
def log_mean_exp(logs: FloatArray) -> float:
    """Log of the mean of exp(logs), without overflow."""
    highest = -math.inf
    for j in range(logs.size):
        highest = max(highest, logs[j])
    total = 0.0
    for j in range(logs.size):
        total += math.exp(logs[j] - highest)
    return highest + math.log(total / logs.size)
