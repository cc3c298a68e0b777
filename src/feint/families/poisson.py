"""Rewards that count events, with Gamma posteriors: orders, visits, failures."""

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
    nats_by_halves,
    set_box,
    set_extremes,
    shorten,
    tail_log_odds,
)
from feint.families.placing import inverse_of_least_rate, place_gamma
from feint.numerics._jit import inlined, part, parts, shared_inlined
from feint.numerics.beta_best_arm_quick import quick_beta_log_best
from feint.numerics.counts import draw_binomial, draw_poisson_number
from feint.numerics.entropy import phi
from feint.numerics.gamma_best_arm import (
    SCALE,
    allocate_gamma_workspace,
    gamma_best_arm_probabilities,
)
from feint.numerics.logit_beta import stirling_remainder
from feint.numerics.normal import HALF_LOG_2PI
from feint.numerics.posterior_draws import draw_gamma
from feint.numerics.sequence import DrawSequence
from feint.numerics.streams import Word

_LARGEST_MEAN = 1e6  # a draw takes about √mean additions
_LARGEST_REWARD = 1e9


@part
def draw_poisson(mean: float, uniform: float) -> float:
    """Draw a Poisson number: subtract the outcomes' probabilities from u in the order mode, mode ± 1, … down to 0.

    log p(mode) = mode·log(mean/mode) − (mean − mode) − ½·log(2π·mode) − r(mode), without large terms that would cancel.
    """
    mode = float(math.floor(mean))
    log_p = -mean
    if mode > 0.0:
        excess = mean - mode
        log_p = mode * (math.log1p(excess / mode) - excess / mode) - HALF_LOG_2PI - 0.5 * math.log(mode)
        log_p -= stirling_remainder(mode)
    left = uniform - math.exp(log_p)
    low = high = mode
    p_low = p_high = math.exp(log_p)
    while left >= 0.0 and (p_low > 0.0 or p_high > 1e-300):
        high += 1.0
        p_high *= mean / high
        left -= p_high
        if left < 0.0:
            return high
        if low > 0.0:
            p_low *= low / mean
            low -= 1.0
            left -= p_low
            if left < 0.0:
                return low
        else:
            p_low = 0.0
    return mode


@inlined
def _draw_reward(family: "PoissonKernel", mean: float, normal: float, uniform: float) -> float:
    return draw_poisson(mean, uniform)


@inlined
def _set_posterior(family: "PoissonKernel", belief: Belief, a: int) -> None:
    belief.posterior[0, a] = belief.prior[0, a] + belief.sums[a]
    belief.posterior[1, a] = belief.prior[1, a] + belief.pulls[a]


@part
def _fill_region(
    family: "PoissonKernel",
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    extremes: FloatArray,
) -> None:
    """Fill the region as in `conjugate`, with n the rate and n·m the shape."""
    pulls = belief.pulls[arm]
    n = belief.posterior[1, arm]
    set_box(belief, arm, radius * math.sqrt(belief.posterior[0, arm]) / n, max_pulls, box)
    low, high = mean_bounds(box, 0.0, math.inf, pulls, belief.prior[1, arm], belief.prior[0, arm])
    left, _ = tail_log_odds(n * low, n * SCALE, belief.ws.beta.coefficients)
    _, right = tail_log_odds(n * high, n * SCALE, belief.ws.beta.coefficients)
    tail_low, tail_high = math.exp(left) * SCALE, math.exp(right) * SCALE
    more = shorten(box, pulls, n * low / (tail_high - low))
    set_extremes(extremes, n, more, low, high, tail_low, tail_high)


@inlined
def _draw_sum(family: "PoissonKernel", mean: float, n: int, draws: DrawSequence) -> float:
    return draw_poisson_number(n * mean, draws)


@inlined
def _draw_part(family: "PoissonKernel", total: float, n: int, first: int, draws: DrawSequence) -> float:
    return draw_binomial(total, first / n, draws)


