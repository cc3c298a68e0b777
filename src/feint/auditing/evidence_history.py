"""log E over the rows of a log, for a figure: as many points as it can show, however long the log."""

from typing import Any

import numpy as np

from feint._types import FloatArray, IntArray
from feint.support.saved import of_length

MOST_POINTS = 2_000


class History:
    """log E at evenly spaced rows, thinned as the log grows; which rows stay does not depend on the chunks."""

    def __init__(self) -> None:
        self._every, self._seen = 1, 0
        self._kept: list[tuple[int, float]] = []
        self._last: tuple[int, float] | None = None

    def add(self, rows: IntArray, log_e: FloatArray) -> None:
        """Take log E after the next rows."""
        self._last = (int(rows[-1]), float(log_e[-1]))
        for start in range(0, rows.size, MOST_POINTS):  # in pieces, so that a long chunk is thinned as short ones are
            kept = slice(start + -(self._seen + start) % self._every, start + MOST_POINTS, self._every)
            self._kept += zip(rows[kept].tolist(), log_e[kept].tolist(), strict=True)
            while len(self._kept) > MOST_POINTS:
                self._every *= 2
                self._kept = self._kept[::2]
        self._seen += rows.size

    def all(self) -> tuple[IntArray, FloatArray]:
        """Return (rows, log E there), the last row included."""
        points = self._kept + ([self._last] if self._last is not None and self._last != self._kept[-1] else [])
        return np.array([row for row, _ in points], dtype=np.int64), np.array([value for _, value in points])

    def state(self) -> list[Any]:
        """Return the history as plain JSON types."""
        return [self._every, self._seen, self._kept, self._last]

    def recall(self, state: list[Any]) -> None:
        """Take what `state` described."""
        self._every, self._seen, kept, last = of_length(state, 4, "history")
        self._kept = [(row, value) for row, value in kept]
        self._last = None if last is None else (last[0], last[1])
