r"""Best-arm probabilities of independent Student posteriors: Thompson Sampling on normal rewards of unknown variance.

The integrals run over panels that all arms of a row share (student_panels.py). On each, f_j is evaluated at Gauss'
nodes, and F_j is its integral: F at the panel's left end plus the integral of the interpolant up to the node, as in
Gauss collocation. So a node costs one density per arm and no incomplete Beta function; F itself is computed only where
a run of panels begins (student_cdf.py). F is a sum of positive numbers from the left and keeps its relative digits in
the left tail; logarithms carry its size from panel to panel, so nothing underflows.
"""

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._validate import as_arms
from feint.numerics.student_cdf import log_cdf, log_density
from feint.numerics.student_panels import NODES, Panels, StudentArms, centre, cut_into_panels, deviates

_SMALLEST_DOF, _LARGEST_DOF = 1.0, 1e10
_WIDEST = 1e12  # widest spread of scales and of locations, in units of the row's smallest scale
_ROWS_TIMES_ARMS_SQUARED = 30_000  # rows that are cut into panels together
_NUMBERS_AT_ONCE = 500_000  # panels × arms × nodes
_DOUBT = 1e-9  # a sum of probabilities further from 1 would be a bug


def student_best_arm_probabilities(
    locations: npt.ArrayLike, scales: npt.ArrayLike, dofs: npt.ArrayLike, *, log: bool = False
) -> FloatArray:
    r"""Return P(arm is the largest) for independent Student posteriors, exactly.

    .. math:: p_a = \int f_a(x) \prod_{j \neq a} F_j(x)\,dx

    with f and F of location + scale · t(dof): the probability with which Thompson Sampling on normal rewards of unknown
    mean and variance pulls arm a. Under the prior 1/σ², n rewards with mean x̄ and sample variance v have the location
    x̄, the scale √(v/n) and n − 1 degrees of freedom.

    Parameters
    ----------
    locations, scales, dofs
        (..., K) with K ≥ 2; dofs from 1 to 1e10. They broadcast against each other. Rows are independent problems.
    log
        Return log p, which never underflows.

    Returns
    -------
    (..., K). The relative error of every p is below 1e-10 for K ≤ 100, scales within a factor of 1e6 of each other and
    locations within 100 of the largest scale. With `log`, the error of log p is below that times max(1, \|log p\|), and
    near p = 1 times \|log p\|. A p below 1e-308 is outside float64's range; use `log` for it.

    Examples
    --------
    >>> means, sds, pulls = np.array([0.6, 0.4, 0.1]), np.array([1.0, 0.5, 2.0]), np.array([50, 8, 3])
    >>> student_best_arm_probabilities(means, sds / np.sqrt(pulls), pulls - 1).round(4)
    array([0.5201, 0.133 , 0.3469])
    >>> student_best_arm_probabilities([0.0, 50.0], 1.0, [1e6, 1e3], log=True)[0].round(3)
    np.float64(-516.131)
    """
    arrays = _checked(locations, scales, dofs)
    shape = arrays[0].shape
    rows = [array.reshape(-1, shape[-1]) for array in arrays]
    result = np.empty(rows[0].shape)
    block = max(1, _ROWS_TIMES_ARMS_SQUARED // shape[-1] ** 2)
    for start in range(0, len(result), block):
        logs = log_sums(*(array[start : start + block] for array in rows))
        result[start : start + block] = _normalised(logs, log)
    return result.reshape(shape)


def log_sums(locations: FloatArray, scales: FloatArray, dofs: FloatArray) -> FloatArray:
    """Return log p (R, K) as integrated; the distance of Σ p from 1 shows the error."""
    arms = centre(locations, scales, dofs)
    panels = cut_into_panels(arms)
    at_once = max(1, _NUMBERS_AT_ONCE // (NODES * scales.shape[-1]))
    parts = []
    for start in range(0, len(panels.row), at_once):
        part = slice(start, start + at_once)
        parts.append(_log_integrals(arms, Panels(panels.row[part], panels.left[part], panels.right[part])))
    logs = np.concatenate(parts)
    first = np.flatnonzero(np.diff(panels.row, prepend=-1))
    highest = np.maximum.reduceat(logs, first)
    result: FloatArray = highest + np.log(np.add.reduceat(np.exp(logs - highest[panels.row]), first))
    return result


def _log_integrals(arms: StudentArms, panels: Panels) -> FloatArray:
    """Return log ∫ f_a ∏ F_j over each panel, (P, K)."""
    row = panels.row
    scales = arms.scales[row]
    # Nodes are measured from the nearest location, so every z has all its digits, wherever the arms lie.
    nearest = np.abs(deviates(arms, row, 0.5 * (panels.left + panels.right)) * scales).argmin(-1)
    origin, residue = arms.centres[row, nearest], arms.residues[row, nearest]
    left, right = ((edge - origin) - residue for edge in (panels.left, panels.right))
    apart = (origin[:, None] - arms.centres[row]) + (residue[:, None] - arms.residues[row])
    half = 0.5 * (right - left)[:, None]
    nodes = 0.5 * (left + right)[:, None] + half * _NODES
    half_z = half / scales

    z = (apart[:, :, None] + nodes[:, None, :]) / scales[:, :, None]  # (P, K, nodes)
    density = log_density(z, arms.dofs[row][:, :, None], arms.peaks[row][:, :, None])
    highest = density.max(-1)
    density = np.exp(density - highest[:, :, None])
    mass = highest + np.log(half_z * (density @ _WEIGHTS))
    start = _log_cdf_at_starts(arms, panels, (apart + left[:, None]) / scales, mass)
    end = np.logaddexp(start, mass)
    # F relative to its value at the right end, from which it differs by a few nats
    cdf = np.exp(start - end)[:, :, None] + (half_z * np.exp(highest - end))[:, :, None] * (density @ _PRIMITIVE)
    integrals = half_z * ((density * (cdf.prod(1, keepdims=True) / cdf)) @ _WEIGHTS)
    result: FloatArray = np.log(integrals) + highest + (end.sum(-1, keepdims=True) - end)
    return result


def _log_cdf_at_starts(arms: StudentArms, panels: Panels, z: FloatArray, mass: FloatArray) -> FloatArray:
    """Return log F at the panels' left ends, (P, K): computed where a run begins, and summed up along the run."""
    row = panels.row
    begins = np.ones(len(row), dtype=np.bool_)
    begins[1:] = (row[1:] != row[:-1]) | (panels.left[1:] != panels.right[:-1])
    result = np.empty_like(mass)
    result[begins] = log_cdf(z[begins], arms.dofs[row[begins]], arms.peaks[row[begins]])
    runs = np.flatnonzero(begins)
    lengths = np.diff(runs, append=len(row))
    runs, lengths = runs[np.argsort(-lengths)], np.sort(lengths)
    for step in range(1, int(lengths[-1])):
        at = runs[: len(runs) - np.searchsorted(lengths, step, side="right")] + step
        result[at] = np.logaddexp(result[at - 1], mass[at - 1])
    return result


def _normalised(logs: FloatArray, log: bool) -> FloatArray:
    """Return probabilities or their logarithms; a likely arm's comes from the complement, which has more digits."""
    p = np.exp(logs)
    total = p.sum(-1, keepdims=True)
    if not (np.abs(total - 1) < _DOUBT).all():
        raise ArithmeticError(
            f"Best-arm probabilities sum to {total.flat[np.abs(total - 1).argmax()]!r} before they are normalised; "
            "please report the parameters."
        )
    p /= total
    if not log:
        return p
    logs = logs - np.log(total)
    likely = p.argmax(-1)[:, None]
    others = p.copy()
    np.put_along_axis(others, likely, 0, -1)
    rest = others.sum(-1, keepdims=True)
    own = np.take_along_axis(logs, likely, -1)
    np.put_along_axis(logs, likely, np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), own), -1)
    return logs


