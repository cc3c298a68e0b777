"""The contract of modes: how rows are checked, what the claim says about every pull, and which tests fit.

With `within` = w the null is that every probability lies within the share w of the one claimed; with a `floor`, that
those logged below it were anything up to it (`evidence/slack.py`). Where all probabilities are known the tests of
single pulls are 0.3 of a test for boosts and 0.7 of one without a model of the deceiver; the shares make wrong splits
as quick to see as by a test made for those (docs/audit.md). E is 0.95 of these and 0.05 of a bet on serial dependence
(`evidence/serial.py`). Where groups are tested too, E is 0.9 of that and 0.1 of a bet on the groups
(`evidence/group_tilts.py`).
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.checks import Chunk, Findings
from feint.auditing.claim import Claim, ModeName
from feint.evidence import BoostMixture, Calibration, PropensityMixture, SerialMixture
from feint.evidence.calibration import BETS_SHARE

_BOOSTS = 0.3  # share of the tests of single pulls that bets on boosts
SERIAL_SHARE = 0.05  # share of E that bets on serial dependence
GROUPS_SHARE = 0.1  # share of E that bets on groups, where they are tested


def intervals_share(grouped: bool) -> float:
    """Return the intervals' share of α, such that E ≥ 1/α where one leaves out 0."""
    return (1.0 - _BOOSTS) * BETS_SHARE * (1.0 - SERIAL_SHARE) * (1.0 - GROUPS_SHARE if grouped else 1.0)


class Mode(ABC):
    """A test of a claim by columns of one kind; see the module's docstring."""

    NAME: ClassVar[ModeName]
    # What to do about a pull of probability 0, as a sentence after another.
    ROUNDED: ClassVar[str] = " If probabilities were rounded, say below which number they may have been (`floor`)."

    def __init__(self, claim: Claim, arms: LogArms, *, grouped: bool = False) -> None:
        if claim.floor * arms.n > 1:
            raise ValueError(
                f"`floor` is {claim.floor:g}, which {arms.n} arms cannot all have; give at most 1/{arms.n}."
            )
        self.claim, self.arms = claim, arms
        self.floor = 0.0 if self.NAME == "rewards" else claim.floor
        allowed = {"within": claim.within, "floor": self.floor}
        self.boosts: BoostMixture | PropensityMixture = BoostMixture(arms.n, **allowed)
        self.calibration: Calibration | None = Calibration(arms.n, **allowed)
        self.serial = SerialMixture(arms.n, **allowed, n_groups=0 if grouped else None)

    @abstractmethod
    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Find the rows that cannot be tested."""

    @abstractmethod
    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return log π of the tested rows, (m, K) or of the pulled arm, (m,), and which of the good rows these are."""

    @abstractmethod
    def words(self) -> str:
        """Return the claim in words."""

    def test(self, arms: IntArray, log_pi: FloatArray, groups: IntArray, begins: BoolArray) -> FloatArray:
        """Return log E after each row, without the bet on groups; `begins` says which rows begin an instant, after
        whose last row E may be read.
        """
        log_e = self.boosts.extend(arms, log_pi, begins)
        if self.calibration is not None:
            free = self.calibration.extend(arms, log_pi, begins)
            log_e = np.logaddexp(log_e + math.log(_BOOSTS), free + math.log(1.0 - _BOOSTS))
        serial = self.serial.extend_grouped(arms, log_pi, groups, begins)
        return np.asarray(np.logaddexp(log_e + math.log(1.0 - SERIAL_SHARE), serial + math.log(SERIAL_SHARE)))

    def stakes(self) -> dict[str, float]:
        """Return the share of each test in `test`."""
        boosts = 1.0 if self.calibration is None else _BOOSTS
        shares = {"boosts": boosts} if self.calibration is None else {"boosts": boosts, "calibration": 1.0 - boosts}
        return {name: (1.0 - SERIAL_SHARE) * share for name, share in shares.items()} | {"serial": SERIAL_SHARE}

    def fits(self) -> str:
        """Return what to make sure of where a pull is all but impossible under the claim, as a clause."""
        return "the logged probabilities are right"

    def order_within_instants(self) -> str:
        """Return what else must hold where several rows have one time, as a sentence after a blank; else nothing."""
        return ""

    def warnings(self, skipped: int) -> list[str]:
        """Return what a reader must know; `skipped` rows were bad."""
        return [f"{skipped} bad rows were left out; the result holds if that does not depend on the arm."] * bool(
            skipped
        )

    def state(self) -> dict[str, Any]:
        """Return what the claim has learned, as plain JSON types."""
        calibration = self.calibration and self.calibration.state()
        return {"boosts": self.boosts.state(), "calibration": calibration, "serial": self.serial.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        self.boosts = type(self.boosts).from_state(state["boosts"])
        self.calibration = self.calibration and Calibration.from_state(state["calibration"])
        self.serial = type(self.serial).from_state(state["serial"])

    def _reading(self, words: str) -> str:
        """Add to the words of a logged claim what small probabilities may have been."""
        floor = self.claim.floor
        return self._allowing(words + (f", those below {floor:g} being anything up to {floor:g}" if floor else ""))

    def _allowing(self, words: str) -> str:
        share = f" within {100 * self.claim.within:g} %" if self.claim.within else ""
        return words + share + (", and the later rows of a unit repeat its first" if self.claim.names.unit else "")
