"""The arms of a row of Beta posteriors at one point of the sweep over their log-odds (beta_best_arm_kernel.py).

At such a point an arm is

- deep, far left of its mode: G = g·R with R from its continued fraction. Its exponent enters ∏G only in a sum over all
  deep arms, so nothing underflows and panels need not resolve a single arm, however steep it is;
- bulk: G is known and is continued by integrals of g;
- full: 1 − G < 1e-17. G is 1, and the arm costs nothing unless its own integral is still running.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import inlined, part
from feint.numerics.logit_beta import SERIES, both_odds, fall_and_slope, fraction_edges, mills_ratio, peak_density
from feint.numerics.logit_beta_panel import NODES, cdf_width, relative_cdf

_FULL_CUT = 1e-17
# Panel widths in standard deviations and in nats: 24 nodes integrate exp(−y²/2) over 8 and exp(−y) over 30 to 1e-15.
# tests/numerics/test_beta_best_arm.py halves them and sees no change.
_WIDTH = 8.0
_SLOPE_WIDTH = 30.0

# Rows of BetaWorkspace.arms: one array with named rows, because every array that is passed on costs time.
ALPHA = 0
BETA = 1
MODE = 2
PEAK = 3  # g(m)
EDGE = 4  # the arm is deep left of it
RIGHT_EDGE = 5  # 1 − G has a continued fraction right of it
LEFT = 6  # where the arm's integration starts
FALL = 7  # log g(m) − log g at the current point
SLOPE = 8  # (log g)′ there
CDF = 9  # G there, if bulk
HAZARD = 10  # g/G there
CURVATURE = 11  # −(log G)″ there
CENTRE_FALL = 12  # log g(m) − log g at the panel's centre
CENTRE_SLOPE = 13
SHIFT = 14  # what was added to log g over the panel before it was exponentiated
SUM = 15  # result: P(a) = arms[SUM, a]·exp(arms[EXPONENT, a])
EXPONENT = 16
PREFIX_SUMS = 17  # this row and the next: scratch of fill_beta_left_ends
_ARM_ROWS = 19

# Rows of BetaWorkspace.ranks; the first three are scratch of fill_beta_left_ends.
ORDER = 0  # arms by left end
STATE = 3  # of the arm's integral
PHASE = 4  # of the arm
_RANK_ROWS = 5
WAITING, ACTIVE, DONE = 0, 1, 2
DEEP, BULK, FULL = 0, 1, 2

# Rows of BetaWorkspace.nodes beside those of a panel: F = ∏G = mantissa·exp(log F), and F × weight up to a constant.
LOG_F = 3
MANTISSA = 4
PRODUCT = 5
_NODE_ROWS = 6


class BetaWorkspace(NamedTuple):
    """Scratch space of the kernel for K Beta arms, owned by the caller; it keeps nothing between calls."""

    arms: FloatArray  # (_ARM_ROWS, K)
    ranks: IntArray  # (_RANK_ROWS, K)
    nodes: FloatArray  # (_NODE_ROWS, NODES)
    odds: FloatArray  # (2, NODES) σ(y) and σ(−y)
    ratios: FloatArray  # (K, NODES) g/G up to the arm's constant
    coefficients: FloatArray  # (SERIES + 1,) of the cumulant function


def allocate_beta_workspace(n_arms: int) -> BetaWorkspace:
    """Allocate the scratch space for `n_arms` Beta arms."""
    return BetaWorkspace(
        np.empty((_ARM_ROWS, n_arms)),
        np.empty((_RANK_ROWS, n_arms), dtype=np.int64),
        np.empty((_NODE_ROWS, NODES)),
        np.empty((2, NODES)),
        np.empty((n_arms, NODES)),
        np.empty(SERIES + 1),
    )


@part
def describe_arms(alphas: FloatArray, betas: FloatArray, arms: FloatArray, ranks: IntArray) -> float:
    """Fill in what does not depend on the point, and return Σ(α + β)."""
    pulls = 0.0
    for a in range(alphas.size):
        alpha = alphas[a]
        beta = betas[a]
        arms[ALPHA, a] = alpha
        arms[BETA, a] = beta
        arms[MODE, a] = math.log(alpha / beta)
        arms[PEAK, a] = peak_density(alpha, beta)
        arms[EDGE, a], arms[RIGHT_EDGE, a] = fraction_edges(alpha, beta)
        arms[SUM, a] = 0.0
        arms[EXPONENT, a] = -math.inf
        ranks[STATE, a] = WAITING
        pulls += alpha + beta
    return pulls


@part
def jump_to(arms: FloatArray, ranks: IntArray, nodes: FloatArray, coefficients: FloatArray, y: float) -> None:
    """Set phase, density, distribution function and hazard of every arm at y, without those of an earlier point."""
    p, q = both_odds(y)
    for a in range(arms.shape[1]):
        alpha = arms[ALPHA, a]
        beta = arms[BETA, a]
        mode = arms[MODE, a]
        fall, _ = fall_and_slope(alpha, beta, mode, y, coefficients)
        arms[FALL, a] = fall
        if y < arms[EDGE, a]:
            ranks[PHASE, a] = DEEP
            arms[HAZARD, a] = 1.0 / mills_ratio(alpha, beta, p, q)
            continue
        ranks[PHASE, a] = BULK
        peak = arms[PEAK, a]
        density = peak * math.exp(-fall)
        if y <= mode:
            cdf = peak * relative_cdf(alpha, beta, mode, arms[EDGE, a], y, nodes, coefficients)
        elif y < arms[RIGHT_EDGE, a]:
            cdf = 1.0 - peak * relative_cdf(beta, alpha, -mode, -arms[RIGHT_EDGE, a], -y, nodes, coefficients)
        else:
            cdf = 1.0 - density * mills_ratio(beta, alpha, q, p)
        arms[CDF, a] = cdf
        arms[HAZARD, a] = density / cdf


@inlined
def set_slopes(arms: FloatArray, ranks: IntArray, p: float, q: float) -> tuple[float, float]:
    """Set slopes and curvatures at σ(y) = p = 1 − q from the hazards there; return Σ hazard and Σ curvature."""
    hazards = 0.0
    curvatures = 0.0
    for a in range(arms.shape[1]):
        slope = arms[ALPHA, a] * q - arms[BETA, a] * p
        hazard = arms[HAZARD, a]
        if ranks[PHASE, a] == BULK and hazard < -slope * _FULL_CUT:
            ranks[PHASE, a] = FULL
        if ranks[PHASE, a] == FULL:
            hazard = 0.0
        curvature = hazard * (hazard - slope)
        if ranks[PHASE, a] == DEEP:  # where the difference cancels
            curvature = (arms[ALPHA, a] + arms[BETA, a]) * p * q
        arms[SLOPE, a] = slope
        arms[HAZARD, a] = hazard
        arms[CURVATURE, a] = curvature
        hazards += hazard
        curvatures += curvature
    return hazards, curvatures


@inlined
def integrand_width(arms: FloatArray, a: int, variance: float, hazards: float, curvatures: float) -> float:
    """Return how wide a panel may be for the integrand of arm a."""
    curvature = (arms[ALPHA, a] + arms[BETA, a]) * variance + max(0.0, curvatures - arms[CURVATURE, a])
    slope = abs(hazards - arms[HAZARD, a] + arms[SLOPE, a])
    return min(_WIDTH / math.sqrt(curvature), _SLOPE_WIDTH / slope)


@inlined
def factor_width(arms: FloatArray, ranks: IntArray, a: int, y: float, p: float, q: float) -> float:
    """Return how wide a panel may be for G of arm a; a deep arm becomes bulk once a panel would reach its edge."""
    width = cdf_width(arms[ALPHA, a], arms[BETA, a], p, q)
    if ranks[PHASE, a] == DEEP:
        if y + width < arms[EDGE, a]:
            return arms[EDGE, a] - y
        ranks[PHASE, a] = BULK
        arms[CDF, a] = arms[PEAK, a] * math.exp(-arms[FALL, a]) / arms[HAZARD, a]
    return width
