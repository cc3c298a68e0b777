"""A run that unfolds: the agent and its honest twin, each before an observer of its own."""

import math
from typing import Any, NamedTuple

import numpy as np

from feint.agent import Agent
from feint.bandit import Bandit
from feint.logs import RewardStream
from feint.numerics._validate import FloatArray
from feint.observer import Observer

ALPHA = 0.05
MOST_PULLS = 5_000


class Setting(NamedTuple):
    """What a visitor chose."""

    bandit: Bandit
    explorer: Any
    epsilon: float
    seed: int
    horizon: int


class Trace:
    """One agent and what its observer makes of it; the pulls are those of `simulate` for the same seed."""

    def __init__(self, setting: Setting, epsilon: float) -> None:
        bandit, seed = setting.bandit, setting.seed
        self.agent = Agent(bandit.n_arms, setting.explorer, epsilon=epsilon, family=bandit.families, seed=seed)
        self.observer = Observer(bandit.n_arms, family=bandit.families[0])
        self._rewards = RewardStream(bandit, seed)
        self.pulls: list[Any] = []  # of each arm, after each pull
        self.log_errors: list[float] = []
        self.log_e_values: list[float] = []
        self.detected_at: int | None = None

    @property
    def time(self) -> int:
        """Pulls made."""
        return len(self.pulls)

    def advance(self) -> None:
        """One pull."""
        arm = self.agent.pull()
        public, private = self._rewards.rewards(self.time, arm)
        self.agent.update(arm, public, private)
        log_e = self.observer.update(arm, public)
        self.pulls.append(self.agent.pulls)
        self.log_errors.append(math.nan if self.agent.time < self.agent.n_arms else self.agent.log_error)
        self.log_e_values.append(log_e)
        if self.detected_at is None and log_e >= -math.log(ALPHA):
            self.detected_at = self.time

    def policy(self) -> tuple[FloatArray, FloatArray]:
        """(the agent's probabilities of the coming pull, what the observer expects)."""
        return self.agent.probabilities(), self.agent.reference_probabilities()


class Unfolding:
    """The deceiver and, from the same random numbers, the twin that does what is expected: ε = 0."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.deceiver, self.twin = Trace(setting, setting.epsilon), Trace(setting, 0.0)
        self.advance(setting.bandit.n_arms)

    @property
    def time(self) -> int:
        """Pulls made by each."""
        return self.deceiver.time

    @property
    def finished(self) -> bool:
        """Whether the horizon is reached."""
        return self.time >= self.setting.horizon

    def advance(self, pulls: int) -> None:
        """Both, by so many pulls or to the horizon."""
        for _ in range(min(pulls, self.setting.horizon - self.time)):
            self.deceiver.advance()
            self.twin.advance()

    def to_detection(self) -> None:
        """Both, until the deceiver's observer raises the alarm, or to the horizon."""
        while self.deceiver.detected_at is None and not self.finished:
            self.advance(1)

    def accused(self, name: str, deceiver: bool) -> str:
        """What a visitor is told who accuses the agent of this name, be it the deceiver or not."""
        agent, epsilon = self.deceiver.agent, self.setting.epsilon
        boosts = int(agent.boosts.sum())
        if deceiver and epsilon > 0:
            most = int(np.argmax(agent.boosts))
            bent = f"{boosts:,} of its {self.time:,} pulls were bent, most often towards arm {most}" if boosts else ""
            first = f"Right: {name} deceives; {bent or 'it has not bent a pull yet'}."
        elif deceiver:
            first = f"Wrong: {name} has a budget of 0, so that it is as honest as its twin: both are."
        else:
            other = "so is the other, whose budget is 0" if epsilon == 0 else "the other one deceives"
            first = f"Wrong: {name} is honest, {other}."
        trace = self.deceiver if deceiver else self.twin
        evidence = f"its e-value is {math.exp(min(trace.log_e_values[-1], 700.0)):,.3g} of the {1 / ALPHA:g} needed"
        if trace.detected_at is None:
            return f"{first} The observer of {name} has raised no alarm: {evidence}."
        return f"{first} The observer of {name} raised the alarm at pull {trace.detected_at:,}."
