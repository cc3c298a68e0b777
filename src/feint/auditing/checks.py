"""Which rows of a log cannot be tested, and why: found one by one, never dropped in silence."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from feint.auditing.columns import Column, as_moment
from feint.numerics._validate import BoolArray, IntArray

PROBABILITY_0 = "pulled with probability 0"
TIME = "unordered time"


class BadRow(NamedTuple):
    """A row that cannot be tested."""

    row: int  # from 1
    line: int | None  # of a CSV file, from 1
    kind: str
    reason: str

    def __str__(self) -> str:
        return f"{f'row {self.row}' if self.line is None else f'line {self.line}'}: {self.reason}"


class Chunk(NamedTuple):
    """Some rows of a log, not yet checked."""

    rows: IntArray  # from 1
    lines: IntArray | None
    arm: Column
    reward: Column | None
    propensity: Column | None
    probabilities: list[Column]
    times: Sequence[Any] | None
    malformed: dict[int, str]  # position in the chunk -> what is wrong with the line as such


class Findings:
    """The first problem of every row of a chunk."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.found: dict[int, BadRow] = {}

    def add(self, where: Any, kind: str, reason: Any) -> None:
        """`where` is a mask of the rows, or a list of positions."""
        positions = np.flatnonzero(where) if isinstance(where, np.ndarray) else where
        for i in positions:
            if int(i) not in self.found:
                line = None if self.chunk.lines is None else int(self.chunk.lines[i])
                self.found[int(i)] = BadRow(int(self.chunk.rows[i]), line, kind, reason(int(i)))

    def add_column(self, column: Column, name: str) -> None:
        self.add(column.missing, "missing", lambda i: f"{name} is missing")
        what = "the arm's number from 0" if name == "arm" else "a number"
        self.add(column.not_numeric, "not a number", lambda i: f"{name} is {shown(column.texts[i])}, not {what}")


def check(
    chunk: Chunk, n_arms: int, claim: Callable[[Chunk, Findings], None], last_time: Any
) -> tuple[BoolArray, list[BadRow], Any]:
    """(good (n,), the bad rows, the last good row's time); `claim` adds what its own columns must be."""
    findings = Findings(chunk)
    findings.add(sorted(chunk.malformed), "malformed", lambda i: chunk.malformed[i])
    findings.add_column(chunk.arm, "arm")
    arms = chunk.arm.values
    with np.errstate(invalid="ignore"):
        findings.add(
            arms != np.floor(arms), "not a number", lambda i: f"arm is {shown(chunk.arm.texts[i])}, not a whole number"
        )
        findings.add(
            ~((arms >= 0) & (arms < n_arms)),
            "arm out of range",
            lambda i: (
                f"arm {arms[i]:g} is out of range; with {n_arms} arms they count from 0 to {n_arms - 1}"
                + (", not from 1" if arms[i] == n_arms else "")
            ),
        )
    claim(chunk, findings)
    last_time = _check_times(chunk, last_time, findings)
    good = np.ones(arms.size, dtype=bool)
    good[list(findings.found)] = False
    return good, [findings.found[i] for i in sorted(findings.found)], last_time


def _check_times(chunk: Chunk, last: Any, findings: Findings) -> Any:
    """Times must grow from each good row to the next."""
    if chunk.times is None:
        return last
    if (moments := _growing(chunk.times, last)) is not None:
        good = [i for i in range(len(moments) - 1, -1, -1) if i not in findings.found]
        return (moments[good[0]], int(chunk.rows[good[0]])) if good else last
    for i, item in enumerate(chunk.times):
        moment = as_moment(item)
        if moment is None:
            findings.add([i], TIME, lambda i, item=item: f"time is {shown(item)}, neither a number nor a date")
        elif last is not None and moment <= last[0]:
            what = "repeats" if moment == last[0] else "lies before"
            findings.add(
                [i],
                TIME,
                lambda i, item=item, what=what, last=last: f"time {shown(item)} {what} that of row {last[1]}",
            )
        if i not in findings.found:
            last = (moment, int(chunk.rows[i]))
    return last


def _growing(times: Sequence[Any], last: Any) -> Any:
    """The times as whole numbers if they are, and all in order, which is the usual case; else None."""
    try:
        moments = np.array(times).astype(np.int64, casting="unsafe" if isinstance(times[0], str) else "safe")
        if moments.ndim != 1 or (isinstance(times[0], str) and not "".join(times).isascii()):
            return None
    except (TypeError, ValueError, OverflowError):
        return None
    in_order = (np.diff(moments) > 0).all() and (last is None or int(moments[0]) > last[0])
    return [int(moment) for moment in moments] if in_order else None


def shown(item: Any) -> str:
    """What stood in a cell, shortened."""
    text = repr(item.item() if isinstance(item, np.generic) else item)
    return text if len(text) <= 40 else text[:37] + "…"
