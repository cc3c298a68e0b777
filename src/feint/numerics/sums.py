"""Sums over the nodes of a panel in four lanes, so that they vectorise and still add up in a fixed order.

Left to LLVM (`reassoc`), the order would depend on the machine and on what the sum was inlined into.
"""

from feint._types import FloatArray
from feint.numerics._jit import fma, inlined


@inlined
def sum_products(x: FloatArray, y: FloatArray) -> float:
    """Return Σ x·y; the number of terms is a multiple of 4."""
    a = b = c = d = 0.0
    for i in range(0, x.size, 4):
        a = fma(x[i], y[i], a)
        b = fma(x[i + 1], y[i + 1], b)
        c = fma(x[i + 2], y[i + 2], c)
        d = fma(x[i + 3], y[i + 3], d)
    return (a + b) + (c + d)
