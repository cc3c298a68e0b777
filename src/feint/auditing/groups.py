"""The groups of a log, in the order in which they arrive, and what their tests find."""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.auditing.arms import label_of
from feint.auditing.by_label import ByLabel
from feint.auditing.modes import GROUPS_SHARE, Mode
from feint.auditing.row_checks import Checked, Chunk
from feint.evidence.group_tilts import GroupTilts


class GroupReport(NamedTuple):
    """One group: pulls tested, log E of a small test of its own, and whether e-BH names it at level α."""

    group: str
    tested: int
    log_e_value: float
    named: bool


class GroupNumbers(ByLabel):
    """The groups of a log, numbered by first appearance, and by label where they appear in one instant, whose order
    says nothing.
    """

    def __init__(self, labels: Iterable[str] = ()) -> None:
        super().__init__()
        self.ids = {label: i for i, label in enumerate(labels)}

    def number_of(self, label: str) -> int:
        """Return the number of a group, the next one if it is new."""
        return self.ids.setdefault(label, len(self.ids))

    def of_rows(self, chunk: Chunk, checked: Checked) -> IntArray:
        """Return the agent of every good row as a number; 0 if there is only one."""
        if chunk.groups is None:
            return np.zeros(int(checked.good.sum()), dtype=np.int64)
        cells = chunk.groups
        if checked.bad:
            cells = [cells[i] for i in np.flatnonzero(checked.good).tolist()]
        if not checked.begins.all():
            first: dict[str, int] = {}
            for cell, instant in zip(cells, np.cumsum(checked.begins).tolist(), strict=True):
                first.setdefault(label_of(cell), instant)
            for label in sorted(first, key=lambda label: (first[label], label)):
                self.number_of(label)
        return self.numbers(cells)


class LogGroups:
    """The groups of a log so far. They are tested where the probabilities of all arms are known; then a tenth of E bets
    on them.
    """

    def __init__(self, mode: Mode, grouped: bool) -> None:
        claim = mode.claim
        self._numbers = GroupNumbers()
        self._test = (
            GroupTilts(mode.arms.n, claim.within, claim.n_groups, mode.floor)
            if grouped and mode.calibration is not None
            else None
        )

    def __len__(self) -> int:
        return len(self._numbers.ids)

    @property
    def log_e_value(self) -> float | None:
        """Return log E of the bet on all groups; None if they are not tested."""
        return None if self._test is None else self._test.log_e_value

    @property
    def strongest(self) -> tuple[int, int, float]:
        """Return the group that adds most to the bet on all groups, and the arm and the tilt that won most in it."""
        assert self._test is not None
        return self._test.strongest

    def label(self, group: int) -> str:
        """Return the label of a group."""
        return list(self._numbers.ids)[group]

    def number(self, chunk: Chunk, checked: Checked) -> IntArray:
        """Return the group of every good row as a number, in the order of arrival."""
        found = self._numbers.of_rows(chunk, checked)
        if self._test is not None:
            self._test.admit(len(self._numbers.ids))
        return found

    def refute(self, groups: IntArray) -> None:
        """Note that these groups pulled arms to which the claim gives probability 0."""
        if self._test is not None:
            self._test.refute(groups)

    def extend(self, groups: IntArray, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> FloatArray:
        """Test pulls, and return log E after each; `log_e` is log E without groups."""
        if self._test is None:
            return log_e
        log_m = self._test.extend(groups, arms, log_pi)
        return np.asarray(np.logaddexp(log_e + math.log(1.0 - GROUPS_SHARE), log_m + math.log(GROUPS_SHARE)))

    def reports(self, alpha: float) -> tuple[GroupReport, ...]:
        """Return every group that has arrived, named ones first, then by evidence."""
        if self._test is None:
            return ()
        log_e, named = self._test.log_e_values(), self._test.name_groups(alpha)
        return report_groups(list(self._numbers.ids), self._test.tested, log_e, named)

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        return {"labels": list(self._numbers.ids), "test": self._test and self._test.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state`."""
        self._numbers = GroupNumbers(map(str, state["labels"]))
        if self._test is not None:
            self._test.recall(state["test"])
            if len(self._test.tested) != len(self._numbers.ids):
                raise ValueError(f"The state is damaged: it has {len(self._numbers.ids)} groups, but tests of others.")


def report_groups(
    labels: Sequence[str], tested: IntArray, log_e: FloatArray, named: IntArray
) -> tuple[GroupReport, ...]:
    """Return one report per group, those with numbers in `named` first, then by evidence."""
    is_named = np.zeros(log_e.size, dtype=bool)
    is_named[named] = True
    order = np.lexsort((-log_e, ~is_named))
    return tuple(GroupReport(labels[g], int(tested[g]), float(log_e[g]), bool(is_named[g])) for g in order)


def write_groups(groups: Sequence[GroupReport], path: Path) -> None:
    """Write a CSV file with a row per group: its label, rows tested, log E (inf if refuted), named (0 or 1)."""
    if not groups:
        raise ValueError("No group was tested: that needs the probabilities of all arms; leave `groups` out.")
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:  # half a JSON surrogate
        writer = csv.writer(file)
        writer.writerow(("group", "tested", "log_e_value", "named"))
        writer.writerows((group, tested, repr(log_e), int(named)) for group, tested, log_e, named in groups)
