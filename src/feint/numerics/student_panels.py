r"""Panels for the integrals of the best-arm probabilities of Student arms, for many rows at once.

The line of a row is cut at its locations and at two ends beyond which nothing matters. Cells are then halved until each
is either negligible or smooth. Both tests use bounds from the values at a cell's two edges, since between them every
F_j rises and every f_a is monotone:

    (r − l)·min f_a·∏ F_j(l)  ≤  ∫ f_a ∏ F_j  ≤  (r − l)·max f_a·∏ F_j(r).

A cell is negligible if the upper bound is below e^−33 of the best lower bound of the same arm, for all arms. It is
smooth if Gauss' rule has converged on it. f_j has branch points at z = ±i√ν and the shape of a normal density between
them, so the half-width h must obey h ≤ s·√(ν + z²)·min(κ, 1.5/√(ν+1)). By the ellipse of convergence n nodes err by
e^(−2n·arcosh(1/κ)) of the cell's weight; κ is chosen to make this e^−33, with wider cells where less is at stake.
Neither a factor nor the product may change by many nats. A cell is halved in the middle of asinh(z/√ν) of the arm that
needs it most; on this scale such cells are equally wide from the core out to the polynomial tail.
"""

from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.numerics.student_cdf import log_density, log_peak, rough_log_cdf

NODES = 16  # nodes of Gauss' rule on each panel
_NEGLIGIBLE = -33.0
_ACCURACY = -33.0
_WIDTH = 1.5  # standard deviations
_NATS = 10.0  # by which a factor or the product may change over a cell
_BEND = 6.0  # h·(change of the product's logarithmic slope)
_TAIL_DIGITS = 15.0
_MOST_ROUNDS = 200


class StudentArms(NamedTuple):
    """Rows of K arms, centred: locations − reference = centres + residues exactly."""

    centres: FloatArray  # (R, K)
    residues: FloatArray
    scales: FloatArray
    dofs: FloatArray
    peaks: FloatArray  # log f(0)


class Panels(NamedTuple):
    """A flat list of panels, ordered by row and from left to right."""

    row: IntArray  # (P,)
    left: FloatArray
    right: FloatArray


class _Edges(NamedTuple):
    x: FloatArray  # (C,)
    z: FloatArray  # (C, K)
    density: FloatArray  # log f(z), without 1/scale
    cdf: FloatArray  # log F(z), roughly


class _Cells(NamedTuple):
    row: IntArray
    left: _Edges
    right: _Edges


def centre(locations: FloatArray, scales: FloatArray, dofs: FloatArray) -> StudentArms:
    """Move every row's narrowest arm to 0 and a scale of about 1, exactly, by a two-sum and a power of 2."""
    reference = np.take_along_axis(locations, scales.argmin(-1)[:, None], -1)
    centres = locations - reference
    kept = centres + reference
    residues = (locations - kept) - (reference - (kept - centres))
    power = -np.frexp(scales.min(-1, keepdims=True))[1]
    centres, residues, scales = (np.ldexp(x, power) for x in (centres, residues, scales))
    return StudentArms(centres, residues, scales, dofs, log_peak(dofs))


def cut_into_panels(arms: StudentArms) -> Panels:
    """Return the panels of all rows."""
    cells = _first_cells(arms)
    best = np.full(arms.scales.shape, -np.inf)
    done: list[tuple[IntArray, FloatArray, FloatArray, FloatArray]] = []
    for _ in range(_MOST_ROUNDS):
        log_scales = np.log(arms.scales)[cells.row]
        upper, lower = _bounds(cells, log_scales)
        np.maximum.at(best, cells.row, lower)
        stake = upper - best[cells.row]
        keep = stake.max(-1) > _NEGLIGIBLE
        cells, upper = _chosen_cells(cells, keep), upper[keep]
        worst, need = _needs(arms, cells, stake[keep], log_scales[keep])
        middle = _middle(arms, cells, worst)
        split = (need > 1) & (cells.left.x < middle) & (middle < cells.right.x)
        done.append((cells.row[~split], cells.left.x[~split], cells.right.x[~split], upper[~split]))
        if not split.any():
            break
        cells = _halved(arms, _chosen_cells(cells, split), middle[split])
    else:
        raise ArithmeticError("The panels of the best-arm integrals did not converge; please report the parameters.")
    row, left, right, upper = (np.concatenate(parts) for parts in zip(*done, strict=True))
    keep = (upper > best[row] + _NEGLIGIBLE).any(-1)
    row, left, right = row[keep], left[keep], right[keep]
    order = np.lexsort((left, row))
    return Panels(row[order], left[order], right[order])


def deviates(arms: StudentArms, row: IntArray, x: FloatArray) -> FloatArray:
    """Return z (C, K) of points x (C,)."""
    result: FloatArray = ((x[:, None] - arms.centres[row]) - arms.residues[row]) / arms.scales[row]
    return result


