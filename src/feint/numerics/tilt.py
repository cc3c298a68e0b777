"""The tilt: how far an expected value can be raised inside a KL ball."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, Numbers
from feint.numerics._jit import kernel
from feint.numerics._threads import run_slices
from feint.numerics._validate import as_distribution, as_floats, check_epsilon, check_exactly_one
from feint.numerics.tilt_kernel import tilt_policy

_ROWS_PER_SLICE = 1_000
_LARGEST = 1e150  # the largest value, so that differences stay far from overflow


def tilt(
    pi: npt.ArrayLike | None, values: npt.ArrayLike, epsilon: Numbers, *, log_pi: npt.ArrayLike | None = None
) -> FloatArray:
    r"""Return the distribution within KL ε of `pi` with the largest expected value.

    .. math:: \arg\max_q \sum_a q_a v_a \quad\text{over}\quad \mathrm{KL}(q \,\|\, \pi) \le \varepsilon
        \qquad\text{is}\qquad q_a \propto \pi_a e^{\lambda v_a}

    with λ such that all of ε is spent, or with all probability on the best values if that costs no more. With the
    values 1{arm} it is `boost`. Once both are normalised, KL(tilt ‖ π) ≤ ε for the float64 numbers returned, and the
    gain Σ q·v − Σ π·v is below the largest possible one by at most 3e-13 + 1e-15/√ε of it: 1e-12 for ε ≥ 2e-6. (The
    second term is what rounding K probabilities to float64 does to KL.) Values that differ by less than 1e-250 of their
    range are equal.

    Parameters
    ----------
    pi
        (..., K), each row summing to 1 within 1e-9; None if `log_pi` is given.
    values
        (..., K) finite; broadcasts against pi. Only their differences matter, and not their unit.
    epsilon
        (...) KL budget from 0 to ∞, one for all rows or one per row.
    log_pi
        (..., K), used instead of pi for probabilities below float64's range.

    Returns
    -------
    (..., K) array
        Each row sums to 1.

    Examples
    --------
    >>> tilt([0.83, 0.09, 0.03, 0.05], [0, 2, 1, 0], 0.1).round(4)
    array([0.679 , 0.2361, 0.044 , 0.0409])
    >>> tilt([0.83, 0.09, 0.03, 0.05], [0, 0, 1, 0], 0.1).round(4)  # as boost(…, 2, 0.1)
    array([0.7423, 0.0805, 0.1325, 0.0447])
    >>> print(f"{tilt(None, [0, 1], 0.1, log_pi=[0.0, -1e5])[1]:.6e}")
    1.000148e-06
    """
    check_exactly_one(pi=pi, log_pi=log_pi)
    if log_pi is None:
        assert pi is not None
        distribution = as_distribution(pi, "pi")
        distribution = distribution / distribution.sum(-1, keepdims=True)
        with np.errstate(divide="ignore"):
            logarithm = np.log(distribution)
    else:
        logarithm = as_floats(log_pi, "log_pi")
        distribution = as_distribution(np.exp(np.minimum(logarithm, 1.0)), "exp(log_pi)")
        logarithm = logarithm - np.log(distribution.sum(-1, keepdims=True))
        distribution = np.exp(logarithm)
    worth, budget = as_floats(values, "values"), as_floats(epsilon, "epsilon")
    check_epsilon(budget)
    if not (abs(worth) <= _LARGEST).all():
        raise ValueError(f"values reach {abs(worth).max()}; give finite numbers up to 1e150 (only ratios matter).")
    try:
        shape = np.broadcast_shapes(distribution.shape, worth.shape, (*budget.shape, 1))
        if shape[-1] != distribution.shape[-1] or worth.shape[-1:] != distribution.shape[-1:]:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"pi has shape {distribution.shape}, values {worth.shape} and epsilon {budget.shape}; give each arm a "
            "value, and rows that broadcast."
        ) from None
    arrays = (distribution, logarithm, worth)
    rows = [np.array(np.broadcast_to(a, shape), order="C").reshape(-1, shape[-1]) for a in arrays]
    budgets = np.broadcast_to(budget, shape[:-1]).flatten()
    result = np.empty(shape)
    flat = result.reshape(-1, shape[-1])
    run_slices(
        lambda start, stop: _fill(*(a[start:stop] for a in (*rows, budgets, flat))), len(flat), smallest=_ROWS_PER_SLICE
    )
    return result


@kernel
def _fill(pi: FloatArray, log_pi: FloatArray, values: FloatArray, epsilon: FloatArray, out: FloatArray) -> None:
    for i in range(out.shape[0]):
        tilt_policy(pi[i], log_pi[i], values[i], epsilon[i], out[i])
