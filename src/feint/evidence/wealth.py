"""Wealth of many bets as numbers in one unit, exp(scale), so that a row needs no logarithm.

The unit changes where the total leaves float64's range. It rises and falls: rows of one instant that are sorted by arm
raise E for a while, although it is not read there. Wealth below the range is lost. It must not stay at the smallest
number, which is not small in a large unit.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import part

SCALE = 0  # its place in `facts`
_LARGEST = 1e150
_LOST = 1e-290
_SMALLEST = 1e-300  # stands for 0, and has a logarithm


@part
def settle_total(wealth: FloatArray, facts: FloatArray, total: float) -> float:
    """Return the total of `wealth` (m, n), which has just been multiplied, in a unit that may be a new one."""
    if total > _LARGEST or facts[SCALE] > 1.0:
        factor = 1.0 / _LARGEST if total > _LARGEST else _LARGEST if total < 1.0 / _LARGEST else 1.0
        rescale(wealth, factor, 0.0)
        facts[SCALE] -= math.log(factor)
        total *= factor
    return total if total > _SMALLEST else _SMALLEST


@part
def rescale(wealth: FloatArray, factor: float, more: float) -> None:
    """Multiply and add."""
    for row in range(wealth.shape[0]):
        for k in range(wealth.shape[1]):
            found = factor * wealth[row, k] + more
            wealth[row, k] = found if found > _LOST else 0.0
