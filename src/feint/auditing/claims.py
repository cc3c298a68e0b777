"""What an agent may claim, one class each: how its rows are checked, what it says of every pull, and which tests fit.

- `LoggedProbabilities`: every arm was pulled with the probability that the log has for it. The null hypothesis of the
  test is P(A_t = a | past) = π_t(a) for all a.
- `LoggedPropensities`: the pulled arm was pulled with the probability that the log has. The null is
  E[1{A_t = b}/ρ_t | past] ≤ 1 for every arm b, whatever the other arms' probabilities were: weaker, but valid. With two
  arms the other's probability is known too, and the claim is the one above.
- `Recomputed`: a reference, recomputed from arms and rewards, drew every pull.

With `within` = w the null is that every probability lies within the share w of the one claimed. Where all probabilities
are known E is 0.3 of a test for boosts and 0.7 of one without a model of the deceiver; the shares make wrong splits as
quick to see as by a test made for those (docs/audit.md).
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint.auditing.checks import Chunk, Findings, shown
from feint.auditing.columns import NEVER, as_moments, decimals
from feint.auditing.layout import Arms
from feint.evidence import BoostMixture, Calibration, PropensityMixture
from feint.evidence.calibration import BETS_SHARE
from feint.evidence.propensity_mixture import shrink_propensities
from feint.families import Bernoulli
from feint.families.base import is_observable, observable_rewards
from feint.numerics._validate import BoolArray, FloatArray, IntArray
from feint.references.recomputation import Recomputation

_BOOSTS = 0.3  # share of E that bets on boosts
INTERVALS = (1.0 - _BOOSTS) * BETS_SHARE  # the intervals' share of α: without 0, E ≥ 1/α
_MANY = 100  # rows from which a mean of 1/p says something
# A 1/p counts as 10·K at most: its mean then exceeds K by 5 standard errors, √(10/n)·K, with probability below 3e-4.
_LARGEST_INVERSE, _CLEARLY = 10.0, 5.0


class Options(NamedTuple):
    """How what was logged is read."""

    tolerance: float = 1e-6  # of the sum of probabilities
    floor: float = 0.0  # smaller probabilities are read as this
    within: float = 0.0
    draws: int | None = None  # Monte Carlo draws of which propensities are shares


class Claim(ABC):
    """A claim about the pulls of a log; see the module's docstring."""

    MODE: ClassVar[str]

    def __init__(self, arms: Arms, options: Options) -> None:
        if options.floor * arms.n > 1:
            raise ValueError(
                f"`floor` is {options.floor:g}, which {arms.n} arms cannot all have; give at most 1/{arms.n}."
            )
        self.arms, self.options = arms, options
        self.boosts: BoostMixture | PropensityMixture = BoostMixture(arms.n, within=options.within)
        self.calibration: Calibration | None = Calibration(arms.n, within=options.within)

    @abstractmethod
    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Find the rows that cannot be tested."""

    @abstractmethod
    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """(log π, tested): which of the good rows are tested, and log π of those, (m, K) or of the pulled arm, (m,)."""

    @abstractmethod
    def words(self) -> str:
        """The claim in words."""

    def identity(self) -> str:
        """All that distinguishes it from other claims: a saved audit goes on with the same one only."""
        return f"{self.words()}; {self.options}"

    def test(self, arms: IntArray, log_pi: FloatArray) -> FloatArray:
        """log E after each row."""
        log_e = self.boosts.extend(arms, log_pi)
        if self.calibration is None:
            return log_e
        free = self.calibration.extend(arms, log_pi)
        return np.asarray(np.logaddexp(log_e + math.log(_BOOSTS), free + math.log(1.0 - _BOOSTS)))

    def fits(self) -> str:
        """What to make sure of where a pull is all but impossible under the claim, in a clause."""
        return "the logged probabilities are right"

    def warnings(self, skipped: int) -> list[str]:
        """What a reader must know; `skipped` rows were bad."""
        return [f"{skipped} bad rows were left out; the result holds if that does not depend on the arm."] * bool(
            skipped
        )

    def state(self) -> dict[str, Any]:
        """What the claim has learned, as plain JSON types."""
        return {"boosts": self.boosts.state(), "calibration": self.calibration and self.calibration.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        self.boosts = type(self.boosts).from_state(state["boosts"])
        self.calibration = self.calibration and Calibration.from_state(state["calibration"])

    def _allowing(self, words: str) -> str:
        share = f" within {100 * self.options.within:g} %" if self.options.within else ""
        return words + share


class LoggedProbabilities(Claim):
    """See the module's docstring."""

    MODE = "probabilities"

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Numbers from 0 to 1 that sum to 1."""
        table = _table(chunk)
        if np.isnan(table).any():
            for name, column in zip(self.arms.names(), chunk.probabilities, strict=True):
                findings.add_column(column, f"the probability of arm {name}")
        tolerance = self.options.tolerance
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
        findings.add(
            wrong,
            "probabilities do not sum to 1",
            lambda i: (
                f"probabilities sum to {sums[i]:.9g}, not to 1 within {tolerance + _rounding(chunk, i):.3g} "
                "(`tolerance`, and how they were rounded)"
            ),
        )

    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """As logged, normalised."""
        return _log_normalised(np.maximum(_table(chunk)[good], self.options.floor)), np.ones(arms.size, dtype=bool)

    def words(self) -> str:
        """In words."""
        return self._allowing("the logged probabilities are those of the pulls")


class LoggedPropensities(Claim):
    """See the module's docstring."""

    MODE = "propensities"

    def __init__(self, arms: Arms, options: Options) -> None:
        super().__init__(arms, options)
        self._two = arms.n == 2 and options.draws is None
        if not self._two:
            self.boosts, self.calibration = PropensityMixture(arms.n, within=options.within), None
        # Rows, Σ 1/p, and Σ 1/p if p were the probability of arm 1, of which none is above 10·K.
        self._inverse = np.zeros(3)

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """A number from 0 to 1."""
        assert chunk.propensity is not None
        column = chunk.propensity
        findings.add_column(column, "propensity")
        findings.add(
            ~((column.values >= 0) & (column.values <= 1 + self.options.tolerance)),
            "not a probability",
            lambda i: f"propensity is {column.values[i]:.12g}; a probability lies between 0 and 1",
        )

    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """As logged."""
        assert chunk.propensity is not None
        p = np.maximum(np.minimum(chunk.propensity.values[good], 1.0), self.options.floor)
        if self.options.draws is not None:
            p = shrink_propensities(p, self.options.draws)
        least = 1.0 / (_LARGEST_INVERSE * self.arms.n)
        other = np.where(arms == 1, p, 1.0 - p)
        self._inverse += [arms.size, *((1.0 / np.maximum(share, least)).sum() for share in (p, other))]
        tested = np.ones(arms.size, dtype=bool)
        with np.errstate(divide="ignore"):
            if not self._two:
                return np.log(p), tested
            table = np.empty((arms.size, 2))
            table[np.arange(arms.size), arms] = np.log(p)
            table[np.arange(arms.size), 1 - arms] = np.log1p(-p)
        return table, tested

    def words(self) -> str:
        """In words."""
        drawn = "" if self.options.draws is None else f", estimated from {self.options.draws:,} draws each"
        return self._allowing(f"the logged propensities are those of the pulls{drawn}")

    def warnings(self, skipped: int) -> list[str]:
        """What a reader must know."""
        found = []
        rows, total, other = self._inverse
        clearly = 1.0 + _CLEARLY * math.sqrt(_LARGEST_INVERSE / max(rows, 1.0))
        if rows >= _MANY and total > clearly * self.arms.n * rows:
            names = self.arms.names()
            instead = (
                f"; as the probability of arm {names[1]} it would be {other / rows:.3g}" if self.arms.n == 2 else ""
            )
            found.append(
                f"The mean of 1/propensity is at least {total / rows:.3g}, which cannot stay above the number of arms, "
                f"{self.arms.n}: this is not the probability of the pulled arm{instead}."
            )
        if not self._two:
            found.append(
                "Only the pulled arm's probability was logged: the test is weaker, and no expected pulls are known. "
                "Log the probabilities of all arms."
            )
        return [*found, *super().warnings(skipped)]

    def state(self) -> dict[str, Any]:
        """As a claim, with the means of 1/p."""
        return {**super().state(), "inverse": self._inverse.tolist()}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        super().recall(state)
        self._inverse[:] = state["inverse"]


