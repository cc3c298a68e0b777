r"""Is each pull drawn afresh? A bet on repeats, alternation and balance, whose shares may all be as claimed.

**Bets.** A set S of arms that is fixed before the pull has probability π(S) under the claim. Hence

    e^{λ·1{A ∈ S}}/(1 + π(S)·(e^λ − 1))

has mean 1, for every λ. The sets are the arm that was pulled ℓ rows before (ℓ = 1 … 4), and the arms that were pulled
less often than expected so far, towards which restricted randomisation pulls. λ > 0 bets towards S, λ < 0 away from
it. Where there are groups, half of the stake bets in the same way on each group's own past: the arm ℓ rows before
among the rows of the same group, and the balance within the group. All groups add to the same bets.

**Propensities alone.** The null says E[1{A = b}/ρ] ≤ 1 for every arm b, so for 0 < q < 1

    1 + q·(1{A ∈ S}/(|S|·ρ) − 1)

has mean at most 1. Away from S it bets on the other K − |S| arms. An arm is then behind if Σ 1{A = a}/ρ is below the
number of rows. 1/ρ counts as 1e100 at most, so that E stays finite.

**Floor.** With a `floor` the bound of π(S) is the sum of its arms' bounds (`slack`).

**Within.** Where each probability may lie within a share w of the one claimed, π(S) may be as large as π(S) +
w·min(π(S), 1 − π(S)), which replaces it for λ > 0; for λ < 0 the sign is −. With propensities alone, a bet is divided
by 1 + q·w.

**Instants.** Rows of one time are one instant: their order in the log need not be that of the draws. All sets are fixed
before the instant, by the rows above it. A bet's product over the rows of the instant then does not depend on their
order: it is what it would be in drawing order, and given all that came before the instant its mean is at most 1. Within
the instant E must not be read: rows that were sorted by arm begin with many pulls of one arm.

**Stake.** A quarter is held back at first. After t instants 0.25/log₂(t/32 + 2) still is, and what is released is
divided evenly. So a long honest past does not hide a later change, and no bet is lost for good.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.evidence.fixed_share import check_within
from feint.evidence.serial_bet import BEHIND, LARGEST_INVERSE, SerialBet
from feint.evidence.slack import ABOVE, BELOW, fill_slack
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import is_whole

LAGS = 4
_SETS = LAGS + 1  # the last is the balance
TILTS = np.array([0.25, 0.75, 2.0, -0.25, -0.75, -2.0])  # λ: first towards the set, then away from it
_TOWARDS = TILTS.size // 2
_MIXED_IN = np.array([0.03, 0.15, 0.6] * 2)  # q
_HELD_BACK, _RELEASED_EVERY = 0.25, 32
_LARGEST, _LOST = 1e150, 1e-290  # wealth in the unit exp(scale)
_SMALLEST = 1e-300  # stands for 0, and has a logarithm
_FIRST_SPACE = 16  # pasts
_NO_ARM = -1.0

_SCALE, _RESERVE, _INSTANTS = 0, 1, 2  # places in `facts`


class _Bets(NamedTuple):
    """What was won, and the pasts that fix the sets: the first past is the whole log's, the others are the groups'."""

    wealth: FloatArray  # (1 or 2, _SETS, len(TILTS)) of the bets on the log's past and on the groups', unit exp(scale)
    facts: FloatArray  # (3,) see above
    stamps: FloatArray  # (n,) the instant that `before` precedes
    before: FloatArray  # (n, LAGS + K) before the instant: the arms of the last rows, and how far each arm is behind
    now: FloatArray  # (n, LAGS + K) the same with the rows of the instant
    sizes: FloatArray  # (len(TILTS),) e^λ − 1, or q
    pi: FloatArray  # (K,) scratch
    slack: FloatArray  # (2, K) how far the true probabilities may lie below and above those claimed, with a floor


@kernel
def _bet_rows(
    within: float,
    floor: float,
    bets: _Bets,
    groups: IntArray,
    arms: IntArray,
    log_pi: FloatArray,
    begins: BoolArray,
    log_e: FloatArray,
) -> None:
    """Bet on each row; `log_pi` is (n, K), or (n, 1) where only that of the pulled arm is known."""
    facts = bets.facts
    known = log_pi.shape[1] == bets.pi.size
    for i in range(arms.size):
        if begins[i]:
            _release(bets)
        inverse = 0.0
        if known:
            for a in range(bets.pi.size):
                bets.pi[a] = math.exp(log_pi[i, a])
            if floor > 0.0:
                fill_slack(floor, within, log_pi[i], bets.slack)
        else:
            inverse = min(math.exp(-log_pi[i, 0]), LARGEST_INVERSE)
        total = facts[_RESERVE] * (math.exp(-facts[_SCALE]) if facts[_SCALE] > 1.0 else 1.0)
        for past in range(bets.wealth.shape[0]):
            g = groups[i] + 1 if past == 1 else 0
            if bets.stamps[g] != facts[_INSTANTS]:
                bets.stamps[g] = facts[_INSTANTS]
                for m in range(bets.now.shape[1]):
                    bets.before[g, m] = bets.now[g, m]
            total += _bet(within, floor, bets, bets.wealth[past], bets.before[g], arms[i], inverse)
            _remember(bets, bets.now[g], arms[i], inverse)
        if total > _LARGEST or facts[_SCALE] > 1.0:
            # The unit rises and falls: rows of an instant that are sorted raise E for a while.
            factor = 1.0 / _LARGEST if total > _LARGEST else _LARGEST if total < 1.0 / _LARGEST else 1.0
            _rescale(bets.wealth, factor, 0.0)
            facts[_SCALE] -= math.log(factor)
            total *= factor
        log_e[i] = math.log(max(total, _SMALLEST)) + facts[_SCALE]


@part
def _rescale(wealth: FloatArray, factor: float, more: float) -> None:
    """Multiply and add. Wealth below float64's range is lost: the smallest number is not small in a large unit."""
    for past in range(wealth.shape[0]):
        for s in range(wealth.shape[1]):
            for k in range(wealth.shape[2]):
                found = factor * wealth[past, s, k] + more
                wealth[past, s, k] = found if found > _LOST else 0.0


