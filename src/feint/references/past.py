"""What an agent knew before each row of a log; rewards may come late, in batches or faded, and for many agents.

Every agent (a group of rows) has its own past. The reward of its m-th row (counted from 0) is known to its rows from
number

    m + 1 + delay,    or    (⌊m/batch⌋ + 1)·batch,    or from the first row whose time is not before the reward's time

(with stages, the number of a row's stage is its time, and that of its reward is one more)

on. With a discount γ, everything known is multiplied by γ at every row of the agent, before new rewards are added. For
every agent and arm the tables hold the (faded) number of known rewards, their sum, and the sum of squares about their
mean by Welford's rule, which avoids cancellation. What is known before a row does not depend on how the log is cut into
pieces.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import kernel, part
from feint.numerics._validate import is_whole, restore, set_number
from feint.references.regression_roots import Learnt

_NEVER = np.iinfo(np.int64).max
_FIRST_SPACE = 16  # agents
_TABLES = "counts", "sums", "spreads"  # what is kept of known rewards; the last is Σ (reward − mean)²


@dataclass(frozen=True)
class Timing:
    """When rewards become known, and how the past fades. Apart from the discount, at most one may be set."""

    delay: int = 0
    batch: int = 1
    by_time: bool = False
    discount: float = 1.0
    by_stage: bool = False

    def __post_init__(self) -> None:
        if not is_whole(self.delay, 0, 10**9) or not is_whole(self.batch, 1, 10**9):
            raise ValueError(
                f"`delay` is {self.delay!r} and `batch` {self.batch!r}; they must be whole numbers of rows, up to 1e9."
            )
        if (self.delay > 0) + (self.batch > 1) + self.by_time + self.by_stage > 1:
            raise ValueError(
                "Rewards are known late (`delay`), in batches (`batch`), by time (`reward_time`) or by stage "
                "(`stage`); give only one."
            )
        what = "`discount`, by which the past fades with every row, must be a number above 0 and at most 1"
        set_number(self, "discount", what, lambda x: 0 < x <= 1)

    @property
    def by_clock(self) -> bool:
        """Return whether rows and rewards have times."""
        return self.by_time or self.by_stage

    def words(self) -> str:
        """Return a clause that describes the timing, empty where every reward is known at once and nothing fades."""
        found = []
        if self.delay:
            found.append(f"rewards known {self.delay} rows late")
        if self.batch > 1:
            found.append(f"rewards known after every {self.batch} rows")
        if self.by_time:
            found.append("rewards known from their own time on")
        if self.by_stage:
            found.append("rewards known from the next stage on")
        if self.discount < 1:
            found.append(f"a discount of {self.discount:g} per row")
        return " and ".join(found)


class _Items(NamedTuple):
    """Rewards that are not known yet."""

    group: IntArray
    arm: IntArray
    reward: FloatArray
    due: Any  # the number of the first row that knows the reward (int64), or the reward's time
    context: FloatArray  # (m, D) of the pulled arm; D is 0 where there is none

    def at(self, chosen: IntArray) -> "_Items":
        """Return the chosen rewards."""
        kept = self.group[chosen], self.arm[chosen], self.reward[chosen], self.due[chosen]
        return _Items(*kept, self.context[chosen])


class KnownRewards(NamedTuple):
    """What was known before each row, (n, K) each, and the number of each row among its agent's rows, (n,)."""

    counts: FloatArray
    sums: FloatArray
    spreads: FloatArray
    numbers: IntArray

    def at(self, rows: Any) -> "KnownRewards":
        """Return what was known before the chosen rows."""
        return KnownRewards(*(array[rows] for array in self))

    def of(self, arms: IntArray) -> "KnownRewards":
        """Return what was known of the chosen arms."""
        return KnownRewards(self.counts[:, arms], self.sums[:, arms], self.spreads[:, arms], self.numbers)


@part
def _learn(table: FloatArray, n_arms: int, a: int, reward: float) -> None:
    n, total = table[a], table[n_arms + a]
    before = total / n if n > 0.0 else 0.0
    table[a] = n + 1.0
    table[n_arms + a] = total + reward
    table[2 * n_arms + a] += (reward - before) * (reward - (total + reward) / (n + 1.0))


