"""What the theory asks of an instance: its divergences, what a pull is worth, and that there is one best public arm.

**Private rewards seldom or never seen.** Let a pull of arm a be worth κ_a private rewards that are seen (`feedback`).
Then κ_a·N_a stands in the place of N_a, and κ_a·N_a = √(2·w_a/d_a′) with d_a′ = d_a/κ_a². For normal rewards this is
the problem of an instance whose public gaps are Δ_a/κ_a and whose private rewards are all seen (`seen_wholly`). So Γ,
w* and the certificate are those of that instance. With the same κ for all arms Γ becomes κ·Γ, and w* stays.
"""

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, IntArray
from feint.bandit import Bandit
from feint.families.base import divergences
from feint.numerics._validate import SUM_TOLERANCE, as_floats
from feint.registry import show_part

_LEAST_WORTH = 1e-150  # the least that a pull may be worth, so that κ² stays in float64's range


def check_weights(bandit: Bandit, weights: npt.ArrayLike) -> FloatArray:
    """Return `weights` as floats (K,) on the simplex, or raise a ValueError that says what is wrong."""
    array = as_floats(weights, "weights")
    if array.shape != (bandit.n_arms,):
        raise ValueError(f"weights have shape {array.shape}; give one for each of the {bandit.n_arms} arms.")
    if (array < 0).any() or not abs(array.sum() - 1.0) <= SUM_TOLERANCE:
        raise ValueError(
            f"weights are {array.tolist()}, with the sum {array.sum()}; shares of steps must be 0 or more and sum to 1."
        )
    return array


def check_families(bandit: Bandit) -> None:
    """Raise ValueError if a family is in plain Python, which does not tell the theory enough."""
    for family in bandit.families:
        if not hasattr(family, "kernel"):
            raise ValueError(
                f"Theory and plans need families with a divergence and a kernel, such as feint's own; "
                f"{show_part(family, 'family')} is in plain Python, so simulate it (docs/extending.md)."
            )


def check_unique_best_public(bandit: Bandit) -> None:
    """Raise ValueError if arms tie for the best public mean, where the rates do not hold."""
    tied = np.flatnonzero(bandit.public_gaps == 0.0)
    if tied.size > 1:
        raise ValueError(
            f"Arms {tied.tolist()} tie for the best public mean {max(bandit.public)}; Thompson Sampling pulls them all "
            "without a boost and the √T rates do not hold, so make one mean larger."
        )


def information(bandit: Bandit) -> FloatArray:
    """Return κ, (K,): what a pull of each arm is worth in private rewards that are seen; refuse a spread."""
    if bandit.feedback is None:
        return np.ones(bandit.n_arms)
    if bandit.feedback.spread:
        raise ValueError(
            f"With {show_part(bandit.feedback, 'feedback')} the error does not tend to 0, so there is no exponent; "
            "use saturated_log_error for the limit of the error, or set the spread to 0."
        )
    with np.errstate(over="ignore"):
        worth = np.asarray(bandit.feedback.information(bandit.families, bandit.n_arms))
    if not ((worth >= _LEAST_WORTH) & (worth <= 1.0 / _LEAST_WORTH)).all():
        raise ValueError(
            f"With {show_part(bandit.feedback, 'feedback')} pulls are worth {worth.tolist()} private rewards that are "
            f"seen, and the theory needs numbers from {_LEAST_WORTH:g} to {1.0 / _LEAST_WORTH:g}; change the feedback "
            "or sigma."
        )
    return worth


def seen_wholly(bandit: Bandit) -> Bandit:
    """Return an instance with the same Γ whose private rewards are all seen; see the module's docstring.

    >>> from feint.feedback import Sometimes
    >>> seen_wholly(Bandit([0.5, 0.0], [0.0, 1.0], feedback=Sometimes(0.5))).public_gaps
    array([0., 1.])
    """
    if bandit.feedback is None:
        return bandit
    return Bandit(-bandit.public_gaps / information(bandit), bandit.private, family=bandit.families)


def public_divergences(bandit: Bandit) -> FloatArray:
    """Return d_a = d(μ_a, μ_{i*}), (K,), 0 at i*."""
    return bandit.families[0].divergence(np.array(bandit.public), max(bandit.public))


def divergences_at(bandit: Bandit, arms: IntArray, ratios: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return D(μ_1, x) and D(μ_a, x) at the x with the least evidence for N_a/N_1 = `ratios` (∞ gives x = μ_a)."""
    family, means = bandit.families[1].kernel(), np.array(bandit.private)[arms]
    gaps = bandit.private_gaps[arms]
    with np.errstate(invalid="ignore"):
        to_best = np.where(np.isinf(ratios), gaps, gaps * (ratios / (1.0 + ratios)))
    return divergences(family, max(bandit.private), -to_best), divergences(family, means, gaps / (1.0 + ratios))
