r"""Is each pull drawn afresh? A bet on repeats, alternation and balance, whose shares may all be as claimed.

**Bets.** A set S of arms that is fixed before the pull has probability π(S) under the claim. Hence

    e^{λ·1{A ∈ S}}/(1 + π(S)·(e^λ − 1))

has mean 1, for every λ. The sets are the arm that was pulled ℓ rows before (ℓ = 1 … 4), and the arms that were pulled
less often than expected so far, towards which restricted randomisation pulls. λ > 0 bets towards S, λ < 0 away from
it. Where there are groups, half of the stake bets in the same way on each group's own past: the arm ℓ rows before
among the rows of the same group, and the balance within the group. All groups add to the same bets.

**Floor.** With a `floor` the bound of π(S) is the sum of its arms' bounds (`slack`).

**Within.** Where each probability may lie within a share w of the one claimed, π(S) may be as large as π(S) +
w·min(π(S), 1 − π(S)), which replaces it for λ > 0; for λ < 0 the sign is −.

**Instants.** Rows of one time are one instant: their order in the log need not be that of the draws. All sets are fixed
before the instant, by the rows above it. A bet's product over the rows of the instant then does not depend on their
order: it is what it would be in drawing order, and given all that came before the instant its mean is at most 1. Within
the instant E must not be read: rows that were sorted by arm begin with many pulls of one arm.

**Stake.** A quarter is held back at first. After t instants 0.25/log₂(t/32 + 2) still is, and what is released is
divided evenly. So a long honest past does not hide a later change, and no bet is lost for good.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.evidence.claim_table import ABOVE, BELOW, NOWHERE, REST, Claimed, P, read_claimed
from feint.evidence.fixed_share import check_within
from feint.evidence.serial_bet import BEHIND, SerialBet
from feint.evidence.wealth import SCALE, rescale, settle_total
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import is_whole

LAGS = 4
SETS = LAGS + 1  # the last is the balance
TILTS = np.array([0.25, 0.75, 2.0, -0.25, -0.75, -2.0])  # λ: first towards the set, then away from it
TOWARDS = TILTS.size // 2
_HELD_BACK, _RELEASED_EVERY = 0.25, 32
_FIRST_SPACE = 16  # pasts
_NO_ARM = -1.0

_RESERVE, _INSTANTS = SCALE + 1, SCALE + 2  # places in `facts`


class SerialBets(NamedTuple):
    """What was won, and the pasts that fix the sets: the first past is the whole log's, the others are the groups'."""

    wealth: FloatArray  # (SETS or 2·SETS, len(TILTS)) of bets on the log's past and on the groups', unit exp(scale)
    facts: FloatArray  # (3,) see above
    stamps: FloatArray  # (n,) the instant that `before` precedes
    before: FloatArray  # (n, LAGS + K) before the instant: the arms of the last rows, and how far each arm is behind
    now: FloatArray  # (n, LAGS + K) the same with the rows of the instant
    sizes: FloatArray  # (len(TILTS),) e^λ − 1, or q
    factors: FloatArray  # (3, K, len(TILTS)) of a bet on one arm that was not pulled, and that was; scratch
    made: FloatArray  # (2, K) the place of the claim that these are of


@kernel
def _bet_rows(
    bets: SerialBets,
    groups: IntArray,
    arms: IntArray,
    places: IntArray,
    bounds: FloatArray,
    begins: BoolArray,
    e: FloatArray,
    units: FloatArray,
) -> None:
    """Bet on each row, and write E in the unit exp(units). `bounds` (m, 3, K) has probabilities and how far they may
    lie below and above; if negative, as shares of min(π(S), 1 − π(S)).
    """
    for i in range(arms.size):
        if begins[i]:
            release_reserve(bets)
        arm, bound, won = arms[i], bounds[places[i]], 0.0
        for first in range(0, bets.wealth.shape[0], SETS):
            g = groups[i] + 1 if first > 0 else 0
            recall_past(bets, g)
            now = bets.now[g]
            for s in range(SETS):
                won += _bet_on_set(bets, bets.wealth[first + s], bets.before[g], s, bound, places[i], arm)
            shift_lags(now, arm)
            for a in range(bound.shape[1]):
                now[LAGS + a] += bound[0, a]
            now[LAGS + arm] -= 1.0
        e[i], units[i] = settle_bets(bets, won)


@part
def _bet_on_set(
    bets: SerialBets, wealth: FloatArray, before: FloatArray, s: int, bound: FloatArray, place: int, arm: int
) -> float:
    """Bet on the arm of an earlier row (s < LAGS), or on the arms that are behind, and return the wealth."""
    start, stop, hit = np.int64(0), np.int64(bound.shape[1]), 0
    factors = bets.factors[2, 0]
    is_made = False
    if s < LAGS:
        start = np.int64(before[s])
        stop = start + 1
        if start >= 0:  # there is an earlier row
            hit = 1 if start == arm else 0
            factors = bets.factors[hit, start]
            is_made = bets.made[hit, start] == place
            bets.made[hit, start] = place
    if not is_made:
        p, below, above = 0.0, 0.0, 0.0
        for a in range(start if start > 0 else 0, stop):
            if s < LAGS or before[LAGS + a] > BEHIND:
                p += bound[0, a]
                below += bound[1, a]
                above += bound[2, a]
                hit = 1 if a == arm else hit
        if bound[1, 0] < 0.0:
            below = above = -bound[1, 0] * (p if p < 0.5 else 1.0 - p)
        for k in range(factors.size):
            y = p + above if k < TOWARDS else p - below
            y = 1.0 if y > 1.0 else 0.0 if y < 0.0 else y
            factors[k] = (1.0 + bets.sizes[k] * hit) / (1.0 + bets.sizes[k] * y)
    won = 0.0
    for k in range(wealth.size):
        wealth[k] *= factors[k]
        won += wealth[k]
    return won


@inlined
def recall_past(bets: SerialBets, g: int) -> None:
    """Take the past of a group, or of the log, as it was before the instant."""
    if bets.stamps[g] != bets.facts[_INSTANTS]:
        bets.stamps[g] = bets.facts[_INSTANTS]
        for m in range(bets.now.shape[1]):
            bets.before[g, m] = bets.now[g, m]


@inlined
def shift_lags(now: FloatArray, arm: int) -> None:
    """Remember the arm of the last row."""
    for s in range(LAGS - 1, 0, -1):
        now[s] = now[s - 1]
    now[0] = arm


@inlined
def settle_bets(bets: SerialBets, won: float) -> tuple[float, float]:
    """Return E and the log of its unit, given the wealth of all bets."""
    facts = bets.facts
    total = won + facts[_RESERVE] * (math.exp(-facts[SCALE]) if facts[SCALE] > 1.0 else 1.0)
    return settle_total(bets.wealth, facts, total), facts[SCALE]


@inlined
def release_reserve(bets: SerialBets) -> None:
    """Divide the released part of the stake among the bets."""
    facts = bets.facts
    if np.int64(facts[_INSTANTS]) % _RELEASED_EVERY == 0:
        held = _HELD_BACK / math.log2(facts[_INSTANTS] / _RELEASED_EVERY + 2.0)
        share = (facts[_RESERVE] - held) * math.exp(-facts[SCALE]) / bets.wealth.size
        facts[_RESERVE] = held
        rescale(bets.wealth, 1.0, share)
    facts[_INSTANTS] += 1.0


class SerialMixture(EProcess):
    """The test of whether pulls depend on earlier ones, where the probabilities of all arms are known.

    Parameters
    ----------
    within
        The claim tested is that every probability lies within this share of the one given.
    floor
        Probabilities below this may have been anything up to it.
    n_groups
        The number of groups so far, whose own pasts are bet on too; None where rows have no groups.

    >>> test = SerialMixture(2)
    >>> arms = np.arange(20) % 2
    >>> bool(test.extend(arms, np.log(np.full((20, 2), 0.5)))[-1] > np.log(20 / 0.1))
    True
    >>> test.strongest.words()
    'the arm of the row before was pulled again more rarely than claimed'
    """

    def __init__(self, n_arms: int, *, within: float = 0.0, floor: float = 0.0, n_groups: int | None = None) -> None:
        super().__init__(n_arms)
        self.within, self.floor = check_within(within), floor
        if n_groups is not None and not is_whole(n_groups, 0):
            raise ValueError(f"n_groups is {n_groups!r}; give a whole number of groups, or None.")
        self.n_groups = n_groups
        shape = (SETS if n_groups is None else 2 * SETS, TILTS.size)
        width = LAGS + self.n_arms
        empty = np.zeros(0), np.zeros((0, width)), np.zeros((0, width))
        scratch = np.empty((3, self.n_arms, TILTS.size)), np.empty((2, self.n_arms))
        self._bets = SerialBets(np.zeros(shape), np.array([0.0, 1.0, 0.0]), *empty, self._sizes(), *scratch)
        self._make_space(_FIRST_SPACE if n_groups is None else max(_FIRST_SPACE, n_groups + 1))

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "within", "floor", "n_groups")

    def _sizes(self) -> FloatArray:
        return np.expm1(TILTS)

    @property
    def strongest(self) -> SerialBet:
        """The bet that has won most."""
        s, k = (int(i) for i in np.unravel_index(self._bets.wealth.argmax(), self._bets.wealth.shape))
        return SerialBet(s >= SETS, (s + 1) % SETS, k < TOWARDS, float(self._bets.sizes[k]))

    def extend_grouped(self, arms: IntArray, claimed: Any, groups: IntArray, begins: BoolArray) -> FloatArray:
        """Test pulls of these groups without checking them, and return log E after each; `claimed` is log π, or what
        `read_claimed` made of it.
        """
        if self.n_groups is not None:
            self.n_groups = max(self.n_groups, int(groups.max(initial=-1)) + 1)
            if self.n_groups >= self._bets.stamps.size:
                self._make_space(2 * self.n_groups)
        log_e = np.empty(arms.size)
        known = claimed if isinstance(claimed, Claimed) else self._prepare(claimed)
        self._test(groups, arms, known, begins, log_e)
        self._count_rows(begins, log_e)
        return log_e

    def _prepare(self, log_pi: FloatArray) -> Any:
        return read_claimed(log_pi, self.within, self.floor)

    def _extend(self, arms: IntArray, claimed: Any, begins: BoolArray, log_e: FloatArray) -> None:
        self._test(np.zeros(arms.size, dtype=np.int64), arms, claimed, begins, log_e)

    def _test(self, groups: IntArray, arms: IntArray, claimed: Any, begins: BoolArray, log_e: FloatArray) -> None:
        units = np.empty(arms.size)
        self._bet(groups, arms, claimed, begins, log_e, units)
        np.log(log_e, out=log_e)
        log_e += units

    def _bet(
        self, groups: IntArray, arms: IntArray, claimed: Any, begins: BoolArray, e: FloatArray, units: FloatArray
    ) -> None:
        """Write E after each row, in the unit exp(units)."""
        p, rest, below, above = (claimed.table[:, row] for row in (P, REST, BELOW, ABOVE))
        smaller = np.minimum(p, rest)
        bounds = np.stack([p, below * smaller, above * smaller], axis=1)
        if self.floor == 0.0 < self.within:
            bounds[:, 1:] = -self.within
        self._bets.made[:] = NOWHERE
        _bet_rows(self._bets, groups, arms, claimed.places, bounds, begins, e, units)

    def _arrays(self) -> dict[str, Any]:
        pasts = slice((self.n_groups or 0) + 1)
        kept = {name: getattr(self._bets, name)[pasts] for name in ("stamps", "before", "now")}
        return {"wealth": self._bets.wealth.reshape(-1, SETS, TILTS.size), "facts": self._bets.facts, **kept}

    def _check_arrays(self) -> None:
        arms = np.concatenate([table[:, :LAGS] for table in (self._bets.before, self._bets.now)])
        if (self._bets.wealth < 0).any() or not np.isin(arms, np.arange(_NO_ARM, self.n_arms)).all():
            raise ValueError("The state is damaged: its wealth or its last arms cannot come from a test.")

    def _make_space(self, size: int) -> None:
        more = size - self._bets.stamps.size
        fresh = np.zeros((more, LAGS + self.n_arms))
        fresh[:, :LAGS] = _NO_ARM
        self._bets = self._bets._replace(
            stamps=np.concatenate([self._bets.stamps, np.zeros(more)]),
            before=np.concatenate([self._bets.before, fresh]),
            now=np.concatenate([self._bets.now, fresh]),
        )
