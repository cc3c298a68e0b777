r"""The error exponent Γ(w), its maximum over boosting proportions, and the classical best-arm allocation.

**The exponent.** Let d_a = d(μ_a, μ_{i*}) be the public divergence of arm a from the best public arm i*. Boosting a in
a share w_a of T steps pulls it N_a ≈ √(2·w_a·εT/d_a) times (Theorem 1; Gaussian: d = Δ²/2σ²). With D the private
divergence, the error of the private posterior is about exp(−min_a E_a), E_a the evidence of `maximin_kernel` at those
pulls. So **log(1 − p*) ≈ −√(εT)·Γ(w)**, Γ(w) = min_a f_a(w) with f_a = E_a at N_a = √(2·w_a/d_a). This step is
heuristic, here and in the paper: it puts the limit of the pulls and the true means into the evidence and keeps the
leading term, without a proof that chance and lower orders do not matter. `feint reproduce figure2` measures it. For
normal rewards Γ is the paper's Equation 8 (Section 5) with every gap in units of σ: it does not change when rewards are
rescaled. (The paper prints −√(4εT)·Γ; see docs/errata.md.) What is proven here is that w* maximises Γ.

**The certificate.** Each f_a is concave (an infimum of linear functions of N, increasing, of the concave √w), so for
multipliers λ ≥ 0 with Σ λ_a = 1 and any w on the simplex

    Γ* ≤ max_v Σ_a λ_a·(f_a(w) + ∇f_a(w)·(v − w)) = Σ_a λ_a·(f_a(w) − ∇f_a(w)·w) + max_b Σ_a λ_a·∂_b f_a(w),

and ∇f_a(w)·w = k·f_a(w), since f_a is homogeneous of degree k: ½ for boosting, 1 for the classical problem. `gap` is
this bound minus Γ(w). At the optimum λ_a ∝ 1/∂_a f_a(w) makes it 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, IntArray
from feint.bandit import Bandit
from feint.goals import BestArm, Goal
from feint.goals.base import check_goal
from feint.numerics._jit import kernel
from feint.support.printable import short_list
from feint.theory.goal_boosting import boost_for_goal, gamma_of_goal
from feint.theory.instance import (
    check_families,
    check_unique_best_public,
    check_weights,
    divergences_at,
    information,
    public_divergences,
    seen_wholly,
)
from feint.theory.maximin_kernel import (
    CASE_1,
    CASE_2,
    COINCIDE,
    SCRATCH_ROWS,
    TWO_ARMS,
    optimal_ratios,
    optimal_weights,
)

_CASES = {
    CASE_1: "case 1: separating the publicly worse arms decides",
    CASE_2: "case 2: separating the best private from the best public arm decides",
    COINCIDE: "the best public and the best private arm are the same",
    TWO_ARMS: "two arms: every boost goes to the best private arm",
}
_FEW_ARMS = 64  # up to this number, plain Python solves faster than a kernel compiles


@dataclass(frozen=True)
class Allocation:
    """The solution of a maximin problem.

    `weights` (K,) lie on the simplex, `gamma` is the exponent that they reach, and `case` tells which case holds. The
    largest possible exponent is proven to lie between `gamma` and `gamma + gap`, with `gap` ≥ 0 up to rounding.
    """

    weights: FloatArray
    gamma: float
    case: str
    gap: float

    def __repr__(self) -> str:
        return (
            f"Allocation(weights={short_list(self.weights)}, gamma={self.gamma:.6g}, "
            f"case={self.case!r}, gap={self.gap:.2g})"
        )


class _Terms(NamedTuple):
    """f_a(w), ∂_a f_a and ∂_1 f_a for every arm a ≠ 1; a derivative is 0 where that weight does not enter."""

    arms: IntArray
    values: FloatArray
    own: FloatArray
    shared: FloatArray


def gamma(bandit: Bandit, weights: npt.ArrayLike, *, goal: Goal = BestArm()) -> float:  # noqa: B008 - frozen
    r"""Return Γ(w), the error exponent of boosting in proportions w: log(1 − p*) ≈ −√(εT)·Γ(w), a heuristic.

    .. math::
        \Gamma(w) = \min\Big\{\min_{a \notin \{1, i^*\}} \min_x N_1 D(\mu_1, x) + N_a D(\mu_a, x),\;
            N_1 D(\mu_1, \mu_{i^*})\Big\}, \qquad N_a = \sqrt{2 w_a/d_a}

    This is the paper's Equation 8 (Section 5) for any family, with 1 the best private and i* the best public arm,
    D the private divergence and d_a the public one from i*. If 1 = i*, arm 1 is nearly always pulled and
    Γ(w) = min_a N_a·D(μ_a, μ_1).

    Parameters
    ----------
    bandit
        The instance, with a single best public arm.
    weights
        (K,) numbers of 0 or more that sum to 1: the share of steps that boost each arm. Boosts of the best public arm
        are wasted, because it is nearly always pulled anyway.
    goal
        What is to be learnt. For a goal other than `BestArm`, Γ(w) is the least evidence against a wrong answer:
        min N_i·D(μ_i, x) + N_j·D(μ_j, x) over i in the top m, j not, and x for `TopArms`, and min_a N_a·D(μ_a, c) for
        `AboveThreshold` (docs/theory.md).

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> round(gamma(bandit, [0, 1/3, 1/3, 1/3]), 6)
    0.10264
    >>> gamma(bandit, [1, 0, 0, 0])
    0.0
    """
    shares = check_weights(bandit, weights)
    bandit = _checked_instance(bandit, goal)
    if not isinstance(goal, BestArm):
        return gamma_of_goal(bandit, goal, shares, public_divergences(bandit))
    return float(_boosting_terms(bandit, shares).values.min())


def optimal_boosting(bandit: Bandit, *, goal: Goal = BestArm()) -> Allocation:  # noqa: B008 - frozen
    r"""Return w*, the boosting proportions with the largest exponent Γ* = Γ(w*), and a proof that it is the largest.

    .. math:: w^* = \arg\max_{w} \Gamma(w)

    This is the paper's Equation 9 (Section 5), solved by finding one bracketed root (`maximin_kernel`); for other goals
    by cutting planes (`goal_boosting`), to `gap` ≤ 1e-10·Γ*.

    Parameters
    ----------
    bandit
        The instance, with a single best public arm.
    goal
        What is to be learnt, as in `gamma`.

    Returns
    -------
    Allocation
        `weights` (K,) with 0 at the best public arm, `gamma` = Γ*, `case` in words, `gap`.

    Examples
    --------
    >>> best = optimal_boosting(Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0]))
    >>> best.weights.round(4)
    array([0.    , 0.3692, 0.5623, 0.0685])
    >>> best.case, abs(best.gap) < 1e-12 * best.gamma
    ('case 1: separating the publicly worse arms decides', True)
    """
    bandit = _checked_instance(bandit, goal)
    if not isinstance(goal, BestArm):
        found, reached, gap, case = boost_for_goal(bandit, goal, public_divergences(bandit))
        return Allocation(found, reached, case, gap)
    weights, scratch = np.empty(bandit.n_arms), np.empty((SCRATCH_ROWS, bandit.n_arms))
    public, private = (family.kernel() for family in bandit.families)
    case = _run_solver(
        optimal_weights, public, private, np.array(bandit.public), np.array(bandit.private), weights, scratch
    )
    terms = _boosting_terms(bandit, weights)
    achieved = float(terms.values.min())
    if case not in _CASES or not math.isfinite(achieved) or achieved <= 0.0:
        raise ValueError(
            f"The gaps of {bandit} are so unequal that its weights leave float64's range; give gaps within 1e±60."
        )
    if case == COINCIDE:
        multipliers = 1.0 / terms.own
    else:
        others = terms.arms != bandit.best_public
        multipliers = np.zeros(terms.arms.size)
        multipliers[others] = 0.5 * achieved / terms.own[others]
        if case != CASE_1:  # in case 1 arm i* does not bind, and rounding must not make it bind
            # From ∂_1, not as 1 − Σ λ_a, because it may be far below 1.
            rest = 0.5 * achieved - multipliers @ terms.shared
            multipliers[~others] = np.maximum(0.0, rest / terms.shared[~others])
    return Allocation(weights, achieved, _CASES[case], _gap(achieved, multipliers, terms, 0.5))


def optimal_allocation(bandit: Bandit) -> Allocation:
    r"""Return the classical allocation of pulls for finding the best private arm: no observer, ε = ∞.

    .. math:: w^* = \arg\max_w \min_{a \neq 1} \min_x w_1 D(\mu_1, x) + w_a D(\mu_a, x)

    For normal rewards this is the paper's Equation 2 (Section 2.3), with w_a where it prints w_1. Here `weights` (K,)
    are shares of pulls, log(1 − p*) ≈ −T·`gamma`, and 1/`gamma` is T* of Garivier & Kaufmann (2016).

    Parameters
    ----------
    bandit
        The instance; only its private side matters.

    Returns
    -------
    Allocation
        `weights` (K,), `gamma`, `case` in words, `gap`.

    Examples
    --------
    >>> best = optimal_allocation(Bandit(public=[0.0, 1.0, 0.0], private=[1.0, 0.0, 0.0]))
    >>> best.weights.round(4), round(1 / best.gamma, 3)  # equal gaps: w_1 = 1/(1 + √2), T* = 2(1 + √2)²
    (array([0.4142, 0.2929, 0.2929]), 11.657)
    """
    check_families(bandit)
    if bandit.feedback is not None:
        found = optimal_allocation(Bandit(bandit.public, bandit.private, family=bandit.families))
        worth = information(bandit)
        if (worth != worth[0]).any():
            raise ValueError(f"Pulls of the arms of {bandit} are not worth the same, so use optimal_boosting.")
        return replace(found, gamma=float(worth[0]) * found.gamma, gap=float(worth[0]) * found.gap)
    best, means = bandit.best_private, np.array(bandit.private)
    ratios = np.empty(bandit.n_arms)
    _run_solver(
        optimal_ratios, bandit.families[1].kernel(), means, best, ratios, np.empty((SCRATCH_ROWS, bandit.n_arms))
    )
    weights = ratios / ratios.sum()
    arms = np.flatnonzero(np.arange(bandit.n_arms) != best)
    first, second = divergences_at(bandit, arms, ratios[arms])
    terms = _Terms(arms, weights[best] * first + weights[arms] * second, second, first)
    achieved = float(terms.values.min())
    if not math.isfinite(achieved) or achieved <= 0.0:
        raise ValueError(f"The gaps of {bandit} are so unequal that its weights leave float64's range.")
    case = "no limit: every step may pull any arm"
    return Allocation(weights, achieved, case, _gap(achieved, 1.0 / terms.own, terms, 1.0))


def _checked_instance(bandit: Bandit, goal: Goal) -> Bandit:
    """Return the instance with all private rewards seen, on which Γ is computed, if it has an exponent for the goal."""
    check_families(bandit)
    check_unique_best_public(bandit)
    check_goal(goal, bandit.n_arms, bandit.families[1])
    return seen_wholly(bandit)


_compiled = cache(kernel)


def _run_solver(problem: Callable[..., Any], *arguments: Any) -> Any:
    """Run a solver of `maximin_kernel`; the last argument is its scratch."""
    if arguments[-1].shape[1] <= _FEW_ARMS:
        try:
            with np.errstate(all="ignore"):
                return problem(*arguments)
        except (ArithmeticError, ValueError):
            pass  # Python's `math` stops where numbers leave float64's range; a kernel goes on with infinities
    return _compiled(problem)(*arguments)


def _boosting_terms(bandit: Bandit, weights: FloatArray) -> _Terms:
    best, i_star = bandit.best_private, bandit.best_public
    arms = np.flatnonzero(np.arange(bandit.n_arms) != best)
    cost = public_divergences(bandit)
    with np.errstate(divide="ignore", invalid="ignore"):
        pulls = np.sqrt(2.0 * weights / cost)
        if best == i_star:
            values = pulls[arms] * bandit.families[1].divergence(np.array(bandit.private)[arms], max(bandit.private))
            return _Terms(arms, values, values / (2.0 * weights[arms]), np.zeros(arms.size))
        pulls[i_star] = math.inf
        ratios = np.where(pulls[arms] > 0.0, pulls[arms] / pulls[best], 0.0)  # 0/0: no evidence either
        first, second = divergences_at(bandit, arms, ratios)
        mine = np.where(arms == i_star, 0.0, pulls[arms] * second)
        shared = pulls[best] * first
        own = np.where(arms == i_star, 0.0, mine / (2.0 * weights[arms]))
        return _Terms(arms, mine + shared, own, shared / (2.0 * weights[best]))


def _gap(achieved: float, multipliers: FloatArray, terms: _Terms, degree: float) -> float:
    """Return the upper bound on the maximum minus `achieved`; it is valid for any multipliers ≥ 0 (see above)."""
    scaled = multipliers / multipliers.sum()
    slopes = [float((scaled * terms.own).max())]
    if terms.shared.any():
        slopes.append(float(scaled @ terms.shared))
    # The degree's share of Σ λ_a·f_a drops out; written as differences from `achieved` so that rounding stays relative.
    above = float(scaled @ (terms.values - achieved))
    return (1.0 - degree) * above + (max(slopes) - degree * achieved)
