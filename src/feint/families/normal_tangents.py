r"""Bounds of every P(a) while normal posteriors move, by tangents at the last exact evaluation.

Let arm j have the posterior N(m⁰_j, s⁰_j²) at the centre, where everything was evaluated, and N(m_j, s_j²) now,

    d = (m − m⁰)/s⁰,   1 + k = (s⁰/s)²,   b = (1 + k)·d,      z = (x − m⁰)/s⁰.

Pulls only add precision: k ≥ 0. Let E_a be the expectation at the centre given that a is the best arm, and
g_aj = E_a[z_j], which is the derivative of log P(a) in d_j. Then for every arm a

    log P(a) ≥ log P⁰(a) + Σ_j g·(b − ½k·g) + ½Σ_j [log(1 + k) − k − b²/(1 + k)]                                 (1)
    log P(a) ≤ the same + ½Σ_j [k + (b − k·g)²].                                                               (2)

After τ more pulls of n, k = τ/n and b is about √(τ/n): the bounds widen like τ/n.

*(1).* The present density of z_j is that of the centre times exp(b·z − ½k·z² − A), A = ½b²/(1 + k) − ½log(1 + k). So
P(a)/P⁰(a) = E_a[exp Σ_j(b·z − ½k·z² − A)] ≥ exp Σ_j(b·g − ½k·E_a[z²] − A) by Jensen's inequality, and E_a[z²] ≤ g² + 1:
log P(a) is concave in the means (Prékopa: {a is the best} is convex, normal densities are log-concave), and its second
derivative in d_j is the variance of z_j under E_a minus 1.

*(2).* Let c_j be any numbers. Move the means first, at the sds of the centre, to d′ = d + k·(d − c). By the same
concavity log P(a) rises by at most Σ g·d′. Then multiply each density by exp(−½k·(z − c)²): that makes the sd s and the
mean (d′ + k·c)/(1 + k) = d, as required. The integral over the event does not grow, and the norm was
E[exp(−½k(z − c)²)] = exp(−½·k/(1 + k)·(d′ − c)²)/√(1 + k), with d′ − c = (1 + k)(d − c). With c = g the total is

    Σ_j [g·b − k·g² + ½log(1 + k) + ½k(1 + k)(d − g)²],                                                        (3)

which after a few lines is (1) plus the bracket of (2).

**A box.** Let d of one arm lie in [d₋, d₊] and its k in [k₀, k₁]. (1) is concave in d and in k; (3) without the
logarithm is convex in d and in k, and the logarithm is at most that of 1 + k₁. So the four corners bound the whole box,
with ½log((1 + k₁)/(1 + k₀)) added to the upper bounds.
"""

import math

from feint._types import FloatArray
from feint.families.base import Belief, Tangents
from feint.numerics._jit import inlined, part
from feint.numerics.best_arm_moments import best_arm_moments
from feint.numerics.best_arm_workspace import SHIFT, SUM

# Rows of `moved` (3, K): b, k, and half the second bracket of (1).
_B, _K, _COMMON = 0, 1, 2


@part
def recentre(family: object, belief: Belief, tangents: Tangents, out: FloatArray) -> None:
    """Fill `out` with exact log P and set the tangents; see `families.base`."""
    ws = belief.ws
    best_arm_moments(belief.posterior[0], belief.posterior[1], ws, tangents.slopes)
    for a in range(out.size):
        out[a] = math.log(ws.arms[SUM, a]) + ws.arms[SHIFT, a]
        tangents.log_best[a] = out[a]
        for row in range(2):
            tangents.centre[row, a] = belief.posterior[row, a]
        for row in range(3):
            tangents.moved[row, a] = 0.0


@inlined
def displace(family: object, belief: Belief, tangents: Tangents, arm: int) -> None:
    """Record where an arm's posterior is now; see `families.base`."""
    sd = tangents.centre[1, arm]
    ratio = sd / belief.posterior[1, arm]
    precision = ratio * ratio
    k = precision - 1.0
    b = precision * (belief.posterior[0, arm] - tangents.centre[0, arm]) / sd
    tangents.moved[_B, arm] = b
    tangents.moved[_K, arm] = k
    tangents.moved[_COMMON, arm] = 0.5 * (math.log(precision) - k - b * b / precision)


@part
def fill_log_bounds(family: object, tangents: Tangents, low: FloatArray, high: FloatArray) -> None:
    """Fill `low` and `high` by (1) and (2)."""
    slopes, moved = tangents.slopes, tangents.moved
    common = 0.0
    added = 0.0
    for j in range(low.size):
        common += moved[_COMMON, j]
        added += moved[_K, j]
    for a in range(low.size):
        rise = 0.0
        width = added
        for j in range(low.size):
            b, g = moved[_B, j], slopes[a, j]
            rest = b - moved[_K, j] * g
            rise += g * (b + rest)
            width += rest * rest
        low[a] = tangents.log_best[a] + 0.5 * rise + common
        high[a] = low[a] + 0.5 * width
