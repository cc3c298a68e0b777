r"""Posteriors of all arms on one axis, and both tails of each at any point: what goals other than the best arm need.

An *axis* is a monotone function of the mean on which every posterior density is log-concave: the mean itself for normal
posteriors, and the log-odds for Beta posteriors, by which Gamma posteriors are written too (gamma_best_arm.py). At a
point, an arm has log F, log(1 − F), log f and the slope of log f, each to full relative precision: a tail is computed
from its own side, and never as one minus the other.

**Digits.** A normal arm's centre is kept as two floats about a point of the caller's choice, so that two sharp arms far
from the origin keep their distance. The log-odds of a Gamma variable in units of `point` are exactly −92 at that point.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import by_type, inlined, part, parts
from feint.numerics.logit_beta import (
    SERIES,
    both_odds,
    fall_and_slope,
    fraction_edges,
    lower_quantile,
    mills_ratio,
    peak_density,
)
from feint.numerics.logit_beta_panel import NODES, pole_width, relative_cdf
from feint.numerics.normal import SQRT_2PI, scaled_tail

Tails = tuple[float, float, float, float]  # log F, log(1 − F), log f and (log f)′

GAMMA_POINT = 92.0  # e^92 = 9e39, the size at which a Beta variable is a Gamma variable
_GAMMA_SCALE = math.exp(GAMMA_POINT)
_SDS = 9.0  # Φ(−9) = 1e-19
_NATS = 45.0  # e^−45 = 3e-20
_LOG_SQRT_2PI = math.log(SQRT_2PI)

# Rows of NormalAxis.arms.
_CENTRE, _CENTRE_LOW, _PRECISION, _LOG_PRECISION = 0, 1, 2, 3
# Rows of LogOddsAxis.arms; the arm has a continued fraction for F left of _EDGE, and for 1 − F right of _RIGHT_EDGE.
_ALPHA, _BETA, _MODE, _PEAK, _EDGE, _RIGHT_EDGE = 0, 1, 2, 3, 4, 5


@by_type
def tails(axis: Any, a: int, x: float) -> Tails:
    """Return log F, log(1 − F), log f and (log f)′ of arm a at x."""
    raise NotImplementedError


@by_type
def axis_range(axis: Any) -> tuple[float, float]:
    """Return two points beyond which less than e^−40 of every arm's mass lies."""
    raise NotImplementedError


@by_type
def widest_panel(axis: Any, x: float) -> float:
    """Return how wide a panel that starts at x may be for 24 nodes, however flat the integrand is."""
    return math.inf


@by_type
def arm_scale(axis: Any, a: int, left: float, right: float) -> float:
    """Return the smallest distance over which F of arm a changes its shape between two points: an sd."""
    raise NotImplementedError


@by_type
def arm_centre(axis: Any, a: int) -> float:
    """Return where arm a lies; centres have the order of the posterior means."""
    raise NotImplementedError


@by_type
def log_swapped(axis: Any, i: int, j: int) -> float:
    """Return log P(the mean of arm j is above that of arm i), or −∞ where that takes an integral."""
    return -math.inf


@part
def _normal_tails(axis: "NormalAxis", a: int, x: float) -> Tails:
    arms = axis.arms
    z = ((x - arms[_CENTRE, a]) - arms[_CENTRE_LOW, a]) * arms[_PRECISION, a]
    square = -0.5 * z * z
    near = square + math.log(scaled_tail(abs(z)))
    far = math.log1p(-math.exp(near))
    density = square - _LOG_SQRT_2PI + arms[_LOG_PRECISION, a]
    slope = -z * arms[_PRECISION, a]
    return (near, far, density, slope) if z < 0.0 else (far, near, density, slope)


@part
def _normal_range(axis: "NormalAxis") -> tuple[float, float]:
    low, high = math.inf, -math.inf
    for a in range(axis.arms.shape[1]):
        reach = _SDS / axis.arms[_PRECISION, a]
        low = min(low, axis.arms[_CENTRE, a] - reach)
        high = max(high, axis.arms[_CENTRE, a] + reach)
    return low, high


@inlined
def _normal_scale(axis: "NormalAxis", a: int, left: float, right: float) -> float:
    return 1.0 / axis.arms[_PRECISION, a]


@inlined
def _normal_centre(axis: "NormalAxis", a: int) -> float:
    return axis.arms[_CENTRE, a]


@part
def _normal_swapped(axis: "NormalAxis", i: int, j: int) -> float:
    arms = axis.arms
    lead = (arms[_CENTRE, i] - arms[_CENTRE, j]) + (arms[_CENTRE_LOW, i] - arms[_CENTRE_LOW, j])
    z = lead / math.hypot(1.0 / arms[_PRECISION, i], 1.0 / arms[_PRECISION, j])
    return math.log(scaled_tail(z)) - 0.5 * z * z if z > 0.0 else -math.log(2.0)


@parts(
    tails=_normal_tails,
    axis_range=_normal_range,
    arm_scale=_normal_scale,
    arm_centre=_normal_centre,
    log_swapped=_normal_swapped,
)
class NormalAxis(NamedTuple):
    """Normal posteriors; owned by the caller."""

    arms: FloatArray  # (4, K)


