r"""Regions of Beta and Gamma posteriors, for families whose conjugate posterior depends on n pulls with mean m.

With natural parameter y, cumulant A and mean x = A′(y) the posterior has the density g_{n,m} ∝ exp(n·(m·y − A(y))). The
ratio of two of them has the logarithm (nm − n′m′)·y − (n − n′)·A(y), whose slope is (nm − n′m′) − (n − n′)·x. So it is
monotone up to one point c of x, or from c on. Let D's mean lie in [m₋, m₊] and its pulls in [n₀, n₁]. Let c₊ be so far
right of m₊, and c₋ so far left of m₋, that e^−45 of g_{n₀,m} lies beyond, and less for every other n. Put

    N₁  n′ = n₀   n′m′ = n₁m₋ − (n₁ − n₀)·c₊     g/g′ increases for x ≤ c₊, so G(x) ≤ G′(x)·(1 + e^−44) for all x
    N₂  n′ = n₁   n′m′ = n₀m₊ + (n₁ − n₀)·c₊     g/g′ falls     for x ≤ c₊, so G(x) ≥ G′(x)·(1 − e^−44) for all x
    N₃  n′ = n₁   n′m′ = n₀m₋ + (n₁ − n₀)·c₋     g/g′ increases for x ≥ c₋, so E[f] ≥ E′[f]·(1 − e^−44), f increasing
    N₄  n′ = n₀   n′m′ = n₁m₊ − (n₁ − n₀)·c₋     g/g′ falls     for x ≥ c₋, so E[f] ≤ E′[f]·(1 + e^−44), f increasing

for every (n, m) in the region, since these are the least favourable ones. (Where a likelihood ratio increases up to c,
G(x)/G(c) ≤ G′(x)/G′(c); and since f increases, the part of E[f] left of c₋ is at most P(x ≤ c₋)·E[f].) For an arm a
other than D, P(a) is an integral of G with positive weights: N₁ in D's place bounds it from above, N₂ from below. P(D)
itself is E[f] with f = ∏_{j≠D} G_j: N₃ bounds it from below, N₄ from above.

**The tails.** P(x ≥ c) under g_{n,m} is at most its density at c over that of g_{n,c}, which peaks there:
exp(−n·KL(m, c)) up to the ratio of two peaks, √(variance) and Stirling's remainders; 45 nats leave room for it.

**Crossings.** Let S_j be the sum of the first j of n whole rewards whose total is known. The rest is spread evenly in
expectation, so M_j = (S_j − j·S_n/n)/(n − j) is a martingale. A line that is `here` above S_0 and `there` above S_n
is passed at j only if (n − j)·M_j ≥ here·(1 − j/n) + there·j/n, so for j ≤ h only if M_j ≥ here/n; if S_h has moments E
exp(s·(S_h − h·S_n/n)) ≤ exp(s²v/2), Doob's inequality for exp(s·M_j) gives P ≤ exp(−(here·(n − h)/n)²/2v). Backwards in
time the same holds with `there`, and h = ⌈n/2⌉ from both sides covers all j. Downwards it is the same.
"""

import math
from typing import Any

from feint._types import FloatArray
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, OTHERS_HIGH, OTHERS_LOW, OWN_HIGH, OWN_LOW, Belief
from feint.numerics._jit import inlined, part
from feint.numerics.logit_beta import lower_quantile
from feint.numerics.posterior_axes import allocate_log_odds_axis

_SLACK = 1e-9  # the Beta kernel's error is below 1e-10 for all parameters up to 1e8, and grows like their square root
MOST_PULLS = 10**9
_NATS = 48.0  # how deep the tails that are left out begin; see above
_STARVED = 0.75  # a region ends before N₁ … N₄ lose more than three quarters of either of their parameters


@inlined
def set_box(belief: Belief, arm: int, half_width: float, max_pulls: int, box: FloatArray) -> None:
    """Set the region: an interval of D's sample mean, and the largest number of pulls."""
    box[MEAN_LOW] = belief.means[arm] - half_width
    box[MEAN_HIGH] = belief.means[arm] + half_width
    box[MOST] = belief.pulls[arm] + max_pulls


@inlined
def mean_bounds(
    box: FloatArray, range_low: float, range_high: float, pulls: float, prior_pulls: float, prior_sum: float
) -> tuple[float, float]:
    """Return (m₋, m₊), the range of the posterior mean over the box; it is monotone in the pulls."""
    most = box[MOST]
    low = max(range_low, box[MEAN_LOW])
    high = min(range_high, box[MEAN_HIGH])
    first, last = pulls + prior_pulls, most + prior_pulls
    return (
        min((low * pulls + prior_sum) / first, (low * most + prior_sum) / last),
        max((high * pulls + prior_sum) / first, (high * most + prior_sum) / last),
    )


@part
def tail_log_odds(alpha: float, beta: float, coefficients: FloatArray) -> tuple[float, float]:
    """Return the log-odds left and right of which at most e^−48 of a Beta posterior lies."""
    return lower_quantile(alpha, beta, _NATS, coefficients), -lower_quantile(beta, alpha, _NATS, coefficients)


@inlined
def shorten(box: FloatArray, pulls: int, room: float) -> float:
    """Shorten the box so that n₁ − n₀ is at most `_STARVED`·`room`, and return n₁ − n₀."""
    more = min(box[MOST] - pulls, math.floor(_STARVED * room))
    box[MOST] = pulls + more
    return more


@inlined
def set_extremes(
    extremes: FloatArray, n: float, more: float, low: float, high: float, tail_low: float, tail_high: float
) -> None:
    """Set n′m′ (column 0) and n′ (column 1) of N₁ … N₄, from n₀, n₁ − n₀, m₋, m₊, c₋ and c₊."""
    extremes[OTHERS_HIGH, 0] = n * low - more * (tail_high - low)
    extremes[OTHERS_HIGH, 1] = n
    extremes[OTHERS_LOW, 0] = n * high + more * tail_high
    extremes[OTHERS_LOW, 1] = n + more
    extremes[OWN_LOW, 0] = n * low + more * tail_low
    extremes[OWN_LOW, 1] = n + more
    extremes[OWN_HIGH, 0] = n * high + more * (high - tail_low)
    extremes[OWN_HIGH, 1] = n


@inlined
def nats_by_halves(n: int, half: int, here: float, there: float, variance: float) -> float:
    """Return a lower bound of −log P(a line is passed); see above."""
    least = min(here, there) * (n - half) / n
    return 0.5 * least * least / variance - math.log(2.0)


@inlined
def _slack(family: Any) -> float:
    return _SLACK


# What every family with Beta or Gamma posteriors has.
CONJUGATE_PARTS: dict[str, Any] = {
    "normal": False,  # rewards are drawn from uniform numbers, not from normals
    "slack": _slack,
    "axis": allocate_log_odds_axis,
}
