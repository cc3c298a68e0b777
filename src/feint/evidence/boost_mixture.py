r"""Is some arm being boosted? A bet on which arm, or which arms in turn, and by how much.

For each budget ε of a grid and each arm b, the boost of Definition 1 gives the pull A the likelihood ratio

    r_b(A) = q^{b,ε}(A)/π(A) = q*(π_b)/π_b  if A = b,   else  (1 − q*(π_b))/(1 − π_b).

The observer does not see which arm is boosted, so it faces a mixture of boosts. The experts are

- every arm alone, r_b;
- every pair {i, j} with the shares of Algorithm 1, (N_j·r_i + N_i·r_j)/(N_i + N_j), N the pulls so far, which the
  observer can compute (up to `_MOST_PAIRED` arms);
- all arms with shares in proportion to 1/N_b.

They share their weights as in `fixed_share`. On the paper's instance, the median number of pulls to detection at α = 5
% is 931, 137 and 24 for Algorithm 1 with ε = 0.01, 0.1 and 1, and with ε = 0.1 it is 63 for one boosted arm and 147 for
round robin. With experts for single arms only, these are 1,276, 212, 34, 67 and 240. An observer who knew the private
posterior would need 463, 78 and 13 pulls against Algorithm 1.

**Validity.** Whatever number q is used for q*, q/π_b and (1 − q)/(1 − π_b) average to 1 under π. So q comes from a
table, linear between nodes of log(1 − log π_b), and the test is exactly fair nevertheless. Where the claim is that each
probability lies `within` a share w of π (and so does that of every set of arms), the average is at most

    1 + w·min(π_b, 1 − π_b)·(q/π_b − (1 − q)/(1 − π_b)),

so r_b is divided by this bound. Mixtures of such ratios stay valid.

**Digits.** 1 − π_b is −expm1(log π_b), which keeps its digits where π_b is near 1. q/π_b leaves float64's range where
π_b is below 1e-308, so all ratios are relative to that of the pulled arm, which is kept as a logarithm.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.fixed_share import REFUTED, SHARE, Experts, FixedShare, experts, reopen_instant, settle_bets
from feint.evidence.slack import ABOVE, BELOW, fill_slack
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import as_floats
from feint.numerics.normal import exp_and_complement, log_positive

EPSILONS = (0.001, 0.016, 0.12, 1.0)  # being off by a factor of 3 costs a few per cent of the power
_STAKES = (0.3, 1.5, 2.3, 1.9)  # relative stakes on each
_SINGLE, _PAIRED, _ALL = 0.24, 0.3, 0.46  # shares of the three kinds of experts
_MOST_PAIRED = 12
_SMALLEST = 1e-12  # below it, 1 − π_b of an almost certain arm would need more digits than log π has
_CELLS, _CELLS_PER_UNIT = 1024, 64.0  # of the table: log(1 − log π) from 0 to 16
_BISECTIONS = 60


class Bets(NamedTuple):
    """The experts, the table of q*, and scratch space for one pull."""

    experts: Experts
    table: FloatArray  # (_CELLS + 1, J)
    ratios: FloatArray  # (J, K) r_b(A), relative to exp(gains)


def bets(n_arms: int, epsilons: FloatArray, share: float = SHARE, within: float = 0.0, floor: float = 0.0) -> Bets:
    """Return the bets before the first pull."""
    usual = epsilons.size == len(EPSILONS) and bool((epsilons == np.array(EPSILONS)).all())
    stakes = np.array(_STAKES) if usual else np.ones(epsilons.size)
    pairs = n_arms * (n_arms - 1) // 2 if n_arms <= _MOST_PAIRED else 0
    prior = np.concatenate([np.full(n_arms, _SINGLE / n_arms), np.full(pairs, _PAIRED / max(pairs, 1)), [_ALL]])
    made = experts(n_arms, epsilons, stakes / stakes.sum(), prior / prior.sum(), share, within, floor)
    return Bets(made, _kept_table(tuple(epsilons)).copy(), np.empty((epsilons.size, n_arms)))


@lru_cache
def _kept_table(epsilons: tuple[float, ...]) -> FloatArray:
    """Cache the table, because an audit that looks for explanations makes dozens of these tests."""
    return boosted_table(epsilons)


def boosted_table(epsilons: npt.ArrayLike) -> FloatArray:
    """Return q* at the nodes, (_CELLS + 1, J); `place_of` finds the place of an arm in the table."""
    nodes = -np.expm1(np.arange(_CELLS + 1) / _CELLS_PER_UNIT)
    return nearly_boosted(nodes[:, None], epsilons)


def nearly_boosted(log_p: FloatArray, epsilon: npt.ArrayLike) -> FloatArray:
    """Return q* by bisection; the arguments broadcast. It serves tables, which need not be exact, because compiling the
    exact kernel (`numerics.boost`) would take longer than filling a table.
    """
    log_p, budget = np.broadcast_arrays(log_p, np.asarray(epsilon, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rest = np.log(-np.expm1(log_p))
        low, high = np.exp(log_p), np.ones(log_p.shape)
        for _ in range(_BISECTIONS):
            q = 0.5 * (low + high)
            inside = q * (np.log(q) - log_p) + (1.0 - q) * (np.log1p(-q) - log_rest) <= budget
            low, high = np.where(inside, q, low), np.where(inside, high, q)
    # Where −log p ≤ ε, the arm can be given probability 1.
    return np.where(-log_p <= budget, 1.0, low)


@part
def bet(bets: Bets, log_pi: FloatArray, arm: int) -> float:
    """Test one pull, an instant by itself, and return log E; `log_pi` (K,) was claimed before the pull."""
    _multiply_weights(bets, log_pi, arm)
    return settle_bets(bets.experts, arm, True)


@part
def _multiply_weights(bets: Bets, log_pi: FloatArray, arm: int) -> None:
    e, ratios = bets.experts, bets.ratios
    n_sizes, n_arms = ratios.shape
    if e.floor > 0.0:
        fill_slack(e.floor, e.within, log_pi, e.slack)
    _set_ratios(bets, log_pi[arm], arm, True)
    for b in range(n_arms):
        if b != arm:
            _set_ratios(bets, log_pi[b], b, False)
    inverse = 0.0
    for b in range(n_arms):
        inverse += 1.0 / (1.0 + e.counts[b])
    for j in range(n_sizes):
        total, all_arms = 0.0, 0.0
        for b in range(n_arms):
            all_arms += ratios[j, b] / (1.0 + e.counts[b])
            e.weights[j, b] *= ratios[j, b]
            total += e.weights[j, b]
        m = n_arms
        if n_arms <= _MOST_PAIRED:
            for i in range(n_arms):
                for k in range(i):
                    share = (1.0 + e.counts[k]) / (2.0 + e.counts[i] + e.counts[k])
                    e.weights[j, m] *= share * ratios[j, i] + (1.0 - share) * ratios[j, k]
                    total += e.weights[j, m]
                    m += 1
        e.weights[j, m] *= all_arms / inverse
        e.totals[j] = total + e.weights[j, m]


@inlined
def place_of(log_p: float) -> float:
    """Return the place of log π in the table."""
    return min(math.log1p(-log_p) * _CELLS_PER_UNIT, _CELLS - 1e-9)


@inlined
def boosted_at(table: FloatArray, place: float, j: int) -> tuple[float, float]:
    """Return q* for the j-th size, and 1 − q*, which keeps its digits where it is small."""
    cell = int(place)
    here, there = table[cell, j], table[cell + 1, j]
    return here + (place - cell) * (there - here), (1.0 - here) + (place - cell) * (here - there)


@inlined
def _set_ratios(bets: Bets, log_p: float, b: int, pulled: bool) -> None:
    """Set r_b for every size; the pulled arm comes first, and its ratio is the unit of the others."""
    e = bets.experts
    p, rest = exp_and_complement(log_p)
    place = place_of(log_p)
    for j in range(e.sizes.size):
        q, others = boosted_at(bets.table, place, j)
        most = 1.0
        if e.floor > 0.0:
            slope = q / p - others / rest if p > 0.0 and rest > 0.0 else 0.0
            most += e.slack[ABOVE, b] * slope if slope > 0.0 else -e.slack[BELOW, b] * slope
        elif e.within > 0.0:  # the largest possible mean of the ratio, in a form that cannot overflow
            most += e.within * abs(q - p * others / rest if p <= 0.5 else rest * q / p - others)
        if pulled:
            e.gains[j] = math.log(q / most) - log_p
            e.totals[j] = math.exp(-e.gains[j])  # the unit, until the sums are known
            bets.ratios[j, b] = 1.0
            e.alone[j, b] += e.gains[j]
        else:
            # Where b has probability 1, before or after the boost, nothing is left for the others.
            ratio = others / (rest * most) if others > 0.0 and rest > 0.0 else 0.0
            bets.ratios[j, b] = ratio * e.totals[j]
            e.alone[j, b] += log_positive(ratio) if ratio > 1e-300 else REFUTED


@kernel
def _bet_rows(bets: Bets, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
    for i in range(arms.size):
        if not begins[i]:
            reopen_instant(bets.experts)
        _multiply_weights(bets, log_pi[i], arms[i])
        log_e[i] = settle_bets(bets.experts, arms[i], begins[i])


class BoostMixture(FixedShare):
    """The observer's test: is some arm, or are several in turn, being boosted, and by how much?

    Parameters
    ----------
    epsilons
        Grid of KL budgets per step.
    share
        η of `fixed_share`; choose it larger, the faster a deceiver changes arms.
    within
        The claim tested is that every probability lies within this share of the one given.
    floor
        The probabilities given are floored at this: smaller ones may have been anything up to it (`slack`).

    >>> test = BoostMixture(2)
    >>> rare = np.log([0.99, 0.01])
    >>> [round(test.update(1, rare), 2) for _ in range(3)]
    [1.74, 4.31, 7.33]
    """

    def __init__(
        self,
        n_arms: int,
        *,
        epsilons: npt.ArrayLike = EPSILONS,
        share: float = SHARE,
        within: float = 0.0,
        floor: float = 0.0,
    ) -> None:
        grid = as_floats(epsilons, "epsilons")
        if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= _SMALLEST)).all():
            raise ValueError(f"epsilons is {epsilons!r}; give a list of finite KL budgets of 1e-12 or more.")
        if np.unique(grid).size != grid.size:
            raise ValueError(f"epsilons is {epsilons!r}; give every budget only once.")
        self.epsilons = [float(epsilon) for epsilon in grid]
        self.floor = float(floor)
        super().__init__(n_arms, share, within)

    def _experts(self) -> Experts:
        self.bets = bets(self.n_arms, np.array(self.epsilons), self.share, self.within, self.floor)
        return self.bets.experts

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "epsilons", "share", "within", "floor")

    def _extend(self, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
        _bet_rows(self.bets, arms, log_pi, begins, log_e)
