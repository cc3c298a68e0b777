r"""The bet of `serial` where only the probability of the pulled arm was logged: weaker, but valid.

The null says E[1{A = b}/ρ] ≤ 1 for every arm b, so for 0 < q < 1

    1 + q·(1{A ∈ S}/(|S|·ρ) − 1)

has mean at most 1. Away from S it bets on the other K − |S| arms. An arm is then behind if Σ 1{A = a}/ρ is below the
number of rows. 1/ρ counts as 1e100 at most, so that E stays finite. Where each probability may lie within a share w of
the one logged (`within`), a bet is divided by 1 + q·w.
"""

import math
from typing import Any, ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.serial import (
    LAGS,
    SETS,
    TOWARDS,
    SerialBets,
    SerialMixture,
    recall_past,
    release_reserve,
    settle_bets,
    shift_lags,
)
from feint.evidence.serial_bet import BEHIND, LARGEST_INVERSE
from feint.numerics._jit import inlined, kernel

_MIXED_IN = np.array([0.03, 0.15, 0.6] * 2)  # q


@kernel
def _bet_rows(
    within: float,
    bets: SerialBets,
    groups: IntArray,
    arms: IntArray,
    log_propensity: FloatArray,
    begins: BoolArray,
    e: FloatArray,
    units: FloatArray,
) -> None:
    """Bet on each row, and write E in the unit exp(units)."""
    for i in range(arms.size):
        if begins[i]:
            release_reserve(bets)
        inverse, won = min(math.exp(-log_propensity[i]), LARGEST_INVERSE), 0.0
        for first in range(0, bets.wealth.shape[0], SETS):
            g = groups[i] + 1 if first > 0 else 0
            recall_past(bets, g)
            for s in range(SETS):
                won += _multiply_set(within, bets, bets.wealth[first + s], bets.before[g], s, arms[i], inverse)
            now = bets.now[g]
            shift_lags(now, arms[i])
            for a in range(LAGS, now.size):
                now[a] += 1.0
            now[LAGS + arms[i]] -= inverse
        e[i], units[i] = settle_bets(bets, won)


@inlined
def _multiply_set(
    within: float, bets: SerialBets, wealth: FloatArray, before: FloatArray, s: int, arm: int, inverse: float
) -> float:
    """Multiply the wealth of the bets on a set by (1 + q·x)/(1 + q·w), and return the sum."""
    n_arms, size, hit = before.size - LAGS, 0, 0
    if s < LAGS:
        size, hit = (0, 0) if before[s] < 0.0 else (1, 1 if before[s] == arm else 0)
    else:
        for a in range(n_arms):
            size += 1 if before[LAGS + a] > BEHIND else 0
        hit = 1 if before[LAGS + arm] > BEHIND else 0
    towards, away, won = within, within, 0.0  # no bet
    if 0 < size < n_arms:
        towards, away = inverse * hit / size - 1.0, inverse * (1 - hit) / (n_arms - size) - 1.0
    for k in range(wealth.size):
        x = towards if k < TOWARDS else away
        wealth[k] *= (1.0 + bets.sizes[k] * x) / (1.0 + bets.sizes[k] * within)
        won += wealth[k]
    return won


class PropensitySerialMixture(SerialMixture):
    """The test of whether pulls depend on earlier ones, where only the probability of the pulled arm was logged: rows
    of `log_pi` are single numbers.
    """

    NEEDS_ALL_ARMS: ClassVar[bool] = False

    def _sizes(self) -> FloatArray:
        return _MIXED_IN

    def _prepare(self, log_pi: FloatArray) -> FloatArray:
        return log_pi

    def _bet(
        self, groups: IntArray, arms: IntArray, claimed: Any, begins: BoolArray, e: FloatArray, units: FloatArray
    ) -> None:
        _bet_rows(self.within, self._bets, groups, arms, claimed, begins, e, units)
