"""Best-arm probabilities of independent Beta posteriors: Thompson Sampling on rewards of 0 and 1, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._jit import part, parts
from feint.numerics._validate import as_arms
from feint.numerics.best_arm_rows import over_rows
from feint.numerics.beta_arms import EXPONENT, SUM, BetaWorkspace, allocate_beta_workspace
from feint.numerics.beta_best_arm_kernel import beta_best_arm_sums

_SMALLEST = 1e-3
_LARGEST = 1e10
_ARMS_PER_SLICE = 500  # arms × rows below which a second thread costs more than it saves


def beta_best_arm_probabilities(alphas: npt.ArrayLike, betas: npt.ArrayLike, *, log: bool = False) -> FloatArray:
    r"""Return P(arm is the largest) for independent Beta posteriors, exactly.

    .. math:: p_a = \int_0^1 f_a(x) \prod_{j \neq a} F_j(x)\,dx

    with f and F of Beta(α, β): the probability with which Thompson Sampling on Bernoulli rewards pulls arm a, where α
    is the prior's α plus the successes and β the prior's β plus the failures.

    Parameters
    ----------
    alphas, betas
        (..., K) with K ≥ 2, from 0.001 to 1e10; they broadcast against each other. Rows are independent problems and
        are spread over all cores (FEINT_THREADS sets how many); results do not depend on the number of cores.
    log
        Return log p, which never underflows.

    Returns
    -------
    (..., K) array
        The relative error of every p is below 1e-10 for parameters up to 1e8 and K ≤ 30. It grows like the root of the
        parameters and, where many large arms tie, like K: 3e-10 for 1e8 and K = 100, 1e-9 for 1e10 and K ≤ 30. With
        `log`, the error of log p is below that times max(1, \|log p\|), and near p = 1 times \|log p\|. A p below
        1e-308 is outside float64's range; use `log` for it.

    Examples
    --------
    >>> successes, failures = np.array([600, 8, 2, 4]), np.array([400, 12, 8, 11])
    >>> beta_best_arm_probabilities(1 + successes, 1 + failures).round(4)
    array([0.9522, 0.0366, 0.006 , 0.0051])
    >>> beta_best_arm_probabilities([60_000.0, 50_000.0], [40_000.0, 50_000.0], log=True)[1].round(3)
    np.float64(-1016.613)
    """
    return over_rows(_checked(alphas, betas), allocate_beta_workspace, _ARMS_PER_SLICE, log=log)


def _checked(alphas: npt.ArrayLike, betas: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    alpha_array, beta_array = as_arms(alphas=alphas, betas=betas)
    for name, array, counts in (("alphas", alpha_array, "successes"), ("betas", beta_array, "failures")):
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite; give prior + {counts}.")
        if not (array > 0).all():
            raise ValueError(
                f"{name} reach down to {array.min():.3g} but must be above 0; add a prior to the {counts}, such as 1."
            )
        if (array < _SMALLEST).any():
            raise ValueError(
                f"{name} reach down to {array.min():.3g}; below 0.001 a posterior is little but a coin toss between 0 "
                f"and 1, so use a prior of at least 0.001."
            )
        if (array > _LARGEST).any():
            raise ValueError(
                f"{name} reach {array.max():.3g}; beyond 1e10 digits are lost and the posterior is normal, so give its "
                f"mean and standard deviation to best_arm_probabilities."
            )
    return alpha_array, beta_array


@part
def _best_sums(ws: BetaWorkspace, alphas: FloatArray, betas: FloatArray) -> tuple[FloatArray, FloatArray]:
    beta_best_arm_sums(alphas, betas, ws)
    return ws.arms[SUM], ws.arms[EXPONENT]


parts(best_sums=_best_sums)(BetaWorkspace)
