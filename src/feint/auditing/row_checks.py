"""Which rows of a log cannot be tested, and why: found one by one, never dropped silently."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, IntArray
from feint.auditing.arms import ANY_ARM, LogArms, label_of
from feint.auditing.numbers import Column, as_moment
from feint.support.saved import damaged, of_length

TIME = "unordered time"
ORDER = "out of order"
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*", re.ASCII)


class BadRow(NamedTuple):
    """A row that cannot be tested."""

    row: int  # from 1
    line: int | None  # of a CSV file, from 1
    kind: str
    reason: str
    file: str | None = None  # one of several

    def __str__(self) -> str:
        if self.file is None:
            return f"{f'row {self.row}' if self.line is None else f'line {self.line}'}: {self.reason}"
        return f"{self.file}, {f'row {self.row} of all' if self.line is None else f'line {self.line}'}: {self.reason}"


class Chunk(NamedTuple):
    """Some rows of a log, not yet checked."""

    rows: IntArray  # from 1
    lines: IntArray | None
    arm: Column
    reward: Column | None
    propensity: Column | None
    probabilities: list[Column]
    times: Sequence[Any] | None
    reward_times: Sequence[Any] | None
    groups: Sequence[Any] | None
    malformed: dict[int, str]  # position in the chunk -> what is wrong with the line as such
    stages: Sequence[Any] | None = None
    available: BoolArray | None = None  # (n, K)
    units: Sequence[Sequence[Any]] = ()  # a column of units, or of units and of versions
    contexts: Sequence[Column] = ()
    order: Sequence[Any] | None = None  # cells by which the rows are in order
    file: str | None = None  # which of several files they are from
    spare: Mapping[str, Any] = MappingProxyType({})  # cells of columns that no option names


def first_rows(chunk: Chunk, n: int) -> Chunk:
    """Return the first n rows of a chunk."""
    return select_rows(chunk, slice(n))


def select_rows(chunk: Chunk, rows: IntArray | slice) -> Chunk:
    """Return the rows at these positions of a chunk, (m,) or a slice."""

    def take(cells: Any) -> Any:
        if cells is None:
            return None
        if isinstance(rows, slice) or isinstance(cells, np.ndarray):
            return cells[rows]
        return [cells[i] for i in rows.tolist()]

    def column(found: Column | None) -> Any:
        return found and Column(*(take(part) for part in found))

    positions = np.arange(chunk.rows.size)[rows].tolist()
    return chunk._replace(
        rows=take(chunk.rows),
        lines=take(chunk.lines),
        arm=column(chunk.arm),
        reward=column(chunk.reward),
        propensity=column(chunk.propensity),
        probabilities=[column(found) for found in chunk.probabilities],
        times=take(chunk.times),
        reward_times=take(chunk.reward_times),
        groups=take(chunk.groups),
        stages=take(chunk.stages),
        order=take(chunk.order),
        available=take(chunk.available),
        units=[take(cells) for cells in chunk.units],
        contexts=[column(found) for found in chunk.contexts],
        spare={name: take(cells) for name, cells in chunk.spare.items()},
        malformed={i: chunk.malformed[old] for i, old in enumerate(positions) if old in chunk.malformed},
    )


class RowProblems:
    """The first problem of every row of a chunk."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.found: dict[int, BadRow] = {}

    def add(self, where: Any, kind: str, reason: Any) -> None:
        """Note a problem of some rows; `where` is a mask of the rows, or a list of positions."""
        if isinstance(where, np.ndarray):
            where = np.flatnonzero(where) if where.any() else ()
        for i in where:
            if int(i) not in self.found:
                line = None if self.chunk.lines is None else int(self.chunk.lines[i])
                self.found[int(i)] = BadRow(int(self.chunk.rows[i]), line, kind, reason(int(i)), self.chunk.file)

    def add_column(self, column: Column, name: str) -> None:
        self.add(column.missing, "missing", lambda i: f"{name} is missing")
        what = "the arm's number from 0" if name == "arm" else "a number"
        self.add(
            column.not_numeric,
            "not a number",
            lambda i: f"{name} is {shown(column.texts[i])}, not {what}{_comma_hint(column.texts[i])}",
        )


def _comma_hint(cell: Any) -> str:
    """Return what to do about a cell that has a decimal comma; empty if it has none."""
    return "; is `decimal` ',' meant?" if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell) else ""


class Times:
    """The times of good rows so far. They must not go back; if there are groups, not within any group."""

    def __init__(self) -> None:
        self.latest: Any = None  # (moment, row) of the last good row, or of the latest where there are groups
        self.by_group: dict[str, Any] = {}  # (moment, row) of each group's last good row
        self.previous: Any = None  # the moment of the last good row
        self.tied = 0  # good rows whose time is that of the row before, of the same group if there are groups
        self.back = 0  # good rows whose time lies before that of an earlier row of another group
        self.order: dict[str, Any] = {}  # (moment, row) of each group's last row, by the column of the order

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue, as plain JSON types."""
        return dict(vars(self))

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state`."""
        if type(state["previous"]) not in (int, float, type(None)):
            raise damaged("previous", state["previous"])
        for moment in (state["latest"], *state["by_group"].values(), *state["order"].values()):
            if moment is not None:
                of_length(moment, 2, "a time")
        vars(self).update({name: state[name] for name in vars(self)})


class Checked(NamedTuple):
    """What the check of a chunk found."""

    good: BoolArray  # (n,)
    bad: list[BadRow]
    begins: BoolArray  # of the good rows: whether the time differs from that of the good row above; True without times


