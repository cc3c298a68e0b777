"""The pulled arm was pulled with the probability that the log has.

The null is E[1{A_t = b}/ρ_t | past] ≤ 1 for every arm b, whatever the other arms' probabilities were: weaker than a
claim about all arms, but valid. With two arms the other's probability is known too, and the claim is about all arms.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.claim import Claim
from feint.auditing.modes.base import Mode
from feint.auditing.probability_of import named_place, of_pulled_arm
from feint.auditing.row_checks import Chunk, RowProblems
from feint.evidence import PropensityMixture, PropensitySerialMixture
from feint.evidence.propensity_mixture import shrink_propensities

_MANY = 100  # rows from which a mean of 1/p says something
# A 1/p counts as 10·K at most: its mean then exceeds K by 5 standard errors, √(10/n)·K, with probability below 3e-4.
_LARGEST_INVERSE, _CLEARLY = 10.0, 5.0


class LoggedPropensities(Mode):
    """See the module's docstring."""

    NAME = "propensities"

    def __init__(self, claim: Claim, arms: LogArms, *, grouped: bool = False) -> None:
        super().__init__(claim, arms, grouped=grouped)
        self._place = None if claim.probability_of is None else named_place(claim.probability_of, arms)
        if claim.names.available is not None:
            raise ValueError(
                "Which arms were available (`available`) says nothing about the propensities of pulled arms alone: "
                "leave it out, log the probabilities of all arms, or recompute a reference (`mode`)."
            )
        self._two = arms.n == 2 and claim.propensity_draws is None
        if not self._two:
            self.boosts, self.calibration = PropensityMixture(arms.n, within=claim.within), None
            self.serial = PropensitySerialMixture(arms.n, within=claim.within, n_groups=self.serial.n_groups)
        # Rows, Σ 1/p, and Σ 1/p if p were the probability of arm 1; each 1/p counts as 10·K at most.
        self._inverse = np.zeros(3)
        self._even = True  # whether all are 1/K

    def check(self, chunk: Chunk, findings: RowProblems) -> None:
        """Find the rows whose propensity is not a number from 0 to 1."""
        assert chunk.propensity is not None
        column = chunk.propensity
        findings.add_column(column, "propensity")
        findings.add(
            ~((column.values >= 0) & (column.values <= 1 + self.claim.tolerance)),
            "not a probability",
            lambda i: f"propensity is {column.values[i]:.12g}; a probability lies between 0 and 1",
        )

    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the logged propensities, of both arms if there are two; all rows are tested."""
        assert chunk.propensity is not None
        p = np.minimum(chunk.propensity.values[good], 1.0)
        if self._place is not None:
            p = of_pulled_arm(p, arms, self._place)
        if self.claim.propensity_draws is not None:
            p = shrink_propensities(np.maximum(p, self.floor), self.claim.propensity_draws)
        self._even &= bool((abs(p - 1.0 / self.arms.n) <= self.claim.tolerance).all())
        least = 1.0 / (_LARGEST_INVERSE * self.arms.n)
        other = np.where(arms == 1, p, 1.0 - p)
        self._inverse += [arms.size, *((1.0 / np.maximum(share, least)).sum() for share in (p, other))]
        tested = np.ones(arms.size, dtype=bool)
        with np.errstate(divide="ignore"):
            if not self._two:
                return np.log(np.maximum(p, self.floor)), tested
            table = np.empty((arms.size, 2))
            table[np.arange(arms.size), arms] = np.log(p)
            table[np.arange(arms.size), 1 - arms] = np.log1p(-p)
            if self.floor:  # of both arms: which was pulled must not decide
                table = np.maximum(table, np.log(self.floor))
                table -= np.logaddexp(table[:, 0], table[:, 1])[:, np.newaxis]
        return table, tested

    def words(self) -> str:
        """Return the claim in words."""
        drawn = (
            ""
            if self.claim.propensity_draws is None
            else f", estimated from {self.claim.propensity_draws:,} draws each"
        )
        whose = "the pulls" if self._place is None else f"arm {self.arms.names()[self._place]}"
        return self._reading(f"the logged propensities are those of {whose}{drawn}")

    def warnings(self, skipped: int) -> list[str]:
        """Return what a reader must know."""
        found = []
        rows, total, other = self._inverse
        clearly = 1.0 + _CLEARLY * math.sqrt(_LARGEST_INVERSE / max(rows, 1.0))
        if rows >= _MANY and total > clearly * self.arms.n * rows:
            names = self.arms.names()
            instead = (
                f"; as the probability of arm {names[1]} it would be {other / rows:.3g} (`probability_of`)"
                if self.arms.n == 2 and self._place is None
                else ""
            )
            found.append(
                f"The mean of 1/propensity is at least {total / rows:.3g}, but it cannot stay above the number of "
                f"arms, {self.arms.n}: this is not the probability of the pulled arm{instead}."
            )
        if not self._two:
            found.append(
                "Only the pulled arm's probability was logged: the test is weaker, and no expected pulls are known. "
                "Log the probabilities of all arms."
            )
            if self._even and self.claim.propensity_draws is None and rows:
                found.append(
                    f"All propensities are 1/{self.arms.n}. If every arm had this probability in every row, claim "
                    "that: it is a stronger test (reference=Split(); --reference uniform)."
                )
        return [*found, *super().warnings(skipped)]

    def state(self) -> dict[str, Any]:
        """Return what the base class returns, with the means of 1/p."""
        return {**super().state(), "inverse": self._inverse.tolist(), "even": self._even}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        super().recall(state)
        self._inverse[:] = state["inverse"]
        self._even = bool(state["even"])

    def tally(self) -> dict[str, Any]:
        """Return what the base class returns, with the means of 1/p."""
        return {**super().tally(), "inverse": self._inverse.tolist(), "even": self._even}

    def absorb(self, tallies: Sequence[dict[str, Any]]) -> None:
        """Take the sums over disjoint rows."""
        super().absorb(tallies)
        self._inverse[:] = np.sum([tally["inverse"] for tally in tallies], axis=0)
        self._even = all(tally["even"] for tally in tallies)
