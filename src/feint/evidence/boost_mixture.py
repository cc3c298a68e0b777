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
π_b is below 1e-308. Where that of the pulled arm is below e^−300, all ratios are relative to its own, which is kept as
a logarithm.

Here the ratios of many pulls are computed at once, in NumPy: compiling them would take longer than most audits. Long
logs whose claims repeat themselves have a kernel (`boost_repeats`). `boost_bet` tests pull by pull.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.boost_repeats import SingleRatios, bet_repeatedly
from feint.evidence.claim_table import ABOVE, BELOW, LOG_P, REST, Claimed, P, read_claimed
from feint.evidence.fixed_share import REFUTED, SHARE, Experts, FixedShare, experts
from feint.numerics._jit import inlined
from feint.numerics._validate import as_floats

EPSILONS = (0.001, 0.016, 0.12, 1.0)  # being off by a factor of 3 costs a few per cent of the power
_STAKES = (0.3, 1.5, 2.3, 1.9)  # relative stakes on each
_SINGLE, _PAIRED, _ALL = 0.24, 0.3, 0.46  # shares of the three kinds of experts
MOST_PAIRED = 12
_SMALLEST = 1e-12  # below it, 1 − π_b of an almost certain arm would need more digits than log π has
_CELLS, _CELLS_PER_UNIT = 1024, 64.0  # cells of the table, which covers log(1 − log π) from 0 to 16
_BISECTIONS = 60
_DEEP = -300.0  # for a smaller log π, ratios are relative to the pulled arm's
LEAST_RATIO = 1e-300
_WORTH_COMPILING = 2**16  # ratios of a call: for fewer, compiling a kernel takes longer than it saves


def boost_experts(n_arms: int, epsilons: FloatArray, share: float = SHARE) -> Experts:
    """Return the experts before the first pull."""
    usual = epsilons.size == len(EPSILONS) and bool((epsilons == np.array(EPSILONS)).all())
    stakes = np.array(_STAKES) if usual else np.ones(epsilons.size)
    pairs = n_arms * (n_arms - 1) // 2 if n_arms <= MOST_PAIRED else 0
    prior = np.concatenate([np.full(n_arms, _SINGLE / n_arms), np.full(pairs, _PAIRED / max(pairs, 1)), [_ALL]])
    return experts(n_arms, epsilons, stakes / stakes.sum(), prior / prior.sum(), share)


@lru_cache
def kept_table(epsilons: tuple[float, ...]) -> FloatArray:
    """Return the table, cached because an audit that looks for explanations makes dozens of these tests."""
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
        return boost_experts(self.n_arms, np.array(self.epsilons), self.share)

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "epsilons", "share", "within", "floor")

    def _prepare(self, log_pi: FloatArray) -> Claimed:
        return read_claimed(log_pi, self.within, self.floor)

    def _bet(self, arms: IntArray, claimed: Claimed, begins: BoolArray, e: FloatArray, units: FloatArray) -> None:
        few = arms.size * self.experts.weights.size < _WORTH_COMPILING
        if few or len(claimed.table) * self.n_arms > arms.size:
            super()._bet(arms, claimed, begins, e, units)
            return
        # Claims repeat themselves: what every arm would win is computed once per claim, also where it has π = 0.
        single = self._single(claimed.table, *np.divmod(np.arange(len(claimed.table) * self.n_arms), self.n_arms))
        scratch = np.empty(sum(self.experts.weights.shape))
        bet_repeatedly(self.experts, single, claimed.places, arms, begins, scratch, e, units)

    def _ratios(self, arms: IntArray, claimed: Claimed, begins: BoolArray) -> tuple[FloatArray, FloatArray]:
        counts, n_arms = self._pulls_before(arms, begins), self.n_arms
        single, log_single, gains = self._single(claimed.table, claimed.places, arms)
        self._add_alone(log_single)
        ratios = np.empty((arms.size, len(self.epsilons), self.experts.prior.size))
        ratios[:, :, :n_arms] = single
        if n_arms <= MOST_PAIRED:
            pairs = [(b, c) for b in range(n_arms) for c in range(b)]
            for m, (b, c) in enumerate(pairs, start=n_arms):
                share = ((1.0 + counts[:, c]) / (2.0 + counts[:, b] + counts[:, c]))[:, np.newaxis]
                ratios[:, :, m] = share * single[:, :, b] + (1.0 - share) * single[:, :, c]
        inverse = 1.0 / (1.0 + counts)
        total = np.zeros(arms.size)
        ratios[:, :, -1] = 0.0
        for b in range(n_arms):  # in a fixed order
            total += inverse[:, b]
        for b in range(n_arms):
            ratios[:, :, -1] += (inverse[:, b] / total)[:, np.newaxis] * single[:, :, b]
        return ratios, gains

    def _single(self, claims: FloatArray, places: IntArray, pulled: IntArray) -> SingleRatios:
        """Return what the experts of single arms win if these arms are pulled, given the claims at these places."""
        q, missed, most = _single_ratios(kept_table(tuple(self.epsilons)), claims)
        log_p, each = claims[places, LOG_P, pulled], np.arange(pulled.size)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_missed = np.where(missed > LEAST_RATIO, np.log(missed), REFUTED)
            log_hits = np.log((q / most)[places, pulled]) - log_p[:, np.newaxis]
            log_single, single = (np.take(found.transpose(0, 2, 1), places, axis=0) for found in (log_missed, missed))
            deep = log_p < _DEEP
            gains = np.where(deep[:, np.newaxis], log_hits, 0.0)
            single[deep] *= np.exp(-gains[deep])[:, :, np.newaxis]
            log_single[each, :, pulled], single[each, :, pulled] = log_hits, np.exp(log_hits - gains)
        return SingleRatios(single, log_single, gains)


def _single_ratios(table: FloatArray, claims: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return q, r_b of a pull of another arm, and the largest mean, by which both r_b are divided; each (m, K, J)."""
    place = np.minimum(np.log1p(-claims[:, LOG_P]) * _CELLS_PER_UNIT, _CELLS - 1e-9)
    cell = place.astype(np.int64)
    part, (here, there) = (place - cell)[..., np.newaxis], (table[cell], table[cell + 1])
    q, others = here + part * (there - here), (1.0 - here) + part * (here - there)
    p, rest, below, above = (claims[:, row, :, np.newaxis] for row in (P, REST, BELOW, ABOVE))
    most = np.ones(q.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if above.any() or below.any():
            # In a form that cannot overflow.
            slope = np.where(p <= 0.5, q - p * others / rest, rest * q / p - others)
            most += slope * np.where(slope > 0.0, above, -below)
        # Where b has probability 1, before or after the boost, nothing is left for the others.
        missed = np.where((others > 0.0) & (rest > 0.0), others / (rest * most), 0.0)
    return q, missed, most
