"""Triangular roots of normal posteriors: how data are added to them, and what they say about a score.

See `regressions` for the mathematics.
"""

import math
from typing import NamedTuple

from feint._types import FloatArray, IntArray
from feint.numerics._jit import part

# A smaller diagonal entry of R, relative to its column, is rounding, and there is no posterior yet.
_SMALLEST = 1e-10


class Learnt(NamedTuple):
    """Rewards that become known, in order: of which agent, arm and context, and before which row."""

    group: IntArray
    arm: IntArray
    context: FloatArray  # (m, D) of the pulled arm
    reward: FloatArray
    position: IntArray


@part
def rotate_in(table: FloatArray, row: FloatArray) -> None:
    """Add a row (x, y) of data to a table (D, D + 1); the row is overwritten."""
    size = table.shape[0]
    for j in range(size):
        if row[j] == 0.0:
            continue
        length = math.hypot(table[j, j], row[j])
        cosine, sine = table[j, j] / length, row[j] / length
        table[j, j] = length
        for k in range(j + 1, size + 1):
            kept = table[j, k]
            table[j, k] = cosine * kept + sine * row[k]
            row[k] = cosine * row[k] - sine * kept


@part
def solve(table: FloatArray, out: FloatArray) -> None:
    """Fill `out` with m, R·m = c."""
    size = table.shape[0]
    for j in range(size - 1, -1, -1):
        total = table[j, size]
        for k in range(j + 1, size):
            total -= table[j, k] * out[k]
        out[j] = total / table[j, j]


@part
def fill_root(table: FloatArray, context: FloatArray, root: FloatArray) -> float:
    """Fill `root` with z and return the score's mean."""
    size, mean = table.shape[0], 0.0
    for j in range(size):
        total = context[j]
        for k in range(j):
            total -= table[k, j] * root[k]
        root[j] = total / table[j, j]
        mean += root[j] * table[j, size]
    return mean


@part
def is_proper(table: FloatArray) -> bool:
    for j in range(table.shape[0]):
        squares = 0.0
        for k in range(j + 1):
            squares += table[k, j] ** 2
        if not table[j, j] > _SMALLEST * math.sqrt(squares):
            return False
    return True


@part
def fade(table: FloatArray, prior: FloatArray, discount: float, row: FloatArray) -> None:
    kept, back = math.sqrt(discount), math.sqrt(1.0 - discount)
    for j in range(table.shape[0]):
        for k in range(table.shape[1]):
            table[j, k] *= kept
    for j in range(table.shape[0]):
        for k in range(table.shape[1]):
            row[k] = back * prior[j, k]
        rotate_in(table, row)