def _first_cells(arms: StudentArms) -> _Cells:
    """Return the cells from end to end, cut at the locations, without cells of zero width."""
    n_rows, n_arms = arms.scales.shape
    left, right = _ends(arms)
    edges = np.concatenate([left[:, None], np.sort(arms.centres, -1), right[:, None]], -1)
    rows = np.repeat(np.arange(n_rows), n_arms + 2)
    values = _edges_at(arms, rows, edges.ravel())
    starts = np.delete(np.arange(edges.size), np.arange(n_arms + 1, edges.size, n_arms + 2))
    starts = starts[values.x[starts] < values.x[starts + 1]]
    return _Cells(rows[starts], _picked(values, starts), _picked(values, starts + 1))


def _ends(arms: StudentArms) -> tuple[FloatArray, FloatArray]:
    """Return points beyond which every arm's integrand has less than 1e-15 of its mass, since tails are powers.

    Right of `high`, ∏ F_j is at least about 1/e, and what matters is the tail of f_a itself, a power −ν_a of the
    distance. Left of `low` every factor falls at least as fast as a power; together they fall as the power −Σν.
    """
    n_arms = arms.scales.shape[-1]
    reach = arms.scales * (2 + np.sqrt(2 * np.log(n_arms)) + n_arms ** (1 / arms.dofs))
    high = (arms.centres + reach).max(-1, keepdims=True)
    far = 10 ** (_TAIL_DIGITS / arms.dofs) * 2
    right = (arms.centres + (high - arms.centres + 20 * arms.scales) * far).max(-1)
    low = (arms.centres - 3 * arms.scales).min(-1)
    top = arms.centres.max(-1)
    left = top - (top - low + 20 * arms.scales.max(-1)) * 2 * 10 ** (_TAIL_DIGITS / arms.dofs.sum(-1))
    return left, right


def _edges_at(arms: StudentArms, row: IntArray, x: FloatArray) -> _Edges:
    z = deviates(arms, row, x)
    dofs = arms.dofs[row]
    density = log_density(z, dofs, arms.peaks[row])
    return _Edges(x, z, density, rough_log_cdf(z, dofs, density))


def _bounds(cells: _Cells, log_scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    left, right = cells.left, cells.right
    width = np.log(right.x - left.x)[:, None] - log_scales
    upper = width + np.maximum(left.density, right.density) + (right.cdf.sum(-1, keepdims=True) - right.cdf)
    lower = width + np.minimum(left.density, right.density) + (left.cdf.sum(-1, keepdims=True) - left.cdf)
    return upper, lower


def _needs(arms: StudentArms, cells: _Cells, stake: FloatArray, log_scales: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the arm by which a cell is halved, and how many times too wide the cell is: at most 1 if it is smooth."""
    left, right = cells.left, cells.right
    scales, dofs = arms.scales[cells.row], arms.dofs[cells.row]
    width = (right.x - left.x)[:, None]
    # At stake, as a logarithm, is a share of the arm's own probability, or of its F, by which the others multiply.
    growth = np.log(width) - log_scales + np.maximum(left.density, right.density) - left.cdf
    stake = np.minimum(np.maximum(stake, growth), 0)
    counts = stake > _NEGLIGIBLE
    middle = 0.5 * (left.z + right.z)
    kappa = 1 / np.cosh((np.maximum(stake, _NEGLIGIBLE) - _ACCURACY) / (2 * NODES))
    radius = np.sqrt(dofs + middle * middle) * np.minimum(kappa, _WIDTH / np.sqrt(dofs + 1))
    nats = np.abs(right.density - left.density)
    need = np.where(counts, np.maximum(0.5 * width / (scales * radius), nats / _NATS), 0.0)
    rise = np.maximum(right.cdf - left.cdf, 0)
    slopes = (np.exp(np.minimum(e.density - e.cdf, 600)) / scales for e in (left, right))
    bend = np.where(counts, 0.5 * width * np.abs(np.subtract(*slopes)), 0.0)
    product = np.maximum(rise.sum(-1) / _NATS, np.sqrt(bend.sum(-1) / _BEND))
    worst = np.where(need.max(-1) > 1, need.argmax(-1), bend.argmax(-1))
    return worst, np.maximum(need.max(-1), product)


def _middle(arms: StudentArms, cells: _Cells, worst: IntArray) -> FloatArray:
    """Return the points halfway in asinh(z/√ν) of the arm `worst`."""
    each = np.arange(len(worst))
    root = np.sqrt(arms.dofs[cells.row, worst])
    t = 0.5 * (np.arcsinh(cells.left.z[each, worst] / root) + np.arcsinh(cells.right.z[each, worst] / root))
    result: FloatArray = arms.centres[cells.row, worst] + arms.scales[cells.row, worst] * root * np.sinh(t)
    return result


def _halved(arms: StudentArms, cells: _Cells, middle: FloatArray) -> _Cells:
    new = _edges_at(arms, cells.row, middle)
    left = _Edges(*(np.concatenate(pair) for pair in zip(cells.left, new, strict=True)))
    right = _Edges(*(np.concatenate(pair) for pair in zip(new, cells.right, strict=True)))
    return _Cells(np.concatenate([cells.row, cells.row]), left, right)


def _picked(edges: _Edges, index: IntArray | BoolArray) -> _Edges:
    return _Edges(*(values[index] for values in edges))


def _chosen_cells(cells: _Cells, chosen: BoolArray) -> _Cells:
    return _Cells(cells.row[chosen], _picked(cells.left, chosen), _picked(cells.right, chosen))
