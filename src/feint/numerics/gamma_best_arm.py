r"""Best-arm probabilities of independent Gamma posteriors, by the kernel for Beta posteriors.

If X ~ Beta(k, rM), then M·X/(1 − X) tends to Gamma(k, rate r) as M grows: its log-odds y have the density

    exp(k·y − (k + rM)·log(1 + e^y)),        and with λ = M·e^y        (k + rM)·log(1 + λ/M) = rλ + (k − rλ/2)·λ/M + …,

so the exponent is that of the Gamma density up to an absolute error of a few k²/(rM). With M = 1e40 over the smallest
rate, this is below 1e-23 for every shape up to 1e8. The size of rM does not matter to the Beta kernel, which works with
logarithms and never with differences of large parameters. So there is one kernel and one proof of its digits
(beta_best_arm_kernel.py). The *smallest* of Gamma variables is the largest of their inverses, Beta(rM, k).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import as_arms
from feint.numerics.best_arm_rows import over_rows
from feint.numerics.beta_arms import EXPONENT, SUM, BetaWorkspace, allocate_beta_workspace
from feint.numerics.beta_best_arm_kernel import beta_best_arm_sums

SCALE = 1e40
_SMALLEST_SHAPE, _LARGEST_SHAPE = 1e-3, 1e10
_WIDEST_RATES = 1e30
_ARMS_PER_SLICE = 500  # arms × rows below which a second thread costs more than it saves


@inlined
def _scale_rates(ws: Any, rates: FloatArray) -> None:
    """Set rM of every arm."""
    least = rates[0]
    for a in range(1, rates.size):
        least = min(least, rates[a])
    for a in range(rates.size):
        ws.scaled[a] = rates[a] / least * SCALE


@part
def _largest_sums(ws: GammaWorkspace, shapes: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    _scale_rates(ws, rates)
    beta_best_arm_sums(shapes, ws.scaled, ws.beta)
    return ws.beta.arms[SUM], ws.beta.arms[EXPONENT]


@part
def _smallest_sums(ws: InverseGammaWorkspace, shapes: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    _scale_rates(ws, rates)
    beta_best_arm_sums(ws.scaled, shapes, ws.beta)
    return ws.beta.arms[SUM], ws.beta.arms[EXPONENT]


@parts(best_sums=_largest_sums)
class GammaWorkspace(NamedTuple):
    """Scratch space for K Gamma arms of which the largest is the best; owned by the caller, empty between calls."""

    beta: BetaWorkspace
    scaled: FloatArray  # (K,) rM


@parts(best_sums=_smallest_sums)
class InverseGammaWorkspace(NamedTuple):
    """The same scratch space where the smallest arm is the best, since the inverses are compared."""

    beta: BetaWorkspace
    scaled: FloatArray  # (K,) rM


def allocate_gamma_workspace(n_arms: int) -> GammaWorkspace:
    """Allocate the scratch space for `n_arms` Gamma arms."""
    return GammaWorkspace(allocate_beta_workspace(n_arms), np.empty(n_arms))


def allocate_inverse_gamma_workspace(n_arms: int) -> InverseGammaWorkspace:
    """Allocate the scratch space for `n_arms` inverses of Gamma arms."""
    return InverseGammaWorkspace(*allocate_gamma_workspace(n_arms))


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
    return over_rows(_checked(shapes, rates), allocate_gamma_workspace, _ARMS_PER_SLICE, log=log)


def smallest_arm_log_probabilities(shapes: npt.ArrayLike, rates: npt.ArrayLike) -> FloatArray:
    """Return log P(arm is the smallest), for rates whose reciprocals are the means of exponential rewards."""
    return over_rows(_checked(shapes, rates), allocate_inverse_gamma_workspace, _ARMS_PER_SLICE, log=True)


def _checked(shapes: npt.ArrayLike, rates: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    shape_array, rate_array = as_arms(shapes=shapes, rates=rates)
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
