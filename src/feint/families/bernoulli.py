"""Rewards of 0 or 1 with Beta posteriors: clicks, conversions, cures."""

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
from feint.families.placing import one_half, place_beta
from feint.numerics._jit import inlined, part, parts, shared_inlined
from feint.numerics.beta_arms import allocate_beta_workspace
from feint.numerics.beta_best_arm import beta_best_arm_probabilities
from feint.numerics.beta_best_arm_quick import quick_beta_log_best
from feint.numerics.counts import draw_binomial, draw_hypergeometric
from feint.numerics.entropy import phi
from feint.numerics.logit_beta import both_odds
from feint.numerics.posterior_draws import draw_beta
from feint.numerics.sequence import DrawSequence
from feint.numerics.streams import Word


@inlined
def _draw_reward(family: "BernoulliKernel", mean: float, normal: float, uniform: float) -> float:
    return 1.0 if uniform < mean else 0.0


@inlined
def _set_posterior(family: "BernoulliKernel", belief: Belief, a: int) -> None:
    belief.posterior[0, a] = belief.prior[0, a] + belief.sums[a]
    belief.posterior[1, a] = belief.prior[1, a] + (belief.pulls[a] - belief.sums[a])


@part
def _fill_region(
    family: "BernoulliKernel",
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    extremes: FloatArray,
) -> None:
    """Fill the region as in `conjugate`, with n = α + β and n·m = α."""
    pulls, prior_pulls = belief.pulls[arm], belief.prior[0, arm] + belief.prior[1, arm]
    alpha, beta = belief.posterior[0, arm], belief.posterior[1, arm]
    n = alpha + beta
    set_box(belief, arm, radius * math.sqrt(alpha / n * (beta / n) / n), max_pulls, box)
    low, high = mean_bounds(box, 0.0, 1.0, pulls, prior_pulls, belief.prior[0, arm])
    left, _ = tail_log_odds(n * low, n * (1.0 - low), belief.ws.coefficients)
    _, right = tail_log_odds(n * high, n * (1.0 - high), belief.ws.coefficients)
    tail_low, tail_high = both_odds(left)[0], both_odds(right)[0]
    more = shorten(box, pulls, n * min(low / (tail_high - low), (1.0 - high) / (high - tail_low)))
    set_extremes(extremes, n, more, low, high, tail_low, tail_high)
    for row in range(extremes.shape[0]):
        extremes[row, 1] -= extremes[row, 0]


@inlined
def _draw_sum(family: "BernoulliKernel", mean: float, n: int, draws: DrawSequence) -> float:
    return draw_binomial(float(n), mean, draws)


@inlined
def _draw_part(family: "BernoulliKernel", total: float, n: int, first: int, draws: DrawSequence) -> float:
    return draw_hypergeometric(float(n), total, float(first), draws)


@inlined
def _nats_to_cross(family: "BernoulliKernel", total: float, n: int, here: float, there: float) -> float:
    """Return the bound of `conjugate`; for sums without replacement v = h(1 − (h − 1)/n)/4 (Serfling 1974)."""
    half = (n + 1) // 2
    return nats_by_halves(n, half, here, there, 0.25 * half * (1.0 - (half - 1.0) / n))


@inlined
def _move_inside(family: "BernoulliKernel", mean: float, pulls: int) -> float:
    least = 0.5 / (pulls + 1.0)
    return min(1.0 - least, max(least, mean))


@inlined
def _draw_mean(family: "BernoulliKernel", belief: Belief, a: int, first: Word, second: Word) -> float:
    return draw_beta(belief.posterior[0, a], belief.posterior[1, a], a, first, second)


@shared_inlined
def _divergence_to(family: "BernoulliKernel", x: float, change: float) -> float:
    y = x + change
    if y <= 0.0 or y >= 1.0:
        return 0.0 if change == 0.0 else math.inf
    return y * phi(-change / y) + (1.0 - y) * phi(change / (1.0 - y))


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
    workspace=allocate_beta_workspace,
    place_on_axis=place_beta,
    middle_point=one_half,
)
class BernoulliKernel(NamedTuple):
    """`Bernoulli` for kernels."""


@dataclass(frozen=True)
class Bernoulli:
    """Rewards of 0 and 1; a prior is (successes, failures) of a Beta, by default the uniform (1, 1).

    Examples
    --------
    >>> Bernoulli().divergence(0.5, 0.25).round(4)
    np.float64(0.1438)
    """

    name: ClassVar[str] = "bernoulli"
    aliases: ClassVar[tuple[str, ...]] = ("beta",)
    most_pulls = MOST_PULLS

    @property
    def mean_range(self) -> tuple[float, float]:
        """Probabilities strictly between 0 and 1."""
        return 0.0, 1.0

    @property
    def rewards(self) -> str:
        """A phrase that says what a reward must be."""
        return "0 or 1"

    def accepts(self, rewards: Any) -> Any:
        """Return whether each entry can be a reward."""
        return (rewards == 0) | (rewards == 1)

    def possible(self, pulls: FloatArray, sums: FloatArray) -> bool:
        """Return whether these sums can come from this many rewards."""
        return bool(((sums >= 0) & (sums <= pulls) & (sums == np.round(sums))).all())

    def prior(self, given: Any) -> tuple[float, float]:
        """Return (α, β) of the prior."""
        successes, failures = (1.0, 1.0) if given is None else given
        if not (0.1 <= successes <= 1e6 and 0.1 <= failures <= 1e6):
            raise ValueError(
                f"The prior ({successes:g}, {failures:g}) does not fit rewards of 0 and 1: it is (successes, failures) "
                "of a Beta, each from 0.1 to 1e6."
            )
        return float(successes), float(failures)

    def is_proper(self, prior: tuple[float, float]) -> bool:
        """Return whether there is a posterior before the first pull."""
        return True

    def posterior(
        self, prior: tuple[float, float], pulls: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (α, β) after these pulls; fractions of pulls are allowed."""
        return prior[0] + sums, prior[1] + (pulls - sums)

    def log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm is the best) of Beta posteriors, (…, K)."""
        return beta_best_arm_probabilities(first, second, log=True)

    def quick_log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm is the best) to about 1 %, (K, R)."""
        return quick_beta_log_best(first, second)

    def divergence(self, x: "npt.ArrayLike", y: "npt.ArrayLike") -> FloatArray:
        """Return x·log(x/y) + (1 − x)·log((1 − x)/(1 − y))."""
        return divergences(self.kernel(), x, np.subtract(y, x))

    def variance(self, x: "npt.ArrayLike") -> FloatArray:
        """Return x(1 − x)."""
        return np.asarray(x, dtype=float) * (1.0 - np.asarray(x, dtype=float))

    def log_prior(self, x: "npt.ArrayLike") -> FloatArray:
        """Return log(x(1 − x)), the density of the log-odds under the uniform prior."""
        return np.log(self.variance(x))

    def draw(self, mean: float, uniform: float) -> float:
        """Draw a reward from a uniform number."""
        return 1.0 if uniform < mean else 0.0

    def words(self, prior: Any) -> str:
        """Return a description of posterior and prior for reports."""
        successes, failures = self.prior(prior)
        return f"Beta posteriors and the prior Beta({successes:g}, {failures:g})"

    def kernel(self) -> BernoulliKernel:
        """Return the settings for kernels."""
        return BernoulliKernel()
