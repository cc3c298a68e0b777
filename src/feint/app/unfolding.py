"""A run that unfolds: the agent and its honest twin, each before an observer of its own."""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import IntArray
from feint.agent.public_log import public_log
from feint.agent.trace import Trace
from feint.bandit import Bandit
from feint.goals import BestArm

ALPHA = 0.05
MOST_PULLS = 5_000


class Setting(NamedTuple):
    """What a visitor chose."""

    bandit: Bandit
    explorer: Any
    epsilon: float
    seed: int
    horizon: int
    goal: Any = BestArm()


class Watched(Trace):
    """A trace that also keeps what the page draws: pulls by arm, and the pull of the alarm."""

    def __init__(self, setting: Setting, epsilon: float) -> None:
        super().__init__(setting.bandit, setting.explorer, epsilon=epsilon, seed=setting.seed, goal=setting.goal)
        self.pulls: list[IntArray] = []  # of each arm, after each pull
        self.detected_at: int | None = None

    def advance(self) -> None:
        """Make one pull."""
        super().advance()
        self.pulls.append(self.agent.pulls)
        if self.detected_at is None and self.log_e_values[-1] >= -math.log(ALPHA):
            self.detected_at = self.time


class Unfolding:
    """The deceiver and, from the same random numbers, the twin that does what is expected: ε = 0."""

    def __init__(self, setting: Setting, pulls: int = 0) -> None:
        self.setting = setting
        self.deceiver, self.twin = Watched(setting, setting.epsilon), Watched(setting, 0.0)
        self.advance(max(pulls, setting.bandit.n_arms))
        self.deceiver.policy()  # compiles what the first drawing needs

    @property
    def time(self) -> int:
        """Return the number of pulls that each has made."""
        return self.deceiver.time

    @property
    def finished(self) -> bool:
        """Return whether the horizon is reached."""
        return self.time >= self.setting.horizon

    def advance(self, pulls: int) -> None:
        """Let both make this many pulls, or fewer up to the horizon."""
        for _ in range(min(pulls, self.setting.horizon - self.time)):
            self.deceiver.advance()
            self.twin.advance()

    def to_detection(self) -> None:
        """Let both pull until the deceiver's observer raises the alarm, or to the horizon."""
        while self.deceiver.detected_at is None and not self.finished:
            self.advance(1)

    def log(self, trace: Watched) -> dict[str, Any]:
        """Return what the observer of one of the two has seen so far, as a table for an audit."""
        chosen = self.setting
        return public_log(
            chosen.bandit, chosen.explorer, epsilon=chosen.epsilon if trace is self.deceiver else 0.0,
            horizon=self.time, seed=chosen.seed, goal=chosen.goal,
        )  # fmt: skip

    def accused(self, name: str, deceiver: bool) -> str:
        """Return what to tell a visitor who accuses the agent of this name; `deceiver` says whether it deceives."""
        agent, epsilon = self.deceiver.agent, self.setting.epsilon
        boosts = int(agent.boosts.sum())
        if deceiver and epsilon > 0:
            most = int(np.argmax(agent.boosts))
            bent = f"{boosts:,} of its {self.time:,} pulls were bent, most often towards arm {most}" if boosts else ""
            first = f"Right: {name} deceives; {bent or 'it has not bent a pull yet'}."
        elif deceiver:
            first = f"Wrong: {name} has a budget of 0, so it is as honest as its twin."
        else:
            other = "and so is the other, whose budget is 0" if epsilon == 0 else "the other one deceives"
            first = f"Wrong: {name} is honest, {other}."
        trace = self.deceiver if deceiver else self.twin
        evidence = f"its e-value is {math.exp(min(trace.log_e_values[-1], 700.0)):,.3g} of the {1 / ALPHA:g} needed"
        if trace.detected_at is None:
            return f"{first} The observer of {name} has raised no alarm: {evidence}."
        return f"{first} The observer of {name} raised the alarm at pull {trace.detected_at:,}."
