"""Measure the audit of long logs: CPU seconds against those that pyarrow takes to read the file, and per row.

Every number is measured in a process of its own, which first reads a short log, so that nothing is imported or compiled
during the measurement. The files are in the page cache. CPU seconds are user and system time of all threads; pyarrow
reads with its usual threads. Its second reading of a file takes less time than the first, since it has memory by then.
So an audit that follows another one is compared with the second reading.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pyarrow import csv, parquet

from benchmarks.engine import peak_mebibytes
from benchmarks.honest_logs import write_honest_log, write_split_log

ROWS = 5_000_000
GROUPS = 100_000
_WARM = 50_000  # rows
_TIMES = 3
_MOST_MEBIBYTES = 400e6 / 2**20


class _Spent(NamedTuple):
    """The CPU seconds of a first and of a second call, and the memory in MiB."""

    first: float
    second: float
    memory: float


def measure(kind: str, file: str, warm: str) -> _Spent:
    """Read or audit a file twice in this process."""
    work: Any = csv.read_csv
    if kind != "pyarrow":
        import feint

        claims: dict[str, dict[str, Any]] = {
            "split": {"reference": feint.Split([0.5, 0.5])},
            "beta": {"family": feint.Bernoulli()},
            "groups": {"family": feint.Bernoulli(), "group": "user"},
        }

        def work(path: str) -> Any:
            return feint.audit_log(path, n_arms=2, explain=False, **claims[kind])

    work(warm)
    seconds = []
    for _ in range(2):
        start = time.process_time()
        work(file)
        seconds.append(time.process_time() - start)
    return _Spent(seconds[0], seconds[1], peak_mebibytes())


def _apart(kind: str, folder: Path, name: str, times: int = _TIMES) -> _Spent:
    """Return the medians of `measure` in new processes."""
    short, module = str(folder / f"warm-{name}"), [sys.executable, "-m", "benchmarks.reading", kind]
    subprocess.check_output([*module, short, short])  # compiles what is not, which takes memory
    command = [*module, str(folder / name), short]
    found = [_Spent(*json.loads(subprocess.check_output(command))) for _ in range(times)]
    return _Spent(*(median(column) for column in zip(*found, strict=True)))


def _write_logs(folder: Path, prefix: str, rows: int, groups: int) -> None:
    """Write the logs as Parquet and as CSV."""
    split, one, many = (folder / f"{prefix}{name}.parquet" for name in ("split", "one", "groups"))
    write_split_log(split, rows)
    write_honest_log(one, rows, 1)
    write_honest_log(many, rows, groups)
    for path in (split, one, many):
        table = parquet.read_table(path)
        csv.write_csv(table if path == many else table.select(["arm", "reward"]), path.with_suffix(".csv"))


def long_logs(rows: int = ROWS, groups: int = GROUPS) -> str:
    """Return the table."""
    lines = [f"## Audits of {rows:,} rows, two arms, CPU\n", "| log | claim | measured | at most |", "| --- " * 4 + "|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for prefix, n in (("", rows), ("warm-", _WARM)):
            _write_logs(folder, prefix, n, groups)
        reading = _apart("pyarrow", folder, "split.csv")
        from_csv, from_parquet = (_apart("split", folder, f"split.{suffix}") for suffix in ("csv", "parquet"))
        beta, grouped = _apart("beta", folder, "one.csv", 1), _apart("groups", folder, "groups.csv", 1)
    for time_of, what in enumerate(("first", "second")):
        read, ours, columns = reading[time_of], from_csv[time_of], from_parquet[time_of]
        times = f"{ours:.2f} s, {ours / read:.1f} times"
        lines.append(f"| CSV, {what} time; pyarrow reads it in {read:.2f} s | split | {times} | 8 |")
        lines.append(f"| Parquet, {what} time | split | {columns:.2f} s | {ours - read:.2f} s, CSV less the reading |")
    for what, spent, most in (("CSV", beta, 5), (f"CSV, {groups:,} groups", grouped, 8)):
        each = 1e6 * spent.first / rows
        lines.append(f"| {what} | Beta Thompson Sampling | {each:.2f} µs per row | {most} µs |")
    memory = max(spent.memory for spent in (from_csv, from_parquet, beta, grouped))
    lines.append(f"\nMost memory of these audits: {memory:.0f} MiB (at most {_MOST_MEBIBYTES:.0f}).")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 3:
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        print(long_logs(*map(int, sys.argv[1:])))
