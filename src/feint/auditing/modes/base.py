"""The contract of modes: how rows are checked, what the claim says about every pull, and which tests fit.

With `within` = w the null is that every probability lies within the share w of the one claimed; with a `floor`, that
those logged below it were anything up to it (`evidence/slack.py`). Where all probabilities are known the tests of
single pulls are 0.3 of a test for boosts and 0.7 of one without a model of the deceiver; the shares make wrong splits
as quick to see as by a test made for those (docs/audit.md). Where a reference knows contexts, an arm may be likely in
one row and rare in the next. An agent that is too greedy can then have every arm's share right, so 0.2 of these bets on
the likeliest arm of each row (`Calibration` of two outcomes, that arm or another). E is 0.95 of these and 0.05 of a bet
on serial dependence (`evidence/serial.py`). Where groups are tested too, E is 0.9 of that and 0.1 of a bet on the
groups (`evidence/group_tilts.py`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.claim import Claim, ModeName
from feint.auditing.row_checks import Chunk, RowProblems
from feint.evidence import BoostMixture, Calibration, PropensityMixture, SerialMixture
from feint.evidence.base import EProcess
from feint.evidence.calibration import BETS_SHARE
from feint.evidence.claim_table import read_claimed
from feint.evidence.share_bets import ShareBets
from feint.references.scores import shares_of

_BOOSTS = 0.3  # share of the tests of single pulls that bets on boosts
SERIAL_SHARE = 0.05  # share of E that bets on serial dependence
GROUPS_SHARE = 0.1  # share of E that bets on groups, where they are tested
LEADER_SHARE = 0.2  # share of E that bets on the likeliest arm, where there are contexts
_SHARES = {"groups": GROUPS_SHARE, "leader": LEADER_SHARE}


def intervals_share(parts: Collection[str]) -> float:
    """Return the intervals' share of α, such that E ≥ 1/α where one leaves out 0; `parts` are the names of E's bets."""
    groups, leader = (1.0 - share if name in parts else 1.0 for name, share in _SHARES.items())
    return (1.0 - _BOOSTS) * BETS_SHARE * (1.0 - SERIAL_SHARE) * groups * leader


class Mode(ABC):
    """A test of a claim by columns of one kind; see the module's docstring."""

    NAME: ClassVar[ModeName]
    # What to do about a pull of probability 0, as a sentence to append.
    ROUNDED: ClassVar[str] = " If probabilities were rounded, say below which number they were (`floor`)."

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
        self.shares: ShareBets | None = None  # replaces `calibration` where probabilities are estimated
        self.leader: Calibration | None = None
        self.serial = SerialMixture(arms.n, **allowed, n_groups=0 if grouped else None)

    @abstractmethod
    def check(self, chunk: Chunk, findings: RowProblems) -> None:
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
        claimed: Any = log_pi if self.shares is None else log_pi[np.arange(arms.size), arms]
        if self.boosts.NEEDS_ALL_ARMS:  # and so do the others
            claimed = read_claimed(log_pi, self.claim.within, self.floor)
        found = {"boosts": self.boosts.extend_prepared(arms, claimed, begins)}
        if self.calibration is not None:
            found["calibration"] = self.calibration.extend_prepared(arms, claimed, begins)
        if self.shares is not None:
            found["shares"] = self.shares.extend(arms, shares_of(log_pi), begins)
        if self.leader is not None:
            found["leader"] = self.leader.extend(*leader_sides(arms, log_pi), begins)
        found["serial"] = self.serial.extend_grouped(arms, claimed, groups, begins)
        highest = found["boosts"].copy()
        for log_e in found.values():
            np.maximum(highest, log_e, out=highest)
        mixed = np.zeros(arms.size)
        for name, share in self.stakes().items():
            relative = np.subtract(found[name], highest, out=found[name])
            mixed += np.multiply(np.exp(relative, out=relative), share, out=relative)
        highest += np.log(mixed, out=mixed)
        return highest

    def stakes(self) -> dict[str, float]:
        """Return the share of each test in `test`."""
        free = "calibration" if self.calibration is not None else "shares" if self.shares is not None else None
        shares = {"boosts": 1.0} if free is None else {"boosts": _BOOSTS, free: 1.0 - _BOOSTS}
        if self.leader is not None:
            shares = {name: (1.0 - LEADER_SHARE) * share for name, share in shares.items()} | {"leader": LEADER_SHARE}
        return {name: (1.0 - SERIAL_SHARE) * share for name, share in shares.items()} | {"serial": SERIAL_SHARE}

    def fits(self) -> str:
        """Return, as a clause, what to make sure of if a pull is all but impossible under the claim."""
        return "the logged probabilities are right"

    def order_within_instants(self) -> str:
        """Return what else must hold if several rows share a time, as a sentence after a blank; otherwise ""."""
        return ""

    def warnings(self, skipped: int) -> list[str]:
        """Return what a reader must know; `skipped` rows were bad."""
        if skipped == 0:
            return []
        return [f"Bad rows left out: {skipped}. The result holds if a row's arm does not affect whether it is bad."]

    def state(self) -> dict[str, Any]:
        """Return what the claim has learned, as plain JSON types."""
        return {name: test and test.state() for name, test in self._tests().items()}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        for name, test in self._tests().items():
            setattr(self, name, test and type(test).from_state(state[name]))

    def _tests(self) -> dict[str, EProcess | None]:
        free = {"calibration": self.calibration, "shares": self.shares, "leader": self.leader}
        return {"boosts": self.boosts, **free, "serial": self.serial}

    def log_e_values(self) -> dict[str, float]:
        """Return log E of every bet."""
        return {name: test.log_e_value for name, test in self._tests().items() if test is not None}

    def log_e_value(self) -> float:
        """Return log E of all bets together, without that on groups."""
        parts = self.log_e_values()
        return float(np.logaddexp.reduce([parts[name] + math.log(share) for name, share in self.stakes().items()]))

    def tally(self) -> dict[str, Any]:
        """Return what adds up over disjoint rows, as plain JSON types."""
        return {"boosts": self.boosts.state(), "calibration": self.calibration and self.calibration.state()}

    def absorb(self, tallies: Sequence[dict[str, Any]]) -> None:
        """Take the sums over disjoint rows: how many pulls were tested, and how they depart from the claim."""
        self.boosts = type(self.boosts).from_state(_summed([tally["boosts"] for tally in tallies], "tested"))
        if self.calibration is not None:
            found = _summed([tally["calibration"] for tally in tallies], "tested", "sums")
            self.calibration = Calibration.from_state(found)

    def _reading(self, words: str) -> str:
        """Add to the words of a logged claim what small probabilities may have been."""
        floor = self.claim.floor
        return self._allowing(words + (f", those below {floor:g} being anything up to {floor:g}" if floor else ""))

    def _allowing(self, words: str) -> str:
        share = f" within {100 * self.claim.within:g} %" if self.claim.within else ""
        return words + share + (", and the later rows of a unit repeat its first" if self.claim.names.unit else "")


def _summed(states: Sequence[dict[str, Any]], *names: str) -> dict[str, Any]:
    """Return the state of a test whose counts of these names are the sums over others."""
    return states[0] | {name: np.sum([state[name] for state in states], axis=0).tolist() for name in names}


def leader_sides(arms: IntArray, log_pi: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return which rows did not pull their likeliest arm, and the log probabilities that they did and did not."""
    each, leaders = np.arange(arms.size), log_pi.argmax(axis=1)
    log_rest = log_pi.copy()
    log_rest[each, leaders] = -np.inf
    rest = np.minimum(np.logaddexp.reduce(log_rest, axis=1), 0.0)
    return (arms != leaders).astype(np.int64), np.column_stack([log_pi[each, leaders], rest])
