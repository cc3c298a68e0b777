"""The contract of modes: how rows are checked, what the claim says about every pull, and which tests fit.

With `within` = w the null is that every probability lies within the share w of the one claimed. Where all probabilities
are known E is 0.3 of a test for boosts and 0.7 of one without a model of the deceiver; the shares make wrong splits as
quick to see as by a test made for those (docs/audit.md). Where groups are tested too, E is 0.9 of that and 0.1 of a bet
on the groups (`evidence/group_tilts.py`). Where a reference knows contexts, an arm may be likely in one row and rare
in the next. An agent that is too greedy can then have every arm's share right, so 0.2 of E bets on the likeliest arm of
each row (`Calibration` of two outcomes, that arm or another).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.checks import Chunk, Findings
from feint.auditing.claim import Claim, ModeName
from feint.evidence import BoostMixture, Calibration, PropensityMixture
from feint.evidence.calibration import BETS_SHARE
from feint.evidence.share_bets import ShareBets

_BOOSTS = 0.3  # share of E that bets on boosts
GROUPS_SHARE = 0.1  # share of E that bets on groups, where they are tested
LEADER_SHARE = 0.2  # share of E that bets on the likeliest arm, where there are contexts
_SHARES = {"groups": GROUPS_SHARE, "leader": LEADER_SHARE}


def intervals_share(parts: Collection[str]) -> float:
    """Return the intervals' share of α, such that E ≥ 1/α where one leaves out 0; `parts` are the names of E's bets."""
    groups, leader = (1.0 - share if name in parts else 1.0 for name, share in _SHARES.items())
    return (1.0 - _BOOSTS) * BETS_SHARE * groups * leader


def mix_bets(boosts: FloatArray, free: FloatArray) -> FloatArray:
    """Return log E from that of the bet on boosts and of the one without a model of the deceiver."""
    return np.asarray(np.logaddexp(boosts + math.log(_BOOSTS), free + math.log(1.0 - _BOOSTS)))


class Mode(ABC):
    """A test of a claim by columns of one kind; see the module's docstring."""

    NAME: ClassVar[ModeName]

    def __init__(self, claim: Claim, arms: LogArms) -> None:
        if claim.floor * arms.n > 1:
            raise ValueError(
                f"`floor` is {claim.floor:g}, which {arms.n} arms cannot all have; give at most 1/{arms.n}."
            )
        self.claim, self.arms = claim, arms
        self.boosts: BoostMixture | PropensityMixture = BoostMixture(arms.n, within=claim.within)
        self.calibration: Calibration | None = Calibration(arms.n, within=claim.within)
        self.shares: ShareBets | None = None  # in its place, where probabilities are estimated
        self.leader: Calibration | None = None

    @abstractmethod
    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Find the rows that cannot be tested."""

    @abstractmethod
    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return log π of the tested rows, (m, K) or of the pulled arm, (m,), and which of the good rows these are."""

    @abstractmethod
    def words(self) -> str:
        """Return the claim in words."""

    def test(self, arms: IntArray, log_pi: FloatArray) -> FloatArray:
        """Return log E after each row."""
        log_e = self.boosts.extend(arms, log_pi)
        if self.calibration is None:
            return log_e
        return mix_bets(log_e, self.calibration.extend(arms, log_pi))

    def fits(self) -> str:
        """Return what to make sure of where a pull is all but impossible under the claim, as a clause."""
        return "the logged probabilities are right"

    def warnings(self, skipped: int) -> list[str]:
        """Return what a reader must know; `skipped` rows were bad."""
        return [f"{skipped} bad rows were left out; the result holds if that does not depend on the arm."] * bool(
            skipped
        )

    def state(self) -> dict[str, Any]:
        """Return what the claim has learned, as plain JSON types."""
        tests = {"boosts": self.boosts, **self._free_tests()}
        return {name: test and test.state() for name, test in tests.items()}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        self.boosts = type(self.boosts).from_state(state["boosts"])
        for name, test in self._free_tests().items():
            setattr(self, name, test and type(test).from_state(state[name]))

    def _free_tests(self) -> dict[str, Calibration | ShareBets | None]:
        return {"calibration": self.calibration, "shares": self.shares, "leader": self.leader}

    def log_e_values(self) -> dict[str, float]:
        """Return log E of every bet."""
        free = {name: test.log_e_value for name, test in self._free_tests().items() if test is not None}
        return {"boosts": self.boosts.log_e_value, **free}

    def _reading(self, words: str) -> str:
        """Add to the words of a logged claim what is read in the place of small probabilities."""
        floor = self.claim.floor
        return self._allowing(words + (f", those below {floor:g} read as {floor:g}" if floor else ""))

    def _allowing(self, words: str) -> str:
        share = f" within {100 * self.claim.within:g} %" if self.claim.within else ""
        return words + share
