"""The bets of `boost_mixture` on many pulls whose claims repeat themselves, as those of a split do.

What the experts of single arms win is computed once per claim and pulled arm. The ratios of the others follow row by
row from the pulls so far. All results are those of `BoostMixture._ratios` with `fixed_share`, to the last bit.
"""

from typing import NamedTuple

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.fixed_share import (
    Experts,
    normalised,
    read_wealth,
    release_stake,
    settle_wealth,
    share_weight,
)
from feint.numerics._jit import inlined, kernel, part


class SingleRatios(NamedTuple):
    """What the experts of single arms win, for the R = m·K combinations of a claim and a pulled arm."""

    ratios: FloatArray  # (R, J, K) relative to exp(gains)
    log_ratios: FloatArray  # (R, J, K)
    gains: FloatArray  # (R, J)


@kernel
def bet_repeatedly(
    experts: Experts,
    single: SingleRatios,
    places: IntArray,
    arms: IntArray,
    begins: BoolArray,
    scratch: FloatArray,
    e: FloatArray,
    units: FloatArray,
) -> None:
    """Bet on pulls, and write E in the unit exp(units). `places` (n,) are those of their claims; `scratch` (M + J,) is
    for shares and for the factors by which weights are still to be multiplied.
    """
    (n_sizes, n_experts), n_arms = experts.weights.shape, experts.counts.size
    shares, inverse = scratch[:n_experts], scratch[n_experts:]
    for j in range(n_sizes):
        inverse[j] = 1.0
    for i in range(arms.size):
        if begins[i]:
            release_stake(experts)
            for b in range(n_arms):
                experts.counts[b] += experts.instant[b]
                experts.instant[b] = 0.0
        if begins[i] or i == 0:
            _set_shares(experts.counts, n_experts, shares)
        r = places[i] * n_arms + arms[i]
        for j in range(n_sizes):
            total = _multiply_size(experts, single, r, j, shares, inverse[j], begins[i])
            inverse[j] = settle_wealth(experts, j, total, single.gains[r, j])
        experts.instant[arms[i]] += 1.0
        e[i], units[i] = read_wealth(experts)
    for j in range(n_sizes):
        for m in range(n_experts):
            experts.weights[j, m] = normalised(experts.weights[j, m], inverse[j])


@inlined
def _multiply_size(
    experts: Experts, single: SingleRatios, r: int, j: int, shares: FloatArray, inverse: float, begins: bool
) -> float:
    """Multiply the weights of a size by what is left from the row above and by the ratios, and return their sum."""
    n_arms, weights, ratios, total, all_arms = experts.counts.size, experts.weights, single.ratios, 0.0, 0.0
    share = experts.share if begins else 0.0
    m = n_arms
    for b in range(n_arms):
        all_arms += shares[b] * ratios[r, j, b]
        experts.alone[j, b] += single.log_ratios[r, j, b]
        weights[j, b] = share_weight(normalised(weights[j, b], inverse), experts.prior[b], share) * ratios[r, j, b]
        total += weights[j, b]
    if experts.prior.size > n_arms + 1:
        for b in range(n_arms):
            for c in range(b):
                ratio = shares[m] * ratios[r, j, b] + (1.0 - shares[m]) * ratios[r, j, c]
                weights[j, m] = share_weight(normalised(weights[j, m], inverse), experts.prior[m], share) * ratio
                total += weights[j, m]
                m += 1
    weights[j, m] = share_weight(normalised(weights[j, m], inverse), experts.prior[m], share) * all_arms
    return total + weights[j, m]


@part
def _set_shares(counts: FloatArray, n_experts: int, shares: FloatArray) -> None:
    """Set the share of each arm in the bet on all arms and, from K on, that of the first arm of each pair."""
    total, m = 0.0, counts.size
    for b in range(counts.size):
        total += 1.0 / (1.0 + counts[b])
    for b in range(counts.size):
        shares[b] = 1.0 / (1.0 + counts[b]) / total
    if n_experts > counts.size + 1:
        for b in range(counts.size):
            for c in range(b):
                shares[m] = (1.0 + counts[c]) / (2.0 + counts[b] + counts[c])
                m += 1
