"""The arms of a log: how many there are, and what they are called."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from feint.auditing.claim import MOST_ARMS
from feint.auditing.numbers import Column, as_column
from feint.numerics._validate import is_whole

ANY_ARM = 2**53  # stands for an unknown number of arms; float64 cannot hold every larger whole number

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d+)\.0*", re.ASCII)


class LogArms:
    """The arms of a log: numbers from 0, or labels."""

    def __init__(self, n: int, labels: Sequence[str] | None = None) -> None:
        self.n = n
        self.labels = None if labels is None else list(labels)
        self._are_numbers = labels is None or are_numbers(labels)
        self._places = {} if labels is None else {self.key(label): float(i) for i, label in enumerate(labels)}
        if labels is not None and len(self._places) < n:
            raise ValueError(f"Two of the arms {', '.join(labels[:6])} are the same number; name each arm once.")

    def names(self) -> list[str]:
        """Return the name of each arm."""
        return [str(a) for a in range(self.n)] if self.labels is None else list(self.labels)

    def key(self, label: str) -> str:
        """Return a key that labels of the same arm share: if all labels are numbers, 1.0 and 1 have the same key."""
        return as_whole(label) if self._are_numbers else label

    def column(self, cells: Any) -> Column:
        """Return cells as arm numbers."""
        if self.labels is None:
            return as_column(cells)
        found = [label_of(cell) for cell in cells]
        values = np.array([self._places.get(label, np.nan) for label in found], dtype=np.float64)
        if self._are_numbers:
            for i in np.flatnonzero(np.isnan(values)):
                values[i] = self._places.get(as_whole(found[i]), np.nan)
        missing = np.array([not label for label in found], dtype=bool)
        return Column(values, missing, np.isnan(values) & ~missing, cells)


def label_of(cell: Any) -> str:
    """Return a cell as the label of an arm; empty if there is none."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)
    return str(cell).strip()


def as_whole(label: str) -> str:
    """Return a whole number without a fraction of zeros; leading zeros, and other labels, stay as they are.

    >>> as_whole("1.0"), as_whole("007.00"), as_whole("1.5"), as_whole("v1.0")
    ('1', '007', '1.5', 'v1.0')
    """
    found = _WHOLE.fullmatch(label)
    return label if found is None else found[1]


def are_numbers(labels: Iterable[str]) -> bool:
    """Return whether all labels are numbers."""
    return all(_NUMBER.fullmatch(label) for label in labels)


def given_labels(n_arms: Any) -> list[str] | None:
    """Return the labels that were given as `n_arms`, if any."""
    if n_arms is None or is_whole(n_arms, 0):
        return None
    labels = [label_of(label) for label in n_arms] if isinstance(n_arms, Sequence | np.ndarray) else []
    if not 2 <= len(set(labels)) == len(labels) <= MOST_ARMS or not all(labels):
        raise ValueError(f"`n_arms` is {n_arms!r}; give a number of arms, or two or more different labels.")
    return labels
