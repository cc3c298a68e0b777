"""Experts whose weights follow Bayes' rule with a fixed share (Herbster & Warmuth 1998), for J sizes of a deviation.

For each size j the experts m each have a likelihood ratio r_m(A) for the pull A, and prior weights v⁰_m. The bet starts
with a wealth of 1. Of this, c_t = ½/log₂(t + 2) is held back after t ≥ 1 pulls, and what is released goes to the sizes
in parts s_j that sum to 1:

    I_j ← (I_j + (c_{t−1} − c_t)·s_j)·Σ_m v_m·r_m(A),        v_m ← (1 − η)·v_m·r_m(A)/Σ_m v_m·r_m(A) + η·v⁰_m,

    E_t = c_t + Σ_j I_j.

Rows of one instant (`base`) count as one pull here: what is released, the shares η·v⁰ and the pulls that experts know
of change only between instants.

This is a mixture over the moment at which the deceiver begins. Without it, E would keep falling while the agent is
honest and would not recover in time: after 10⁶ honest pulls, a boost of ε = 0.03 stayed hidden for more than 20,000
pulls; now 720 reveal it. The share η lets the bet follow a deceiver who turns to another arm. A test multiplies the
weights by its ratios, relative to exp(gains) so that none overflows, and `settle_bets` does the rest. Weights cannot
underflow, since η·v⁰ bounds them from below.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.evidence.base import EProcess
from feint.numerics._jit import inlined, part
from feint.numerics._validate import as_number

SHARE = 0.007  # measured: less is better against one boosted arm, more against an arm that changes every step
_SMALLEST_SHARE = 1e-12
_SMALLEST_WEIGHT = 1e-280
_SMALLEST_TOTAL = 1e-300  # a single pull stays far above it, since η·v⁰ bounds the weights
_HELD_BACK = 0.5
_NOTHING = -700.0  # log I_j at the start: a finite number that stands for log 0
REFUTED = -1e15  # log ratio of an expert that gave the pulled arm probability 0: finite, and stands for −∞


class Experts(NamedTuple):
    """The stakes and winnings so far; the first K experts are those of single arms."""

    sizes: FloatArray  # (J,)
    stakes: FloatArray  # (J,) s_j
    prior: FloatArray  # (M,) v⁰
    share: float  # η
    within: float  # the null hypothesis: every probability lies within this share of the one claimed
    floor: float  # and smaller probabilities were logged rounded (`slack`)
    pulls: FloatArray  # (1,) t
    counts: FloatArray  # (K,) tested pulls of each arm
    log_e: FloatArray  # (J,) log I_j
    weights: FloatArray  # (J, M) v for the coming pull
    alone: FloatArray  # (J, K) Σ_t log r_b: the log-likelihood ratio of each single arm's expert by itself
    unshared: FloatArray  # (J, M) v after the last pull, without the share
    instant: FloatArray  # (K,) tested pulls of each arm in the instant of the last pull
    totals: FloatArray  # (J,) Σ_m v_m·r_m, relative to exp(gains)
    gains: FloatArray  # (J,)
    slack: FloatArray  # (2, K) how far the true probabilities may lie below and above those claimed, with a floor


def experts(
    n_arms: int,
    sizes: FloatArray,
    stakes: FloatArray,
    prior: FloatArray,
    share: float,
    within: float,
    floor: float = 0.0,
) -> Experts:
    """Return the experts before the first pull."""
    n_sizes = sizes.size
    empty = Experts(
        sizes,
        stakes,
        prior,
        share,
        within,
        floor,
        np.zeros(1),
        np.zeros(n_arms),
        np.empty(n_sizes),
        np.empty((n_sizes, prior.size)),
        np.empty((n_sizes, n_arms)),
        np.empty((n_sizes, prior.size)),
        np.zeros(n_arms),
        np.zeros(n_sizes),
        np.zeros(n_sizes),
        np.zeros((2, n_arms)),
    )
    empty.log_e[:], empty.weights[:], empty.alone[:], empty.unshared[:] = _NOTHING, prior, 0.0, prior
    return empty


@part
def reset_experts(experts: Experts) -> None:
    """Put the experts back to the state before the first pull."""
    n_sizes, n_experts = experts.weights.shape
    experts.pulls[0] = 0.0
    for b in range(experts.counts.size):
        experts.counts[b] = 0.0
    for j in range(n_sizes):
        experts.log_e[j] = _NOTHING
        for m in range(n_experts):
            experts.weights[j, m] = experts.prior[m]
        for b in range(experts.counts.size):
            experts.alone[j, b] = 0.0


@inlined
def held_back(pulls: float) -> float:
    """Return c_t, the share of the wealth that is still held back."""
    return _HELD_BACK / math.log2(pulls + 2.0) if pulls > 0.0 else 1.0


@part
def reopen_instant(experts: Experts) -> None:
    """Take back what the last pull ended, since another pull of the same instant follows."""
    n_sizes, n_experts = experts.weights.shape
    for j in range(n_sizes):
        for m in range(n_experts):  # what is below float64's range must not stay at its smallest number, and win later
            kept = experts.unshared[j, m]
            experts.weights[j, m] = kept if kept > _SMALLEST_WEIGHT else 0.0
    for b in range(experts.counts.size):
        experts.counts[b] -= experts.instant[b]


@part
def settle_bets(experts: Experts, arm: int, begins: bool) -> float:
    """Turn the weights, already multiplied by the ratios, into those for the next pull, and return log E; `begins` says
    whether the pull began an instant, which it does unless `reopen_instant` was called before it.
    """
    n_sizes, n_experts = experts.weights.shape
    log_released = -math.inf
    if begins:
        log_released = math.log(held_back(experts.pulls[0]) - held_back(experts.pulls[0] + 1.0))
        experts.pulls[0] += 1.0
    for b in range(experts.counts.size):
        experts.instant[b] = (0.0 if begins else experts.instant[b]) + (1.0 if b == arm else 0.0)
        experts.counts[b] += experts.instant[b]
    log_held = math.log(held_back(experts.pulls[0]))
    highest = log_held
    for j in range(n_sizes):
        released = log_released + math.log(experts.stakes[j])
        larger, smaller = max(experts.log_e[j], released), min(experts.log_e[j], released)
        invested = larger + math.log1p(math.exp(smaller - larger))
        if experts.totals[j] < _SMALLEST_TOTAL:  # a long instant has refuted all experts
            experts.totals[j], experts.gains[j] = 1.0, REFUTED
            for m in range(n_experts):
                experts.weights[j, m] = experts.prior[m]
        experts.log_e[j] = invested + math.log(experts.totals[j]) + experts.gains[j]
        highest = max(highest, experts.log_e[j])
        kept = (1.0 - experts.share) / experts.totals[j]
        for m in range(n_experts):
            experts.unshared[j, m] = experts.weights[j, m] / experts.totals[j]
            experts.weights[j, m] = kept * experts.weights[j, m] + experts.share * experts.prior[m]
    total = math.exp(log_held - highest)
    for j in range(n_sizes):
        total += math.exp(experts.log_e[j] - highest)
    return highest + math.log(total)


class FixedShare(EProcess):
    """A test with such experts; a subclass defines the experts and multiplies their weights."""

    def __init__(self, n_arms: int, share: float, within: float) -> None:
        super().__init__(n_arms)
        what = "share must be a number from 1e-12 to 1"
        self.share = as_number(share, what)
        if not _SMALLEST_SHARE <= self.share <= 1:
            raise ValueError(f"{what}; got {share!r}.")
        self.within = check_within(within)
        self.experts = self._experts()

    @abstractmethod
    def _experts(self) -> Experts: ...

    @property
    def likeliest(self) -> tuple[int, float]:
        """The (arm, size) on the grid whose constant boost explains the pulls best, even if it explains them poorly."""
        size, arm = np.unravel_index(self.experts.alone.argmax(), self.experts.alone.shape)
        return int(arm), float(self.experts.sizes[size])

    def _arrays(self) -> dict[str, FloatArray]:
        saved = "pulls", "counts", "log_e", "weights", "alone", "unshared", "instant"
        return {name: getattr(self.experts, name) for name in saved}

    def _check_arrays(self) -> None:
        weights = np.concatenate([self.experts.weights, self.experts.unshared])
        if (weights < 0).any() or abs(weights.sum(1) - 1).max() > 1e-9 or self.experts.pulls[0] < 0:
            raise ValueError("The state is damaged: the weights of its experts are not probabilities.")
        if (self.experts.instant < 0).any() or (self.experts.counts < self.experts.instant).any():
            raise ValueError("The state is damaged: pulls cannot be negative.")


def check_within(within: float) -> float:
    """Return `within`, the share by which true probabilities may differ from those claimed, as a checked float."""
    what = "within, a share of each probability, must be a number from 0 up to but not including 1"
    number = as_number(within, what)
    if not 0 <= number < 1:
        raise ValueError(f"{what}; got {within!r}.")
    return number
