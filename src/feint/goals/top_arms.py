"""Find the m arms with the largest private means."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.families.base import Belief, divergence_to, fill_log_best
from feint.families.placing import middle_point, place_on_axis
from feint.goals.base import axis_of, hazard, relative_doubt
from feint.goals.top_arms_weights import SPACE_ROWS, fill_top_weights
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import is_whole
from feint.numerics.best_arm_rows import log_rest
from feint.numerics.posterior_axes import arm_centre, log_swapped
from feint.numerics.top_arms import Integral, allocate_integral, log_top_arms

_ROUNDING = 1e-9  # a generous bound on the rounding of the log of a pair's probability


@part
def _choose_largest(values: FloatArray, size: int, answer: BoolArray) -> None:
    """Mark the `size` largest values; of equal ones, the first."""
    for a in range(values.size):
        ahead = 0
        for j in range(values.size):
            if values[j] > values[a] or (values[j] == values[a] and j < a):
                ahead += 1
        answer[a] = ahead < size


@inlined
def _place(goal: "TopArmsKernel", belief: Belief) -> None:
    place_on_axis(belief.family, belief.posterior, goal.axis, middle_point(belief.family, belief.posterior))


@part
def _fill_answer(goal: "TopArmsKernel", belief: Belief, answer: BoolArray) -> None:
    """Take the arms with the largest posterior means, or for a single arm the one that is most likely the best."""
    if goal.size == 1:
        fill_log_best(belief.family, belief.posterior, belief.ws, goal.values)
    else:
        _place(goal, belief)
        for a in range(answer.size):
            goal.values[a] = arm_centre(goal.axis, a)
    _choose_largest(goal.values, goal.size, answer)


@part
def _log_error_of(goal: "TopArmsKernel", belief: Belief, answer: BoolArray) -> float:
    if goal.size == 1:
        fill_log_best(belief.family, belief.posterior, belief.ws, goal.values)
        best = 0
        for a in range(answer.size):
            if answer[a]:
                best = a
        return log_rest(goal.values, best)
    _place(goal, belief)
    return log_top_arms(goal.axis, answer, True, goal.integral)


@part
def _surely_above(goal: "TopArmsKernel", belief: Belief, answer: BoolArray, log_delta: float) -> bool:
    """Return whether the answer is certainly wrong with a probability above δ.

    It is wrong whenever an arm of the answer lies below an arm outside it, so each such pair gives a lower bound.
    """
    _place(goal, belief)
    for i in range(answer.size):
        for j in range(answer.size):
            if answer[i] and not answer[j] and log_swapped(goal.axis, i, j) > log_delta * (1.0 - _ROUNDING) + _ROUNDING:
                return True
    return False


@part
def _fill_pairs(goal: "TopArmsKernel", family: Any, pulls: FloatArray, means: FloatArray) -> float:
    """Fill in the evidence of every pair and the share of its first arm; return the least evidence."""
    n = means.size
    _choose_largest(means, goal.size, goal.inside)
    least = math.inf
    for i in range(n):
        for j in range(n):
            if goal.inside[i] and not goal.inside[j]:
                gap = means[i] - means[j]
                share = pulls[j] / (pulls[i] + pulls[j])
                first = pulls[i] * divergence_to(family, means[i], -share * gap)
                second = pulls[j] * divergence_to(family, means[j], (1.0 - share) * gap)
                goal.pairs[0, i, j] = first + second
                goal.pairs[1, i, j] = first / (first + second) if first + second > 0.0 else share
                least = min(least, first + second)
    return least


@part
def _fill_by_pair(
    goal: "TopArmsKernel",
    family: Any,
    pulls: FloatArray,
    means: FloatArray,
    sampled: bool,
    slopes: bool,
    out: FloatArray,
) -> float:
    """Fill in a mean over pairs, weighted by their doubt: of both arms' shares of the evidence, or of the `slopes` of
    that doubt in both means.
    """
    n = means.size
    least = _fill_pairs(goal, family, pulls, means)
    for a in range(n):
        out[a] = 0.0
    total = 0.0
    for i in range(n):
        for j in range(n):
            if goal.inside[i] and not goal.inside[j]:
                weight = relative_doubt(goal.pairs[0, i, j], least, sampled)
                total += weight
                first, second = goal.pairs[1, i, j], 1.0 - goal.pairs[1, i, j]
                if slopes:
                    weight *= hazard(goal.pairs[0, i, j])
                    first, second = math.sqrt(first), math.sqrt(second)
                out[i] += weight * first
                out[j] += weight * second
    for a in range(n):
        out[a] /= total
    return least


@inlined
def _fill_boost_shares(
    goal: "TopArmsKernel", family: Any, pulls: FloatArray, means: FloatArray, sampled: bool, shares: FloatArray
) -> float:
    return _fill_by_pair(goal, family, pulls, means, sampled, False, shares)


@inlined
def _fill_slopes(goal: "TopArmsKernel", family: Any, pulls: FloatArray, means: FloatArray, slopes: FloatArray) -> float:
    return _fill_by_pair(goal, family, pulls, means, True, True, slopes)


@part
def _fill_weights(goal: "TopArmsKernel", family: Any, means: FloatArray, cost: FloatArray, weights: FloatArray) -> bool:
    _choose_largest(means, goal.size, goal.inside)
    return fill_top_weights(family, means, goal.inside, cost, goal.pairs, goal.newton, weights)


@parts(
    fill_answer=_fill_answer,
    log_error_of=_log_error_of,
    surely_above=_surely_above,
    fill_boost_shares=_fill_boost_shares,
    fill_slopes=_fill_slopes,
    fill_weights=_fill_weights,
)
class TopArmsKernel(NamedTuple):
    """`TopArms` for kernels, with space of its own."""

    size: int
    axis: Any
    integral: Integral
    values: FloatArray  # (K,) scratch
    inside: BoolArray  # (K,) scratch
    pairs: FloatArray  # (2, K, K) scratch: the evidence of a pair and the share of its first arm
    newton: FloatArray  # (K + SPACE_ROWS, K) scratch of `top_arms_weights`


@dataclass(frozen=True)
class TopArms:
    """Find the m arms with the largest private means, in no particular order.

    Parameters
    ----------
    m
        How many arms to find, from 1 to K − 1. `TopArms(1)` asks what `BestArm` asks.

    Examples
    --------
    >>> TopArms(2).answer(np.array([0.2, 0.5, 0.1, 0.0]))
    array([ True,  True, False, False])
    """

    name: ClassVar[str] = "top-arms"
    m: int

    def __post_init__(self) -> None:
        if not is_whole(self.m, 1):
            raise ValueError(f"m is {self.m!r}; give a whole number of arms, 1 or more.")
        object.__setattr__(self, "m", int(self.m))

    def check(self, n_arms: int, family: Any) -> None:
        """Raise ValueError unless some arms are left over."""
        if self.m >= n_arms:
            raise ValueError(f"The goal is the top {self.m} of {n_arms} arms; give an m below the number of arms.")

    def answer(self, means: FloatArray) -> BoolArray:
        """Return which arms are among the top m, (K,)."""
        found = np.zeros(means.size, dtype=bool)
        found[np.argsort(-means, kind="stable")[: self.m]] = True
        ordered = np.sort(means)[::-1]
        if self.m < means.size and ordered[self.m - 1] == ordered[self.m]:
            tied = np.flatnonzero(means == ordered[self.m]).tolist()
            raise ValueError(f"Arms {tied} tie for place {self.m} among the private means; make one of them larger.")
        return found

    def doubts(
        self, pulls: FloatArray, means: FloatArray, divergence: Callable[[FloatArray, FloatArray], FloatArray]
    ) -> FloatArray:
        """Return the evidence between every arm of the top m and every other one, (m·(K − m), K)."""
        order = np.argsort(-means, kind="stable")
        first, second = (found.ravel() for found in np.meshgrid(order[: self.m], order[self.m :], indexing="ij"))
        both = pulls[first] + pulls[second]
        share = np.divide(pulls[second], both, out=np.full(both.size, 0.5), where=both > 0.0)
        gap, pairs = means[first] - means[second], np.arange(first.size)
        rows = np.zeros((first.size, means.size))
        rows[pairs, first] = pulls[first] * divergence(means[first], means[first] - share * gap)
        rows[pairs, second] = pulls[second] * divergence(means[second], means[second] + (1.0 - share) * gap)
        return rows

    def kernel(self, n_arms: int, family: Any) -> TopArmsKernel:
        """Return the settings for kernels."""
        pairs, newton = np.empty((2, n_arms, n_arms)), np.empty((n_arms + SPACE_ROWS, n_arms))
        space = np.empty(n_arms), np.empty(n_arms, dtype=bool), pairs, newton
        return TopArmsKernel(self.m, axis_of(family, n_arms, self), allocate_integral(n_arms), *space)
