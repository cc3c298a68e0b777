"""Write long logs of honest agents with two arms: Thompson Sampling with Beta(1, 1) priors, and even splits."""

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_MEANS = (0.30, 0.32)
_AT_ONCE = 2**21  # rows in memory
_ROW_GROUP = 2**17


@numba.njit
def _pull(rng: Any, users: Any, won: Any, lost: Any, arms: Any, rewards: Any) -> None:
    """Fill in the pulls and rewards of these users, and go on from what each has won and lost, (users, 2)."""
    for i in range(users.size):
        u = users[i]
        first, second = rng.beta(won[u, 0], lost[u, 0]), rng.beta(won[u, 1], lost[u, 1])
        arms[i] = 1 if second > first else 0
        rewards[i] = 1 if rng.random() < (_MEANS[1] if arms[i] == 1 else _MEANS[0]) else 0
        (won if rewards[i] == 1 else lost)[u, arms[i]] += 1.0


def write_split_log(path: Path, rows: int) -> None:
    """Write a Parquet file with the columns arm and reward; each arm has probability ½."""
    rng = np.random.default_rng(0)
    arms = rng.integers(2, size=rows, dtype=np.int8)
    rewards = (rng.random(rows) < np.take(_MEANS, arms)).astype(np.int8)
    pq.write_table(pa.table({"arm": arms, "reward": rewards}), path)


def write_honest_log(path: Path, rows: int, groups: int) -> None:
    """Write a Parquet file with the columns user, arm and reward; users come at random."""
    rng = np.random.default_rng(0)
    won, lost = np.ones((groups, 2)), np.ones((groups, 2))
    schema = pa.schema({"user": pa.int64(), "arm": pa.int8(), "reward": pa.int8()})
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, _AT_ONCE):
            users = rng.integers(groups, size=min(_AT_ONCE, rows - start))
            arms, rewards = np.empty((2, users.size), dtype=np.int8)
            _pull(rng, users, won, lost, arms, rewards)
            table = pa.table({"user": users, "arm": arms, "reward": rewards}, schema=schema)
            file.write_table(table, row_group_size=_ROW_GROUP)
