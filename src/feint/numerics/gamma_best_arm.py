r"""Best-arm probabilities of independent Gamma posteriors, by the kernel for Beta posteriors.

If X ~ Beta(k, rM), then M·X/(1 − X) tends to Gamma(k, rate r) as M grows: its log-odds y have the density

    exp(k·y − (k + rM)·log(1 + e^y)),        and with λ = M·e^y        (k + rM)·log(1 + λ/M) = rλ + (k − rλ/2)·λ/M + …,

so the exponent is that of the Gamma density up to an absolute error of a few k²/(rM). With M = 1e40 over the smallest
rate, this is below 1e-23 for every shape up to 1e8. The size of rM does not matter to the Beta kernel, which works with
logarithms and never with differences of large parameters. So there is one kernel and one proof of its digits
(beta_best_arm_kernel.py). The *smallest* of Gamma variables is the largest of their inverses, Beta(rM, k).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._jit import kernel, part
from feint.numerics._validate import as_floats, broadcast
from feint.numerics.best_arm_rows import normalise, over_rows, take_logs
from feint.numerics.beta_arms import EXPONENT, SUM, BetaWorkspace, allocate_beta_workspace
from feint.numerics.beta_best_arm_kernel import beta_best_arm_sums

SCALE = 1e40
_SMALLEST_SHAPE, _LARGEST_SHAPE = 1e-3, 1e10
_WIDEST_RATES = 1e30
_ARMS_PER_SLICE = 500  # arms × rows below which a second thread costs more than it saves


class GammaWorkspace(NamedTuple):
    """Scratch space for K Gamma arms, owned by the caller; it keeps nothing between calls."""

    beta: BetaWorkspace
    scaled: FloatArray  # (K,) rM


def allocate_gamma_workspace(n_arms: int) -> GammaWorkspace:
    """Allocate the scratch space for `n_arms` Gamma arms."""
    return GammaWorkspace(allocate_beta_workspace(n_arms), np.empty(n_arms))


@part
def gamma_best_arm_sums(shapes: FloatArray, rates: FloatArray, smallest: bool, ws: GammaWorkspace) -> None:
    """Leave P(arm a is the largest, or smallest) in SUM and EXPONENT of `ws.beta.arms`, as the Beta kernel does."""
    least = rates[0]
    for a in range(1, rates.size):
        least = min(least, rates[a])
    for a in range(rates.size):
        ws.scaled[a] = rates[a] / least * SCALE
    if smallest:
        beta_best_arm_sums(ws.scaled, shapes, ws.beta)
    else:
        beta_best_arm_sums(shapes, ws.scaled, ws.beta)


@kernel
def _fill_largest(shapes: FloatArray, rates: FloatArray, out: FloatArray, ws: GammaWorkspace) -> None:
    for row in range(shapes.shape[0]):
        gamma_best_arm_sums(shapes[row], rates[row], False, ws)
        normalise(ws.beta.arms[SUM], ws.beta.arms[EXPONENT], out[row])


@part
def _fill_logs(shapes: FloatArray, rates: FloatArray, out: FloatArray, ws: GammaWorkspace, smallest: bool) -> None:
    for row in range(shapes.shape[0]):
        gamma_best_arm_sums(shapes[row], rates[row], smallest, ws)
        take_logs(ws.beta.arms[SUM], ws.beta.arms[EXPONENT], out[row])


@kernel
def _fill_largest_logs(shapes: FloatArray, rates: FloatArray, out: FloatArray, ws: GammaWorkspace) -> None:
    _fill_logs(shapes, rates, out, ws, False)


@kernel
def _fill_smallest_logs(shapes: FloatArray, rates: FloatArray, out: FloatArray, ws: GammaWorkspace) -> None:
    _fill_logs(shapes, rates, out, ws, True)


def gamma_best_arm_probabilities(shapes: npt.ArrayLike, rates: npt.ArrayLike, *, log: bool = False) -> FloatArray:
    r"""Return P(arm is the largest) for independent Gamma posteriors, exactly.

    .. math:: p_a = \int_0^\infty f_a(x) \prod_{j \neq a} F_j(x)\,dx

    with f and F of Gamma(shape, rate): the probability with which Thompson Sampling on Poisson rewards pulls arm a,
    where the shape is the prior's plus the sum of rewards and the rate the prior's plus the pulls.

    Parameters
    ----------
    shapes, rates
        (..., K) with K ≥ 2; shapes from 0.001 to 1e10, rates above 0 and within a factor of 1e30 of each other. They
        broadcast against each other. Rows are independent problems, spread over all cores (FEINT_THREADS).
    log
        Return log p, which never underflows.

    Returns
    -------
    (..., K) array
        The relative error of every p is below 1e-10 for shapes up to 1e8 and K ≤ 30, and grows as that of
        `beta_best_arm_probabilities`: 3e-10 for 1e8 and K = 100 arms that tie. With `log`, the error of log p is below
        that times max(1, \|log p\|).

    Examples
    --------
    >>> counts, pulls = np.array([600, 8, 2, 4]), np.array([1000, 20, 10, 15])
    >>> gamma_best_arm_probabilities(0.5 + counts, pulls).round(4)
    array([0.8177, 0.1167, 0.0327, 0.0329])
    """
    return over_rows(
        _fill_largest_logs if log else _fill_largest,
        *_checked(shapes, rates),
        allocate_gamma_workspace,
        _ARMS_PER_SLICE,
    )


def smallest_arm_log_probabilities(shapes: npt.ArrayLike, rates: npt.ArrayLike) -> FloatArray:
    """Return log P(arm is the smallest), for rates whose reciprocals are the means of exponential rewards."""
    return over_rows(_fill_smallest_logs, *_checked(shapes, rates), allocate_gamma_workspace, _ARMS_PER_SLICE)


def _checked(shapes: npt.ArrayLike, rates: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    shape_array, rate_array = broadcast(as_floats(shapes, "shapes"), as_floats(rates, "rates"), "shapes and rates")
    if shape_array.ndim == 0 or shape_array.shape[-1] < 2:
        raise ValueError(
            f"shapes have shape {shape_array.shape}; the last axis counts the arms and must hold at least 2 of them."
        )
    if not ((shape_array >= _SMALLEST_SHAPE) & (shape_array <= _LARGEST_SHAPE)).all():
        raise ValueError(
            f"shapes reach from {shape_array.min():.3g} to {shape_array.max():.3g}; they must lie between 0.001 and "
            "1e10 (give the prior's shape plus the sum of the rewards)."
        )
    if not ((rate_array > 0) & np.isfinite(rate_array)).all():
        raise ValueError(f"rates reach down to {rate_array.min():.3g}; they must be finite and above 0.")
    if rate_array.size and (rate_array.max(-1) / rate_array.min(-1) > _WIDEST_RATES).any():
        raise ValueError("rates of one row differ by more than a factor of 1e30; such arms cannot be compared.")
    return shape_array, rate_array