class Recomputed(Claim):
    """See the module's docstring."""

    MODE = "rewards"

    def __init__(self, arms: Arms, options: Options, expected: Recomputation) -> None:
        super().__init__(arms, options)
        self.expected = expected
        self._all_binary = True

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """A reward of the family."""
        if chunk.reward is None:
            return
        reward, family = chunk.reward, self.expected.family
        if chunk.reward_times is None:
            findings.add_column(reward, "reward")
            unknown = np.zeros(reward.values.size, dtype=bool)
        else:  # a reward that never came has no time
            moments = as_moments(chunk.reward_times)
            never = moments == NEVER if moments.dtype.kind == "i" else np.isnan(moments)
            unknown = never & reward.missing
            findings.add(reward.missing & ~unknown, "missing", lambda i: "reward is missing, but it has a time")
            findings.add(reward.not_numeric, "not a number", lambda i: f"reward is {shown(reward.texts[i])}")
        with np.errstate(invalid="ignore"):
            accepted = np.array(is_observable(family, reward.values), dtype=bool)
        findings.add(
            ~(accepted | unknown),
            "impossible reward",
            lambda i: f"reward is {shown(reward.texts[i])}; it must be {observable_rewards(family)}",
        )

    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """Recomputed from the rows before."""
        if chunk.reward is None:
            return self.expected.rows(groups, arms, np.zeros(arms.size))
        rewards = chunk.reward.values[good]
        self._all_binary &= bool((np.isnan(rewards) | (rewards == 0) | (rewards == 1)).all())
        if chunk.reward_times is None:
            return self.expected.rows(groups, arms, rewards)
        assert chunk.times is not None
        rows = np.flatnonzero(good)
        times, due = (as_moments([cells[int(i)] for i in rows]) for cells in (chunk.times, chunk.reward_times))
        return self.expected.rows(groups, arms, rewards, times, due)

    def words(self) -> str:
        """In words."""
        return self._allowing(self.expected.describe())

    def identity(self) -> str:
        """With all priors and the initial round."""
        return f"{super().identity()}; {self.expected.reference}; {self.expected.untested} first rows untested"

    def fits(self) -> str:
        """In a clause."""
        return "sigma, prior and reference fit"

    def warnings(self, skipped: int) -> list[str]:
        """What a reader must know."""
        found = []
        ignores = getattr(self.expected.reference, "ignores_rewards", False)
        if skipped and not ignores:
            found.append(
                f"{skipped} bad rows were left out. If the agent saw their rewards, this is no valid test: the "
                "posterior lacks them, and an honest agent may be rejected."
            )
        normal = not ignores and not isinstance(self.expected.family, Bernoulli)
        if self._all_binary and self.boosts.tested and normal:
            found.append(
                "All rewards are 0 or 1: is Thompson Sampling with Beta posteriors claimed (family=Bernoulli(); "
                "--reference beta)?"
            )
        return found

    def state(self) -> dict[str, Any]:
        """As a claim, with the past."""
        return {**super().state(), "past": self.expected.past.state(), "all_binary": self._all_binary}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        super().recall(state)
        self.expected.past.recall(state["past"])
        self._all_binary = bool(state["all_binary"])


def _table(chunk: Chunk) -> FloatArray:
    return np.column_stack([column.values for column in chunk.probabilities])


def _rounding(chunk: Chunk, i: int) -> float:
    """By how much a sum may be off because its numbers were printed with so many digits: the most that any has."""
    digits = max(decimals(column.texts[i]) for column in chunk.probabilities)
    return 0.5 * 10.0**-digits * len(chunk.probabilities)


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
