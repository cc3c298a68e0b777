"""The bet of `boost_mixture` on one pull, for kernels that follow an agent: the observer and the engine. It has no
slack.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.evidence.boost_mixture import LEAST_RATIO, MOST_PAIRED, boosted_at, kept_table, place_of
from feint.evidence.fixed_share import REFUTED, Experts, begin_instant, read_log_e, settle_size
from feint.numerics._jit import part
from feint.numerics.normal import log_positive

_PLACE, _REST, _RATIO = 0, 1, 2  # rows of the scratch space


class Bets(NamedTuple):
    """The experts, the table of q*, and scratch space."""

    experts: Experts
    table: FloatArray
    arms: FloatArray  # (3, K) see above


def bets_of(experts: Experts) -> Bets:
    """Return the bets of these experts."""
    table = kept_table(tuple(experts.sizes)).copy()
    return Bets(experts, table, np.empty((3, experts.counts.size)))


@part
def bet(bets: Bets, log_pi: FloatArray, arm: int) -> float:
    """Test one pull, an instant by itself, and return log E; `log_pi` (K,) was claimed before the pull."""
    e, arms = bets.experts, bets.arms
    begin_instant(e)
    inverse = 0.0
    for b in range(log_pi.size):
        arms[_PLACE, b] = place_of(log_pi[b])
        arms[_REST, b] = -math.expm1(log_pi[b])
        inverse += 1.0 / (1.0 + e.counts[b])
    for j in range(e.sizes.size):
        gain = math.log(boosted_at(bets.table, arms[_PLACE, arm], j)[0]) - log_pi[arm]
        unit = math.exp(-gain)
        total, all_arms, m = 0.0, 0.0, log_pi.size
        for b in range(log_pi.size):
            ratio, alone = 1.0, gain  # relative to the pulled arm's
            if b != arm:
                others = boosted_at(bets.table, arms[_PLACE, b], j)[1]
                ratio = others / arms[_REST, b] if others > 0.0 and arms[_REST, b] > 0.0 else 0.0
                alone = log_positive(ratio) if ratio > LEAST_RATIO else REFUTED
                ratio *= unit
            arms[_RATIO, b] = ratio
            e.alone[j, b] += alone
            all_arms += ratio / (1.0 + e.counts[b])
            e.weights[j, b] *= ratio
            total += e.weights[j, b]
            if log_pi.size <= MOST_PAIRED:
                for c in range(b):
                    share = (1.0 + e.counts[c]) / (2.0 + e.counts[b] + e.counts[c])
                    e.weights[j, m] *= share * ratio + (1.0 - share) * arms[_RATIO, c]
                    total += e.weights[j, m]
                    m += 1
        e.weights[j, m] *= all_arms / inverse
        settle_size(e, j, total + e.weights[j, m], gain)
    e.counts[arm] += 1.0
    return read_log_e(e)
