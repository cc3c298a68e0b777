r"""The contract that every goal fulfils, compiled or in plain Python.

A goal asks a question about the private means whose answer is a set of arms, K booleans. In plain Python it has

- `answer(means)`: the right answer if these were the private means;
- `log_error(answer, pulls, sums)`: the log of the posterior probability that the right answer is another one, from each
  arm's pulls and sum of private rewards;
- `doubts(pulls, means, divergence)`, if Algorithm 1 is to explore for it or theory is asked about it: an (n, K) array
  with one row for each way in which `answer(means)` may be wrong. A row has N_a·D(μ_a, x_a) for every arm, where x are
  the means nearest to μ for which the answer is wrong in this way, and `divergence(x, y)` is that of private rewards.

The sum of a row is its *evidence* E = min_x Σ_a N_a·D(μ_a, x_a), which is concave and homogeneous in the pulls N.
With N_a = √(2·w_a/d_a) the smallest evidence is Γ(w) (`theory.goal_boosting`).

A goal of the package also has `kernel(n_arms, family)`: settings for kernels, with space of their own. Their class has
the parts below; `check(n_arms, family)` raises ValueError if the goal does not fit an instance.

**Algorithm 1 for any goal.** The row with the least evidence is the weakest point of the answer. To boost arm a with
its share of that evidence, N_a·D(μ_a, x_a)/E, leads to w* (docs/theory.md). For two normal arms i and j it is
N_j/(N_i + N_j), line 6 of Algorithm 1. The weakest row is taken (`sampled` is False), or rows are drawn in proportion
to Φ(−√(2E)) (`sampled`), for normal rewards the posterior probability that the answer is wrong in this way.
"""

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from feint._types import BoolArray, FloatArray
from feint.families.base import Belief, family_settings
from feint.numerics._jit import Plain, by_type, inlined
from feint.numerics.normal import scaled_tail
from feint.support.own_parts import OwnPartError, call
from feint.support.printable import short_repr

_TINY = -40.0  # below this log of the largest p, 1 − ∏ (1 − p) equals Σ p up to e^−40


class Goal(Protocol):
    """A question about the private means; see the module's docstring."""

    def answer(self, means: FloatArray, /) -> npt.ArrayLike: ...


@by_type
def fill_answer(goal: Any, belief: Belief, answer: BoolArray) -> None:
    """Fill in the arms of the answer that the private posterior suggests."""
    raise NotImplementedError


@by_type
def log_error_of(goal: Any, belief: Belief, answer: BoolArray) -> float:
    """Return the log of the posterior probability that the right answer is not `answer`."""
    raise NotImplementedError


@by_type
def surely_above(goal: Any, belief: Belief, answer: BoolArray, log_delta: float) -> bool:
    """Return True where a quick bound shows that `log_error_of` is above `log_delta`; False says nothing."""
    return False


@by_type
def fill_boost_shares(
    goal: Any, family: Any, pulls: FloatArray, means: FloatArray, sampled: bool, shares: FloatArray
) -> float:
    """Fill in the probability with which Algorithm 1 boosts each arm, and return the least evidence."""
    raise NotImplementedError


@by_type
def fill_slopes(goal: Any, family: Any, pulls: FloatArray, means: FloatArray, slopes: FloatArray) -> float:
    """Fill in roughly how far the log of the error moves per standard deviation of each mean; return the least
    evidence. The error is in proportion to Σ Φ(−√(2E)), and E moves with arm a by √(2E·share of a).
    """
    raise NotImplementedError


@by_type
def fill_weights(goal: Any, family: Any, means: FloatArray, cost: FloatArray, weights: FloatArray) -> bool:
    """Fill in w*, the optimal shares of boosts at these private means, and return True; False if means tie.

    `cost` has the public divergence of every arm from the best public arm; it is 0 for that arm only.
    """
    raise NotImplementedError


@inlined
def relative_doubt(evidence: float, least: float, sampled: bool) -> float:
    """Return the weight of a row relative to that of the weakest one: Φ(−√(2E)), or 1 for the weakest alone."""
    if not sampled:
        return 1.0 if evidence == least else 0.0
    tail, most = scaled_tail(math.sqrt(2.0 * evidence)), scaled_tail(math.sqrt(2.0 * least))
    return math.exp(least - evidence) * (tail / most)


@inlined
def hazard(evidence: float) -> float:
    """Return φ(z)/Φ(−z) at z = √(2E), the slope of −log Φ(−z) in z."""
    return 1.0 / (math.sqrt(2.0 * math.pi) * scaled_tail(math.sqrt(2.0 * evidence)))


@inlined
def log_any(log_none: float, highest: float, relative: float) -> float:
    """Return log(1 − ∏ (1 − p)) from Σ log(1 − p), the largest log p, and Σ p relative to that one."""
    return highest + math.log(relative) if highest < _TINY else math.log(-math.expm1(log_none))


