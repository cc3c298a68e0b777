r"""The observer's test over a leap: what `boost_mixture.bet` does pull by pull, for many pulls at the same π.

An expert with likelihood ratios r(a) gains Σ_a n_a·log r(a) from n_a pulls of every arm. The weights follow Bayes' rule
and are shared anew at every pull. A leap does that in strides of at most `_MEMORY` of the share's memory, 1/η pulls. In
which stride a rare pull falls is drawn at random, since the test lives on pulls in a row. A leap of one pull is `bet`.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.evidence.boost_mixture import EPSILONS, boost_experts, boosted_at, kept_table, place_of
from feint.evidence.fixed_share import held_back
from feint.numerics._jit import inlined, kernel, part
from feint.numerics.normal import exp_nonpositive, log_positive
from feint.numerics.streams import Word, philox, uniform
from feint.planning.path_draws import WordArray

_MEMORY = 0.2  # the longest stride, in units of 1/η
_MOST = 32  # strides: in a leap longer than 1,000 pulls each pull tells next to nothing
_CROWD = 40.0  # pulls per stride: from there on, all strides have about as many
_DEEPEST = 700.0  # the largest −log π, so that 1/π is a float64
_NOT_POSSIBLE = 1e-300  # an expert for whom a pull was impossible is as good as refuted
_NOTHING = -700.0  # log I_j at the start: stands for I_j = 0, and is finite
_SPLIT, _BRIDGE = np.uint64(1), np.uint64(2)  # what a random word is for
_ZERO = np.uint64(0)


class Rules(NamedTuple):
    """The rules of the test, and space for one leap of one path."""

    table: FloatArray  # of q*
    stakes: FloatArray  # (J,)
    prior: FloatArray  # (M,)
    share: float  # η
    threshold: float  # log(1/α)
    logs: FloatArray  # (J, K, M) log r; experts come last, so that loops over them vectorise
    shares: FloatArray  # (K, M) of the experts
    ratios: FloatArray  # (2, K) r_b(b) − r_b(another arm), and r_b(another arm)
    pulls: FloatArray  # (K, _MOST) in each stride
    gains: FloatArray  # (M,) scratch


class Bettors(NamedTuple):
    """The observers of all paths."""

    pulls: FloatArray  # (R,) tested
    counts: FloatArray  # (R, K)
    log_invested: FloatArray  # (R, J) log I_j
    weights: FloatArray  # (R, J, M)

    def keep(self, rows: FloatArray) -> "Bettors":
        """Return the observers of these paths only."""
        return Bettors(*(found[rows] for found in self))


class SeenLeap(NamedTuple):
    """A leap of every path, as its observers see it."""

    log_pi: FloatArray  # (K, R)
    counts: FloatArray  # (K, R)
    steps: FloatArray  # (R,)
    variance: FloatArray  # (R,) of the evidence in one pull
    excess: FloatArray  # (R,) by which a pull passes a bar on average
    key: WordArray  # (R,)


def rules(n_arms: int, threshold: float) -> Rules:
    """Return the rules of feint's `Observer`."""
    e = boost_experts(n_arms, np.array(EPSILONS))
    n_experts = e.prior.size
    shapes = (e.stakes.size, n_arms, n_experts), (n_arms, n_experts), (2, n_arms), (n_arms, _MOST), (n_experts,)
    table = kept_table(EPSILONS).copy()
    return Rules(table, e.stakes, e.prior, e.share, threshold, *(np.empty(shape) for shape in shapes))


def bettors(rules: Rules, n_arms: int, n_paths: int) -> Bettors:
    """Return observers that have seen nothing yet."""
    shape = n_paths, rules.stakes.size
    weights = np.broadcast_to(rules.prior, (*shape, rules.prior.size)).copy()
    return Bettors(np.zeros(n_paths), np.zeros((n_paths, n_arms)), np.full(shape, _NOTHING), weights)


@kernel
def bet_leaps(
    rules: Rules, bettors: Bettors, seen: SeenLeap, leap: int, before: FloatArray, after: FloatArray, parts: FloatArray
) -> None:
    """Test a leap of every path. From log E `before` it, fill log E `after` it, (R,), and in `parts` the fraction of
    the leap at which the test first reached its threshold (NaN if it has not).
    """
    for i in range(after.size):
        strides = min(_MOST, max(1, math.ceil(seen.steps[i] * rules.share / _MEMORY)))
        length = seen.steps[i] / strides
        kept = math.exp(length * math.log1p(-rules.share))
        _set_logs(rules, bettors.counts[i], seen.log_pi[:, i])
        _split_leap(rules.pulls, seen.counts[:, i], length, np.uint64(leap), seen.key[i], strides)
        raised = rules.threshold + seen.excess[i]
        log_e, parts[i] = before[i], math.nan
        for stride in range(strides):
            last = log_e
            held = held_back(bettors.pulls[i])
            bettors.pulls[i] += length
            left = held_back(bettors.pulls[i])
            log_e = _bet_stride(rules, bettors.log_invested[i], bettors.weights[i], stride, kept, left, held - left)
            if math.isnan(parts[i]):
                found = log_e >= rules.threshold
                w0, w1, _, _ = philox(np.uint64(leap), np.uint64(stride), _ZERO, _BRIDGE, seen.key[i], _ZERO)
                if not found and length > 1.0:
                    bridge = 2.0 * (raised - last) * (raised - log_e)
                    found = uniform(w0) * math.exp(min(_DEEPEST, bridge / (seen.variance[i] * length + 1e-300))) < 1.0
                if found:
                    parts[i] = (stride + (uniform(w1) if length > 1.0 else 1.0)) / strides
        for a in range(seen.counts.shape[0]):
            bettors.counts[i, a] += seen.counts[a, i]
        after[i] = log_e


