"""Experts whose weights follow Bayes' rule with a fixed share (Herbster & Warmuth 1998), for J sizes of a deviation.

For each size j the experts b = 0 … K − 1 each have a likelihood ratio r_b(A) for the pull A. Of the wealth 1 with which
the bet starts, c_t = 1/log₂(t + 2) is held back after t pulls, and what is released goes to the sizes in equal parts:

    I_j ← (I_j + (c_{t−1} − c_t)/J)·Σ_b v_b·r_b(A),        v_b ← (1 − η)·v_b·r_b(A)/Σ_b v_b·r_b(A) + η/K,

    E_t = c_t + Σ_j I_j.

That is a mixture over the moment at which the deceiver begins. Without it E would sink without end while the agent is
honest, and never recover in time (10⁶ honest pulls hid a boost of ε = 0.03 for more than 20,000; now 900 show it).
The share η lets the bet follow a deceiver who turns to another arm. A test multiplies the weights by its ratios,
relative to exp(gains) so that none overflows, and `settle` does the rest. Weights cannot underflow: η/K bounds them
from below.
"""

import math
from typing import NamedTuple

import numpy as np

from feint.evidence.base import EProcess
from feint.numerics._jit import inlined, part
from feint.numerics._validate import FloatArray, as_number

SHARE = 0.05  # best for one boosted arm is 0.01, for arms that change at every step 1; measured on the paper's instance
_SMALLEST_SHARE = 1e-12
_NOTHING = -700.0  # log I_j at the start: as good as 0, and a number
REFUTED = -1e15  # log ratio of an expert that gave the pulled arm probability 0: as good as −∞, and a number


class Experts(NamedTuple):
    """What has been bet and won so far."""

    sizes: FloatArray  # (J,)
    share: float  # η
    pulls: FloatArray  # (1,) t
    log_e: FloatArray  # (J,) log I_j
    weights: FloatArray  # (J, K) v_b for the coming pull
    alone: FloatArray  # (J, K) Σ_t log r_b: the log-likelihood ratio of each expert by itself
    totals: FloatArray  # (J,) Σ_b v_b·r_b, relative to exp(gains)
    gains: FloatArray  # (J,)


def experts(n_arms: int, sizes: FloatArray, share: float) -> Experts:
    """Nothing seen yet."""
    shape, size = (sizes.size, n_arms), sizes.size
    empty = Experts(sizes, share, np.empty(1), np.empty(size), np.empty(shape), np.empty(shape), *np.zeros((2, size)))
    empty.pulls[:], empty.log_e[:], empty.weights[:], empty.alone[:] = 0.0, _NOTHING, 1.0 / n_arms, 0.0
    return empty


@part
def forget(experts: Experts) -> None:
    """Start anew."""
    n_sizes, n_arms = experts.weights.shape
    experts.pulls[0] = 0.0
    for j in range(n_sizes):
        experts.log_e[j] = _NOTHING
        for b in range(n_arms):
            experts.weights[j, b] = 1.0 / n_arms
            experts.alone[j, b] = 0.0


@inlined
def _held_back(pulls: float) -> float:
    return 1.0 / math.log2(pulls + 2.0)


@part
def settle(experts: Experts) -> float:
    """Turn the weights, already multiplied by the ratios, into those for the next pull. Returns log E."""
    n_sizes, n_arms = experts.weights.shape
    released = math.log((_held_back(experts.pulls[0]) - _held_back(experts.pulls[0] + 1.0)) / n_sizes)
    experts.pulls[0] += 1.0
    log_held = math.log(_held_back(experts.pulls[0]))
    highest = log_held
    for j in range(n_sizes):
        larger, smaller = max(experts.log_e[j], released), min(experts.log_e[j], released)
        invested = larger + math.log1p(math.exp(smaller - larger))
        experts.log_e[j] = invested + math.log(experts.totals[j]) + experts.gains[j]
        highest = max(highest, experts.log_e[j])
        for b in range(n_arms):
            posterior = experts.weights[j, b] / experts.totals[j]
            experts.weights[j, b] = (1.0 - experts.share) * posterior + experts.share / n_arms
    total = math.exp(log_held - highest)
    for j in range(n_sizes):
        total += math.exp(experts.log_e[j] - highest)
    return highest + math.log(total)


class FixedShare(EProcess):
    """A test with such experts; a subclass says what their sizes are and multiplies their weights."""

    def __init__(self, n_arms: int, sizes: FloatArray, share: float) -> None:
        super().__init__(n_arms)
        what = "share must be a number from 1e-12 to 1"
        self.share = as_number(share, what)
        if not _SMALLEST_SHARE <= self.share <= 1:
            raise ValueError(f"{what}; got {share!r}.")
        self.experts = experts(self.n_arms, sizes, self.share)

    @property
    def likeliest(self) -> tuple[int, float]:
        """The (arm, size) of the grid that, kept all the time, explains the pulls best, be it poorly."""
        size, arm = np.unravel_index(self.experts.alone.argmax(), self.experts.alone.shape)
        return int(arm), float(self.experts.sizes[size])

    def _arrays(self) -> dict[str, FloatArray]:
        return {name: getattr(self.experts, name) for name in ("pulls", "log_e", "weights", "alone")}

    def _check_arrays(self) -> None:
        weights = self.experts.weights
        if (weights < 0).any() or abs(weights.sum(1) - 1).max() > 1e-9 or self.experts.pulls[0] < 0:
            raise ValueError("The state is damaged: the weights of its experts are no probabilities.")
