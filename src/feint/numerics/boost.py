"""The boost of Definition 1: how far one arm's probability can be raised inside a KL ball."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, Numbers
from feint.numerics._jit import kernel
from feint.numerics._threads import run_slices
from feint.numerics._validate import (
    as_distribution,
    as_floats,
    as_probabilities,
    broadcast,
    check_epsilon,
    check_exactly_one,
    is_whole,
)
from feint.numerics.boost_kernel import boost_scalar

_ROWS_PER_SLICE = 5_000


def boost_probability(
    p: npt.ArrayLike | None, epsilon: Numbers, *, log_p: npt.ArrayLike | None = None
) -> FloatArray | np.float64:
    r"""Return q*(p), the largest q with KL(Ber(q) ‖ Ber(p)) ≤ ε.

    .. math:: q \log\frac{q}{p} + (1 - q) \log\frac{1 - q}{1 - p} \le \varepsilon

    This is the paper's Lemma 1 (Equation 3; in this form Equations 74 and 75 in Appendix C.2). In exact arithmetic the
    result is never above the root and at most 1e-13·q below it. It is 1 exactly when −log p ≤ ε; ε = 0 gives p and
    ε = ∞ gives 1.

    Parameters
    ----------
    p
        Probabilities of any shape (...); None if `log_p` is given.
    epsilon
        (...) KL budget from 0 to ∞; broadcasts against p.
    log_p
        (...), used instead of p for probabilities below float64's range.

    Returns
    -------
    array or float
        q*, of the shape to which p and ε broadcast.

    Examples
    --------
    >>> boost_probability([0.5, 1e-3, 1e-6], 0.1).round(6)
    array([0.719795, 0.037476, 0.011916])
    >>> print(f"{boost_probability(None, 0.1, log_p=-1e5):.6e}")
    1.000148e-06
    >>> boost_probability(0.9, 0.2)
    np.float64(1.0)
    """
    check_exactly_one(p=p, log_p=log_p)
    budget = as_floats(epsilon, "epsilon")
    check_epsilon(budget)
    if log_p is None:
        assert p is not None
        probability = as_probabilities(p, "p")
        with np.errstate(divide="ignore"):
            logarithm = np.log(probability)
    else:
        logarithm = as_floats(log_p, "log_p")
        if (logarithm > 0).any():
            raise ValueError(f"log_p is {logarithm.max()}; the logarithm of a probability is at most 0.")
        probability = np.exp(logarithm)
    shape = broadcast(logarithm, budget, "p and epsilon")[0].shape
    p_rows, log_rows, budget_rows = (np.broadcast_to(a, shape).flatten() for a in (probability, logarithm, budget))
    result = np.empty(shape)
    flat = result.reshape(-1)

    def fill(start: int, stop: int) -> None:
        rows = slice(start, stop)
        _fill(p_rows[rows], log_rows[rows], budget_rows[rows], flat[rows], log_p is not None)

    run_slices(fill, flat.size, smallest=_ROWS_PER_SLICE)
    return result[()]


def boost_probability_approx(p: npt.ArrayLike, epsilon: Numbers) -> FloatArray | np.float64:
    r"""Return the paper's closed-form underestimate q-hat of q* (Appendix C.2, Equation 76).

    .. math:: \hat q(p) = \min\{1, \max\{\varepsilon/W(\varepsilon/p),\; p,\; p + \sqrt{\varepsilon p (1 - p)}\}\}

    The clip at 1 is missing in the paper. W(ε/p) is evaluated as ω(log ε − log p) with Wright's ω(y) = W(e^y), which
    does not overflow.

    Parameters
    ----------
    p
        Probabilities of any shape (...).
    epsilon
        (...) KL budget from 0 to ∞; broadcasts against p.

    Returns
    -------
    array or float
        q-hat, of the shape to which p and ε broadcast.

    Examples
    --------
    >>> boost_probability_approx([0.5, 1e-3, 1e-6], 0.1).round(6)
    array([0.658114, 0.029537, 0.010771])
    """
    from scipy.special import wrightomega  # imported here, so that what does not need SciPy starts without it

    probability, budget = broadcast(as_probabilities(p, "p"), as_floats(epsilon, "epsilon"), "p and epsilon")
    check_epsilon(budget)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # ε/W(ε/p) = p·exp(W(ε/p)), which is also right at ε = 0 and p = 0
        lambert = np.where(
            budget * probability > 0, budget / wrightomega(np.log(budget) - np.log(probability)).real, probability
        )
        chi_square = probability + np.sqrt(budget * (probability * (1.0 - probability)))
    estimate = np.fmin(1.0, np.fmax(np.fmax(lambert, probability), chi_square))
    return np.where(np.isinf(budget), 1.0, estimate)[()]


def boost(pi: npt.ArrayLike, arm: int, epsilon: float) -> FloatArray:
    r"""Return the distribution within KL ε of `pi` that maximises the probability of `arm` (Definition 1, Equation 5).

    The arm gets q*(π_a) and the others keep their proportions, which is optimal by the chain rule of KL (proof of
    Lemma 1). The result is rounded towards the inside of the ball: once both are normalised, KL(boost ‖ π) ≤ ε for the
    float64 numbers returned.

    Parameters
    ----------
    pi
        (..., K), each row summing to 1 within 1e-9.
    arm
        Index from 0 to K − 1.
    epsilon
        KL budget from 0 to ∞.

    Returns
    -------
    (..., K) array
        Each row sums to 1.

    Examples
    --------
    >>> boost([0.83, 0.09, 0.03, 0.05], 2, 0.1).round(4)
    array([0.7423, 0.0805, 0.1325, 0.0447])
    """
    distribution = as_distribution(pi, "pi")
    budget = as_floats(epsilon, "epsilon")
    check_epsilon(budget)
    if budget.ndim:
        raise ValueError(f"epsilon has shape {budget.shape}; boost takes one budget for all rows.")
    n_arms = distribution.shape[-1]
    if not is_whole(arm, 0, n_arms - 1):
        raise ValueError(f"arm is {arm!r}; with {n_arms} arms it must be a whole number from 0 to {n_arms - 1}.")
    others = np.arange(n_arms) != arm
    rest = distribution[..., others].sum(-1, keepdims=True)
    p = distribution[..., arm : arm + 1] / (distribution[..., arm : arm + 1] + rest)
    # Rounding the K numbers changes their KL by up to about 1e-16·√ε; 4 times that is held back.
    kept = max(0.0, float(budget) - 4e-16 * min(1.0, math.sqrt(float(budget)))) if math.isfinite(budget) else math.inf
    q = np.asarray(boost_probability(p, kept))
    with np.errstate(divide="ignore", invalid="ignore"):
        boosted = np.where(rest > 0, distribution * ((1.0 - q) / rest), 0.0)
    boosted[..., arm] = q[..., 0]
    return boosted


@kernel
def _fill(p: FloatArray, log_p: FloatArray, epsilon: FloatArray, out: FloatArray, exact_log: bool) -> None:
    for i in range(out.size):
        out[i] = boost_scalar(p[i], log_p[i], epsilon[i], exact_log)
