"""Units that are shown the same arm again: a visitor who comes back, or a patient with several visits.

The first row of a unit is a draw and is tested. Later rows are not draws: they must have the arm of the first, with
probability 1 under the claim. A row that does not refutes it, as a pull of probability 0 does. Units of different
groups are different. Of every unit a digest of 16 bytes and its arm are kept, so that labels of any length may be
units; any two of 10⁹ units share a digest with probability 10⁻²¹.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, IntArray
from feint.auditing.arms import label_of
from feint.auditing.row_checks import Chunk
from feint.support.saved import of_length


class ChangedUnit(NamedTuple):
    """Rows that do not repeat the arm of their unit's first row: the first one, and how many there were."""

    row: int
    unit: str
    arm: int
    first_arm: int
    rows: int


class Units:
    """The units of a log so far, each with the arm of its first row."""

    def __init__(self) -> None:
        self._arms: dict[str, int] = {}
        self.repeated = 0  # rows that are not the first of their unit
        self.changed: ChangedUnit | None = None

    def draws(
        self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray
    ) -> tuple[BoolArray | None, IntArray]:
        """Return which of the good rows are draws, (m,), None if all are, and the positions of rows that changed."""
        if not chunk.units:
            return None, np.empty(0, dtype=np.int64)
        first, changed = np.ones(arms.size, dtype=bool), []
        for i, position in enumerate(np.flatnonzero(good).tolist()):
            unit = [label_of(cells[position]) for cells in chunk.units]
            digest = blake2b(repr((int(groups[i]), *unit)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            arm, before = int(arms[i]), self._arms.setdefault(digest, -1)
            if before < 0:
                self._arms[digest] = arm
                continue
            first[i] = False
            if arm != before:
                changed.append(i)
                kept = self.changed or ChangedUnit(int(chunk.rows[position]), ", ".join(unit), arm, before, 0)
                self.changed = kept._replace(rows=kept.rows + 1)
        self.repeated += int((~first).sum())
        return first, np.array(changed, dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue, as plain JSON types."""
        return dict(vars(self)) | {"_arms": dict(self._arms)}

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state`."""
        self._arms, self.repeated = dict(state["_arms"]), state["repeated"]
        self.changed = None if state["changed"] is None else ChangedUnit(*of_length(state["changed"], 5, "changed"))


def unit_columns(written: str | None, columns: list[str]) -> list[str]:
    """Return the columns that `unit` names: one, or two with a comma between."""
    if written is None or written in columns:
        return [] if written is None else [written]
    names = [name.strip() for name in written.split(",")]
    if len(names) > 2 or len({*names}) < len(names) or not all(name in columns for name in names):
        missing = next((name for name in names if name not in columns), None)
        wrong = "it must name one or two different columns" if missing is None else f"there is no column {missing!r}"
        raise ValueError(f"`unit` is {written!r}, but {wrong}; give the column of units, or UNIT,VERSION.")
    return names
