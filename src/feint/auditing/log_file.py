"""A log from a file, in chunks: memory does not grow with its length."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from feint.auditing.checks import Chunk, check
from feint.auditing.claims import CLAIMS
from feint.auditing.columns import Column, as_column
from feint.auditing.readers import Batch, naming, open_log

CELLS_A_CHUNK = 60_000  # rows × columns, and rows × arms, in memory at once
_TIME_NAMES = ("time", "timestamp")
NO_TIME = ""
MOST_ARMS = 10_000


@dataclass(frozen=True)
class Names:
    """How the columns are called; a probability column is the prefix and the arm's number."""

    arm: str = "arm"
    reward: str = "reward"
    propensity: str = "propensity"
    prefix: str = "p_"
    time: str | None = None  # if None, `time` or `timestamp` where there is one; NO_TIME for none


class Layout(NamedTuple):
    """Which columns matter, by what is there."""

    mode: str
    arm: str
    reward: str | None
    propensity: str | None
    probabilities: list[str]
    time: str | None

    def used(self) -> list[str]:
        """The columns that are read."""
        wanted = [self.arm, self.reward, self.propensity, *self.probabilities, self.time]
        return [name for name in dict.fromkeys(wanted) if name is not None]


def choose_layout(columns: list[str], names: Names, mode: str | None) -> Layout:
    """The strongest mode that the columns allow, or the one asked for."""
    if mode is not None and mode not in CLAIMS:
        raise ValueError(f"There is no mode {mode!r}; choose among {', '.join(CLAIMS)}.")
    for option, name, usual in (
        ("`reward`", names.reward, Names.reward),
        ("`propensity`", names.propensity, Names.propensity),
    ):
        if name not in columns and name != usual:
            raise ValueError(f"There is no column {name!r} among {_listed(columns)}; correct {option}.")
    if names.arm not in columns:
        raise ValueError(f"There is no column {names.arm!r} among {_listed(columns)}; name the arms' with `arm`.")
    if names.time is not None and names.time != NO_TIME and names.time not in columns:
        raise ValueError(f"There is no column {names.time!r} among {_listed(columns)}; correct `time`.")
    time = names.time or next((name for name in _TIME_NAMES if name in columns), None)
    numbered = re.compile(re.escape(names.prefix) + "([0-9]+)")
    named = sorted((int(found.group(1)), name) for name in columns if (found := numbered.fullmatch(name)))
    arms = [arm for arm, _ in named]
    if not arms and names.prefix != Names.prefix:
        raise ValueError(f"There is no column {names.prefix}0 among {_listed(columns)}; correct `prefix`.")
    there = {
        "probabilities": bool(arms),
        "propensities": names.propensity in columns,
        "rewards": names.reward in columns,
    }
    chosen = mode or next((name for name in CLAIMS if there[name]), None)
    if chosen is None or not there[chosen]:
        wanted = {
            "probabilities": f"{names.prefix}0, {names.prefix}1, …",
            "propensities": names.propensity,
            "rewards": names.reward,
        }
        missing = " or ".join(wanted.values()) if chosen is None else wanted[chosen]
        raise ValueError(f"There is no column {missing} among {_listed(columns)}; name it with an option.")
    probabilities = [name for _, name in named] if chosen == "probabilities" else []
    if probabilities and (arms != list(range(len(arms))) or len(arms) < 2):
        raise ValueError(
            f"The probability columns are {_listed(probabilities)}; there must be {names.prefix}0, {names.prefix}1, … "
            "for every arm, without gaps."
        )
    layout = Layout(
        chosen,
        names.arm,
        names.reward if chosen == "rewards" else None,
        names.propensity if chosen == "propensities" else None,
        probabilities,
        time if names.time != NO_TIME else None,
    )
    for name in layout.used():
        if columns.count(name) > 1:
            raise ValueError(f"The column {name!r} appears twice; rename one of them.")
    return layout


def _listed(columns: list[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "…") for name in columns[:12])
    return shown + (", …" if len(columns) > 12 else "")


class LogFile:
    """A file with its layout; `chunks()` reads it from the start each time."""

    def __init__(self, path: Path, names: Names, mode: str | None, delimiter: str | None) -> None:
        self._log = open_log(path, delimiter)
        with naming(self._log.name):
            self.layout = choose_layout(self._log.columns, names, mode)

    @property
    def size(self) -> int:
        """What `chunks` counts up to in its progress: bytes of a text, rows of a Parquet file."""
        return self._log.size or 0

    def largest_arm(self, tick: Callable[[int], object]) -> int:
        """The largest arm, −1 if there is none: a first pass, where nothing else tells K. A bad arm must not."""
        largest = -1
        with naming(self._log.name):
            for chunk in self.chunks(1, tick, only_arms=True):
                _, bad, _ = check(chunk, 2**53, lambda chunk, findings: None, None)
                if bad:
                    raise ValueError(f"{bad[0]}, so the number of arms is unclear; correct it, or give `n_arms`.")
                largest = max(largest, int(chunk.arm.values.max()))
        return largest

    def chunks(self, n_arms: int, tick: Callable[[int], object], *, only_arms: bool = False) -> Iterator[Chunk]:
        """The rows in order, so few at once that they fit into memory with all arms; `tick` is called with progress."""
        layout = self.layout
        if only_arms:
            layout = layout._replace(reward=None, propensity=None, probabilities=[], time=None)
        n_rows = max(1, CELLS_A_CHUNK // max(len(self.layout.used()), n_arms))
        first = 1
        for batch in self._log.batches(layout.used(), n_rows, tick):
            yield _chunk(layout, batch, first)
            first += batch.n


def _chunk(layout: Layout, batch: Batch, first: int) -> Chunk:
    table = batch.table

    def column(name: str | None) -> Column | None:
        return None if name is None else as_column(table[name])

    return Chunk(
        np.arange(first, first + batch.n),
        batch.lines,
        as_column(table[layout.arm]),
        column(layout.reward),
        column(layout.propensity),
        [as_column(table[name]) for name in layout.probabilities],
        None if layout.time is None else table[layout.time],
        batch.malformed,
    )
