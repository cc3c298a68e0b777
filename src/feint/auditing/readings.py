"""When E may be read: after the last row of every instant, since the order of its rows need not be that of the draws.

Rows of one time are one instant. Without times every row is one, and E is read after each.
"""

import math
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.evidence_history import History
from feint.support.saved import damaged


class Readings:
    """E as it was read so far, and the first row at which it reached 1/α."""

    def __init__(self, alpha: float) -> None:
        self._threshold = -math.log(alpha)
        self.log_e, self.highest = 0.0, 0.0
        self.rejected_at: int | None = None
        self.history = History()
        self._instants = 0  # that have begun
        self._tested_instant = 0  # the instant of the last tested row
        self._unread: tuple[int, float] | None = None  # (row, log E) after the last tested row, while its instant lasts

    def number(self, begins: BoolArray) -> IntArray:
        """Return the instant of every good row; `begins` says which of these rows begin one."""
        instants = self._instants + np.cumsum(begins)
        self._instants += int(begins.sum())
        return instants

    def begin(self, instants: IntArray) -> BoolArray:
        """Return which of the tested rows are the first tested ones of their instants, and read E before these."""
        begins = np.empty(instants.size, dtype=bool)
        begins[0] = instants[0] != self._tested_instant
        np.not_equal(instants[1:], instants[:-1], out=begins[1:])
        self._tested_instant = int(instants[-1])
        if begins[0]:
            self.read_last()
        return begins

    def add(self, rows: IntArray, log_e: FloatArray, begins: BoolArray) -> None:
        """Take log E after tested rows; the last one waits until its instant is over."""
        ends = begins[1:]
        if ends.all():
            self._read(rows[:-1], log_e[:-1])
        elif ends.any():
            self._read(rows[:-1][ends], log_e[:-1][ends])
        self._unread = (int(rows[-1]), float(log_e[-1]))

    def settle(self, timed: bool) -> None:
        """Read E after the last tested row if its instant is over: a later one has begun, or rows have no times."""
        if not timed or self._instants > self._tested_instant:
            self.read_last()

    def read_last(self) -> None:
        """Read E after the last tested row: its instant is over."""
        if self._unread is not None:
            row, log_e = self._unread
            self._unread = None
            self._read(np.array([row]), np.array([log_e]))

    def reject(self, row: int) -> None:
        """Note that the claim is refuted at this row, unless it was rejected above it."""
        self.rejected_at = row if self.rejected_at is None else min(row, self.rejected_at)

    def _read(self, rows: IntArray, log_e: FloatArray) -> None:
        if not rows.size:
            return
        highest = float(log_e.max())
        if highest >= self._threshold:
            self.reject(int(rows[np.argmax(log_e >= self._threshold)]))
        self.log_e = float(log_e[-1])
        self.highest = max(self.highest, highest)
        self.history.add(rows, log_e)

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        return {name: getattr(self, place) for name, (place, _) in _FACTS.items()} | {"history": self.history.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state`."""
        for name, (place, kinds) in _FACTS.items():
            value = state[name]
            if not isinstance(value, kinds) or (isinstance(value, list) and len(value) != 2):
                raise damaged(name, value)
            setattr(self, place, value)
        self.history.recall(state["history"])


# name -> (attribute, what it is in JSON)
_FACTS: dict[str, tuple[str, Any]] = {
    "log_e": ("log_e", int | float),
    "highest": ("highest", int | float),
    "rejected_at": ("rejected_at", int | None),
    "instants": ("_instants", int),
    "tested_instant": ("_tested_instant", int),
    "unread": ("_unread", list | None),
}
