"""Thompson Sampling on scores: what an arm is worth, less what it costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from feint._types import FloatArray
from feint.families import Bernoulli, Gaussian
from feint.families.base import Belief, fill_log_best
from feint.numerics._jit import part, parts
from feint.numerics._validate import as_floats, set_number
from feint.numerics.best_arm_rows import complete_logs
from feint.numerics.scored_beta import ScoredBetaWorkspace, allocate_scored_beta_workspace, fill_scored_beta_logs
from feint.references.priors import HasPrior
from feint.support.printable import short_repr

_LARGEST = 1e6  # the limit on weights, on their reciprocals and on costs
_LEAST_BETA = 0.5  # see `numerics.scored_beta`


@part
def _mix_greedy(explore: float, scores: FloatArray, pi: FloatArray, log_pi: FloatArray) -> None:
    """Mix the probabilities in `log_pi` with the arm of the largest score of a posterior mean; ties share equally."""
    if explore == 1.0:
        complete_logs(log_pi, pi)
        return
    top, tied = -math.inf, 0
    for a in range(pi.size):
        if scores[a] > top:
            top, tied = scores[a], 1
        elif scores[a] == top:
            tied += 1
    for a in range(pi.size):
        if scores[a] == top:
            pi[a] = explore * math.exp(log_pi[a]) + (1.0 - explore) / tied
            log_pi[a] = math.log(pi[a])
        else:
            log_pi[a] = log_pi[a] + math.log(explore) if explore > 0.0 else -math.inf
    complete_logs(log_pi, pi)


@part
def _expect_normal(settings: "ScoredNormalKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    scores = settings.scores
    for a in range(pi.size):
        scores[0, a] = settings.weights[a] * belief.posterior[0, a] - settings.costs[a]
        scores[1, a] = settings.weights[a] * belief.posterior[1, a]
    fill_log_best(belief.family, scores, belief.ws, log_pi)
    _mix_greedy(settings.explore, scores[0], pi, log_pi)


@part
def _expect_beta(settings: "ScoredBetaKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    fill_scored_beta_logs(belief.posterior, settings.weights, settings.costs, settings.ws, log_pi)
    for a in range(pi.size):
        mean = belief.posterior[0, a] / (belief.posterior[0, a] + belief.posterior[1, a])
        settings.scores[a] = settings.weights[a] * mean - settings.costs[a]
    _mix_greedy(settings.explore, settings.scores, pi, log_pi)


@parts(own_samples=False, follows_posterior=False, expect=_expect_normal)
class ScoredNormalKernel(NamedTuple):
    """`ScoredThompson` for kernels, with normal posteriors."""

    weights: FloatArray
    costs: FloatArray
    explore: float
    scores: FloatArray  # (2, K) scratch: means and standard deviations


@parts(own_samples=False, follows_posterior=False, expect=_expect_beta)
class ScoredBetaKernel(NamedTuple):
    """`ScoredThompson` for kernels, with Beta posteriors."""

    weights: FloatArray
    costs: FloatArray
    explore: float
    scores: FloatArray  # (K,) scratch
    ws: ScoredBetaWorkspace


@dataclass(frozen=True)
class ScoredThompson(HasPrior):
    """A reference that pulls the arm with the largest weight·draw − cost, where the draw is from its posterior.

    π = explore·P(argmax of weight·draw − cost) + (1 − explore)·1{argmax of weight·mean − cost}. Routers of requests to
    language models weigh quality against price in this way. Arms whose means tie for the largest score share its
    probability equally. Probabilities are exact for normal rewards, and to 1e-10 for rewards of 0 and 1
    (`feint.numerics.scored_beta`).

    Parameters
    ----------
    weights
        (K,) numbers above 0, from 1e-6 to 1e6.
    costs
        (K,) numbers within ±1e6, in the units of weight × reward.
    explore
        From 0 to 1: the share of rows in which a draw decides; in the others, the posterior means do.
    prior
        As in `ThompsonSampling`, for normal rewards or those of 0 and 1. For the latter, ½ or more.

    Examples
    --------
    >>> import feint
    >>> router = feint.ScoredThompson([1, 1], [0.0, 0.2], prior=(1, 1))
    >>> observer = feint.Observer(2, router, family=feint.Bernoulli(), initial_round=False)
    >>> observer.reference_probabilities().round(4)  # P(uniform draw > another + 0.2) = 0.8²/2 for the dearer
    array([0.68, 0.32])
    """

    name: ClassVar[str] = "scored-thompson"
    weights: tuple[float, ...]
    costs: tuple[float, ...]
    explore: float = 1.0
    prior: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        weights, costs = as_floats(self.weights, "weights"), as_floats(self.costs, "costs")
        if weights.ndim != 1 or not ((weights >= 1 / _LARGEST) & (weights <= _LARGEST)).all():
            raise ValueError(f"weights is {self.weights!r}; give one number per arm, from 1e-6 to 1e6.")
        if costs.shape != weights.shape or not (abs(costs) <= _LARGEST).all():
            raise ValueError(f"costs is {self.costs!r}; give one number for each of {weights.size} arms, within ±1e6.")
        what = "explore, the share of rows that draw, must be a number from 0 to 1"
        set_number(self, "explore", what, lambda x: 0 <= x <= 1)
        object.__setattr__(self, "weights", tuple(weights.tolist()))
        object.__setattr__(self, "costs", tuple(costs.tolist()))
        super().__post_init__()

    def among(self, arms: Sequence[int]) -> Self:
        """Return the reference of these arms alone: it compares their scores."""
        weights, costs = (tuple(numbers[a] for a in arms) for numbers in (self.weights, self.costs))
        return replace(super().among(arms), weights=weights, costs=costs)

    def kernel(self, family: Any, n_arms: int) -> ScoredNormalKernel | ScoredBetaKernel:
        """Return the settings for kernels."""
        self.check_pairs(n_arms)
        if len(self.weights) != n_arms:
            raise ValueError(f"ScoredThompson has {len(self.weights)} weights for {n_arms} arms; give one per arm.")
        scores = np.array(self.weights), np.array(self.costs), self.explore
        if isinstance(family, Gaussian):
            return ScoredNormalKernel(*scores, np.empty((2, n_arms)))
        if not isinstance(family, Bernoulli):
            raise ValueError(f"ScoredThompson needs the family gaussian or bernoulli, not {short_repr(family)}.")
        if np.min(self.prior_of(family)) < _LEAST_BETA:
            raise ValueError(
                f"prior is {self.prior!r}; for rewards of 0 and 1, give successes and failures of ½ or more."
            )
        return ScoredBetaKernel(*scores, np.empty(n_arms), allocate_scored_beta_workspace(n_arms))

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        greedy = "" if self.explore == 1 else f" in a share of {self.explore:g} of the rows and on means in the others"
        weights, costs = (", ".join(f"{x:g}" for x in numbers) for numbers in (self.weights, self.costs))
        scores = f"scores (weights {weights}, costs {costs}){greedy}"
        return f"Thompson Sampling on {scores}, with {self.posterior_words(family)}"