@inlined
def _release(bets: _Bets) -> None:
    """Begin an instant: divide what is released of the stake among the bets."""
    facts = bets.facts
    if facts[_INSTANTS] % _RELEASED_EVERY == 0.0:
        held = _HELD_BACK / math.log2(facts[_INSTANTS] / _RELEASED_EVERY + 2.0)
        share = (facts[_RESERVE] - held) * math.exp(-facts[_SCALE]) / bets.wealth.size
        facts[_RESERVE] = held
        _rescale(bets.wealth, 1.0, share)
    facts[_INSTANTS] += 1.0


@inlined
def _bet(
    within: float, floor: float, bets: _Bets, wealth: FloatArray, before: FloatArray, arm: int, inverse: float
) -> float:
    """Bet on one row by one past, and return the wealth of all bets.

    Each is multiplied by (1 + c·x)/(1 + c·y), where y bounds the mean of x. With all probabilities known, c = e^λ − 1,
    x = 1{A ∈ S} and y = π(S), or its bound; otherwise c = q, x = 1{A ∈ S}/(|S|·ρ) − 1 and y = w.
    """
    won, n_sets, n_tilts, n_arms = 0.0, wealth.shape[0], bets.sizes.size, bets.pi.size
    for s in range(n_sets):
        p, size, hit, below, above = 0.0, 0.0, 0.0, 0.0, 0.0
        if s < n_sets - 1:
            if before[s] != _NO_ARM:
                a = int(before[s])
                p, size, hit, below, above = (
                    bets.pi[a],
                    1.0,
                    1.0 if a == arm else 0.0,
                    bets.slack[BELOW, a],
                    bets.slack[ABOVE, a],
                )
        else:
            for a in range(n_arms):
                if before[LAGS + a] > BEHIND:
                    p += bets.pi[a]
                    size += 1.0
                    hit += 1.0 if a == arm else 0.0
                    below += bets.slack[BELOW, a]
                    above += bets.slack[ABOVE, a]
        if floor == 0.0:
            below = above = within * min(p, 1.0 - p)
        towards, away = hit, hit
        most, least = min(p + above, 1.0), max(p - below, 0.0)
        if inverse > 0.0:
            most, least = within, within
            if 0.0 < size < n_arms:
                towards, away = inverse * hit / size - 1.0, inverse * (1.0 - hit) / (n_arms - size) - 1.0
            else:  # no bet
                towards, away = within, within
        for k in range(n_tilts):
            x, y = (towards, most) if k < _TOWARDS else (away, least)
            wealth[s, k] *= (1.0 + bets.sizes[k] * x) / (1.0 + bets.sizes[k] * y)
            won += wealth[s, k]
    return won


