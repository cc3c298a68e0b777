"""Experts on the order of the pulls: repeats, alternation, balance, a burn-in, and rows that were sorted."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.diagnosis.expert_evidence import mixed, tilted
from feint.auditing.diagnosis.experts import KEPT_OF_CLAIM, MIXED, TILTS, ExpertFamily, Setting, share_text
from feint.auditing.diagnosis.pulls import Pulls
from feint.evidence.serial_bet import BEHIND, order_pasts

REPEATS, ALTERNATION, BALANCE, BURN_IN, SORTED = "repeats", "alternation", "balance", "burn-in", "sorted"
COIN = "coin"  # a setting: the probability of the arm behind
_EVEN = 1e-6  # distance of a probability from ½
_LAGS = 4


class Before(NamedTuple):
    """Which earlier row an expert looks at."""

    lag: int
    in_groups: bool


def _pasts(log: Pulls, in_groups: bool) -> tuple[IntArray, IntArray, IntArray]:
    groups = log.past.groups if in_groups else np.zeros_like(log.past.groups)
    return order_pasts(groups, log.past.begins)


def _of_groups(log: Pulls) -> tuple[bool, ...]:
    """Return whether to look at the whole log's past, and at each group's own."""
    return (False, True) if log.past.groups.size and np.ptp(log.past.groups) > 0 else (False,)


class Repeats(ExpertFamily[Before]):
    """With probability λ the arm of an earlier row is pulled again: q = (1 − λ)·π + λ·1{a = A_{t−lag}}.

    Rows of one instant look at the rows above it: their order need not be that of the draws.
    """

    SIZES, LARGEST = MIXED, 0.999

    def __init__(self, kind: str, log: Pulls) -> None:
        super().__init__(kind, log)
        # With two arms, an agent that alternates also repeats the row before the last; only lag 1 tells the two apart.
        lags = range(1, _LAGS + 1) if len(log.names) > 2 and kind == REPEATS else (1,)
        self._labels = [Before(lag, in_groups) for in_groups in _of_groups(log) for lag in lags]
        self._found = {label: self._look_back(label) for label in self._labels}

    def _look_back(self, label: Before) -> tuple[BoolArray, IntArray]:
        """Return which rows have such an earlier row, and its arm."""
        order, past_start, instant_start = _pasts(self.log, label.in_groups)
        source = instant_start - label.lag
        known, arm = np.empty(order.size, dtype=bool), np.empty_like(order)
        known[order] = source >= past_start
        arm[order] = self.log.arms[order][np.maximum(source, 0)]
        return known, arm

    def labels(self) -> Sequence[Before]:
        """Return the earlier rows."""
        return self._labels

    def log_ratios(self, label: Before, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        known, arm = self._found[label]
        ratios = mixed(np.where(arm == self.log.arms, -self.log.pulled, -math.inf), size)
        return np.where(known, ratios, 0.0)

    def words(self, label: Before, size: float) -> str:
        """Return a description of the departure."""
        row = "the row before" if label.lag == 1 else f"the arm {label.lag} rows before"
        return f"{share_text(size)} of the pulls repeat {row}" + " in the same group" * label.in_groups


class Avoids(Repeats):
    """The odds of the arm of the row before are e^−λ times those claimed."""

    SIZES, LARGEST = TILTS, math.inf

    def log_ratios(self, label: Before, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        known, arm = self._found[label]
        p = np.exp(self.log.log_pi[np.arange(arm.size), arm])
        return np.where(known, tilted(p, (arm == self.log.arms).astype(np.float64), -size), 0.0)

    def words(self, label: Before, size: float) -> str:
        """Return a description of the departure."""
        return "pulls avoid the arm of the row before" + " in the same group" * label.in_groups


class Behind(ExpertFamily[bool]):
    """The odds of the arms that were pulled less often than expected so far are e^λ times those claimed.

    With two even arms, this is Efron's biased coin.
    """

    SIZES = TILTS

    def __init__(self, kind: str, log: Pulls) -> None:
        super().__init__(kind, log)
        self._found = {in_groups: self._look_back(in_groups) for in_groups in _of_groups(log)}
        self._coin = len(log.names) == 2 and bool((abs(log.p(0) - 0.5) <= _EVEN).all())

    def _look_back(self, in_groups: bool) -> tuple[FloatArray, FloatArray]:
        """Return the probability that an arm behind is pulled, and whether one was."""
        order, past_start, instant_start = _pasts(self.log, in_groups)
        expected, hit = np.zeros(order.size), np.zeros(order.size)
        for arm in range(len(self.log.names)):  # one by one: no copy of the whole log
            p, chosen = self.log.p(arm), self.log.chosen(arm)
            total = np.append(0.0, np.cumsum((p - chosen)[order]))
            behind = np.empty(order.size, dtype=bool)
            behind[order] = total[instant_start] - total[past_start] > BEHIND
            expected += p * behind
            hit += chosen * behind
        return np.minimum(expected, 1.0), hit

    def labels(self) -> Sequence[bool]:
        """Return whether the balance is within each group."""
        return tuple(self._found)

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return tilted(*self._found[label], size)

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        within = " within each group" * label
        if self._coin:
            return f"a biased coin with probability {_coin(size):g} for the arm with fewer pulls{within}"
        return f"arms that had been pulled less often than expected are preferred{within}"

    def setting(self, label: bool, size: float) -> Setting | None:
        """Return the coin's probability."""
        return (COIN, _coin(size)) if self._coin else None


