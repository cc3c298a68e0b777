"""Experts whose weights follow Bayes' rule with a fixed share (Herbster & Warmuth 1998), for J sizes of a deviation.

For each size j the experts m each have a likelihood ratio r_m(A) for the pull A, and prior weights v⁰_m. The bet starts
with a wealth of 1. Of this, c_t = ½/log₂(t + 2) is held back after t ≥ 1 pulls, and what is released goes to the sizes
in parts s_j that sum to 1:

    I_j ← (I_j + (c_{t−1} − c_t)·s_j)·Σ_m v_m·r_m(A),        v_m ← (1 − η)·v_m·r_m(A)/Σ_m v_m·r_m(A) + η·v⁰_m,

    E_t = c_t + Σ_j I_j.

Rows of one instant (`base`) count as one pull here: what is released, the shares η·v⁰ and the pulls that experts know
of change only between instants, when the next one begins.

This is a mixture over the moment at which the deceiver begins. Without it, E would keep falling while the agent is
honest and would not recover in time: after 10⁶ honest pulls, a boost of ε = 0.03 stayed hidden for more than 20,000
pulls; now 720 reveal it. The share η lets the bet follow a deceiver who turns to another arm. A test multiplies the
weights by its ratios, and `settle_size` does the rest; audits compute the ratios of many rows at once. Wealth is kept
as numbers, each in a unit of its own, a power of 2⁵⁰⁰ that changes where it leaves float64's range, so a row costs one
logarithm.
"""

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.evidence.claim_table import Claimed
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import SUM_TOLERANCE, checked_number

SHARE = 0.007  # measured: less is better against one boosted arm, more against an arm that changes every step
_SMALLEST_SHARE = 1e-12
_SMALLEST_WEIGHT = 1e-280
_SMALLEST_TOTAL = 1e-300  # a single pull stays far above it, since η·v⁰ bounds the weights
_HELD_BACK = 0.5
_CELLS = 2**17  # ratios in memory at once
_UNIT = 2.0**500
_LOG_UNIT = 500.0 * math.log(2.0)
REFUTED = -1e15  # log ratio of an expert that gave the pulled arm probability 0: finite, and stands for −∞

_INSTANTS, _HELD = 0, 1  # places in `facts`


class Experts(NamedTuple):
    """The stakes and winnings so far; the first K experts are those of single arms."""

    sizes: FloatArray  # (J,)
    stakes: FloatArray  # (J,) s_j
    prior: FloatArray  # (M,) v⁰
    share: float  # η
    facts: FloatArray  # (2,) t, the instants so far, and c_t
    counts: FloatArray  # (K,) tested pulls of each arm before the instant of the last pull
    instant: FloatArray  # (K,) tested pulls of each arm in this instant
    invested: FloatArray  # (J,) I_j, in units
    units: FloatArray  # (J,) the unit is 2⁵⁰⁰ to this power
    weights: FloatArray  # (J, M) v after the last pull, without the share
    alone: FloatArray  # (J, K) Σ_t log r_b: the log-likelihood ratio of each single arm's expert by itself


def experts(n_arms: int, sizes: FloatArray, stakes: FloatArray, prior: FloatArray, share: float) -> Experts:
    """Return the experts before the first pull."""
    n_sizes = sizes.size
    weights = np.tile(prior, (n_sizes, 1))
    counts, instant = np.zeros((2, n_arms))
    invested, units = np.zeros((2, n_sizes))
    facts = np.array([0.0, 1.0])
    return Experts(
        sizes, stakes, prior, share, facts, counts, instant, invested, units, weights, np.zeros((n_sizes, n_arms))
    )


@part
def reset_experts(experts: Experts) -> None:
    """Put the experts back to the state before the first pull."""
    n_sizes, n_experts = experts.weights.shape
    experts.facts[_INSTANTS], experts.facts[_HELD] = 0.0, 1.0
    for b in range(experts.counts.size):
        experts.counts[b] = experts.instant[b] = 0.0
    for j in range(n_sizes):
        experts.invested[j] = experts.units[j] = 0.0
        for m in range(n_experts):
            experts.weights[j, m] = experts.prior[m]
        for b in range(experts.counts.size):
            experts.alone[j, b] = 0.0


@inlined
def held_back(pulls: float) -> float:
    """Return c_t, the share of the wealth that is still held back."""
    return _HELD_BACK / math.log2(pulls + 2.0) if pulls > 0.0 else 1.0


