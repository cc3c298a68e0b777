"""A reference, recomputed from arms and rewards, drew every pull."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.available import AmongAvailable
from feint.auditing.burn_in import read_burn_in
from feint.auditing.claim import Claim
from feint.auditing.modes.base import Mode
from feint.auditing.numbers import NEVER, Column, as_moments
from feint.auditing.row_checks import Chunk, RowProblems, shown
from feint.auditing.stages import Stages
from feint.evidence import Calibration, PropensityMixture, PropensitySerialMixture
from feint.evidence.share_bets import ShareBets
from feint.families import Bernoulli
from feint.families.base import is_observable, observable_rewards
from feint.references.base import LARGEST_FEATURE, has_context_per_arm, takes_contexts
from feint.references.recomputation import LogRows, Recomputation


class RecomputedReference(Mode):
    """See the module's docstring."""

    NAME = "rewards"
    ROUNDED = ""

    def __init__(self, claim: Claim, arms: LogArms, *, grouped: bool = False) -> None:
        super().__init__(claim, arms, grouped=grouped)
        if takes_contexts(claim.reference) and claim.names.context is None:
            raise ValueError(
                f"{type(claim.reference).__name__} needs contexts; name their columns, or give them (`context`)."
            )
        self.expected = Recomputation(claim.reference, claim.family, arms.n, claim.initial_round, claim.timing)
        if self.expected.draws is not None:
            self.boosts, self.calibration = PropensityMixture(arms.n, within=claim.within), None
            self.shares = ShareBets(arms.n, within=claim.within)
            self.serial = PropensitySerialMixture(arms.n, within=claim.within, n_groups=self.serial.n_groups)
        elif takes_contexts(claim.reference):
            self.leader = Calibration(2, within=claim.within)
        self._among = None if claim.names.available is None else AmongAvailable(self.expected)
        self._stages = Stages()
        self._burn_in = read_burn_in(claim.burn_in)
        if self._burn_in is not None:
            self._burning = self._burn_in.log_shares(arms.n)
            self.expected.untested = max(self.expected.untested, self._burn_in.rows)
        self._all_binary = True

    def check(self, chunk: Chunk, findings: RowProblems) -> None:
        """Find the rows whose reward is not one of the family."""
        for i, column in enumerate(self._contexts_of(chunk)):
            findings.add_column(column, f"number {i + 1} of the context")
            findings.add(
                np.abs(column.values) > LARGEST_FEATURE,
                "not a number",
                lambda row, i=i, texts=column.texts: (
                    f"number {i + 1} of the context is {shown(texts[row])}; it must be within ±{LARGEST_FEATURE:g}"
                ),
            )
        if chunk.reward is None:
            return
        reward, family = chunk.reward, self.expected.family
        unknown = np.zeros(reward.values.size, dtype=bool)
        if chunk.reward_times is not None:  # a reward that never came has no time
            moments = as_moments(chunk.reward_times)
            never = moments == NEVER if moments.dtype.kind == "i" else np.isnan(moments)
            unknown = never & reward.missing
            findings.add(reward.missing & ~unknown, "missing", lambda i: "reward is missing, but it has a time")
        elif self.claim.missing == "never":
            unknown = reward.missing
        findings.add_column(reward._replace(missing=reward.missing & ~unknown), "reward")
        with np.errstate(invalid="ignore"):
            accepted = np.array(is_observable(family, reward.values), dtype=bool)
        findings.add(
            ~(accepted | unknown),
            "impossible reward",
            lambda i: f"reward is {shown(reward.texts[i])}; it must be {observable_rewards(family)}",
        )

    def _contexts_of(self, chunk: Chunk) -> list[Column]:
        """Return the columns of the context; the features of an arm that is not available may be missing."""
        if chunk.available is None or not has_context_per_arm(self.claim.reference):
            return list(chunk.contexts)
        size = len(chunk.contexts) // self.arms.n
        return [
            column._replace(
                values=np.where(chunk.available[:, i // size], column.values, 0.0),
                missing=column.missing & chunk.available[:, i // size],
            )
            for i, column in enumerate(chunk.contexts)
        ]

    def read(self, chunk: Chunk, good: BoolArray, arms: IntArray, groups: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the reference's probabilities, recomputed from the rows before."""
        rewards = np.zeros(arms.size)
        if chunk.reward is not None:
            rewards = chunk.reward.values[good]
            self._all_binary &= bool((np.isnan(rewards) | (rewards == 0) | (rewards == 1)).all())
        features = self._contexts_of(chunk)
        contexts = np.column_stack([column.values[good] for column in features]) if features else None
        times, due = self._clock(chunk, good, groups)
        numbers = self.expected.past.number_rows(groups) if self._burn_in is not None else None
        log = LogRows(groups, arms, rewards, times, due, contexts)
        available = None
        if self._among is None:
            log_pi, tested = self.expected.rows(*log)
        else:
            assert chunk.available is not None
            available = chunk.available[good]
            log_pi, tested = self._among.rows(log, available)
        if self._burn_in is None or numbers is None:
            return log_pi, tested
        return self._burn_in.overlay(self._burning, numbers, log_pi, tested, available)

    def _clock(self, chunk: Chunk, good: BoolArray, groups: IntArray) -> tuple[Any, Any]:
        """Return the times of the good rows and those from which their rewards are known, None where there are none."""
        if chunk.stages is not None:
            stages = self._stages.number([chunk.stages[int(i)] for i in np.flatnonzero(good)], groups)
            return stages, stages + 1
        if chunk.reward_times is None:
            return None, None
        assert chunk.times is not None
        rows = np.flatnonzero(good).tolist()
        times, due = (as_moments([cells[i] for i in rows]) for cells in (chunk.times, chunk.reward_times))
        return times, due

    def words(self) -> str:
        """Return the claim in words."""
        among = ", among the available arms" if self._among is not None else ""
        burnt = f", {self._burn_in.words()}" if self._burn_in is not None else ""
        never = ", empty rewards being those never received" if self.claim.missing is not None else ""
        return self._allowing(self.expected.describe() + never + among + burnt)

    def fits(self) -> str:
        """Return what to make sure of, as a clause."""
        return "sigma, prior and reference fit"

    def order_within_instants(self) -> str:
        """Say that the rewards of an instant were learnt row by row, where they are."""
        if getattr(self.expected.reference, "ignores_rewards", False) or self.claim.timing.by_time:
            return ""
        return " The reference learnt their rewards in the order of the log, which must be that of the draws."

    def warnings(self, skipped: int) -> list[str]:
        """Return what a reader must know."""
        found = []
        ignores = getattr(self.expected.reference, "ignores_rewards", False)
        if skipped and not ignores:
            found.append(
                f"Bad rows left out: {skipped}. If the agent saw their rewards, this is not a valid test: the "
                "posterior lacks them, and an honest agent may be rejected."
            )
        if self.shares is not None:
            found.append(
                "More than three arms share one draw: the probabilities are estimated from "
                f"{self.expected.draws} draws of the auditor's own per row. The test is valid, but weaker, and no "
                "expected pulls are known."
            )
        normal = (
            not ignores and not takes_contexts(self.claim.reference) and not isinstance(self.expected.family, Bernoulli)
        )
        if self._all_binary and self.boosts.tested and normal:
            found.append(
                "All rewards are 0 or 1: is Thompson Sampling with Beta posteriors claimed (family=Bernoulli(); "
                "--reference beta)?"
            )
        return found

    def state(self) -> dict[str, Any]:
        """Return what the claim has learned, with the past."""
        past = {"past": self.expected.state(), "stages": self._stages.state()}
        return super().state() | past | {"all_binary": self._all_binary}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        super().recall(state)
        self.expected.recall(state["past"])
        self._stages.recall(state["stages"])
        self._all_binary = bool(state["all_binary"])

    def tally(self) -> dict[str, Any]:
        """Return what adds up over disjoint rows."""
        return {**super().tally(), "all_binary": self._all_binary}

    def absorb(self, tallies: Sequence[dict[str, Any]]) -> None:
        """Take the sums over disjoint rows."""
        super().absorb(tallies)
        self._all_binary = all(tally["all_binary"] for tally in tallies)
