"""Columns of a log that no option names, but that look like stages, units or available arms."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from feint._types import IntArray
from feint.auditing.arms import LogArms, label_of
from feint.auditing.available import read_available
from feint.auditing.claim import Claim
from feint.auditing.diagnosis.other_claims import AVAILABLE, STAGE, UNIT, OtherClaim
from feint.auditing.modes import RecomputedReference

_ROWS_PER_STAGE = 5.0  # at least, in the mean
_FEWEST = 10  # units, and rows that repeat theirs


def claims_of_column(
    name: str, cells: Sequence[Any], pulled: IntArray, groups: IntArray, claim: Claim, mode: str, arms: LogArms
) -> Iterator[OtherClaim]:
    """Yield the claims in which a column plays a part; `cells`, `pulled` and `groups` are those of the good rows."""
    recomputed = mode == RecomputedReference.NAME
    if isinstance(cells, np.ndarray) and cells.ndim > 1:
        return
    labels = [label_of(cell) for cell in cells]
    if all(labels):
        if recomputed and claim.needs_rewards and not claim.timing.by_clock and _are_stages(labels, groups):
            yield OtherClaim(STAGE, f"rewards known when the column {name} changes", (STAGE, name))
        if claim.names.unit is None and _are_units(labels, pulled, groups):
            yield OtherClaim(UNIT, f"later rows of a unit (column {name}) repeat its first", (UNIT, name))
    if recomputed and claim.names.available is None and _are_available(cells, pulled, arms):
        yield OtherClaim(AVAILABLE, f"only the arms listed in the column {name} could be drawn", (AVAILABLE, name))


def _are_stages(labels: list[str], groups: IntArray) -> bool:
    """Return whether a column changes within a group, but seldom."""
    last: dict[int, str] = {}
    changes = 0
    for label, group in zip(labels, groups.tolist(), strict=True):
        changes += last.setdefault(group, label) != label
        last[group] = label
    return 1 <= changes <= len(labels) / _ROWS_PER_STAGE


def _are_units(labels: list[str], pulled: IntArray, groups: IntArray) -> bool:
    """Return whether values recur, and each time with the arm of their first row."""
    first: dict[tuple[int, str], int] = {}
    for label, arm, group in zip(labels, pulled.tolist(), groups.tolist(), strict=True):
        if first.setdefault((group, label), arm) != arm:
            return False
    return _FEWEST <= len(first) <= len(labels) - _FEWEST


def _are_available(cells: Sequence[Any], pulled: IntArray, arms: LogArms) -> bool:
    """Return whether every cell lists arms, the pulled one among them, and not all arms in all rows."""
    malformed: dict[int, str] = {}
    mask = read_available(cells, arms, malformed)
    several = mask.sum(axis=1) > 1
    return not malformed and bool(mask[np.arange(pulled.size), pulled].all() and several.any() and not mask.all())
