"""One bet of `serial`: what it is on, in words, and what it won row by row."""

from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray

BEHIND = 1e-9  # pulls by which an arm is behind: less is rounding
LARGEST_INVERSE = 1e100  # 1/ρ counts as this at most


class SerialBet(NamedTuple):
    """A bet on one sequence of sets: lag 0 stands for the arms behind, `size` for e^λ − 1 or q."""

    in_groups: bool
    lag: int
    towards: bool
    size: float

    def words(self) -> str:
        """Return, in words, what happened if this bet wins."""
        often = "more often" if self.towards else "more rarely"
        group = " of the same group" if self.in_groups else ""
        if self.lag == 0:
            within = " within their groups" if self.in_groups else ""
            return f"arms that had been pulled less often than expected{within} were pulled {often} than claimed"
        row = "the row before" if self.lag == 1 else f"{self.lag} rows before"
        return f"the arm of {row}{group} was pulled again {often} than claimed"

    def log_ratios(self, arms: IntArray, log_pi: FloatArray, groups: IntArray, begins: BoolArray) -> FloatArray:
        """Return the log of what each row multiplies the bet by, (n,), if these are the first rows of a log with all
        probabilities (n, K). `within` is left out.
        """
        pulled, pi = np.arange(log_pi.shape[1]) == arms[:, np.newaxis], np.exp(log_pi)
        chosen = _chosen(self, arms, pi - pulled, groups, begins)
        hit, expected = (chosen & pulled).any(axis=1), (pi * chosen).sum(axis=1)
        return np.asarray(np.log1p(self.size * hit) - np.log1p(self.size * expected))

    def propensity_log_ratios(
        self, n_arms: int, arms: IntArray, log_propensity: FloatArray, groups: IntArray, begins: BoolArray
    ) -> FloatArray:
        """Return the same where only the probability of the pulled arm is known, (n,)."""
        pulled, inverse = np.arange(n_arms) == arms[:, np.newaxis], np.minimum(np.exp(-log_propensity), LARGEST_INVERSE)
        chosen = _chosen(self, arms, 1.0 - pulled * inverse[:, np.newaxis], groups, begins)
        hit, size = (chosen & pulled).any(axis=1), chosen.sum(axis=1)
        on = np.maximum(size if self.towards else n_arms - size, 1)
        won = np.log1p(self.size * (inverse * (hit == self.towards) / on - 1.0))
        return np.where((size > 0) & (size < n_arms), won, 0.0)


def _chosen(bet: SerialBet, arms: IntArray, behind: FloatArray, groups: IntArray, begins: BoolArray) -> BoolArray:
    """Return the sets (n, K) of a bet, fixed before each instant by the rows of the same past."""
    order, past_start, instant_start = order_pasts(groups if bet.in_groups else np.zeros_like(groups), begins)
    if bet.lag:
        source = instant_start - bet.lag
        known = source >= past_start
        found = known[:, np.newaxis] & (np.arange(behind.shape[1]) == arms[order][source][:, np.newaxis])
    else:
        total = np.concatenate([np.zeros((1, behind.shape[1])), np.cumsum(behind[order], axis=0)])
        found = total[instant_start] - total[past_start] > BEHIND
    chosen = np.empty_like(found)
    chosen[order] = found
    return chosen


def order_pasts(pasts: IntArray, begins: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return (order, first place of its past, first place of its instant in it) of rows of several pasts, (n,) each.

    `order` puts the rows of a past next to each other; the places are those of the rows in this order.
    """
    order = np.argsort(pasts, kind="stable")
    places = np.arange(pasts.size)
    starts = np.diff(pasts[order], prepend=-1) != 0
    past_start = np.maximum.accumulate(np.where(starts, places, 0))
    changes = starts | (np.diff(np.cumsum(begins)[order], prepend=0) != 0)
    return order, past_start, np.maximum.accumulate(np.where(changes, places, 0))
