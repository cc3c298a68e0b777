"""A reference, recomputed from arms and rewards, drew every pull."""

import math
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.checks import Chunk, Findings, shown
from feint.auditing.claim import Claim
from feint.auditing.modes.base import LEADER_SHARE, Mode, mix_bets
from feint.auditing.numbers import NEVER, as_moments
from feint.evidence import Calibration, PropensityMixture
from feint.evidence.share_bets import ShareBets
from feint.families import Bernoulli
from feint.families.base import is_observable, observable_rewards
from feint.references.base import takes_contexts
from feint.references.recomputation import Recomputation
from feint.references.scores import shares_of


class RecomputedReference(Mode):
    """See the module's docstring."""

    NAME = "rewards"

    def __init__(self, claim: Claim, arms: LogArms) -> None:
        super().__init__(claim, arms)
        if takes_contexts(claim.reference) and claim.names.context is None:
            raise ValueError(
                f"{type(claim.reference).__name__} needs contexts; name their columns, or give them (`context`)."
            )
        self.expected = Recomputation(claim.reference, claim.family, arms.n, claim.initial_round, claim.timing)
        if self.expected.draws is not None:
            self.boosts, self.calibration = PropensityMixture(arms.n, within=claim.within), None
            self.shares = ShareBets(arms.n, within=claim.within)
        elif takes_contexts(claim.reference):
            self.leader = Calibration(2, within=claim.within)
        self._all_binary = True

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Find the rows whose reward is not one of the family."""
        for i, column in enumerate(chunk.contexts):
            findings.add_column(column, f"number {i + 1} of the context")
            findings.add(
                np.isinf(column.values), "not a number", lambda row, i=i: f"number {i + 1} of the context is infinite"
            )
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
        """Return the reference's probabilities, recomputed from the rows before."""
        contexts = np.column_stack([column.values[good] for column in chunk.contexts]) if chunk.contexts else None
        if chunk.reward is None:
            return self.expected.rows(groups, arms, np.zeros(arms.size), contexts=contexts)
        rewards = chunk.reward.values[good]
        self._all_binary &= bool((np.isnan(rewards) | (rewards == 0) | (rewards == 1)).all())
        if chunk.reward_times is None:
            return self.expected.rows(groups, arms, rewards, contexts=contexts)
        assert chunk.times is not None
        rows = np.flatnonzero(good)
        times, due = (as_moments([cells[int(i)] for i in rows]) for cells in (chunk.times, chunk.reward_times))
        return self.expected.rows(groups, arms, rewards, times, due, contexts)

    def test(self, arms: IntArray, log_pi: FloatArray) -> FloatArray:
        """Return log E after each row; where probabilities are estimated, by bets that are valid with estimates."""
        if self.shares is not None:
            boosts = self.boosts.extend(arms, log_pi[np.arange(arms.size), arms])
            return mix_bets(boosts, self.shares.extend(arms, shares_of(log_pi)))
        log_e = super().test(arms, log_pi)
        if self.leader is None:
            return log_e
        log_rest = log_pi.copy()
        leaders = log_pi.argmax(axis=1)
        log_rest[np.arange(arms.size), leaders] = -np.inf
        sides = np.column_stack([log_pi.max(axis=1), np.minimum(np.logaddexp.reduce(log_rest, axis=1), 0.0)])
        on_leader = self.leader.extend((arms != leaders).astype(np.int64), sides)
        return np.asarray(np.logaddexp(log_e + math.log(1.0 - LEADER_SHARE), on_leader + math.log(LEADER_SHARE)))

    def words(self) -> str:
        """Return the claim in words."""
        return self._allowing(self.expected.describe())

    def fits(self) -> str:
        """Return what to make sure of, as a clause."""
        return "sigma, prior and reference fit"

    def warnings(self, skipped: int) -> list[str]:
        """Return what a reader must know."""
        found = []
        ignores = getattr(self.expected.reference, "ignores_rewards", False)
        if skipped and not ignores:
            found.append(
                f"{skipped} bad rows were left out. If the agent saw their rewards, this is no valid test: the "
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
        return {**super().state(), "past": self.expected.state(), "all_binary": self._all_binary}

    def recall(self, state: dict[str, Any]) -> None:
        """Take what `state` described."""
        super().recall(state)
        self.expected.recall(state["past"])
        self._all_binary = bool(state["all_binary"])
