"""Stages of a log: rewards become known when a column changes, as at the interim analyses of a trial.

The stages of an agent are numbered from 0 by the changes of the column among its rows. A reward of stage s is then
known from the time s + 1 on, where the time of a row is its stage.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feint._types import IntArray
from feint.auditing.arms import label_of


class Stages:
    """The stage that every agent has reached."""

    def __init__(self) -> None:
        self._reached: dict[int, tuple[str, int]] = {}  # group -> (what its last row had in the column, its number)

    def number(self, cells: Sequence[Any], groups: IntArray) -> IntArray:
        """Return the number of each row's stage, (n,), and remember the last ones."""
        found = np.empty(groups.size, dtype=np.int64)
        for i, group in enumerate(groups.tolist()):
            label = label_of(cells[i])
            last, number = self._reached.get(group, (label, 0))
            found[i] = number + (label != last)
            self._reached[group] = (label, int(found[i]))
        return found

    def state(self) -> list[list[Any]]:
        """Return everything needed to continue, as plain JSON types."""
        return [[group, label, number] for group, (label, number) in self._reached.items()]

    def recall(self, state: list[list[Any]]) -> None:
        """Continue from a saved `state`."""
        self._reached = {int(group): (str(label), int(number)) for group, label, number in state}
