"""A reference, recomputed from arms and rewards, drew every pull."""

from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.checks import Chunk, Findings, shown
from feint.auditing.claim import Claim
from feint.auditing.modes.base import Mode
from feint.auditing.numbers import NEVER, as_moments
from feint.families import Bernoulli
from feint.families.base import is_observable, observable_rewards
from feint.references.recomputation import Recomputation


class RecomputedReference(Mode):
    """See the module's docstring."""

    NAME = "rewards"

    def __init__(self, claim: Claim, arms: LogArms) -> None:
        super().__init__(claim, arms)
        self.expected = Recomputation(claim.reference, claim.family, arms.n, claim.initial_round, claim.timing)
        self._all_binary = True

    def check(self, chunk: Chunk, findings: Findings) -> None:
        """Find the rows whose reward is not one of the family."""
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
        normal = not ignores and not isinstance(self.expected.family, Bernoulli)
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
