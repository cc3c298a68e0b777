"""What an observer sees of a run, as a log that `feint audit` reads: time, arm and public reward of every pull."""

from pathlib import Path
from typing import Any

import numpy as np

from feint.agent import Agent
from feint.bandit import Bandit
from feint.explorers import Explorer
from feint.numerics.streams import PRIVATE, PUBLIC, RandomStream

_BLOCK = 10_000  # pulls whose rewards are drawn at once


def public_log(
    bandit: Bandit,
    explorer: Explorer,
    *,
    epsilon: Any,
    horizon: int,
    seed: int = 0,
    replication: int = 0,
    delta: float | None = None,
) -> dict[str, Any]:
    """Columns time, arm and reward of one replication of `simulate`, from a live agent; it ends where that stops.

    >>> from feint.explorers import TopTwo
    >>> table = public_log(Bandit([0.6, 0.3], [0.2, 0.5]), TopTwo(), epsilon=0.1, horizon=5)
    >>> table["arm"].tolist()[:2], table["time"].tolist()
    ([0, 1], [1, 2, 3, 4, 5])
    """
    agent = Agent(bandit.n_arms, explorer, epsilon=epsilon, sigma=bandit.sigma, seed=seed, replication=replication)
    stream = RandomStream(seed, replication)
    arms, rewards = [], []
    for t in range(horizon):
        if t % _BLOCK == 0:
            noise = bandit.sigma * stream.normals(range(t, min(t + _BLOCK, horizon)))
        if delta is not None and t >= bandit.n_arms and agent.log_error <= np.log(delta):
            break
        arm = agent.pull()
        arms.append(arm)
        rewards.append(bandit.public[arm] + noise[t % _BLOCK, PUBLIC])
        agent.update(arm, rewards[-1], bandit.private[arm] + noise[t % _BLOCK, PRIVATE])
    return {"time": np.arange(1, len(arms) + 1), "arm": np.array(arms), "reward": np.array(rewards)}


def write_log(table: dict[str, Any], path: Path) -> None:
    """As CSV or Parquet, by the suffix; numbers keep all their digits."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    columns = pa.table(table)
    if path.suffix == ".parquet":
        parquet.write_table(columns, path)
    else:
        csv.write_csv(columns, path, csv.WriteOptions(quoting_style="none", quoting_header="none"))
