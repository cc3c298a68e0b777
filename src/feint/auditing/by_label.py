"""A number for every label of a column, found once per distinct cell, since most cells have been seen before."""

from abc import abstractmethod
from typing import Any

import numpy as np

from feint._types import IntArray
from feint.auditing.arms import label_of

_MOST_REMEMBERED = 2**20  # cells


class ByLabel(dict[Any, int]):
    """Numbers of cells, remembered; a subclass says which number a label has."""

    @abstractmethod
    def number_of(self, label: str) -> int:
        """Return the number of a label."""

    def __missing__(self, cell: Any) -> int:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[cell] = found = self.number_of(label_of(cell))
        return found

    def numbers(self, cells: Any) -> IntArray:
        """Return the number of each cell, (n,), found in their order."""
        plain = isinstance(cells, np.ndarray) and (cells.dtype.kind in "iu" or cells.dtype == np.float64)
        items = cells.tolist() if plain else list(cells)
        if not plain and not {*map(type, items)} <= {str}:
            items = [label_of(item) for item in items]  # True and 1 are two groups, but one key
        return np.fromiter(map(self.__getitem__, items), dtype=np.int64, count=len(items))
