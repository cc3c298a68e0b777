"""Measure the audit of long logs: CPU seconds against those that pyarrow takes to read the file, and per row."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from benchmarks.engine import peak_mebibytes
from feint.auditing import audit_log
from feint.families import Bernoulli
from feint.references import Split

ROWS = 5_000_000
GROUPS = 100_000
_MEANS = (0.30, 0.32)


@numba.njit
def _thompson(rng: Any, users: Any, n_users: int) -> Any:
    """Return the pulls and rewards of Thompson Sampling with Beta posteriors, one agent per user."""
    won, lost = np.ones((n_users, 2)), np.ones((n_users, 2))
    arms, rewards = np.zeros(users.size, np.int64), np.zeros(users.size, np.int64)
    for i in range(users.size):
        u = users[i]
        first, second = rng.beta(won[u, 0], lost[u, 0]), rng.beta(won[u, 1], lost[u, 1])
        arms[i] = 1 if second > first else 0
        rewards[i] = 1 if rng.random() < (_MEANS[1] if arms[i] == 1 else _MEANS[0]) else 0
        (won if rewards[i] == 1 else lost)[u, arms[i]] += 1.0
    return arms, rewards


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def long_logs(rows: int = ROWS, groups: int = GROUPS) -> str:
    """Return the table."""
    rng = np.random.default_rng(0)
    arms = rng.integers(2, size=rows)
    rewards = (rng.random(rows) < np.array(_MEANS)[arms]).astype(np.int64)
    lines = [f"## Audits of {rows:,} rows, two arms, CPU\n", "| log | claim | measured | at most |", "| --- " * 4 + "|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def write(columns: dict[str, Any], file: str) -> Path:
            path, table = folder / file, pa.table(columns)
            options = csv.WriteOptions(quoting_style="none")
            parquet.write_table(table, path) if path.suffix == ".parquet" else csv.write_csv(table, path, options)
            return path

        def audit(path: Path, **claim: Any) -> float:
            return _cpu(lambda: audit_log(path, n_arms=2, explain=False, **claim))

        split = {"reference": Split([0.5, 0.5])}
        warm = write({"user": arms[:1000], "arm": arms[:1000], "reward": rewards[:1000]}, "warm.csv")
        for claim in (split, {"family": Bernoulli()}, {"family": Bernoulli(), "group": "user"}):
            audit(warm, **claim)
        file = write({"arm": arms, "reward": rewards}, "split.csv")
        reading = _cpu(lambda: csv.read_csv(file))
        from_csv = audit(file, **split)
        from_parquet = audit(write({"arm": arms, "reward": rewards}, "split.parquet"), **split)
        lines.append(f"| CSV, {reading:.2f} s to read with pyarrow | split | {from_csv / reading:.1f} times that | 8 |")
        lines.append(f"| Parquet | split | {from_parquet:.2f} s | {from_csv - reading:.2f} s, CSV less the reading |")
        for n_users, most in ((1, 5), (groups, 8)):
            users = np.zeros(rows, np.int64) if n_users == 1 else rng.integers(n_users, size=rows)
            arms, rewards = _thompson(rng, users, n_users)
            columns = {"arm": arms, "reward": rewards} | ({} if n_users == 1 else {"user": users})
            named = {} if n_users == 1 else {"group": "user"}
            seconds = audit(write(columns, f"beta-{n_users}.csv"), family=Bernoulli(), **named)
            what = "CSV" if n_users == 1 else f"CSV, {n_users:,} groups"
            lines.append(f"| {what} | Beta Thompson Sampling | {1e6 * seconds / rows:.2f} µs per row | {most} µs |")
    lines.append(f"\nPeak memory of the process, with the logs made in it: {peak_mebibytes():.0f} MiB.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(long_logs())
