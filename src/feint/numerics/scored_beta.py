r"""P(arm has the largest score) for independent scores w·X − c of Beta variables X, with a weight w > 0 and a cost c.

On the common axis of scores s let g_j and G_j be the density and the distribution function of arm j's score, which
lives on (−c_j, w_j − c_j). Then

    P(a)  =  ∫ g_a(s)·∏_{j≠a} G_j(s) ds.

One sweep of panels from left to right serves all arms. On a panel every density is evaluated at Gauss–Legendre nodes,
its distribution function follows by integrating the interpolating polynomial up to each node, and the products are
summed with the nodes' weights.

**Ends.** Where a score's support begins or ends, other integrands have a kink, so panels end there. An arm is
integrated where all but e^−32 of it lies, and no closer than 1e-10 of its range to either end, where a density with a
parameter below 1 is infinite: what lies beyond counts as a point mass there (from its continued fraction on the left,
from the complement on the right). This is exact unless several arms have such masses at one point; then it is off by
less than their product, 4e-11 for parameters of ½.

**Panels.** In the log-odds y of arm j, log g is analytic up to ±iπ, with slope α·σ(−y) − β·σ(y) and curvature
N·σ(y)·σ(−y). A panel is at most 3 standard deviations, 10 nats or 1 unit of y wide for every arm on it. Then 12 nodes
interpolate to about 1e-11 of a panel. The panels get shorter towards an end, so that a density like x^−½ is resolved.

**Digits.** log g(y) = log g(m) + α·log1p(d/m) + β·log1p(−d/(1 − m)), d = x − m, m = α/(α + β): no term of size N
cancels beyond 1e-16·√N. The absolute error of every P is below 1e-10 for parameters from ½ to 1e6; tests compare with
mpmath. A P below `_LEAST` is not known and is given as `_LEAST`, or as 0 where another arm's score is always larger.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import part
from feint.numerics.logit_beta import SERIES, both_odds, lower_quantile, mills_ratio, peak_density

NODES = 12
_NATS = 32.0
_NEAREST = 1e-10  # smallest distance to an end of the support, as a share of the support
_LEAST = 1e-18
_WIDTH, _SLOPE_WIDTH, _ODDS_WIDTH = 3.0, 10.0, 1.0
_FARTHEST = math.log(1.0 / _NEAREST)  # log-odds

# Rows of `arms`.
ALPHA, BETA, WEIGHT, COST, PEAK, FIRST, LAST, BELOW, CDF, SUM = range(10)
_ROWS = 10


def _rule() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return nodes on (−1, 1), weights, and the matrix that turns values at the nodes into integrals up to each."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # By Legendre polynomials: a value's coefficients, and ∫ P_n = (P_{n+1} − P_{n−1})/(2n + 1), which vanishes at −1.
    values = np.polynomial.legendre.legvander(nodes, NODES)
    degrees = np.arange(NODES)
    coefficients = (values[:, :NODES] * weights[:, None]).T * (degrees[:, None] + 0.5)
    integrals = np.empty((NODES, NODES))
    integrals[:, 0] = nodes + 1.0
    integrals[:, 1:] = (values[:, 2:] - values[:, : NODES - 1]) / (2.0 * degrees[1:] + 1.0)
    return nodes, weights, integrals @ coefficients


_NODES, _WEIGHTS, _UP_TO = _rule()


class ScoredBetaWorkspace(NamedTuple):
    """Scratch space for K arms, owned by the caller; it keeps nothing between calls but the quadrature rule."""

    arms: FloatArray  # (_ROWS, K)
    densities: FloatArray  # (K, NODES)
    cdfs: FloatArray  # (K, NODES)
    rule: FloatArray  # (2, NODES) nodes and weights
    up_to: FloatArray  # (NODES, NODES)
    coefficients: FloatArray  # (SERIES + 1,) scratch of `lower_quantile`


def allocate_scored_beta_workspace(n_arms: int) -> ScoredBetaWorkspace:
    """Allocate the scratch space for `n_arms` arms."""
    return ScoredBetaWorkspace(
        np.empty((_ROWS, n_arms)),
        np.empty((n_arms, NODES)),
        np.empty((n_arms, NODES)),
        np.array([_NODES, _WEIGHTS]),
        _UP_TO.copy(),
        np.empty(SERIES + 1),
    )


@part
def _relative_density(alpha: float, beta: float, x: float, rest: float) -> float:
    """Return the density of the log-odds at x = 1 − rest, relative to its peak."""
    mean = alpha / (alpha + beta)
    change = x - mean if x < 0.5 else (1.0 - mean) - rest
    # Far below the mean log1p would lose digits; there, nothing cancels.
    low = math.log1p(change / mean) if change > -0.5 * mean else math.log(x / mean)
    high = math.log1p(-change / (1.0 - mean)) if change < 0.5 * (1.0 - mean) else math.log(rest / (1.0 - mean))
    return math.exp(min(alpha * low + beta * high, 0.0))


@part
def _describe(ws: ScoredBetaWorkspace) -> None:
    """Fill in what does not depend on the panel."""
    arms = ws.arms
    n_arms = arms.shape[1]
    for a in range(n_arms):
        alpha, beta = arms[ALPHA, a], arms[BETA, a]
        arms[PEAK, a] = peak_density(alpha, beta)
        first = max(lower_quantile(alpha, beta, _NATS, ws.coefficients), -_FARTHEST)
        last = min(-lower_quantile(beta, alpha, _NATS, ws.coefficients), _FARTHEST)
        x, rest = both_odds(first)
        arms[BELOW, a] = arms[PEAK, a] * _relative_density(alpha, beta, x, rest) * mills_ratio(alpha, beta, x, rest)
        arms[FIRST, a] = arms[WEIGHT, a] * x - arms[COST, a]
        arms[LAST, a] = arms[WEIGHT, a] * both_odds(last)[0] - arms[COST, a]
        arms[CDF, a] = 0.0
        arms[SUM, a] = 0.0


@part
def _next_end(arms: FloatArray, s: float) -> float:
    """Return the next point after s at which the integration of an arm begins or ends; ∞ if there is none."""
    end = math.inf
    for a in range(arms.shape[1]):
        for row in (FIRST, LAST):
            if s < arms[row, a] < end:
                end = arms[row, a]
    return end


@part
def _panel_end(arms: FloatArray, s: float, end: float) -> float:
    """Return how far a panel that starts at s may reach, at most to `end`."""
    for a in range(arms.shape[1]):
        if arms[FIRST, a] <= s < arms[LAST, a]:
            alpha, beta, weight = arms[ALPHA, a], arms[BETA, a], arms[WEIGHT, a]
            x = (s + arms[COST, a]) / weight
            rest = (weight - arms[COST, a] - s) / weight
            y = math.log(x / rest)
            width = min(_ODDS_WIDTH, _WIDTH / math.sqrt((alpha + beta) * x * rest))
            slope = abs(alpha * rest - beta * x)
            if slope * width > _SLOPE_WIDTH:
                width = _SLOPE_WIDTH / slope
            end = min(end, weight * both_odds(y + width)[0] - arms[COST, a])
    return end


@part
def _point_masses(arms: FloatArray, s: float) -> None:
    """Add the masses at s of the arms that begin or end there, and move their distribution functions over them."""
    n_arms = arms.shape[1]
    for a in range(n_arms):
        mass = 0.0
        if arms[FIRST, a] == s:
            mass = arms[BELOW, a]
        elif arms[LAST, a] == s:
            mass = max(1.0 - arms[CDF, a], 0.0)
        if mass > 0.0:
            product = mass
            for j in range(n_arms):
                if j != a:
                    product *= arms[CDF, j]
            arms[SUM, a] += product
    for a in range(n_arms):
        if arms[FIRST, a] == s:
            arms[CDF, a] = arms[BELOW, a]
        elif arms[LAST, a] == s:
            arms[CDF, a] = 1.0


@part
def _add_panel(ws: ScoredBetaWorkspace, s: float, end: float) -> None:
    """Add the panel from s to `end` to the integrals of all arms, and move the distribution functions to its end."""
    arms, densities, cdfs = ws.arms, ws.densities, ws.cdfs
    n_arms, half, middle = arms.shape[1], 0.5 * (end - s), 0.5 * (s + end)
    waiting = 0  # arms that begin later: with two of them, no other can be the largest here
    for a in range(n_arms):
        if arms[FIRST, a] > s:
            waiting += 1
    for a in range(n_arms):
        if arms[FIRST, a] <= s < arms[LAST, a]:
            alpha, beta, weight, cost = arms[ALPHA, a], arms[BETA, a], arms[WEIGHT, a], arms[COST, a]
            for i in range(NODES):
                score = middle + half * ws.rule[0, i]
                x = (score + cost) / weight
                rest = (weight - cost - score) / weight
                densities[a, i] = arms[PEAK, a] * _relative_density(alpha, beta, x, rest) / (x * rest * weight)
            total = 0.0
            for i in range(NODES):
                total += ws.rule[1, i] * densities[a, i]
            for i in range(NODES if waiting < 2 else 0):
                integral = 0.0
                for k in range(NODES):
                    integral += ws.up_to[i, k] * densities[a, k]
                cdfs[a, i] = min(max(arms[CDF, a] + half * integral, 0.0), 1.0)
            arms[CDF, a] = min(arms[CDF, a] + half * total, 1.0)
        else:
            for i in range(NODES):
                densities[a, i] = 0.0
                cdfs[a, i] = arms[CDF, a]
    for i in range(NODES if waiting < 2 else 0):
        for a in range(n_arms):
            if densities[a, i] > 0.0:
                product = half * ws.rule[1, i] * densities[a, i]
                for j in range(n_arms):
                    if j != a:
                        product *= cdfs[j, i]
                arms[SUM, a] += product


@part
def fill_scored_beta_logs(
    posterior: FloatArray, weights: FloatArray, costs: FloatArray, ws: ScoredBetaWorkspace, out: FloatArray
) -> None:
    """Fill `out` with log P(arm has the largest score), from (2, K) parameters of Beta posteriors, each at least ½."""
    arms, n_arms = ws.arms, out.size
    highest = -math.inf  # the least score that some arm is sure to exceed
    for a in range(n_arms):
        arms[ALPHA, a] = posterior[0, a]
        arms[BETA, a] = posterior[1, a]
        arms[WEIGHT, a] = weights[a]
        arms[COST, a] = costs[a]
        highest = max(highest, -costs[a])
    _describe(ws)
    end = _next_end(arms, -math.inf)
    s = end
    while end < math.inf:
        while s < end:
            panel_end = _panel_end(arms, s, end)
            panel_end = panel_end if panel_end > s else end  # too short for float64
            _add_panel(ws, s, panel_end)
            s = panel_end
        _point_masses(arms, s)
        end = _next_end(arms, s)
    total = 0.0
    for a in range(n_arms):
        if weights[a] - costs[a] <= highest and -costs[a] < highest:
            arms[SUM, a] = 0.0
        else:
            arms[SUM, a] = max(arms[SUM, a], _LEAST)
        total += arms[SUM, a]
    for a in range(n_arms):
        out[a] = math.log(arms[SUM, a] / total) if arms[SUM, a] > 0.0 else -math.inf