@inlined
def _remember(bets: _Bets, now: FloatArray, arm: int, inverse: float) -> None:
    """Add a row to a past."""
    for s in range(LAGS - 1, 0, -1):
        now[s] = now[s - 1]
    now[0] = arm
    for a in range(bets.pi.size):
        now[LAGS + a] += 1.0 if inverse > 0.0 else bets.pi[a]
    now[LAGS + arm] -= inverse if inverse > 0.0 else 1.0


class SerialMixture(EProcess):
    """The test whether pulls depend on earlier ones, where the probabilities of all arms are known.

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
        shape = (1 if n_groups is None else 2, _SETS, TILTS.size)
        width = LAGS + self.n_arms
        empty = np.zeros(0), np.zeros((0, width)), np.zeros((0, width))
        self._bets = _Bets(
            np.zeros(shape),
            np.array([0.0, 1.0, 0.0]),
            *empty,
            self._sizes(),
            np.zeros(self.n_arms),
            np.zeros((2, self.n_arms)),
        )
        self._make_space(_FIRST_SPACE if n_groups is None else max(_FIRST_SPACE, n_groups + 1))

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "within", "floor", "n_groups")

    def _sizes(self) -> FloatArray:
        return np.expm1(TILTS)

    @property
    def strongest(self) -> SerialBet:
        """The bet that has won most."""
        past, s, k = (int(i) for i in np.unravel_index(self._bets.wealth.argmax(), self._bets.wealth.shape))
        return SerialBet(past == 1, (s + 1) % _SETS, k < _TOWARDS, float(self._bets.sizes[k]))

    def extend_grouped(self, arms: IntArray, log_pi: FloatArray, groups: IntArray, begins: BoolArray) -> FloatArray:
        """Test pulls of these groups, without checking them again, and return log E after each."""
        log_e = self._bet(arms, log_pi, groups, begins)
        self._count_rows(begins, log_e)
        return log_e

    def _bet(self, arms: IntArray, log_pi: FloatArray, groups: IntArray, begins: BoolArray) -> FloatArray:
        if self.n_groups is not None:
            self.n_groups = max(self.n_groups, int(groups.max(initial=-1)) + 1)
            if self.n_groups >= self._bets.stamps.size:
                self._make_space(2 * self.n_groups)
        log_e = np.empty(arms.size)
        table = log_pi if log_pi.ndim == 2 else log_pi[:, np.newaxis]
        _bet_rows(self.within, self.floor, self._bets, groups, arms, table, begins, log_e)
        return log_e

    def _extend(self, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
        log_e[:] = self._bet(arms, log_pi, np.zeros(arms.size, dtype=np.int64), begins)

    def _arrays(self) -> dict[str, Any]:
        pasts = slice((self.n_groups or 0) + 1)
        kept = {name: getattr(self._bets, name)[pasts] for name in ("stamps", "before", "now")}
        return {"wealth": self._bets.wealth, "facts": self._bets.facts, **kept}

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


class PropensitySerialMixture(SerialMixture):
    """The same where only the probability of the pulled arm was logged: rows of `log_pi` are single numbers."""

    NEEDS_ALL_ARMS: ClassVar[bool] = False

    def _sizes(self) -> FloatArray:
        return _MIXED_IN
