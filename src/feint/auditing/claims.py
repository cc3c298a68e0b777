"""What an agent may claim, one class each: how its rows are checked, what it says of every pull, and which tests fit.

- `LoggedProbabilities`: every arm was pulled with the probability that the log has for it. The null hypothesis of the
  test is P(A_t = a | past) = π_t(a) for all a.
- `LoggedPropensities`: the pulled arm was pulled with the probability that the log has. The null is
  E[1{A_t = b}/ρ_t | past] ≤ 1 for every arm b, whatever the other arms' probabilities were: weaker, but valid.
- `Recomputed`: a reference, recomputed from arms and rewards, drew every pull.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from feint.auditing.checks import PROBABILITY_0, Chunk, Findings, shown
from feint.evidence import BoostMixture, Calibration, PropensityMixture
from feint.families import Bernoulli
from feint.numerics._validate import FloatArray, IntArray
from feint.references.expectation import Expectation


class Claim(ABC):
    """A claim about the pulls of a log; see the module's docstring."""

    MODE: ClassVar[str]

    def __init__(self, n_arms: int, tolerance: float) -> None:
        self.n_arms, self._tolerance = n_arms, tolerance
        self.boosts: BoostMixture | PropensityMixture = BoostMixture(n_arms)
        self.calibration: Calibration | None = Calibration(n_arms)

    @abstractmethod
    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Find the rows that cannot be tested."""

    @abstractmethod
    def read(self, chunk: Chunk, good: Any, arms: IntArray) -> tuple[FloatArray, int]:
        """(log π, first): of the good rows from `first` on, (m, K) or, of the pulled arm alone, (m,)."""

    @abstractmethod
    def words(self) -> str:
        """The claim in words."""

    def test(self, arms: IntArray, log_pi: FloatArray) -> FloatArray:
        """log E after each row: the mean of a test for boosts and, where all probabilities are known, one without a
        model of the deceiver.
        """
        log_e = self.boosts.extend(arms, log_pi)
        if self.calibration is None:
            return log_e
        return np.asarray(np.logaddexp(log_e, self.calibration.extend(arms, log_pi)) - math.log(2))

    def fits(self) -> str:
        """What to make sure of where a pull is all but impossible under the claim, in a clause."""
        return "the logged probabilities are right"

    def warnings(self, skipped: int) -> list[str]:
        """What a reader must know; `skipped` rows were bad."""
        return [f"{skipped} bad rows were left out; the result holds if that does not depend on the arm."] * bool(
            skipped
        )


class LoggedProbabilities(Claim):
    """See the module's docstring."""

    MODE = "probabilities"

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Numbers from 0 to 1 that sum to 1, and not 0 for the pulled arm."""
        for a, column in enumerate(chunk.probabilities):
            findings.add_column(column, f"the probability of arm {a}")
        table = _table(chunk)
        outside = ~((table >= 0) & (table <= 1 + self._tolerance))
        findings.add(
            outside.any(1),
            "not a probability",
            lambda i: f"a probability is {table[i][outside[i]][0]:.12g}; it must lie between 0 and 1",
        )
        with np.errstate(invalid="ignore"):
            sums = table.sum(1)
            findings.add(
                ~(abs(sums - 1) <= self._tolerance),
                "probabilities do not sum to 1",
                lambda i: f"probabilities sum to {sums[i]:.9g}, not to 1 within {self._tolerance:g} (`tolerance`)",
            )
        arms = chunk.arm.values
        whole = np.array([i for i in range(arms.size) if i not in findings.found], dtype=np.int64)
        pulled = np.ones(arms.size)
        pulled[whole] = table[whole, arms[whole].astype(np.int64)]
        findings.add(pulled == 0, PROBABILITY_0, lambda i: f"arm {arms[i]:g} was pulled although its probability is 0")

    def read(self, chunk: Chunk, good: Any, arms: IntArray) -> tuple[FloatArray, int]:
        """As logged, normalised."""
        return _log_normalised(_table(chunk)[good]), 0

    def words(self) -> str:
        """In words."""
        return "the logged probabilities are those of the pulls"


class LoggedPropensities(Claim):
    """See the module's docstring."""

    MODE = "propensities"

    def __init__(self, n_arms: int, tolerance: float) -> None:
        super().__init__(n_arms, tolerance)
        self.boosts, self.calibration = PropensityMixture(n_arms), None

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """A number from 0 to 1, and not 0."""
        assert chunk.propensity is not None
        column = chunk.propensity
        findings.add_column(column, "propensity")
        findings.add(
            ~((column.values >= 0) & (column.values <= 1 + self._tolerance)),
            "not a probability",
            lambda i: f"propensity is {column.values[i]:.12g}; a probability lies between 0 and 1",
        )
        findings.add(
            column.values == 0,
            PROBABILITY_0,
            lambda i: f"arm {chunk.arm.values[i]:g} was pulled although its propensity is 0",
        )

    def read(self, chunk: Chunk, good: Any, arms: IntArray) -> tuple[FloatArray, int]:
        """As logged."""
        assert chunk.propensity is not None
        return np.log(np.minimum(chunk.propensity.values[good], 1.0)), 0

    def words(self) -> str:
        """In words."""
        return "the logged propensities are those of the pulls"

    def warnings(self, skipped: int) -> list[str]:
        """What a reader must know."""
        weaker = (
            "Only the pulled arm's probability was logged: the test is weaker, and no expected pulls are known. "
            "Log the probabilities of all arms."
        )
        return [weaker, *super().warnings(skipped)]