def check_rows(chunk: Chunk, arms: LogArms, claim: Callable[[Chunk, RowProblems], None], times: Times) -> Checked:
    """Check every row of a chunk; `claim` checks its own columns, and `times` is updated."""
    findings = RowProblems(chunk)
    findings.add(sorted(chunk.malformed), "malformed", lambda i: chunk.malformed[i])
    _check_arms(chunk, arms, findings)
    claim(chunk, findings)
    for name, cells in (("stage", chunk.stages), *(("unit", cells) for cells in chunk.units)):
        missing = [i for i, cell in enumerate(() if cells is None else cells) if not label_of(cell)]
        findings.add(missing, "missing", lambda i, name=name: f"{name} is missing")
    _check_order(chunk, times, findings)
    begins = _check_times(chunk, times, findings)
    good = np.ones(chunk.arm.values.size, dtype=bool)
    good[list(findings.found)] = False
    if begins is None:
        begins = np.ones(int(good.sum()), dtype=bool)
    return Checked(good, [findings.found[i] for i in sorted(findings.found)], begins)


def _check_arms(chunk: Chunk, arms: LogArms, findings: RowProblems) -> None:
    values, texts = chunk.arm.values, chunk.arm.texts
    if arms.labels is not None:
        known = ", ".join(arms.labels[:6]) + (", …" if arms.n > 6 else "")
        findings.add(chunk.arm.missing, "missing", lambda i: "arm is missing")
        findings.add(
            chunk.arm.not_numeric,
            "unknown arm",
            lambda i: f"arm is {shown(texts[i])}, which is not among the arms {known}",
        )
        return
    findings.add_column(chunk.arm, "arm")
    last = f"with {arms.n} arms they count from 0 to {arms.n - 1}"
    counted = last if arms.n < ANY_ARM else "arms count from 0"
    with np.errstate(invalid="ignore"):
        findings.add(
            values != np.floor(values), "not a number", lambda i: f"arm is {shown(texts[i])}, not a whole number"
        )
        findings.add(
            ~((values >= 0) & (values < arms.n)),
            "arm out of range",
            lambda i: f"arm {values[i]:g} is out of range; {counted}" + (", not from 1" if values[i] == arms.n else ""),
        )


def _check_times(chunk: Chunk, times: Times, findings: RowProblems) -> BoolArray | None:
    """Check that time never goes back from one good row to the next of the same group.

    Return which good rows have another time than the good row above; None if there are no times.
    """
    if chunk.times is None:
        return None
    latest = times.latest
    if chunk.groups is None and (moments := _growing(chunk.times, latest)) is not None:
        good = np.array([i for i in range(moments.size) if i not in findings.found], dtype=np.int64)
        kept = moments[good]
        begins: BoolArray = np.diff(kept, prepend=kept[:1] - 1) != 0
        if kept.size and latest is not None:
            begins[0] = kept[0] != latest[0]
        times.tied += int((~begins).sum())
        times.latest = (int(kept[-1]), int(chunk.rows[good[-1]])) if kept.size else latest
        times.previous = times.latest and times.latest[0]
        return begins
    found: list[bool] = []
    for i, item in enumerate(chunk.times):
        moment = as_moment(item)
        group = None if chunk.groups is None else label_of(chunk.groups[i])
        last = times.latest if group is None else times.by_group.get(group)
        if moment is None:
            findings.add([i], TIME, lambda i, item=item: f"time is {shown(item)}, neither a number nor a date")
        elif last is not None and moment < last[0]:
            findings.add(
                [i], TIME, lambda i, item=item, last=last: f"time {shown(item)} lies before that of row {last[1]}"
            )
        if moment is None or i in findings.found:
            continue
        times.tied += last is not None and moment == last[0]
        found.append(moment != times.previous)
        times.previous = moment
        here = (moment, int(chunk.rows[i]))
        if group is not None:
            times.by_group[group] = here
        if times.latest is None or moment >= times.latest[0]:
            times.latest = here
        else:
            times.back += 1
    return np.array(found, dtype=bool)


def _check_order(chunk: Chunk, times: Times, findings: RowProblems) -> None:
    """Check that rows are in the order of `order_by`, within each group if there are groups."""
    if chunk.order is None:
        return
    last = times.order.get("")
    if chunk.groups is None and (moments := _growing(chunk.order, last)) is not None:
        times.order[""] = (int(moments[-1]), int(chunk.rows[-1]))
        return
    for i, item in enumerate(chunk.order):
        moment = as_moment(item)
        group = "" if chunk.groups is None else label_of(chunk.groups[i])
        last = times.order.get(group)
        if moment is None:
            findings.add([i], ORDER, lambda i, item=item: f"its order is {shown(item)}, neither a number nor a date")
        elif last is not None and moment < last[0]:
            findings.add(
                [i],
                ORDER,
                lambda i, item=item, last=last: (
                    f"its order {shown(item)} lies before {shown(last[0])}, that of row {last[1]}"
                ),
            )
        else:
            times.order[group] = (moment, int(chunk.rows[i]))


def _growing(times: Sequence[Any], last: Any) -> Any:
    """Return the times as whole numbers if they are whole and in order, which is usual; otherwise None."""
    try:
        moments = np.array(times).astype(np.int64, casting="unsafe" if isinstance(times[0], str) else "safe")
        if moments.ndim != 1 or (isinstance(times[0], str) and not "".join(times).isascii()):
            return None
    except (TypeError, ValueError, OverflowError):
        return None
    in_order = (np.diff(moments) >= 0).all() and (last is None or int(moments[0]) >= last[0])
    return moments if in_order else None


def shown(item: Any) -> str:
    """Return what stood in a cell, shortened."""
    text = repr(item.item() if isinstance(item, np.generic) else item)
    return text if len(text) <= 40 else text[:37] + "…"
