"""Logs of what an observer sees of a run, for `feint audit`: time, arm and public reward of every pull."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from feint.agent.agent import Agent
from feint.bandit import Bandit
from feint.families.base import draw_reward, family_settings
from feint.feedback.base import draw_private
from feint.goals import BestArm
from feint.numerics.streams import PRIVATE, PUBLIC, RandomStream
from feint.references import ThompsonSampling
from feint.support.extras import need

_BLOCK = 10_000  # pulls whose rewards are drawn at once


class RewardStream:
    """The two rewards that `simulate` draws at each step of a replication, for any arm; None for an unseen one."""

    def __init__(self, bandit: Bandit, seed: int = 0, replication: int = 0) -> None:
        self._bandit, self._stream = bandit, RandomStream(seed, replication)
        self._settings = [family_settings(family) for family in bandit.families]
        if bandit.feedback is not None:
            self._settings[1] = bandit.feedback.kernel(bandit.families, np.zeros(bandit.n_arms))
        self._first = -_BLOCK

    def rewards(self, t: int, arm: int) -> tuple[float, float | None]:
        """Return the (public, private) reward of `arm` if it is pulled after t pulls."""
        if not self._first <= t < self._first + _BLOCK:
            self._first = t
            self._normals, self._chances = (
                self._stream.normals(range(t, t + _BLOCK)),
                self._stream.chances(range(t, t + _BLOCK)),
            )
        noise, chance = self._normals[t - self._first], self._chances[t - self._first]
        public, private = self._settings
        is_first, mean = t < self._bandit.n_arms, self._bandit.private[arm]
        seen = draw_private(private, is_first, mean, noise[PUBLIC], noise[PRIVATE], chance[PRIVATE])
        return (
            float(draw_reward(public, self._bandit.public[arm], noise[PUBLIC], chance[PUBLIC])),
            None if np.isnan(seen) else float(seen),
        )


def public_log(
    bandit: Bandit,
    explorer: Any,
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    *,
    epsilon: Any,
    horizon: int,
    seed: int = 0,
    delta: float | None = None,
    goal: Any = BestArm(),  # noqa: B008 - frozen
) -> dict[str, Any]:
    """Return columns time, arm and reward of the first replication of `simulate`, from a live agent, until it stops.

    >>> from feint.explorers import TopTwo
    >>> table = public_log(Bandit([0.6, 0.3], [0.2, 0.5]), TopTwo(), epsilon=0.1, horizon=5)
    >>> table["arm"].tolist()[:2], table["time"].tolist()
    ([0, 1], [1, 2, 3, 4, 5])
    """
    agent = Agent(
        bandit.n_arms,
        explorer,
        reference,
        epsilon=epsilon,
        family=bandit.families,
        feedback=bandit.feedback,
        seed=seed,
        goal=goal,
    )
    source = RewardStream(bandit, seed)
    arms, rewards = [], []
    for t in range(horizon):
        if delta is not None and t >= bandit.n_arms and agent.log_error <= np.log(delta):
            break
        arm = agent.pull()
        arms.append(arm)
        public, private = source.rewards(t, arm)
        rewards.append(public)
        agent.update(arm, public, private)
    return {"time": np.arange(1, len(arms) + 1), "arm": np.array(arms), "reward": np.array(rewards)}


def write_log(table: dict[str, Any], path: Path) -> None:
    """Write a log as CSV or Parquet, by the suffix; numbers keep all their digits."""
    if path.suffix == ".parquet":
        need("pyarrow", path.name)
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(table), path)
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
