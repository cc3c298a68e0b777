"""Best-arm probabilities of independent normals: exact, and by the paper's Gauss–Hermite rule for comparison."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._jit import part, parts
from feint.numerics._validate import as_arms, is_whole
from feint.numerics.best_arm_kernel import best_arm_sums
from feint.numerics.best_arm_rows import over_rows
from feint.numerics.best_arm_workspace import SHIFT, SUM, NormalWorkspace, allocate_normal_workspace

_WIDEST_SPREAD = 1e150  # sds between the largest and smallest mean; z² must stay within float64
_WIDEST_RATIO = 1e12  # if sds differ more, the sharpest arm is narrower than the gaps between floats 40 sds away
_MOST_NODES = 350
_TAILS_PER_SLICE = 2_000  # arms × rows below which a second thread costs more than it saves


def best_arm_probabilities(means: npt.ArrayLike, sds: npt.ArrayLike, *, log: bool = False) -> FloatArray:
    r"""Return P(arm is the largest) for independent normals, exactly.

    .. math:: p_a = \int \varphi_a(x) \prod_{j \neq a} \Phi_j(x)\,dx

    This is the probability with which Thompson Sampling pulls arm a (the paper's Section 2.2, and Equation 71).

    Parameters
    ----------
    means, sds
        (..., K) with K ≥ 2; they broadcast against each other. Rows are independent problems and are spread over all
        cores (FEINT_THREADS sets how many); results do not depend on the number of cores.
    log
        Return log p, which never underflows.

    Returns
    -------
    (..., K) array
        The relative error of every p is below 1e-12; with `log`, the error of log p is below 1e-12·max(1, \|log p\|).
        A p below 1e-308 is outside float64's range; use `log` for it.

    Examples
    --------
    >>> pulls = np.array([1000, 20, 10, 15])
    >>> best_arm_probabilities([0.6, 0.3, 0.0, 0.2], 1 / np.sqrt(pulls)).round(4)
    array([0.8271, 0.0874, 0.0273, 0.0582])
    >>> best_arm_probabilities([0.0, -1000.0], [1.0, 1.0], log=True)[1].round(3)
    np.float64(-250007.48)
    """
    return over_rows(_checked(means, sds), allocate_normal_workspace, _TAILS_PER_SLICE, log=log)


def gauss_hermite_probabilities(means: npt.ArrayLike, sds: npt.ArrayLike, *, nodes: int = 32) -> FloatArray:
    r"""Return the paper's approximation of the best-arm probabilities (Appendix C.1, Equation 73), kept for comparison.

    .. math:: p_a \approx \pi^{-1/2} \sum_q w_q \prod_{j \neq a} \Phi((\mu_a - \mu_j + \sigma_a \sqrt 2 x_q)/\sigma_j)

    It is off by tens of percent where some posteriors are much sharper than others, because a sharp arm's Φ is a step
    on the scale of the others; see docs/errata.md.

    Parameters
    ----------
    means, sds
        (..., K) with K ≥ 2; they broadcast against each other.
    nodes
        Number of nodes of the rule; the paper uses 32.

    Returns
    -------
    (..., K) array
        They need not sum to 1.

    Examples
    --------
    >>> pulls = np.array([1000, 20, 10, 15])
    >>> gauss_hermite_probabilities([0.6, 0.3, 0.0, 0.2], 1 / np.sqrt(pulls)).round(4)
    array([0.8271, 0.0931, 0.0315, 0.0507])
    """
    means, sds = _checked(means, sds)
    if not is_whole(nodes, 1, _MOST_NODES):
        raise ValueError(
            f"nodes is {nodes!r}; a Gauss–Hermite rule needs at least 1 node (the paper uses 32), and beyond "
            f"{_MOST_NODES} its weights underflow."
        )
    return gauss_hermite_rule(means, sds, *np.polynomial.hermite.hermgauss(nodes))


def gauss_hermite_rule(means: FloatArray, sds: FloatArray, points: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the approximation for checked arrays and given nodes."""
    from scipy.special import ndtr  # imported here, so that what does not need SciPy starts without it

    result = np.empty(means.shape)
    for a in range(means.shape[-1]):
        x = means[..., a, None] + sds[..., a, None] * (math.sqrt(2.0) * points)
        product = np.ones(x.shape)
        for j in range(means.shape[-1]):
            if j != a:
                product *= ndtr((x - means[..., j, None]) / sds[..., j, None])
        result[..., a] = product @ weights / math.sqrt(math.pi)
    return result


def _checked(means: npt.ArrayLike, sds: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    mean_array, sd_array = as_arms(means=means, sds=sds)
    if not np.isfinite(mean_array).all():
        raise ValueError("means must be finite; an infinite mean always wins or always loses, so leave that arm out.")
    if not (np.isfinite(sd_array).all() and (sd_array > 0).all()):
        raise ValueError("sds must be finite and above 0; give standard deviations, not variances or log-scales.")
    if mean_array.size:
        with np.errstate(over="ignore"):
            ratio = sd_array.max() / sd_array.min()
            if ratio > _WIDEST_RATIO:
                ratio = (sd_array.max(-1) / sd_array.min(-1)).max()
        if ratio > _WIDEST_RATIO:
            raise ValueError(f"sds differ by a factor {ratio:.3g}; beyond 1e12 float64 cannot place the sharpest arm.")
        with np.errstate(over="ignore"):
            spread = mean_array.max() / sd_array.min() - mean_array.min() / sd_array.min()
            if not spread <= _WIDEST_SPREAD:  # rows may differ in scale: look at each before refusing
                finest = sd_array.min(-1)
                spread = (mean_array.max(-1) / finest - mean_array.min(-1) / finest).max()
        if not spread <= _WIDEST_SPREAD:
            raise ValueError(
                f"means lie {spread:.3g} standard deviations apart; beyond 1e150 even log p is out of float64's range."
            )
    return mean_array, sd_array


@part
def _best_sums(ws: NormalWorkspace, means: FloatArray, sds: FloatArray) -> tuple[FloatArray, FloatArray]:
    best_arm_sums(means, sds, ws)
    return ws.arms[SUM], ws.arms[SHIFT]


parts(best_sums=_best_sums)(NormalWorkspace)
