r"""The observer's test over a leap: what `boost_mixture.bet` does pull by pull, for many pulls at the same π.

An expert with likelihood ratios r(a) gains Σ_a n_a·log r(a) from n_a pulls of every arm. The weights follow Bayes' rule
and are shared anew at every pull; over a leap that is done in strides of at most `_MEMORY` of the share's memory, 1/η
pulls, with the same part of the counts in each. A leap of one pull is `bet`.
"""

import math

from feint.evidence.boost_mixture import Bets, boosted_at, place_of
from feint.evidence.fixed_share import held_back
from feint.numerics._jit import inlined, sealed
from feint.numerics._validate import FloatArray

_MEMORY = 0.2  # of 1/η: the longest stride
_MOST = 64.0  # strides: a leap longer than 2,000 pulls has next to nothing to tell in each


@sealed
def bet_leap(bets: Bets, log_pi: FloatArray, counts: FloatArray, gains: FloatArray) -> float:
    """Test the pulls of a leap, `counts` (K,), at log π; returns log E. `gains` (J, M) is scratch."""
    e = bets.experts
    n_sizes, n_arms = bets.ratios.shape
    steps = 0.0
    for a in range(n_arms):
        steps += counts[a]
    for j in range(n_sizes):
        _set_gains(bets, log_pi, counts, steps, j, gains)
    strides = min(_MOST, math.ceil(steps * e.share / _MEMORY))
    length = steps / strides
    kept = math.exp(length * math.log1p(-e.share))
    for _ in range(int(strides)):
        before = e.pulls[0]
        e.pulls[0] += length
        released = held_back(before) - held_back(e.pulls[0])
        for j in range(n_sizes):
            top = -math.inf
            for m in range(e.prior.size):
                top = max(top, gains[j, m])
            total = 0.0
            for m in range(e.prior.size):
                e.weights[j, m] *= math.exp((gains[j, m] - top) / strides)
                total += e.weights[j, m]
            invested = math.exp(e.log_e[j]) + released * e.stakes[j]
            e.log_e[j] = math.log(invested) + math.log(total) + top / strides
            for m in range(e.prior.size):
                e.weights[j, m] = kept * e.weights[j, m] / total + (1.0 - kept) * e.prior[m]
    for a in range(n_arms):
        e.counts[a] += counts[a]
    wealth = held_back(e.pulls[0])
    for j in range(n_sizes):
        wealth += math.exp(e.log_e[j])
    return math.log(wealth)


@inlined
def _lead(q: float, others: float, log_p: float) -> tuple[float, float]:
    """r_b(b) and r_b of any other arm."""
    rest = -math.expm1(log_p)
    return q * math.exp(-log_p), others / rest if rest > 0.0 else 0.0


@sealed
def _set_gains(bets: Bets, log_pi: FloatArray, counts: FloatArray, steps: float, j: int, gains: FloatArray) -> None:
    """Σ_a n_a·log r(a) of every expert of size j."""
    e, n = bets.experts, counts.size
    m, inverse, all_arms = n, 0.0, 0.0
    for b in range(n):
        q, others = boosted_at(bets.table, place_of(log_pi[b]), j)
        own, other = _lead(q, others, log_pi[b])
        bets.ratios[j, b] = other
        e.alone[j, b] = own  # scratch: nobody asks which arm is likeliest
        inverse += 1.0 / (1.0 + e.counts[b])
        all_arms += other / (1.0 + e.counts[b])
        gains[j, b] = _times(counts[b], own) + _times(steps - counts[b], other)
    if e.prior.size > n + 1:
        for i in range(n):
            for k in range(i):
                share = (1.0 + e.counts[k]) / (2.0 + e.counts[i] + e.counts[k])
                first, second = bets.ratios[j, i], bets.ratios[j, k]
                gains[j, m] = (
                    _times(counts[i], share * e.alone[j, i] + (1.0 - share) * second)
                    + _times(counts[k], share * first + (1.0 - share) * e.alone[j, k])
                    + _times(steps - counts[i] - counts[k], share * first + (1.0 - share) * second)
                )
                m += 1
    gains[j, m] = 0.0
    for a in range(n):
        extra = (e.alone[j, a] - bets.ratios[j, a]) / (1.0 + e.counts[a])
        gains[j, m] += _times(counts[a], (all_arms + extra) / inverse)


@inlined
def _times(count: float, ratio: float) -> float:
    """Count·log ratio; an expert that called a pull impossible is as good as refuted."""
    return count * math.log(max(ratio, 1e-300)) if count > 0.0 else 0.0
