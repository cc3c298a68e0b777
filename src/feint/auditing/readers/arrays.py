"""Arrays as a log."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from feint.auditing.claim import MOST_ARMS
from feint.auditing.readers.base import Batch, Tick

TABLE_OF_CONTEXTS = "contexts in memory"  # the name of one column that holds all features


class ArrayLog:
    """Columns that are in memory: a vector each, and a table of `probabilities`."""

    name = ""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._table = columns
        self.columns = list(columns)
        self.width: int = columns["probabilities"].shape[1] if "probabilities" in columns else 0
        contexts = columns.get(TABLE_OF_CONTEXTS)
        self.context_arms: int = contexts.shape[1] if contexts is not None and contexts.ndim == 3 else 0
        self.size: int | None = len(columns["arm"])

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        """See `readers.base`."""
        for start in range(0, self.size or 0, n_rows):
            table = {name: self._table[name][start : start + n_rows] for name in columns}
            yield Batch(table, len(table[columns[0]]), None, {})


def as_vector(values: ArrayLike, name: str, size: int | None = None) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a flat list of numbers.") from None
    if array.ndim != 1 or array.dtype.kind == "c":
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}; it must be a flat list of numbers.")
    if size is not None and array.size != size:
        raise ValueError(f"There are {size} arms but {array.size} {name}; each pull needs one of each.")
    return array


def as_cells(values: Any, name: str, size: int) -> Any:
    """Return a cell per pull, which may be a list; a table of booleans stays one."""
    try:
        cells = values if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:  # lists of different lengths
        cells = np.empty(0)
    found = cells if cells.ndim == 2 and cells.dtype.kind == "b" else list(values)
    if len(found) != size:
        raise ValueError(f"There are {size} arms but {len(found)} {name}; each pull needs one of each.")
    return found


def as_table(values: ArrayLike, size: int) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError("probabilities must be a rectangular table, one row per pull.") from None
    if array.ndim != 2 or array.shape[0] != size or not 2 <= array.shape[1] <= MOST_ARMS:
        raise ValueError(f"probabilities has shape {array.shape}; {size} pulls need ({size}, K) with K of 2 or more.")
    return array


def as_contexts(values: ArrayLike, size: int, per_arm: bool) -> NDArray[Any]:
    """Return contexts (n, d), or (n, K, d) where every arm has its own."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError("contexts must be a rectangular table, one row per pull.") from None
    shape = "(n, K, d), features of every arm" if per_arm else "(n, d), one row of features per pull"
    if array.ndim != 2 + per_arm or array.shape[0] != size or 0 in array.shape[1:]:
        raise ValueError(f"contexts has shape {array.shape}; {size} pulls of this reference need {shape}.")
    return array
