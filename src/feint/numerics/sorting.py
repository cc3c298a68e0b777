"""Sorting and searching inside a kernel, where a library sort would allocate."""

from typing import Any

from feint._types import FloatArray, IntArray
from feint.numerics._jit import part, shared_inlined

_GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's sequence


@shared_inlined
def find_largest(values: Any) -> int:
    """Return the index of the largest of these numbers; if several tie, the first."""
    top = 0
    for a in range(1, values.size):
        if values[a] > values[top]:
            top = a
    return top


@part
def sort_by(keys: FloatArray, order: IntArray, sign: float) -> None:
    """Fill `order` with 0 … K−1 sorted by sign·key, ties by index, by Shell sort with Ciura's gaps."""
    n = keys.size
    for i in range(n):
        order[i] = i
    for gap in _GAPS:
        for i in range(gap, n):
            item = order[i]
            key = sign * keys[item]
            k = i
            while k >= gap:
                other = order[k - gap]
                other_key = sign * keys[other]
                if other_key < key or (other_key == key and other < item):
                    break
                order[k] = other
                k -= gap
            order[k] = item
