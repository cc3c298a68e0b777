"""Find the arms whose private means are above a threshold."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.families.base import Belief, divergence_to
from feint.families.placing import place_on_axis
from feint.goals.base import axis_of, hazard, log_any, relative_doubt
from feint.numerics._jit import part, parts
from feint.numerics._validate import set_number
from feint.numerics.posterior_axes import tails
from feint.support.printable import short_repr


@part
def _fill_answer(goal: "AboveThresholdKernel", belief: Belief, answer: BoolArray) -> None:
    """Take the arms that are more likely above the threshold than below."""
    x = place_on_axis(belief.family, belief.posterior, goal.axis, goal.threshold)
    for a in range(answer.size):
        below, above, _, _ = tails(goal.axis, a, x)
        answer[a] = above > below


@part
def _log_error_of(goal: "AboveThresholdKernel", belief: Belief, answer: BoolArray) -> float:
    """Return log(1 − ∏ P(arm a is on the side of the answer)): arms are independent."""
    x = place_on_axis(belief.family, belief.posterior, goal.axis, goal.threshold)
    log_right, highest, relative = 0.0, -math.inf, 0.0
    for a in range(answer.size):
        below, above, _, _ = tails(goal.axis, a, x)
        wrong = below if answer[a] else above
        log_right += above if answer[a] else below
        if wrong > highest:
            relative = relative * math.exp(highest - wrong) + 1.0
            highest = wrong
        else:
            relative += math.exp(wrong - highest)
    return log_any(log_right, highest, relative)


@part
def _fill_evidence(
    goal: "AboveThresholdKernel", family: Any, pulls: FloatArray, means: FloatArray, evidence: FloatArray
) -> float:
    """Fill in the evidence that each arm is on its side, and return the least."""
    least = math.inf
    for a in range(means.size):
        evidence[a] = pulls[a] * divergence_to(family, means[a], goal.threshold - means[a])
        least = min(least, evidence[a])
    return least


@part
def _fill_boost_shares(
    goal: "AboveThresholdKernel", family: Any, pulls: FloatArray, means: FloatArray, sampled: bool, shares: FloatArray
) -> float:
    least = _fill_evidence(goal, family, pulls, means, shares)
    total = 0.0
    for a in range(means.size):
        shares[a] = relative_doubt(shares[a], least, sampled)
        total += shares[a]
    for a in range(means.size):
        shares[a] /= total
    return least


@part
def _fill_slopes(
    goal: "AboveThresholdKernel", family: Any, pulls: FloatArray, means: FloatArray, slopes: FloatArray
) -> float:
    least = _fill_evidence(goal, family, pulls, means, slopes)
    total = 0.0
    for a in range(means.size):
        weight = relative_doubt(slopes[a], least, True)
        slopes[a] = weight * hazard(slopes[a])
        total += weight
    for a in range(means.size):
        slopes[a] /= total
    return least


@part
def _fill_weights(
    goal: "AboveThresholdKernel", family: Any, means: FloatArray, cost: FloatArray, weights: FloatArray
) -> bool:
    """Fill in w_a ∝ d_a/D(μ_a, c)², in logarithms because squares of gaps may leave float64's range."""
    largest = -math.inf
    for a in range(means.size):
        evidence = divergence_to(family, means[a], goal.threshold - means[a])
        if evidence == 0.0:
            return False
        weights[a] = math.log(cost[a]) - 2.0 * math.log(evidence) if cost[a] > 0.0 else -math.inf
        largest = max(largest, weights[a])
    total = 0.0
    for a in range(means.size):
        weights[a] = math.exp(weights[a] - largest)
        total += weights[a]
    for a in range(means.size):
        weights[a] /= total
    return True


@parts(
    fill_answer=_fill_answer,
    log_error_of=_log_error_of,
    fill_boost_shares=_fill_boost_shares,
    fill_slopes=_fill_slopes,
    fill_weights=_fill_weights,
)
class AboveThresholdKernel(NamedTuple):
    """`AboveThreshold` for kernels, with space of its own."""

    threshold: float
    axis: Any


@dataclass(frozen=True)
class AboveThreshold:
    """Find all arms whose private means are above a threshold: possibly none, possibly all.

    Parameters
    ----------
    threshold
        A mean that private rewards can have.

    Examples
    --------
    >>> AboveThreshold(0.15).answer(np.array([0.2, 0.5, 0.1, 0.0]))
    array([ True,  True, False, False])
    """

    name: ClassVar[str] = "above-threshold"
    threshold: float

    def __post_init__(self) -> None:
        set_number(self, "threshold", "threshold must be a finite number", math.isfinite)

    def check(self, n_arms: int, family: Any) -> None:
        """Raise ValueError unless the threshold is a mean that private rewards can have."""
        low, high = family.mean_range
        if not low < self.threshold < high:
            raise ValueError(
                f"The threshold {self.threshold:g} is not a possible mean of {short_repr(family)}; give one between "
                f"{low:g} and {high:g}."
            )

    def answer(self, means: FloatArray) -> BoolArray:
        """Return which means are above the threshold, (K,)."""
        if (means == self.threshold).any():
            tied = np.flatnonzero(means == self.threshold).tolist()
            raise ValueError(
                f"The private mean of arms {tied} equals the threshold {self.threshold:g}; change one or the other."
            )
        return np.asarray(means > self.threshold)

    def doubts(
        self, pulls: FloatArray, means: FloatArray, divergence: Callable[[FloatArray, FloatArray], FloatArray]
    ) -> FloatArray:
        """Return the evidence that each arm is on its side of the threshold, (K, K)."""
        return np.diag(pulls * divergence(means, np.full(means.size, self.threshold)))

    def kernel(self, n_arms: int, family: Any) -> AboveThresholdKernel:
        """Return the settings for kernels."""
        return AboveThresholdKernel(self.threshold, axis_of(family, n_arms, self))