@part
def begin_instant(experts: Experts) -> None:
    """Release what is due, and share the weights."""
    release_stake(experts)
    for j in range(experts.weights.shape[0]):
        weights = experts.weights[j]
        for m in range(weights.size):
            weights[m] = share_weight(weights[m], experts.prior[m], experts.share)


@inlined
def share_weight(weight: float, prior: float, share: float) -> float:
    """Return an expert's weight after the fixed share."""
    return (1.0 - share) * weight + share * prior


@part
def release_stake(experts: Experts) -> None:
    """Count an instant, and divide what is released among the sizes."""
    facts = experts.facts
    facts[_INSTANTS] += 1.0
    held = held_back(facts[_INSTANTS])
    released = facts[_HELD] - held
    facts[_HELD] = held
    for j in range(experts.sizes.size):
        unit, kept = experts.units[j], experts.invested[j]
        if unit < 0.0:  # below 2⁻⁵⁰⁰, which is negligible beside what is released
            kept = unit = experts.units[j] = 0.0
        experts.invested[j] = kept + released * experts.stakes[j] * (math.exp(-_LOG_UNIT * unit) if unit > 0.0 else 1.0)


@part
def settle_size(experts: Experts, j: int, total: float, gain: float) -> None:
    """Multiply I_j by total·exp(gain), where `total` is the sum of its weights, already multiplied by the ratios
    relative to exp(gain), and normalise these.
    """
    inverse, weights = settle_wealth(experts, j, total, gain), experts.weights[j]
    for m in range(weights.size):
        weights[m] = normalised(weights[m], inverse)


@inlined
def normalised(weight: float, inverse: float) -> float:
    """Return a weight divided by the total of all. A weight that is close to underflow becomes 0: kept at the smallest
    number, it could win later.
    """
    kept = weight * inverse
    return kept if kept > _SMALLEST_WEIGHT else 0.0


@part
def settle_wealth(experts: Experts, j: int, total: float, gain: float) -> float:
    """Multiply I_j as `settle_size` does, and return the factor by which its weights are still to be multiplied."""
    if total < _SMALLEST_TOTAL:  # a long instant has refuted all experts
        experts.invested[j] = experts.units[j] = 0.0
        for m in range(experts.prior.size):
            experts.weights[j, m] = experts.prior[m]
        return 1.0
    wealth, unit = experts.invested[j], experts.units[j]
    inverse = 1.0 / total
    if total < 1.0 / _UNIT:
        total *= _UNIT
        unit -= 1.0
    wealth *= total
    if gain != 0.0:
        jump = math.floor(gain / _LOG_UNIT + 0.5)
        wealth *= math.exp(gain - jump * _LOG_UNIT)
        unit += jump
    if wealth > _UNIT or (unit < 0.0 and wealth > 1.0):
        wealth /= _UNIT
        unit += 1.0
    elif 0.0 < wealth < 1.0 / _UNIT:
        wealth *= _UNIT
        unit -= 1.0
    experts.invested[j], experts.units[j] = wealth, unit if wealth > 0.0 else 0.0
    return inverse


@part
def read_wealth(experts: Experts) -> tuple[float, float]:
    """Return E, and the log of its unit."""
    total, highest = experts.facts[_HELD], 0.0
    for j in range(experts.sizes.size):
        unit = experts.units[j]
        highest = unit if unit > highest else highest
        total += experts.invested[j] if unit == 0.0 else 0.0
    if highest == 0.0:  # what has a smaller unit is negligible beside what is held back
        return total, 0.0
    total = experts.facts[_HELD] * math.exp(-_LOG_UNIT * highest)
    for j in range(experts.sizes.size):
        total += experts.invested[j] * math.exp(_LOG_UNIT * (experts.units[j] - highest))
    return total, _LOG_UNIT * highest


@part
def read_log_e(experts: Experts) -> float:
    """Return log E."""
    total, log_unit = read_wealth(experts)
    return math.log(total) + log_unit


@kernel
def _bet_rows(
    experts: Experts, ratios: FloatArray, gains: FloatArray, begins: BoolArray, e: FloatArray, units: FloatArray
) -> None:
    """Bet on rows, given the ratios (n, J, M) relative to exp(gains), (n, J). Write E in the unit exp(units)."""
    for i in range(begins.size):
        if begins[i]:
            begin_instant(experts)
        for j in range(ratios.shape[1]):
            total, weights, ratio = 0.0, experts.weights[j], ratios[i, j]
            for m in range(weights.size):
                weights[m] *= ratio[m]
                total += weights[m]
            settle_size(experts, j, total, gains[i, j])
        e[i], units[i] = read_wealth(experts)