class PlainGoal(Plain):
    """A goal without a kernel."""

    def __init__(self, goal: Any, family: Any) -> None:
        self.goal, self.family = goal, family

    @staticmethod
    def fill_answer(settings: "PlainGoal", belief: Belief, answer: BoolArray) -> None:
        """Ask the goal and check its answer."""
        answer[:] = answer_of(settings.goal, belief.means.copy())

    @staticmethod
    def log_error_of(settings: "PlainGoal", belief: Belief, answer: BoolArray) -> float:
        """Ask the goal and check its answer."""
        step = int(belief.pulls.sum()) + 1
        known = answer.copy(), belief.pulls.copy(), belief.sums.copy()
        found = call(settings.goal, "log_error", step, *known)
        if not isinstance(found, int | float | np.number) or not found <= 1e-9:
            raise OwnPartError(
                f"{type(settings.goal).__name__}.log_error returned {found!r} after {step - 1} pulls; it must be the "
                "logarithm of a probability, 0 or less."
            )
        return min(0.0, float(found))

    @staticmethod
    def fill_boost_shares(
        settings: "PlainGoal", family: Any, pulls: FloatArray, means: FloatArray, sampled: bool, shares: FloatArray
    ) -> float:
        """Ask the goal for its rows."""
        evidence, shares_of_arms, log_tails = settings.weigh_rows(pulls, means)
        least = float(evidence.min())
        weights = np.exp(log_tails - log_tails.max()) if sampled else (evidence == least).astype(float)
        shares[:] = weights @ shares_of_arms / weights.sum()
        return least

    @staticmethod
    def fill_slopes(
        settings: "PlainGoal", family: Any, pulls: FloatArray, means: FloatArray, slopes: FloatArray
    ) -> float:
        """Ask the goal for its rows."""
        evidence, shares_of_arms, log_tails = settings.weigh_rows(pulls, means)
        weights = np.exp(log_tails - log_tails.max())
        hazards = np.exp(-evidence - log_tails) / math.sqrt(2.0 * math.pi)
        slopes[:] = (weights * hazards) @ np.sqrt(shares_of_arms) / weights.sum()
        return float(evidence.min())

    def weigh_rows(self, pulls: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the evidence E of every row, (n,), the arms' shares of it, (n, K), and log Φ(−√(2E)), (n,)."""
        from scipy.special import log_ndtr

        rows = doubts_of(self.goal, pulls.astype(float), means.copy(), self.family.divergence)
        evidence = rows.sum(1)
        with np.errstate(invalid="ignore"):
            shares = np.where(evidence[:, None] > 0.0, rows / evidence[:, None], (rows >= 0.0) / means.size)
        return evidence, shares, log_ndtr(-np.sqrt(2.0 * evidence))


def answer_of(goal: Any, means: FloatArray) -> BoolArray:
    """Return the answer for these means, checked."""
    found = np.asarray(call(goal, "answer", None, means))
    if found.shape != means.shape or found.dtype != np.bool_:
        raise OwnPartError(
            f"{type(goal).__name__}.answer returned {found!r}; it must be {means.size} booleans, one for each arm."
        )
    return found


def doubts_of(goal: Any, pulls: FloatArray, means: FloatArray, divergence: Any) -> FloatArray:
    """Return the rows of a goal, (n, K), checked."""
    if not hasattr(goal, "doubts"):
        raise ValueError(
            f"{type(goal).__name__} does not say how its answer may be wrong; give it a method doubts(pulls, means, "
            "divergence) (docs/extending.md), or choose an explorer that needs none, such as RoundRobin."
        )
    rows = np.asarray(call(goal, "doubts", None, pulls, means, divergence), dtype=float)
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] != means.size or not (rows >= 0.0).all():
        raise OwnPartError(
            f"{type(goal).__name__}.doubts returned an array of shape {rows.shape}; it must be (n, {means.size}), one "
            "row for each way to be wrong, with numbers of 0 or more."
        )
    return rows


def check_goal(goal: Any, n_arms: int, family: Any) -> None:
    """Raise ValueError unless this is a goal that fits the number of arms and the private rewards."""
    if isinstance(goal, type) or not hasattr(goal, "answer"):
        raise ValueError(
            f"goal is {short_repr(goal)}; give one of feint.goals with its parentheses, such as TopArms(2), or an "
            "object of your own with answer and log_error (docs/extending.md)."
        )
    if hasattr(goal, "kernel"):
        call(goal, "check", None, n_arms, family)


def goal_settings(goal: Any, n_arms: int, family: Any) -> Any:
    """Return the settings of a goal for kernels, or its plain stand-in, for private rewards of this family."""
    check_goal(goal, n_arms, family)
    if not hasattr(goal, "kernel"):
        return PlainGoal(goal, family)
    return call(goal, "kernel", None, n_arms, family)


def axis_of(family: Any, n_arms: int, goal: Any) -> Any:
    """Return the axis of a family's posteriors, if it has one."""
    if not hasattr(family, "kernel") or not hasattr(type(family_settings(family)), "axis"):
        raise ValueError(
            f"{short_repr(goal)} needs the posterior of every private mean, which {type(family).__name__} does not "
            "give; choose a family of feint, or the goal BestArm()."
        )
    return type(family_settings(family)).axis(n_arms)