def allocate_normal_axis(n_arms: int) -> NormalAxis:
    """Allocate the axis of `n_arms` normal arms."""
    return NormalAxis(np.empty((4, n_arms)))


@part
def place_normal_arms(axis: NormalAxis, means: FloatArray, sds: FloatArray, point: float) -> None:
    """Place normal arms about `point`, which lies at 0."""
    for a in range(means.size):
        difference = means[a] - point
        virtual = difference - means[a]
        axis.arms[_CENTRE, a] = difference
        axis.arms[_CENTRE_LOW, a] = (means[a] - (difference - virtual)) - (point + virtual)  # Knuth's exact error
        axis.arms[_PRECISION, a] = 1.0 / sds[a]
        axis.arms[_LOG_PRECISION, a] = -math.log(sds[a])


@part
def _log_odds_tails(axis: "LogOddsAxis", a: int, x: float) -> Tails:
    arms = axis.arms
    alpha, beta, mode, peak = arms[_ALPHA, a], arms[_BETA, a], arms[_MODE, a], arms[_PEAK, a]
    p, q = both_odds(x)
    fall, slope = fall_and_slope(alpha, beta, mode, x, axis.coefficients)
    density = math.log(peak) - fall
    if x <= mode:
        if x < arms[_EDGE, a]:
            low = density + math.log(mills_ratio(alpha, beta, p, q))
        else:
            low = math.log(peak * relative_cdf(alpha, beta, mode, arms[_EDGE, a], x, axis.nodes, axis.coefficients))
        return low, math.log1p(-math.exp(low)), density, slope
    if x > arms[_RIGHT_EDGE, a]:
        high = density + math.log(mills_ratio(beta, alpha, q, p))
    else:
        edge = -arms[_RIGHT_EDGE, a]
        high = math.log(peak * relative_cdf(beta, alpha, -mode, edge, -x, axis.nodes, axis.coefficients))
    return math.log1p(-math.exp(high)), high, density, slope


@part
def _log_odds_range(axis: "LogOddsAxis") -> tuple[float, float]:
    low, high = math.inf, -math.inf
    for a in range(axis.arms.shape[1]):
        alpha, beta = axis.arms[_ALPHA, a], axis.arms[_BETA, a]
        low = min(low, lower_quantile(alpha, beta, _NATS, axis.coefficients))
        high = max(high, -lower_quantile(beta, alpha, _NATS, axis.coefficients))
    return low, high


@part
def _log_odds_panel(axis: "LogOddsAxis", x: float) -> float:
    pulls = 0.0
    for a in range(axis.arms.shape[1]):
        pulls += axis.arms[_ALPHA, a] + axis.arms[_BETA, a]
    return pole_width(x, math.log(pulls))


@part
def _log_odds_scale(axis: "LogOddsAxis", a: int, left: float, right: float) -> float:
    """Return 1/√(N·σ(y)·σ(−y)) where that is least: at the point of the panel that is nearest to 0."""
    p, q = both_odds(max(left, min(right, 0.0)))
    return 1.0 / math.sqrt((axis.arms[_ALPHA, a] + axis.arms[_BETA, a]) * p * q)


@inlined
def _log_odds_centre(axis: "LogOddsAxis", a: int) -> float:
    return axis.arms[_MODE, a]


@parts(
    tails=_log_odds_tails,
    axis_range=_log_odds_range,
    widest_panel=_log_odds_panel,
    arm_scale=_log_odds_scale,
    arm_centre=_log_odds_centre,
)
class LogOddsAxis(NamedTuple):
    """Log-odds of Beta posteriors; owned by the caller."""

    arms: FloatArray  # (6, K)
    nodes: FloatArray  # (3, NODES) scratch
    coefficients: FloatArray  # (SERIES + 1,) scratch


def allocate_log_odds_axis(n_arms: int) -> LogOddsAxis:
    """Allocate the axis of `n_arms` Beta arms."""
    return LogOddsAxis(np.empty((6, n_arms)), np.empty((3, NODES)), np.empty(SERIES + 1))


@inlined
def _place_beta_arm(axis: LogOddsAxis, a: int, alpha: float, beta: float) -> None:
    arms = axis.arms
    arms[_ALPHA, a] = alpha
    arms[_BETA, a] = beta
    arms[_MODE, a] = math.log(alpha / beta)
    arms[_PEAK, a] = peak_density(alpha, beta)
    arms[_EDGE, a], arms[_RIGHT_EDGE, a] = fraction_edges(alpha, beta)


@part
def place_beta_arms(axis: LogOddsAxis, alphas: FloatArray, betas: FloatArray) -> None:
    """Place Beta arms."""
    for a in range(alphas.size):
        _place_beta_arm(axis, a, alphas[a], betas[a])


@part
def place_gamma_arms(axis: LogOddsAxis, shapes: FloatArray, rates: FloatArray, point: float, inverse: bool) -> None:
    """Place Gamma arms, or the inverses of Gamma variables: `point` lies at −92, or at 92 of the inverses."""
    for a in range(shapes.size):
        if inverse:
            _place_beta_arm(axis, a, rates[a] / point * _GAMMA_SCALE, shapes[a])
        else:
            _place_beta_arm(axis, a, shapes[a], rates[a] * point * _GAMMA_SCALE)
