"""Every arm was pulled with the probability that the log has for it: P(A_t = a | past) = π_t(a) for all a."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.modes.base import Mode
from feint.auditing.numbers import decimals
from feint.auditing.row_checks import Chunk, RowProblems


class LoggedProbabilities(Mode):
    """See the module's docstring."""

    NAME = "probabilities"

    def check(self, chunk: Chunk, findings: RowProblems) -> None:
        """Find the rows whose probabilities are not numbers from 0 to 1 that sum to 1."""
        table = _probability_table(chunk)
        if np.isnan(table).any():
            for name, column in zip(self.arms.names(), chunk.probabilities, strict=True):
                findings.add_column(column, f"the probability of arm {name}")
        tolerance = self.claim.tolerance
        outside = ~((table >= 0) & (table <= 1 + tolerance))
        findings.add(
            outside.any(1),
            "not a probability",
            lambda i: f"a probability is {table[i][outside[i]][0]:.12g}; it must lie between 0 and 1",
        )
        with np.errstate(invalid="ignore", over="ignore"):
            sums = table.sum(1)
            suspects = np.flatnonzero(~(abs(sums - 1) <= tolerance))
            wrong = [i for i in suspects if not abs(sums[i] - 1) <= tolerance + _rounding(chunk, int(i))]
        if chunk.available is not None:
            claimed = np.where(chunk.available, 0.0, table) > tolerance
            findings.add(
                claimed.any(1),
                "not available",
                lambda i: (
                    f"arm {self.arms.names()[int(claimed[i].argmax())]} has the probability "
                    f"{table[i][claimed[i]][0]:.6g}, but was not available"
                ),
            )
        findings.add(
            wrong,
            "probabilities do not sum to 1",
            lambda i: (
                f"probabilities sum to {sums[i]:.9g}, not to 1 within {tolerance + _rounding(chunk, i):.3g} "
                "(`tolerance`, and how they were rounded)"
            ),
        )

    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the logged probabilities, normalised; all rows are tested."""
        table = np.maximum(_probability_table(chunk)[good], self.floor)
        if chunk.available is not None:
            table[~chunk.available[good]] = 0.0
        return _log_normalised(table), np.ones(arms.size, dtype=bool)

    def words(self) -> str:
        """Return the claim in words."""
        return self._reading("the logged probabilities are those of the pulls")


def _probability_table(chunk: Chunk) -> FloatArray:
    return np.column_stack([column.values for column in chunk.probabilities])


def _rounding(chunk: Chunk, i: int) -> float:
    """Return by how much a sum may be off since its numbers were rounded to the most digits that any of them has."""
    return sum_rounding([column.texts[i] for column in chunk.probabilities])


def sum_rounding(cells: Sequence[Any]) -> float:
    """Return by how much rounding may put the sum of these probabilities off."""
    return 0.5 * 10.0 ** -max(map(decimals, cells)) * len(cells)


def _log_normalised(table: FloatArray) -> FloatArray:
    """Return the log of probabilities that sum to 1 up to rounding; a likely arm's comes from its complement."""
    table = table / table.sum(1, keepdims=True)
    rows, leader = np.arange(len(table)), table.argmax(1)
    others = table.copy()
    others[rows, leader] = 0.0
    rest = others.sum(1)
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(table)
    likely = rest < 0.5
    logs[rows[likely], leader[likely]] = np.log1p(-rest[likely])
    return logs
