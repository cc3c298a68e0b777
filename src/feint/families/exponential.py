"""Positive, exponentially distributed rewards with Gamma posteriors of the rate: waiting times, revenues."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.families.base import Belief, divergences
from feint.families.conjugate import (
    CONJUGATE_PARTS,
    MOST_PULLS,
    mean_bounds,
    set_box,
    set_extremes,
    shorten,
    tail_log_odds,
)
from feint.families.placing import least_rate, place_inverse_gamma
from feint.numerics._jit import inlined, part, parts, shared_inlined
from feint.numerics.beta_best_arm_quick import quick_beta_log_best
from feint.numerics.entropy import phi
from feint.numerics.gamma_best_arm import (
    SCALE,
    allocate_inverse_gamma_workspace,
    smallest_arm_log_probabilities,
)
from feint.numerics.posterior_draws import draw_gamma
from feint.numerics.streams import Word

_SMALLEST, _LARGEST = 1e-12, 1e12


@part
def _draw_reward(family: "ExponentialKernel", mean: float, normal: float, uniform: float) -> float:
    return -mean * math.log(uniform)


@inlined
def _set_posterior(family: "ExponentialKernel", belief: Belief, a: int) -> None:
    belief.posterior[0, a] = belief.prior[0, a] + belief.pulls[a]
    belief.posterior[1, a] = belief.prior[1, a] + belief.sums[a]


@part
def _fill_region(
    family: "ExponentialKernel",
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    extremes: FloatArray,
) -> None:
    """Fill the region as in `conjugate`, with n the shape of the rate's posterior and n·m its rate."""
    pulls = belief.pulls[arm]
    n = belief.posterior[0, arm]
    mean = belief.posterior[1, arm] / n
    set_box(belief, arm, radius * mean / math.sqrt(n), max_pulls, box)
    low, high = mean_bounds(box, 0.0, math.inf, pulls, belief.prior[0, arm], belief.prior[1, arm])
    left, _ = tail_log_odds(n * SCALE, n, belief.ws.beta.coefficients)
    _, right = tail_log_odds(n * SCALE, n, belief.ws.beta.coefficients)
    tail_low, tail_high = low * (math.exp(left) / SCALE), high * (math.exp(right) / SCALE)
    more = shorten(box, pulls, n * low / (tail_high - low))
    set_extremes(extremes, n, more, low, high, tail_low, tail_high)
    for row in range(extremes.shape[0]):
        extremes[row, 0], extremes[row, 1] = extremes[row, 1], extremes[row, 0]


@inlined
def _move_inside(family: "ExponentialKernel", mean: float, pulls: int) -> float:
    return max(1e-300, mean)


@inlined
def _draw_mean(family: "ExponentialKernel", belief: Belief, a: int, first: Word, second: Word) -> float:
    return belief.posterior[1, a] / draw_gamma(belief.posterior[0, a], a, 0, first, second)


@shared_inlined
def _divergence_to(family: "ExponentialKernel", x: float, change: float) -> float:
    y = x + change
    if y <= 0.0:
        return 0.0 if change == 0.0 else math.inf
    # u − log(1 + u) with u = (x − y)/y is (1 + u)·φ(−u/(1 + u)), and −u/(1 + u) is change/x.
    return x / y * phi(change / x)


@parts(
    **CONJUGATE_PARTS,
    draw_reward=_draw_reward,
    set_posterior=_set_posterior,
    fill_region=_fill_region,
    move_inside=_move_inside,
    draw_mean=_draw_mean,
    divergence_to=_divergence_to,
    workspace=allocate_inverse_gamma_workspace,
    place_on_axis=place_inverse_gamma,
    middle_point=least_rate,
)
class ExponentialKernel(NamedTuple):
    """`Exponential` for kernels."""


@dataclass(frozen=True)
class Exponential:
    """Rewards above 0 with density e^(−r/μ)/μ; a prior is (shape, rate) of a Gamma for 1/μ, by default (0, 0).

    Examples
    --------
    >>> Exponential().divergence(2.0, 1.0).round(4)
    np.float64(0.3069)
    """

    name: ClassVar[str] = "exponential"
    most_pulls = MOST_PULLS

    @property
    def mean_range(self) -> tuple[float, float]:
        """Numbers above 0."""
        return 0.0, math.inf

    @property
    def rewards(self) -> str:
        """A phrase that says what a reward must be."""
        return "a number above 0 (from 1e-12 to 1e12)"

    def accepts(self, rewards: Any) -> Any:
        """Return whether each entry can be a reward."""
        return (rewards >= _SMALLEST) & (rewards <= _LARGEST)

    def possible(self, pulls: FloatArray, sums: FloatArray) -> bool:
        """Return whether these sums can come from this many rewards."""
        return bool(((sums >= _SMALLEST * pulls) & (sums <= _LARGEST * pulls)).all())

    def prior(self, given: Any) -> tuple[float, float]:
        """Return (shape, rate) of the prior."""
        shape, rate = (0.0, 0.0) if given is None else given
        if not (0 <= shape <= 1e6 and 0 <= rate <= 1e12):
            raise ValueError(
                f"The prior ({shape:g}, {rate:g}) does not fit exponential rewards: it is (shape, rate) of a Gamma "
                "for 1/mean, with a shape from 0 to 1e6 and a rate from 0 to 1e12."
            )
        return float(shape), float(rate)

    def is_proper(self, prior: tuple[float, float]) -> bool:
        """Return whether there is a posterior before the first pull."""
        return prior[0] > 0 and prior[1] > 0

    def posterior(
        self, prior: tuple[float, float], pulls: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (shapes, rates) of 1/μ after these pulls; fractions of pulls are allowed."""
        return prior[0] + pulls, prior[1] + sums

    def log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm has the largest mean, hence the smallest rate), (…, K)."""
        return smallest_arm_log_probabilities(first, second)

    def quick_log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm has the largest mean) to about 1 %, (K, R)."""
        return quick_beta_log_best(second * SCALE, first)

    def divergence(self, x: "npt.ArrayLike", y: "npt.ArrayLike") -> FloatArray:
        """Return x/y − 1 − log(x/y)."""
        return divergences(self.kernel(), x, np.subtract(y, x))

    def variance(self, x: "npt.ArrayLike") -> FloatArray:
        """Return x²."""
        return np.asarray(x, dtype=float) ** 2

    def log_prior(self, x: "npt.ArrayLike") -> FloatArray:
        """Return log x: a Gamma of shape 0 gives the natural parameter −1/x the density x."""
        return np.log(np.asarray(x, dtype=float))

    def draw(self, mean: float, uniform: float) -> float:
        """Draw a reward from a uniform number."""
        return -mean * math.log(uniform)

    def words(self, prior: Any) -> str:
        """Return a description of posterior and prior for reports."""
        shape, rate = self.prior(prior)
        return f"Gamma posteriors of the rates of exponential rewards and the prior Gamma({shape:g}, {rate:g})"

    def kernel(self) -> ExponentialKernel:
        """Return the settings for kernels."""
        return ExponentialKernel()
