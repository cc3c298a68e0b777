"""The rows of a log that a diagnosis looks at, in the pieces in which the log was read."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.groups import GroupNumbers
from feint.auditing.modes import Mode
from feint.auditing.row_checks import Chunk, Times, check_rows, first_rows
from feint.auditing.units import Units


class TestedRows(NamedTuple):
    """Some rows of a log that can be tested."""

    chunk: Chunk
    good: BoolArray
    arms: IntArray
    groups: IntArray
    rows: IntArray
    begins: BoolArray  # which rows begin an instant
    drawn: BoolArray | None  # all, if None: those that are not a later row of their unit


def first_tested(chunks: Iterable[Chunk], mode: Mode, limit: int) -> list[TestedRows]:
    """Return the first rows of a log that can be tested."""
    pieces: list[TestedRows] = []
    numbers = GroupNumbers()
    times, units = Times(), Units()
    n_good = 0
    for chunk in chunks:
        checked = check_rows(chunk, mode.arms, mode.check, times)
        good = np.flatnonzero(checked.good)
        if good.size > limit - n_good:  # the rest of a large chunk would be recomputed for every other claim
            good = good[: limit - n_good]
            n_kept = int(good[-1]) + 1
            chunk = first_rows(chunk, n_kept)
            checked = checked._replace(good=checked.good[:n_kept], begins=checked.begins[: good.size])
        groups = numbers.of_rows(chunk, checked)
        arms = chunk.arm.values[good].astype(np.int64)
        drawn, _ = units.draws(chunk, checked.good, arms, groups)
        pieces.append(TestedRows(chunk, checked.good, arms, groups, chunk.rows[good], checked.begins, drawn))
        n_good += good.size
        if n_good >= limit:
            break
    return pieces


def read_claims(pieces: list[TestedRows], mode: Mode) -> tuple[FloatArray, BoolArray]:
    """Return (log π (n, K), where it is known (n,)) of all rows; 0 where nothing is claimed."""
    tables, masks = [], []
    for piece in pieces:
        log_pi, tested = mode.read(piece.chunk, piece.good, piece.arms, piece.groups)
        table = np.zeros((tested.size, mode.arms.n))
        table[tested] = log_pi
        tables.append(table)
        masks.append(tested)
    return np.concatenate(tables), np.concatenate(masks)