def _checked(
    locations: npt.ArrayLike, scales: npt.ArrayLike, dofs: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    places, widths, freedoms = as_arms(locations=locations, scales=scales, dofs=dofs)
    if not np.isfinite(places).all():
        raise ValueError("locations must be finite; give the posterior means.")
    if not ((widths > 0) & np.isfinite(widths)).all():
        raise ValueError(
            f"scales reach from {widths.min():.3g} to {widths.max():.3g}; they must be finite and above 0."
        )
    if not ((freedoms >= _SMALLEST_DOF) & (freedoms <= _LARGEST_DOF)).all():
        raise ValueError(
            f"dofs reach from {freedoms.min():.3g} to {freedoms.max():.3g}; they must lie between 1 and 1e10 (give the "
            "prior's plus the pulls; beyond 1e10 a posterior is normal, see best_arm_probabilities)."
        )
    if places.size:
        with np.errstate(over="ignore"):
            spread = np.maximum(places.max(-1) - places.min(-1), widths.max(-1)) / widths.min(-1)
        if (spread > _WIDEST).any():
            raise ValueError(
                f"scales or locations of one row spread over {spread.max():.3g} times its smallest scale; beyond 1e12 "
                "the width of that arm makes no difference, so give it a larger scale."
            )
    return places, widths, freedoms


def _gauss(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Gauss' nodes and weights on (−1, 1), and the matrix that integrates values from −1 to each node."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    legendre = np.polynomial.legendre.legvander(nodes, n)
    integrals = np.empty((n, n))
    integrals[0] = nodes + 1
    for k in range(1, n):
        integrals[k] = (legendre[:, k + 1] - legendre[:, k - 1]) / (2 * k + 1)  # of P_k
    coefficients = weights[:, None] * legendre[:, :n] * (np.arange(n) + 0.5)
    return nodes, weights, coefficients @ integrals


_NODES, _WEIGHTS, _PRIMITIVE = _gauss(NODES)