class Recomputed(Claim):
    """See the module's docstring."""

    MODE = "rewards"

    def __init__(self, n_arms: int, tolerance: float, expected: Expectation) -> None:
        super().__init__(n_arms, tolerance)
        self._expected = expected
        self._all_binary = True

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """A reward of the family."""
        assert chunk.reward is not None
        reward, expected = chunk.reward, self._expected
        findings.add_column(reward, "reward")
        with np.errstate(invalid="ignore"):
            accepted = np.array(expected.accepts(reward.values), dtype=bool)
        findings.add(
            ~accepted,
            "impossible reward",
            lambda i: f"reward is {shown(reward.texts[i])}; it must be {expected.rewards}",
        )

    def read(self, chunk: Chunk, good: Any, arms: IntArray) -> tuple[FloatArray, int]:
        """Recomputed from the rows before."""
        assert chunk.reward is not None
        rewards = chunk.reward.values[good]
        self._all_binary &= bool(((rewards == 0) | (rewards == 1)).all())
        return self._expected.rows(arms, rewards)

    def words(self) -> str:
        """In words."""
        return self._expected.describe()

    def fits(self) -> str:
        """In a clause."""
        return "sigma, prior and reference fit"

    def warnings(self, skipped: int) -> list[str]:
        """What a reader must know."""
        found = []
        if skipped:
            found.append(
                f"{skipped} bad rows were left out. If the agent saw their rewards, this is no valid test: the "
                "posterior lacks them, and an honest agent may be rejected."
            )
        if self._all_binary and self.boosts.tested and not isinstance(self._expected.family, Bernoulli):
            found.append(
                "All rewards are 0 or 1: is Thompson Sampling with Beta posteriors claimed (family=Bernoulli(); "
                "--reference beta)?"
            )
        return found


CLAIMS: dict[str, type[Claim]] = {claim.MODE: claim for claim in (LoggedProbabilities, LoggedPropensities, Recomputed)}


def _table(chunk: Chunk) -> FloatArray:
    return np.column_stack([column.values for column in chunk.probabilities])


def _log_normalised(table: FloatArray) -> FloatArray:
    """log of probabilities that sum to 1 up to rounding; that of a likely arm from its complement."""
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
