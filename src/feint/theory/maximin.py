r"""The error exponent Γ(w), its maximum over boosting proportions, and the classical best-arm allocation.

**The exponent and σ.** Boosting arm a in a share w_a of T steps pulls it N_a ≈ (2σ/d_a)·√(εT·w_a) times (Theorem 1),
with d_a the public and Δ_a the private gaps. The error of the private posterior is exp(−min_a N_1·N_a·Δ_a²/(2σ²(N_1 +
N_a))), 1 the best private arm, so its logarithm is −√(εT)·Γ(w)/σ with Γ as the paper's Eq. (Gamma) defines it: the 2
of N_a and the ½ of the evidence cancel, and one σ of N_a is left against the two of the evidence. Here every gap is
measured in units of σ, which takes that σ into Γ: **log(1 − p*) ≈ −√(εT)·Γ(w) for every σ**, and Γ does not change
when rewards are rescaled. w* depends on σ in no way. (The paper prints −√(4εT)·Γ; see docs/errata.md.)

**The certificate.** Γ = min_a f_a with f_a concave, so for multipliers λ ≥ 0 with Σ λ_a = 1 and any w on the simplex

    Γ* ≤ max_v Σ_a λ_a·(f_a(w) + ∇f_a(w)·(v − w)) = Σ_a λ_a·(f_a(w) − ∇f_a(w)·w) + max_b Σ_a λ_a·∂_b f_a(w),

and ∇f_a(w)·w = k·f_a(w), since f_a is homogeneous of degree k: ½ for boosting, 1 for the classical problem. `gap` is
this bound less Γ(w). λ_a ∝ 1/∂_a f_a(w) closes it at the optimum.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feint.bandit import Bandit
from feint.numerics._validate import FloatArray, as_floats
from feint.theory.maximin_kernel import CASE_1, CASE_2, COINCIDE, TWO_ARMS, optimal_weights

_CASES = {
    CASE_1: "case 1: separating the publicly worse arms decides",
    CASE_2: "case 2: separating the best private from the best public arm decides",
    COINCIDE: "the best public and the best private arm are the same",
    TWO_ARMS: "two arms: every boost goes to the best private arm",
}
_SUM_TOLERANCE = 1e-9
_STEPS = 100


@dataclass(frozen=True)
class Allocation:
    """A solved maximin problem.

    `weights` (K,) on the simplex; `gamma`, the exponent they reach; `case`, which case held; `gap` ≥ 0 up to rounding,
    with the largest possible exponent proven to lie between `gamma` and `gamma + gap`.
    """

    weights: FloatArray
    gamma: float
    case: str
    gap: float


def gamma(bandit: Bandit, weights: npt.ArrayLike) -> float:
    r"""Γ(w), the error exponent of boosting in proportions w: log(1 − p*) ≈ −√(εT)·Γ(w).

    .. math::
        \Gamma(w) = \min\Big\{\min_{a \notin \{1, i^*\}}
            \frac{\sqrt{w_1 w_a}\,\Delta_a^2}{\sqrt{w_1}\,d_a + \sqrt{w_a}\,d_1},\;
            \frac{\sqrt{w_1}\,\Delta_{i^*}^2}{d_1}\Big\}

    the paper's Eq. (Gamma), 1 the best private and i* the best public arm, Δ private and d public gaps in units of σ.
    If 1 = i*, arm 1 is pulled nearly always and Γ(w) = min_a √w_a·Δ_a²/d_a.

    Parameters
    ----------
    weights
        (K,), 0 or more, summing to 1: the share of steps that boost each arm. A share of the best public arm is wasted,
        for it is pulled nearly always without.

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> round(gamma(bandit, [0, 1/3, 1/3, 1/3]), 6)
    0.10264
    >>> gamma(bandit, [1, 0, 0, 0])
    0.0
    """
    check_unique_best_public(bandit)
    return float(_terms(bandit, check_weights(bandit, weights))[1].min())


def optimal_boosting(bandit: Bandit) -> Allocation:
    r"""w*, the boosting proportions with the largest exponent, and Γ* = Γ(w*), with a proof that it is the largest.

    .. math:: w^* = \arg\max_{w} \Gamma(w)

    the paper's Eq. (max_min_all), solved by one bracketed root (`maximin_kernel`, after Appendix B).

    Returns
    -------
    Allocation: `weights` (K,) with 0 at the best public arm, `gamma` = Γ*, `case` in words, `gap`.

    Examples
    --------
    >>> best = optimal_boosting(Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0]))
    >>> best.weights.round(4)
    array([0.    , 0.3692, 0.5623, 0.0685])
    >>> best.case, abs(best.gap) < 1e-12 * best.gamma
    ('case 1: separating the publicly worse arms decides', True)
    """
    check_unique_best_public(bandit)
    weights = np.empty(bandit.n_arms)
    scratch = np.empty((2, bandit.n_arms))
    case = optimal_weights(np.array(bandit.public), np.array(bandit.private), weights, scratch)
    arms, values, own, shared, best = _terms(bandit, weights)
    achieved = float(values.min())
    if case not in _CASES or not math.isfinite(achieved) or achieved <= 0.0:
        raise ValueError(
            f"The gaps of {bandit} are so unequal that its weights leave float64's range; give gaps within 1e±60."
        )
    if case == COINCIDE:
        multipliers = 1.0 / own
    else:
        others = arms != bandit.best_public
        multipliers = np.zeros(arms.size)
        multipliers[others] = 0.5 * achieved / own[others]
        if case != CASE_1:  # in case 1 arm i* does not bind, and rounding must not make it
            # From ∂_1, not as 1 − Σ λ_a: it may be far below 1.
            multipliers[~others] = np.maximum(0.0, (0.5 * achieved - multipliers @ shared) / shared[~others])
    return Allocation(weights, achieved, _CASES[case], _gap(achieved, multipliers, values, own, shared, best, 0.5))


def optimal_allocation(bandit: Bandit) -> Allocation:
    r"""The classical allocation of pulls for finding the best private arm: no observer, ε = ∞.

    .. math:: w^* = \arg\max_w \min_{a \neq 1} \frac{w_1 w_a \Delta_a^2}{2\sigma^2 (w_1 + w_a)}

    the paper's Eq. (max_min_gaussian), with w_a where it prints w_1. Here `weights` (K,) are shares of pulls,
    log(1 − p*) ≈ −T·`gamma`, and 1/`gamma` is T* of Garivier & Kaufmann (2016). By their Theorem 5 the ratios
    x_a = w_a/w_1 solve Σ x_a² = 1 with x_a = y/(Δ_a² − y).

    >>> best = optimal_allocation(Bandit(public=[0.0, 1.0, 0.0], private=[1.0, 0.0, 0.0]))
    >>> best.weights.round(4), round(1 / best.gamma, 3)  # equal gaps: w_1 = 1/(1 + √2), T* = 2(1 + √2)²
    (array([0.4142, 0.2929, 0.2929]), 11.657)
    """
    best = bandit.best_private
    others = np.arange(bandit.n_arms) != best
    means = np.array(bandit.private)[others]
    gaps = bandit.private_gaps[others]
    nearest = gaps.min()
    # Δ_a² − Δ_m² = (μ_m − μ_a)(Δ_a + Δ_m), without cancellation, in units of Δ_m²
    excess = (means.max() - means) / nearest * (1.0 + gaps / nearest)
    ratios = _ratios(excess)
    weights = np.empty(bandit.n_arms)
    weights[best] = 1.0 / (1.0 + ratios.sum())
    weights[others] = ratios * weights[best]
    half = 0.5 * (gaps / bandit.sigma) ** 2
    values = half * weights[best] * (ratios / (1.0 + ratios))
    own = half / (1.0 + ratios) ** 2
    shared = half * (ratios / (1.0 + ratios)) ** 2
    achieved = float(values.min())
    if not math.isfinite(achieved) or achieved <= 0.0:
        raise ValueError(f"The gaps of {bandit} are so unequal that its weights leave float64's range.")
    case = "no limit: every step may pull any arm"
    return Allocation(weights, achieved, case, _gap(achieved, 1.0 / own, values, own, shared, None, 1.0))


def check_weights(bandit: Bandit, weights: npt.ArrayLike) -> FloatArray:
    """`weights` as floats (K,) on the simplex, or a ValueError that says what is wrong."""
    array = as_floats(weights, "weights")
    if array.shape != (bandit.n_arms,):
        raise ValueError(f"weights have shape {array.shape}; give one for each of the {bandit.n_arms} arms.")
    if (array < 0).any() or not abs(array.sum() - 1.0) <= _SUM_TOLERANCE:
        raise ValueError(
            f"weights are {array.tolist()}; shares of steps must be 0 or more and sum to 1 (theirs is {array.sum()})."
        )
    return array


def check_unique_best_public(bandit: Bandit) -> None:
    """Refuse a tie for the best public arm, where the rates do not hold."""
    tied = np.flatnonzero(bandit.public_gaps == 0.0)
    if tied.size > 1:
        raise ValueError(
            f"Arms {tied.tolist()} tie for the best public mean {max(bandit.public)}; Thompson Sampling pulls them all "
            "without a boost and the √T rates do not hold, so make one mean larger."
        )


def _terms(
    bandit: Bandit, weights: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray, FloatArray, int | None]:
    """Arms a ≠ 1, with f_a(w), ∂_a f_a and ∂_1 f_a (0 where that weight does not enter), and the index 1 (or None)."""
    best, i_star = bandit.best_private, bandit.best_public
    arms = np.flatnonzero(np.arange(bandit.n_arms) != best)
    evidence = bandit.private_gaps[arms] ** 2 / bandit.sigma
    roots = np.sqrt(weights[arms])
    with np.errstate(divide="ignore", invalid="ignore"):
        if best == i_star:
            values = roots * evidence / bandit.public_gaps[arms]
            return arms, values, values / (2.0 * weights[arms]), np.zeros(arms.size), None
        d, d_1, root_1 = bandit.public_gaps[arms], bandit.public_gaps[best], math.sqrt(weights[best])
        bottom = root_1 * d + roots * d_1
        # The share of 1/f_a that N_a is responsible for; arm i* is pulled nearly always, so N_1 is for all of it.
        share = np.where(arms == i_star, 0.0, root_1 * d / bottom)
        rest = np.where(arms == i_star, 1.0, roots * d_1 / bottom)
        both = np.where(bottom > 0.0, root_1 * roots * evidence / bottom, 0.0)
        values = np.where(arms == i_star, root_1 * evidence / d_1, both)
        own = np.where(arms == i_star, 0.0, values * share / (2.0 * weights[arms]))
        return arms, values, own, values * rest / (2.0 * weights[best]), best


def _gap(
    achieved: float,
    multipliers: FloatArray,
    values: FloatArray,
    own: FloatArray,
    shared: FloatArray,
    best: int | None,
    degree: float,
) -> float:
    """The upper bound on the maximum less `achieved`; see the module's docstring. Valid for any multipliers ≥ 0."""
    scaled = multipliers / multipliers.sum()
    slopes = [float((scaled * own).max())]
    if best is not None or shared.any():
        slopes.append(float(scaled @ shared))
    # The degree's share of Σ λ_a·f_a drops out; written as differences from `achieved` so that rounding stays relative.
    above = float(scaled @ (values - achieved))
    return (1.0 - degree) * above + (max(slopes) - degree * achieved)


def _ratios(excess: FloatArray) -> FloatArray:
    """x_a = w_a/w_1 with Σ x_a² = 1, from (Δ_a² − Δ_m²)/Δ_m² ≥ 0, m the nearest arm.

    With x = x_m, x_a = x/((1 + x)·excess_a + 1) grows from 0, so x lies in [(K − 1)^(−1/2), 1]: Newton's method in
    log x, kept inside by bisection.
    """
    low, high = -0.5 * math.log(excess.size), 0.0
    point = high
    for _ in range(_STEPS):
        bottom = (1.0 + math.exp(point)) * excess + 1.0
        squares = (math.exp(point) / bottom) ** 2
        value = float(squares.sum()) - 1.0
        if value > 0.0:
            high = point
        else:
            low = point
        following = point - value / float(2.0 * (squares * (excess + 1.0) / bottom).sum())
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - point) <= 1e-16:
            break
        point = following
    ratios: FloatArray = math.exp(point) / ((1.0 + math.exp(point)) * excess + 1.0)
    return ratios