@part
def _bet_stride(
    rules: Rules, log_invested: FloatArray, weights: FloatArray, stride: int, kept: float, held: float, released: float
) -> float:
    """Test one stride and return log E; `held` is still held back, and `released` is invested now."""
    n_arms, n_experts, gains = rules.pulls.shape[0], rules.prior.size, rules.gains
    log_released, highest, wealth = math.log(released), math.log(held), 1.0
    for j in range(rules.stakes.size):
        for m in range(n_experts):
            gains[m] = 0.0
        for a in range(n_arms):
            for m in range(n_experts):
                gains[m] += rules.pulls[a, stride] * rules.logs[j, a, m]
        top = -math.inf
        for m in range(n_experts):
            top = max(top, gains[m])
        for m in range(n_experts):
            weights[j, m] *= exp_nonpositive(gains[m] - top)
        total = 0.0
        for m in range(n_experts):
            total += weights[j, m]
        for m in range(n_experts):
            weights[j, m] = kept * weights[j, m] / total + (1.0 - kept) * rules.prior[m]
        invested = _log_sum(log_invested[j], log_released + math.log(rules.stakes[j])) + math.log(total) + top
        log_invested[j] = invested
        if invested > highest:
            wealth = wealth * math.exp(highest - invested) + 1.0
            highest = invested
        else:
            wealth += math.exp(invested - highest)
    return highest + math.log(wealth)


@inlined
def _log_sum(x: float, y: float) -> float:
    """Return log(e^x + e^y)."""
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@part
def _split_leap(pulls: FloatArray, counts: FloatArray, length: float, leap: Word, key: Word, strides: int) -> None:
    """Split the pulls of a leap into strides; the most pulled arm fills what the others leave."""
    n = counts.size
    most = 0
    for a in range(1, n):
        if counts[a] > counts[most]:
            most = a
    for s in range(strides):
        pulls[most, s] = length
    for a in range(n):
        if a != most:
            count = counts[a]
            spread = strides == 1 or count > _CROWD * strides
            for s in range(strides):
                pulls[a, s] = count / strides if spread else 0.0
            if not spread:
                for k in range(int(count)):
                    w0, _, _, _ = philox(leap, np.uint64(a), np.uint64(k), _SPLIT, key, _ZERO)
                    pulls[a, int(uniform(w0) * strides)] += 1.0
            for s in range(strides):
                pulls[most, s] = max(0.0, pulls[most, s] - pulls[a, s])


@part
def _set_logs(rules: Rules, tested: FloatArray, log_pi: FloatArray) -> None:
    """Compute log r of every expert for every arm: mixtures of r_b with the shares S_b of `boost_mixture`,
    Σ_b S_b·r_b(a) = Σ_b S_b·r_b(another arm) + S_a·(r_a(a) − r_a(another arm)).
    """
    n, n_experts, shares, usual = log_pi.size, rules.prior.size, rules.shares, rules.gains
    inverse = 0.0
    for b in range(n):
        for m in range(n_experts):
            shares[b, m] = 1.0 if m == b else 0.0
        inverse += 1.0 / (1.0 + tested[b])
    m = n
    if n_experts > n + 1:
        for b in range(n):
            for c in range(b):
                shares[b, m] = (1.0 + tested[c]) / (2.0 + tested[b] + tested[c])
                shares[c, m] = 1.0 - shares[b, m]
                m += 1
    for b in range(n):
        shares[b, m] = 1.0 / ((1.0 + tested[b]) * inverse)
    for j in range(rules.stakes.size):
        for m in range(n_experts):
            usual[m] = 0.0
        for b in range(n):
            q, others = boosted_at(rules.table, place_of(log_pi[b]), j)
            rest = -math.expm1(log_pi[b])
            rules.ratios[1, b] = others / rest if rest > 0.0 else 0.0
            rules.ratios[0, b] = q * math.exp(min(_DEEPEST, -log_pi[b])) - rules.ratios[1, b]
            for m in range(n_experts):
                usual[m] += shares[b, m] * rules.ratios[1, b]
        for a in range(n):
            for m in range(n_experts):
                ratio = usual[m] + shares[a, m] * rules.ratios[0, a]
                rules.logs[j, a, m] = log_positive(max(_NOT_POSSIBLE, ratio))