class FixedShare(EProcess):
    """A test by experts with a fixed share; a subclass defines the experts and their ratios."""

    def __init__(self, n_arms: int, share: float, within: float) -> None:
        super().__init__(n_arms)
        what = "share must be a number from 1e-12 to 1"
        self.share = checked_number(share, what, lambda x: _SMALLEST_SHARE <= x <= 1)
        self.within = check_within(within)
        self.experts = self._experts()

    @abstractmethod
    def _experts(self) -> Experts: ...

    @abstractmethod
    def _ratios(self, arms: IntArray, claimed: Any, begins: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the ratios of the experts for these pulls, (n, J, M), relative to exp of the second, (n, J)."""

    def _extend(self, arms: IntArray, claimed: Any, begins: BoolArray, log_e: FloatArray) -> None:
        units = np.empty(arms.size)
        self._bet(arms, claimed, begins, log_e, units)
        np.log(log_e, out=log_e)
        log_e += units

    def _bet(self, arms: IntArray, claimed: Any, begins: BoolArray, e: FloatArray, units: FloatArray) -> None:
        """Write E after each row, in the unit exp(units)."""
        at_once = max(1, _CELLS // self.experts.weights.size)
        for start in range(0, arms.size, at_once):
            rows = slice(start, start + at_once)
            piece = claimed.part(rows) if isinstance(claimed, Claimed) else claimed[rows]
            ratios, gains = self._ratios(arms[rows], piece, begins[rows])
            _bet_rows(self.experts, ratios, gains, begins[rows], e[rows], units[rows])

    def _add_alone(self, log_ratios: FloatArray) -> None:
        """Add to what each single arm's expert has won by itself: the log ratios (n, J, K), which are overwritten."""
        log_ratios[0] += self.experts.alone  # one after another, so that pieces do not matter
        self.experts.alone[:] = np.cumsum(log_ratios, axis=0, out=log_ratios)[-1]

    def _pulls_before(self, arms: IntArray, begins: BoolArray) -> FloatArray:
        """Return how often each arm was pulled before the instant of each row, (n, K), and count these pulls."""
        counts, instant = self.experts.counts, self.experts.instant
        hits = np.zeros((arms.size + 1, self.n_arms))
        hits[np.arange(1, arms.size + 1), arms] = 1.0
        np.cumsum(hits, axis=0, out=hits)
        starts = np.maximum.accumulate(np.where(begins, np.arange(arms.size), -1))
        if begins.all():  # which is usual
            found = counts + instant + hits[:-1]
        else:
            found = np.where(starts[:, np.newaxis] < 0, counts, counts + instant + hits[starts])
        if starts[-1] >= 0:
            counts += instant + hits[starts[-1]]
            instant[:] = -hits[starts[-1]]
        instant += hits[-1]
        return found

    @property
    def likeliest(self) -> tuple[int, float]:
        """The (arm, size) on the grid whose constant boost explains the pulls best, even if it explains them poorly."""
        size, arm = np.unravel_index(self.experts.alone.argmax(), self.experts.alone.shape)
        return int(arm), float(self.experts.sizes[size])

    @property
    def strongest(self) -> tuple[int, float]:
        """The (arm, size) of the single arm's expert that has most of the wealth now, whenever it won that."""
        e = self.experts
        with np.errstate(divide="ignore"):
            wealth = (np.log(e.invested) + _LOG_UNIT * e.units)[:, np.newaxis] + np.log(e.weights[:, : self.n_arms])
        size, arm = np.unravel_index(wealth.argmax(), wealth.shape)
        return int(arm), float(e.sizes[size])

    def _arrays(self) -> dict[str, FloatArray]:
        saved = "facts", "counts", "instant", "invested", "units", "weights", "alone"
        return {name: getattr(self.experts, name) for name in saved}

    def _check_arrays(self) -> None:
        e = self.experts
        if (e.weights < 0).any() or abs(e.weights.sum(1) - 1).max() > SUM_TOLERANCE:
            raise ValueError("The state is damaged: the weights of its experts are not probabilities.")
        if (e.instant < 0).any() or (e.counts < 0).any() or (e.invested < 0).any() or not 0 < e.facts[_HELD] <= 1:
            raise ValueError("The state is damaged: pulls and stakes cannot be negative.")


def check_within(within: float) -> float:
    """Return `within`, the share by which true probabilities may differ from those claimed, as a checked float."""
    what = "within, a share of each probability, must be a number from 0 up to but not including 1"
    return checked_number(within, what, lambda x: 0 <= x < 1)
