r"""Is some arm being boosted? A bet on which one, or which ones in turn, and on how much.

For each budget ε of a grid and each arm b, the boost of Definition 1 has the likelihood ratio for the pull A

    r_b(A) = q^{b,ε}(A)/π(A) = q*(π_b)/π_b  if A = b,   else  (1 − q*(π_b))/(1 − π_b).

The observer does not see which arm is boosted, so what it meets is a mixture of boosts. Experts are

- every arm alone, r_b;
- every pair {i, j} with the shares of Algorithm 1, (N_j·r_i + N_i·r_j)/(N_i + N_j), N the pulls so far, which the
  observer can compute (up to `_MOST_PAIRED` arms);
- all arms with shares in proportion to 1/N_b.

They share their weights as in `fixed_share`. Median pulls to detection at α = 5 % on the paper's instance, of
Algorithm 1 with ε = 0.01, 0.1, 1, of one boosted arm and of round robin (ε = 0.1): 931, 137, 24, 63 and 147; with
single arms alone 1,276, 212, 34, 67 and 240. An observer who knew the private posterior would need 463, 78 and 13.

**Validity.** Whatever number q is used for q*, q/π_b and (1 − q)/(1 − π_b) average to 1 under π. So q comes from a
table, linear between nodes of log(1 − log π_b), and the test is exactly fair all the same. Where the claim is that each
probability lies `within` a share w of π (and so does that of every set of arms), the average is at most

    1 + w·min(π_b, 1 − π_b)·(q/π_b − (1 − q)/(1 − π_b)),

by which r_b is divided; mixtures of such ratios stay valid.

**Digits.** 1 − π_b is −expm1(log π_b), which keeps its digits where π_b is near 1; q/π_b leaves float64's range where
π_b is below 1e-308, so all ratios are relative to that of the pulled arm, which enters as a logarithm.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feint.evidence.fixed_share import REFUTED, SHARE, Experts, FixedShare, experts, settle
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import FloatArray, IntArray, as_floats
from feint.numerics.normal import chances, log_positive

EPSILONS = (0.001, 0.016, 0.12, 1.0)  # a factor 3 beside the truth costs a few per cent of the power
_STAKES = (0.3, 1.5, 2.3, 1.9)  # how much is bet on each, relatively
_SINGLE, _PAIRED, _ALL = 0.24, 0.3, 0.46  # shares of the three sorts of experts
_MOST_PAIRED = 12
_SMALLEST = 1e-12  # below it, 1 − π_b of an arm that is nearly sure would need digits that log π does not have
_CELLS, _CELLS_A_UNIT = 1024, 64.0  # of the table: log(1 − log π) from 0 to 16
_BISECTIONS = 60


class Bets(NamedTuple):
    """The experts, the table of q*, and space for one pull."""

    experts: Experts
    table: FloatArray  # (_CELLS + 1, J)
    ratios: FloatArray  # (J, K) r_b(A), relative to exp(gains)


def bets(n_arms: int, epsilons: FloatArray, share: float = SHARE, within: float = 0.0) -> Bets:
    """Nothing seen yet."""
    usual = epsilons.size == len(EPSILONS) and bool((epsilons == np.array(EPSILONS)).all())
    stakes = np.array(_STAKES) if usual else np.ones(epsilons.size)
    pairs = n_arms * (n_arms - 1) // 2 if n_arms <= _MOST_PAIRED else 0
    prior = np.concatenate([np.full(n_arms, _SINGLE / n_arms), np.full(pairs, _PAIRED / max(pairs, 1)), [_ALL]])
    made = experts(n_arms, epsilons, stakes / stakes.sum(), prior / prior.sum(), share, within)
    return Bets(made, _kept_table(tuple(epsilons)).copy(), np.empty((epsilons.size, n_arms)))


@lru_cache
def _kept_table(epsilons: tuple[float, ...]) -> FloatArray:
    """An audit that looks for reasons makes dozens of these tests."""
    return boosted_table(epsilons)


def boosted_table(epsilons: npt.ArrayLike) -> FloatArray:
    """Q* at the nodes, (_CELLS + 1, J); `place_of` says where an arm is."""
    nodes = -np.expm1(np.arange(_CELLS + 1) / _CELLS_A_UNIT)
    return nearly_boosted(nodes[:, None], epsilons)


def nearly_boosted(log_p: FloatArray, epsilon: npt.ArrayLike) -> FloatArray:
    """q* by bisection, of shapes that broadcast: for tables, which need not be exact, since compiling the exact kernel
    (`numerics.boost`) takes longer than making one.
    """
    log_p, budget = np.broadcast_arrays(log_p, np.asarray(epsilon, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rest = np.log(-np.expm1(log_p))
        low, high = np.exp(log_p), np.ones(log_p.shape)
        for _ in range(_BISECTIONS):
            q = 0.5 * (low + high)
            inside = q * (np.log(q) - log_p) + (1.0 - q) * (np.log1p(-q) - log_rest) <= budget
            low, high = np.where(inside, q, low), np.where(inside, high, q)
    # Where −log p ≤ ε, the arm may be made sure.
    return np.where(-log_p <= budget, 1.0, low)


@part
def bet(bets: Bets, log_pi: FloatArray, arm: int) -> float:
    """Test one pull; `log_pi` (K,) was claimed before it. Returns log E."""
    e, ratios = bets.experts, bets.ratios
    n_sizes, n_arms = ratios.shape
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
    return settle(e, arm)


@inlined
def place_of(log_p: float) -> float:
    """Where the table has log π."""
    return min(math.log1p(-log_p) * _CELLS_A_UNIT, _CELLS - 1e-9)


@inlined
def boosted_at(table: FloatArray, place: float, j: int) -> tuple[float, float]:
    """q* of the j-th size, and 1 − q* with its digits where that is small."""
    cell = int(place)
    here, there = table[cell, j], table[cell + 1, j]
    return here + (place - cell) * (there - here), (1.0 - here) + (place - cell) * (here - there)


@inlined
def _set_ratios(bets: Bets, log_p: float, b: int, pulled: bool) -> None:
    """r_b of every size; that of the pulled arm, which is the first, becomes the unit of the others."""
    e = bets.experts
    p, rest = chances(log_p)
    place = place_of(log_p)
    for j in range(e.sizes.size):
        q, others = boosted_at(bets.table, place, j)
        most = 1.0
        if e.within > 0.0:  # the most that the ratio can average to; in the form that cannot overflow
            most += e.within * abs(q - p * others / rest if p <= 0.5 else rest * q / p - others)
        if pulled:
            e.gains[j] = math.log(q / most) - log_p
            e.totals[j] = math.exp(-e.gains[j])  # the unit, until the sums are known
            bets.ratios[j, b] = 1.0
            e.alone[j, b] += e.gains[j]
        else:
            # Where b is sure, or made so, nothing is left for others.
            ratio = others / (rest * most) if others > 0.0 and rest > 0.0 else 0.0
            bets.ratios[j, b] = ratio * e.totals[j]
            e.alone[j, b] += log_positive(ratio) if ratio > 1e-300 else REFUTED


@kernel
def _bet_rows(bets: Bets, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> None:
    for i in range(arms.size):
        log_e[i] = bet(bets, log_pi[i], arms[i])


class BoostMixture(FixedShare):
    """The observer's test: is some arm, or several in turn, being boosted, and how much?

    Parameters
    ----------
    epsilons
        Grid of KL budgets a step.
    share
        η of `fixed_share`: the faster a deceiver changes arms, the larger.
    within
        The claim tested is that every probability lies within this share of the one given.

    >>> test = BoostMixture(2)
    >>> rare = np.log([0.99, 0.01])
    >>> [round(test.update(1, rare), 2) for _ in range(3)]
    [1.74, 4.31, 7.33]
    """

    def __init__(
        self, n_arms: int, *, epsilons: npt.ArrayLike = EPSILONS, share: float = SHARE, within: float = 0.0
    ) -> None:
        grid = as_floats(epsilons, "epsilons")
        if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= _SMALLEST)).all():
            raise ValueError(f"epsilons is {epsilons!r}; give a list of KL budgets, finite and 1e-12 or more.")
        if np.unique(grid).size != grid.size:
            raise ValueError(f"epsilons is {epsilons!r}; name every budget once.")
        self.epsilons = [float(epsilon) for epsilon in grid]
        super().__init__(n_arms, share, within)

    def _experts(self) -> Experts:
        self.bets = bets(self.n_arms, np.array(self.epsilons), self.share, self.within)
        return self.bets.experts

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "epsilons", "share", "within")

    def _extend(self, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> None:
        _bet_rows(self.bets, arms, log_pi, log_e)