@kernel
def _fill_known(
    tables: FloatArray, fades: FloatArray, group: IntArray, items: IntArray, rewards: FloatArray, known: FloatArray
) -> None:
    """Fill `known` (n, 3·K) and update `tables` (agents, 3·K). `items` are the agent and the arm of each reward, and
    the row before which it is learnt, in the order of these rows. The arrays have few types and at most two axes,
    because most of the time of a kernel's first call goes into those.
    """
    item, width = 0, known.shape[1]
    for i in range(group.size):
        table, row = tables[group[i]], known[i]
        for j in range(width):
            table[j] *= fades[i]
        while item < rewards.size and items[2, item] <= i:
            _learn(tables[items[0, item]], width // 3, items[1, item], rewards[item])
            item += 1
        for j in range(width):
            row[j] = table[j]


class Past:
    """The past of every agent in a log; `rows` takes the log piece by piece."""

    def __init__(self, n_arms: int, timing: Timing) -> None:
        self.timing = timing
        self._tables = np.zeros((_FIRST_SPACE, len(_TABLES), n_arms))
        self._made = np.zeros(_FIRST_SPACE, dtype=np.int64)  # rows of each agent
        none = np.zeros(0, dtype=np.int64)
        self._waiting = _Items(none, none, np.zeros(0), none, np.zeros((0, 0)))
        self.learnt = Learnt(none, none, np.zeros((0, 0)), np.zeros(0), none)  # during the last call

    def rows(
        self,
        group: IntArray,
        arms: IntArray,
        rewards: FloatArray,
        times: Any = None,
        reward_times: Any = None,
        contexts: FloatArray | None = None,
    ) -> KnownRewards:
        """Return what was known before each of these rows, and add them to the past. A NaN reward is never added.

        `contexts` (n, D) are those of the pulled arms.
        """
        self._make_space(int(group.max(initial=0)))
        order = np.lexsort((np.arange(group.size), group))
        numbers = self._numbers(group, order)
        np.add.at(self._made, group, 1)
        due = reward_times if self.timing.by_clock else self._due(numbers)
        there = ~np.isnan(rewards)
        if self.timing.by_clock:
            there &= due != _NEVER if np.asarray(due).dtype.kind == "i" else ~np.isnan(due)
        own = np.concatenate([np.full(self._waiting.group.size, -1), np.flatnonzero(there)])
        seen = np.zeros((group.size, self._waiting.context.shape[1])) if contexts is None else contexts
        fresh = _Items(group[there], arms[there], rewards[there], np.asarray(due)[there], seen[there])
        if not self._waiting.group.size:  # it may not know yet how wide contexts are
            self._waiting = self._waiting._replace(context=np.zeros((0, seen.shape[1])))
        items = _Items(*(np.concatenate(pair) for pair in zip(self._waiting, fresh, strict=True)))
        positions = self._positions(items, own, group, order, numbers, times)
        known = np.empty((group.size, self._tables[0].size))
        chosen = np.argsort(positions, kind="stable")
        learnt = chosen[: int((positions < group.size).sum())]
        fades = np.where(numbers > 0, self.timing.discount, 1.0)
        now = items.at(learnt)
        tables = self._tables.reshape(len(self._tables), -1)
        _fill_known(tables, fades, group, np.stack([now.group, now.arm, positions[learnt]]), now.reward, known)
        self.learnt = Learnt(now.group, now.arm, now.context, now.reward, positions[learnt])
        left = np.sort(chosen[learnt.size :])
        self._waiting = items.at(left)
        counts, sums, spreads = (np.ascontiguousarray(table) for table in np.split(known, len(_TABLES), axis=1))
        return KnownRewards(counts, sums, spreads, numbers)

    def number_rows(self, group: IntArray) -> IntArray:
        """Return the number of each coming row among its agent's rows, (n,), counted from 0."""
        self._make_space(int(group.max(initial=0)))
        return self._numbers(group, np.lexsort((np.arange(group.size), group)))

    def _due(self, numbers: IntArray) -> IntArray:
        if self.timing.batch > 1:
            return (numbers // self.timing.batch + 1) * self.timing.batch
        return numbers + 1 + self.timing.delay

    def _numbers(self, group: IntArray, order: IntArray) -> IntArray:
        """Return the number of each row among its agent's rows; `order` sorts rows by agent."""
        grouped = group[order]
        starts = np.searchsorted(grouped, grouped, side="left")
        numbers = np.empty(group.size, dtype=np.int64)
        numbers[order] = np.arange(group.size) - starts + self._made[grouped]
        return numbers

    def _positions(
        self, items: _Items, own: IntArray, group: IntArray, order: IntArray, numbers: IntArray, times: Any
    ) -> IntArray:
        """Return the row before which each item is learnt: its agent's first row that knows it, or n if none does."""
        n = group.size
        grouped = group[order]
        start, end = (np.searchsorted(grouped, items.group, side=side) for side in ("left", "right"))
        if self.timing.by_clock:
            # Times grow within each agent's rows, not always over all rows: a log may be sorted by agent first.
            moments, ranks = np.unique(times, return_inverse=True)
            place = np.searchsorted(
                grouped * (n + 1) + ranks[order], items.group * (n + 1) + np.searchsorted(moments, items.due)
            )
            next_place = np.zeros(n + 1, dtype=np.int64)  # after each row; the last is for items of earlier pieces
            next_place[order] = np.arange(1, n + 1)
            place = np.maximum(place, next_place[own])
        else:
            first = numbers[order][np.minimum(start, max(n - 1, 0))] if n else items.due
            place = start + np.maximum(items.due - first, 0)
        inside = place < end
        return np.where(inside, order[np.minimum(place, max(n - 1, 0))] if n else 0, n).astype(np.int64)

    def _make_space(self, largest: int) -> None:
        if largest >= self._made.size:
            wider = max(2 * self._made.size, largest + 1)
            more = wider - self._made.size
            self._tables = np.pad(self._tables, ((0, more), (0, 0), (0, 0)))
            self._made = np.pad(self._made, (0, more))

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        used = int(np.flatnonzero(self._made).max(initial=-1)) + 1
        return {
            "made": self._made[:used].tolist(),
            **{name: self._tables[:used, j].tolist() for j, name in enumerate(_TABLES)},
            "waiting": {name: array.tolist() for name, array in self._waiting._asdict().items()},
        }

    def recall(self, state: dict[str, Any]) -> None:
        """Restore the past that `state` returned."""
        made = np.array(state["made"], dtype=np.int64)
        self._make_space(made.size)
        self._made[: made.size] = made
        for j, name in enumerate(_TABLES):
            table = self._tables[: made.size, j]
            restore(table, np.array(state[name], dtype=float).reshape(-1, table.shape[1]), name)
        waiting = state["waiting"]
        due = np.array(waiting["due"])
        self._waiting = _Items(
            np.array(waiting["group"], dtype=np.int64),
            np.array(waiting["arm"], dtype=np.int64),
            np.array(waiting["reward"], dtype=float),
            due if due.size else np.zeros(0, dtype=np.int64),
            np.array(waiting["context"], dtype=float) if due.size else np.zeros((0, 0)),
        )