@inlined
def _nats_to_cross(family: "PoissonKernel", total: float, n: int, here: float, there: float) -> float:
    """Return the bound of `conjugate`; each event falls into the first half or not, so v = total/4 (Hoeffding)."""
    return nats_by_halves(n, (n + 1) // 2, here, there, 0.25 * total) if total > 0.0 else math.inf


@inlined
def _move_inside(family: "PoissonKernel", mean: float, pulls: int) -> float:
    return max(0.5 / (pulls + 1.0), mean)


@inlined
def _draw_mean(family: "PoissonKernel", belief: Belief, a: int, first: Word, second: Word) -> float:
    return draw_gamma(belief.posterior[0, a], a, 0, first, second) / belief.posterior[1, a]


@shared_inlined
def _divergence_to(family: "PoissonKernel", x: float, change: float) -> float:
    y = x + change
    if y <= 0.0:
        return 0.0 if change == 0.0 else math.inf
    return y * phi(-change / y)


@parts(
    **CONJUGATE_PARTS,
    draw_reward=_draw_reward,
    set_posterior=_set_posterior,
    fill_region=_fill_region,
    draw_sum=_draw_sum,
    draw_part=_draw_part,
    nats_to_cross=_nats_to_cross,
    move_inside=_move_inside,
    draw_mean=_draw_mean,
    divergence_to=_divergence_to,
    workspace=allocate_gamma_workspace,
    place_on_axis=place_gamma,
    middle_point=inverse_of_least_rate,
)
class PoissonKernel(NamedTuple):
    """`Poisson` for kernels."""


@dataclass(frozen=True)
class Poisson:
    """Rewards of 0, 1, 2, …; a prior is (shape, rate) of a Gamma, by default Jeffreys' (½, 0).

    Examples
    --------
    >>> Poisson().divergence(2.0, 1.0).round(4)
    np.float64(0.3863)
    """

    name: ClassVar[str] = "poisson"
    most_pulls = MOST_PULLS

    @property
    def mean_range(self) -> tuple[float, float]:
        """Numbers above 0."""
        return 0.0, math.inf

    @property
    def draw_range(self) -> tuple[float, float]:
        """The means from which rewards can be drawn; drawing larger numbers takes too long."""
        return 0.0, _LARGEST_MEAN

    @property
    def rewards(self) -> str:
        """A phrase that says what a reward must be."""
        return "a whole number from 0 to 1e9"

    def accepts(self, rewards: Any) -> Any:
        """Return whether each entry can be a reward."""
        return (rewards >= 0) & (rewards <= _LARGEST_REWARD) & (rewards == np.round(rewards))

    def possible(self, pulls: FloatArray, sums: FloatArray) -> bool:
        """Return whether these sums can come from this many rewards."""
        return bool(((sums >= 0) & (sums <= _LARGEST_REWARD * pulls) & (sums == np.round(sums))).all())

    def prior(self, given: Any) -> tuple[float, float]:
        """Return (shape, rate) of the prior."""
        shape, rate = (0.5, 0.0) if given is None else given
        if not (0.1 <= shape <= 1e6 and 0 <= rate <= 1e6):
            raise ValueError(
                f"The prior ({shape:g}, {rate:g}) does not fit counts: it is (shape, rate) of a Gamma, with a shape "
                "from 0.1 to 1e6 and a rate from 0 to 1e6."
            )
        return float(shape), float(rate)

    def is_proper(self, prior: tuple[float, float]) -> bool:
        """Return whether there is a posterior before the first pull."""
        return prior[1] > 0

    def posterior(
        self, prior: tuple[float, float], pulls: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (shapes, rates) after these pulls; fractions of pulls are allowed."""
        return prior[0] + sums, prior[1] + pulls

    def log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm is the best) of Gamma posteriors, (…, K)."""
        return gamma_best_arm_probabilities(first, second, log=True)

    def quick_log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm is the best) to about 1 %, (K, R)."""
        return quick_beta_log_best(first, second * SCALE)

    def divergence(self, x: "npt.ArrayLike", y: "npt.ArrayLike") -> FloatArray:
        """Return x·log(x/y) − x + y."""
        return divergences(self.kernel(), x, np.subtract(y, x))

    def variance(self, x: "npt.ArrayLike") -> FloatArray:
        """Return x."""
        return np.asarray(x, dtype=float)

    def log_prior(self, x: "npt.ArrayLike") -> FloatArray:
        """Return log √x: a Gamma of shape ½ gives log x the density √x."""
        return 0.5 * np.log(np.asarray(x, dtype=float))

    def draw(self, mean: float, uniform: float) -> float:
        """Draw a reward from a uniform number."""
        return float(draw_poisson(mean, uniform))

    def words(self, prior: Any) -> str:
        """Return a description of posterior and prior for reports."""
        shape, rate = self.prior(prior)
        return f"Gamma posteriors of Poisson means and the prior Gamma({shape:g}, {rate:g})"

    def kernel(self) -> PoissonKernel:
        """Return the settings for kernels."""
        return PoissonKernel()