def _coin(tilt: float) -> float:
    """Return the probability of the arm behind, with three digits."""
    return float(f"{1.0 / (1.0 + math.exp(-tilt)):.3g}")


class UniformStart(ExpertFamily[bool]):
    """The first N rows of each group are drawn uniformly; all N are equally likely.

    Let S_N be what the first N rows won. With rows in the order of their number within their group, the mean over N
    until row t is M_t = (Σ_{N≤t} exp S_N + (n − t)·exp S_t)/n, and ℓ_t = log M_t/M_{t−1}.
    """

    def __init__(self, kind: str, log: Pulls) -> None:
        super().__init__(kind, log)
        n = log.arms.size
        order = np.argsort(log.past.numbers, kind="stable")
        won = np.cumsum((log.log_uniform() - log.pulled)[order])
        ended = np.logaddexp.accumulate(won)
        with np.errstate(divide="ignore"):
            mean = np.logaddexp(ended, np.log(n - 1.0 - np.arange(n)) + won) - math.log(n)
        self._ratios = np.empty(n)
        self._ratios[order] = np.diff(mean, prepend=0.0)
        self._rows = int(log.past.numbers[order[int(won.argmax())]]) + 1

    def labels(self) -> Sequence[bool]:
        """Return the only label."""
        return (True,)

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return self._ratios

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        whose = " of each group" if len(_of_groups(self.log)) > 1 else ""
        return f"the first {self._rows:,} rows{whose} drawn uniformly"

    def setting(self, label: bool, size: float) -> Setting:
        """Return the burn-in."""
        return "burn_in", self._rows


class Sorted(ExpertFamily[str]):
    """The rows of each instant were sorted by arm: of m rows, n_a of arm a, every one of m!/∏ n_a! orders of the draws
    looks like this. Orders count as equally likely, as they are where rows of an instant learn nothing from each other.
    """

    def __init__(self, kind: str, log: Pulls) -> None:
        super().__init__(kind, log)
        self._last = np.append(log.past.begins[1:], True)
        self._instants = np.cumsum(log.past.begins) - 1
        _, pairs = np.unique(self._instants * len(log.names) + log.arms, return_inverse=True)
        sizes = np.bincount(pairs)
        first = np.zeros(sizes.size, dtype=np.int64)
        first[pairs] = self._instants
        lengths = np.bincount(self._instants)
        log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, lengths.max(initial=0) + 1))))
        self._orders = log_factorials[lengths] - np.bincount(first, log_factorials[sizes])

    def labels(self) -> Sequence[str]:
        """Return the directions."""
        return ("first to last", "last to first")

    def log_ratios(self, label: str, size: float) -> FloatArray:
        """Return ℓ_t of every row, 0 for all but the last of an instant; see the class."""
        names = self.log.names
        # Labels are sorted as texts, and numbers of arms as numbers.
        numeric = all(name.isdecimal() for name in names)
        order = np.argsort([int(name) for name in names] if numeric else list(names), kind="stable")
        places = np.argsort(order)[self.log.arms]
        steps = np.diff(places if label == "first to last" else -places)
        falls = np.append(False, steps < 0) & ~self.log.past.begins
        wrong = np.bincount(self._instants, falls) > 0
        ratios = np.zeros(self.log.arms.size)
        ratios[self._last] = mixed(np.where(wrong, -math.inf, self._orders), 1.0 - KEPT_OF_CLAIM)
        return np.where(self._last & (self._orders[self._instants] == 0.0), 0.0, ratios)

    def words(self, label: str, size: float) -> str:
        """Return a description of the departure."""
        return f"rows of one time were sorted by arm, {label}"
