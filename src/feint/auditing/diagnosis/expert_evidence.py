"""What one expert won on a log, row by row.

An expert claims q_t instead of π_t, and its row is ℓ_t = log q_t(A_t)/π_t(A_t). It may have been right on the whole
log, from some row on, or between two rows; with weights ½, ¼ and ¼, and all rows equally likely, its evidence is

    ½·exp(S_n) + ¼·mean_s exp(S_n − S_s) + ¼·mean_{s<e} exp(S_e − S_s),        S_t = Σ_{i≤t} ℓ_i,

in one pass: on_t = (on_{t−1} + 1)·exp(ℓ_t) is the sum over all starts of what was won until t.
"""

import math
from functools import lru_cache

import numpy as np

from feint._types import FloatArray, IntArray
from feint.evidence.boost_mixture import nearly_boosted
from feint.numerics._jit import kernel

KEPT = 1e-4  # of π_t, mixed into a boost: where it is sure, an ε a little too large would be refuted by one pull
LIMIT = 100.0  # of |ℓ|: a row that is e¹⁰⁰ times likelier decides, and a row that refutes leaves room for others
EVIDENCE, TOTAL, FIRST, LAST, WON, LOWEST, AFTER = range(7)
N_FACTS = 7
_LARGE = 1e200
_LEAST = 1e-300
_LOG_LARGE = math.log(_LARGE)
_POINTS = 4_000
_NEAREST, _FARTHEST = 1e-6, 1.5e3  # distances of log-odds from those at which the boost is sure
_LOG_NEAREST = math.log(_NEAREST)
_STEP = (math.log(_FARTHEST) - _LOG_NEAREST) / (_POINTS - 1)


@kernel
def score(log_ratios: FloatArray, facts: FloatArray) -> None:
    """Fill `facts`: log evidence, S_n, the best stretch (first row, last row, what it won), and of the stretches that
    reach to the end, what was lost before the best one and where it starts.
    """
    n = log_ratios.size
    total, lowest, lowest_at = 0.0, 0.0, 0
    best, first, last = 0.0, 0, n - 1
    one, on, done, scale = 1.0, 0.0, 0.0, 0.0
    for t in range(n):
        gain = log_ratios[t]
        gain = LIMIT if gain > LIMIT else -LIMIT if gain < -LIMIT else gain
        on = (on + one) * math.exp(gain)
        done += on
        if done > _LARGE:
            one, on, done, scale = one / _LARGE, on / _LARGE, done / _LARGE, scale + _LOG_LARGE
        total += gain
        if total < lowest:
            lowest, lowest_at = total, t + 1
        if total - lowest > best:
            best, first, last = total - lowest, lowest_at, t
    # ¼·mean over starts + ¼·mean over stretches, relative to exp(scale).
    parts = 0.25 * on / n + 0.25 * done / (0.5 * n * (n + 1.0))
    log_parts = scale + math.log(parts) if parts > 0.0 else -math.inf
    whole = total - math.log(2.0)
    high = whole if whole > log_parts else log_parts
    facts[EVIDENCE] = high + math.log(math.exp(whole - high) + math.exp(log_parts - high))
    facts[TOTAL], facts[FIRST], facts[LAST], facts[WON] = total, first, last, best
    facts[LOWEST], facts[AFTER] = lowest, lowest_at


def tilted(p: FloatArray, chosen: FloatArray, tilt: float) -> FloatArray:
    """Return ℓ of an expert who multiplies the odds of an event of probability p by e^tilt; `chosen`: 1 if it came."""
    return np.asarray(tilt * chosen - np.log1p(p * math.expm1(tilt)))


def mixed(log_ratios: FloatArray, weight: float) -> FloatArray:
    """Return ℓ of (1 − weight)·π + weight·q, from that of q."""
    return np.asarray(np.logaddexp(math.log1p(-weight), math.log(weight) + log_ratios))


class Boosts:
    """ℓ of (1 − KEPT)·q + KEPT·π with q of Definition 1 for one budget.

    It is read from a table over log-odds: exact to 2e-4, and ten times as fast as the boost.
    """

    def __init__(self, epsilon: float) -> None:
        self._edge = -math.log(math.expm1(epsilon))  # log-odds of p = e^−ε, from which on q = 1
        odds = self._edge - np.geomspace(_NEAREST, _FARTHEST, _POINTS)
        log_p, log_rest = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
        q = nearly_boosted(log_p, epsilon)
        with np.errstate(divide="ignore"):
            log_ratios = np.array([np.log(q) - log_p, np.log1p(-q) - log_rest])
        self._table = mixed(log_ratios, 1.0 - KEPT)

    def __call__(self, odds: FloatArray, chosen: FloatArray) -> FloatArray:
        """Return ℓ for the arm of these log-odds; `chosen` is 1 where it was pulled."""
        missed = np.where(chosen > 0.0, 0, 1)
        distance = self._edge - odds
        place = np.clip((np.log(np.maximum(distance, _NEAREST)) - _LOG_NEAREST) / _STEP, 0.0, _POINTS - 1.001)
        k = place.astype(np.int64)
        below = self._table[missed, k]
        ratios = below + (place - k) * (self._table[missed, k + 1] - below)
        sure = distance < _NEAREST  # q = 1
        ratios[sure] = np.where(missed[sure] == 0, np.log1p((1.0 - KEPT) * np.exp(-odds[sure])), math.log(KEPT))
        return np.asarray(ratios)


boosts_of = lru_cache(Boosts)  # the same few budgets are asked for by every sort of expert


def powered(arms: IntArray, log_pi: FloatArray, power: float | FloatArray) -> FloatArray:
    """Return ℓ of q ∝ π^power; the power may differ from row to row, (n,)."""
    high = log_pi.max(axis=1)
    total = np.zeros(arms.size)
    for column in log_pi.T:  # one by one: no copy of the whole log
        total += np.exp(power * (column - high))
    pulled = log_pi[np.arange(arms.size), arms]
    return np.asarray((power - 1.0) * (pulled - high) - high - np.log(total))


def top_two(log_pi: FloatArray, beta: float) -> FloatArray:
    """Return log π (n, K) of `TopTwoThompson` from the logarithms of the probabilities of being the best, log p.

    π_a = p_a·(β + (1 − β)·Σ_{b≠a} p_b/(1 − p_b)); the odds of the likeliest arm are kept apart, since rounding would
    lose the others beside them.
    """
    each, leader = np.arange(len(log_pi)), log_pi.argmax(axis=1)
    odds = np.exp(log_pi) / np.maximum(-np.expm1(log_pi), _LEAST)
    leading = odds[each, leader]
    odds[each, leader] = 0.0
    others = odds.sum(axis=1)
    rest = (others + leading)[:, np.newaxis] - odds
    rest[each, leader] = others
    found = log_pi + np.log(beta + (1.0 - beta) * rest)
    return np.asarray(found - np.logaddexp.reduce(found, axis=1)[:, np.newaxis])
