"""A family's posteriors on one axis (`numerics.posterior_axes`), for goals that ask about more than the best arm.

A family with a kernel takes part by three more names in its `parts`: `axis`, which allocates the axis of K arms, and
the two functions below. The axis increases with the mean.
"""

import math
from typing import Any

from feint._types import FloatArray
from feint.numerics._jit import by_type, part
from feint.numerics.posterior_axes import (
    GAMMA_POINT,
    LogOddsAxis,
    NormalAxis,
    place_beta_arms,
    place_gamma_arms,
    place_normal_arms,
)


@by_type
def place_on_axis(family: Any, posterior: FloatArray, axis: Any, point: float) -> float:
    """Place the posteriors (2, K) of all arms on the axis, and return where the mean `point` lies on it."""
    raise NotImplementedError


@by_type
def middle_point(family: Any, posterior: FloatArray) -> float:
    """Return a mean about which the axis keeps the digits of all arms."""
    raise NotImplementedError


@part
def place_normal(family: Any, posterior: FloatArray, axis: NormalAxis, point: float) -> float:
    """Place normal posteriors, (mean, sd)."""
    place_normal_arms(axis, posterior[0], posterior[1], point)
    return 0.0


@part
def sharpest_mean(family: Any, posterior: FloatArray) -> float:
    """Return the mean of the sharpest arm."""
    sharpest = 0
    for a in range(1, posterior.shape[1]):
        if posterior[1, a] < posterior[1, sharpest]:
            sharpest = a
    return posterior[0, sharpest]


@part
def place_beta(family: Any, posterior: FloatArray, axis: LogOddsAxis, point: float) -> float:
    """Place Beta posteriors, (α, β)."""
    place_beta_arms(axis, posterior[0], posterior[1])
    return math.log(point) - math.log1p(-point)


@part
def one_half(family: Any, posterior: FloatArray) -> float:
    """Return ½: log-odds keep their digits about any point."""
    return 0.5


@part
def place_gamma(family: Any, posterior: FloatArray, axis: LogOddsAxis, point: float) -> float:
    """Place Gamma posteriors, (shape, rate)."""
    place_gamma_arms(axis, posterior[0], posterior[1], point, False)
    return -GAMMA_POINT


@part
def least_rate(family: Any, posterior: FloatArray) -> float:
    """Return the smallest rate."""
    least = posterior[1, 0]
    for a in range(1, posterior.shape[1]):
        least = min(least, posterior[1, a])
    return least


@part
def inverse_of_least_rate(family: Any, posterior: FloatArray) -> float:
    """Return a mean in whose unit every rate is 1 or more, so that Gamma posteriors are Beta posteriors to 1e-23."""
    return 1.0 / least_rate(family, posterior)


@part
def place_inverse_gamma(family: Any, posterior: FloatArray, axis: LogOddsAxis, point: float) -> float:
    """Place the inverses of Gamma posteriors of rates, (shape, rate)."""
    place_gamma_arms(axis, posterior[0], posterior[1], point, True)
    return GAMMA_POINT
