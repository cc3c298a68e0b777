"""Which columns of a log matter, and how its arms are called."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from feint.auditing.columns import Column, as_column
from feint.auditing.readers.base import places

Mode = Literal["probabilities", "propensities", "rewards"]  # the strongest claim first
MODES: tuple[Mode, ...] = get_args(Mode)
MOST_ARMS = 10_000
ANY_ARM = 2**53  # in the place of the number of arms, while it is unknown: larger ones are no whole float64
NO_TIME = ""
_TIME_NAMES = ("time", "timestamp")
# What others call the probability of the pulled arm, or of all arms.
_LOOKS_LIKE_A_CLAIM = re.compile(
    r"(p|prob|probs|probability|probabilities|pscore|propensity|propensity_score|weight)(_.*)?", re.I
)


@dataclass(frozen=True)
class Names:
    """How the columns are called; a column of one arm's probabilities is the prefix and the arm's number or label."""

    arm: str = "arm"
    reward: str = "reward"
    propensity: str = "propensity"
    prefix: str = "p_"
    probabilities: str = "probabilities"  # a list of them in one column
    time: str | None = None  # if None, `time` or `timestamp` where there is one; NO_TIME for none
    reward_time: str | None = None
    group: str | None = None


class Layout(NamedTuple):
    """The columns that matter."""

    mode: str
    arm: str
    reward: str | None
    propensity: str | None
    probabilities: list[str]  # of one arm each
    listed: str | None  # of all arms
    time: str | None
    reward_time: str | None
    group: str | None
    labels: list[str] | None  # of the arms, where the columns of probabilities tell
    unused: list[str]  # columns that look like a claim

    def used(self) -> list[str]:
        """The columns that are read."""
        wanted = [self.arm, self.reward, self.propensity, *self.probabilities, self.listed]
        wanted += [self.time, self.reward_time, self.group]
        return [name for name in dict.fromkeys(wanted) if name is not None]


def choose_layout(columns: list[str], names: Names, mode: str | None, needs_rewards: bool) -> Layout:
    """The strongest claim that the columns allow, or the one asked for."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"There is no mode {mode!r}; choose among {', '.join(MODES)}.")
    _check_names(columns, names)
    time = names.time or next((name for name in _TIME_NAMES if name in columns), None)
    labels = [name[len(names.prefix) :] for name in columns if name.startswith(names.prefix) and name != names.prefix]
    numbered = [label for label in labels if label.isdecimal() and label.isascii()]
    if numbered:  # p_0, p_1, … count, and what else begins so is something else
        labels = sorted(set(numbered), key=int)
    listed = names.probabilities if names.probabilities in columns else None
    there = {
        "probabilities": bool(numbered) or len(labels) > 1 or listed is not None,
        "propensities": names.propensity in columns,
        "rewards": names.reward in columns or not needs_rewards,
    }
    chosen = mode or next((name for name in MODES if there[name]), None)
    if chosen is None or not there[chosen]:
        wanted = {
            "probabilities": f"{names.prefix}0, {names.prefix}1, …",
            "propensities": names.propensity,
            "rewards": names.reward,
        }
        missing = " or ".join(wanted.values()) if chosen is None else wanted[chosen]
        raise ValueError(f"There is no column {missing} among {_listed(columns)}; name it with an option.")
    single = chosen == "probabilities" and listed is None
    if single and numbered and ([int(label) for label in labels] != list(range(len(labels))) or len(labels) < 2):
        raise ValueError(
            f"The probability columns are {_listed([names.prefix + label for label in labels])}; there must be "
            f"{names.prefix}0, {names.prefix}1, … for every arm, without gaps."
        )
    layout = Layout(
        chosen,
        names.arm,
        names.reward if chosen == "rewards" and needs_rewards else None,
        names.propensity if chosen == "propensities" else None,
        [names.prefix + label for label in labels] if single else [],
        listed if chosen == "probabilities" else None,
        time if names.time != NO_TIME else None,
        names.reward_time if chosen == "rewards" else None,
        names.group,
        labels if single and not numbered else None,
        [],
    )
    places(columns, layout.used())
    known = {*layout.used(), names.propensity} if chosen == "probabilities" else {*layout.used()}
    return layout._replace(
        unused=[name for name in columns if name not in known and _LOOKS_LIKE_A_CLAIM.fullmatch(name)]
    )


def _check_names(columns: list[str], names: Names) -> None:
    usual = Names()
    for option in ("arm", "reward", "propensity", "probabilities", "time", "reward_time", "group"):
        name = getattr(names, option)
        if name and name not in columns and (option == "arm" or name != getattr(usual, option)):
            what = "name the arms' with `arm`" if option == "arm" else f"correct `{option}`"
            raise ValueError(f"There is no column {name!r} among {_listed(columns)}; {what}.")
    if names.prefix != usual.prefix and not any(name.startswith(names.prefix) for name in columns):
        raise ValueError(f"There is no column {names.prefix}0 among {_listed(columns)}; correct `prefix`.")


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "…") for name in columns[:12])
    return shown + (", …" if len(columns) > 12 else "")


class Arms:
    """The arms of a log: numbers from 0, or labels."""

    def __init__(self, n: int, labels: Sequence[str] | None = None) -> None:
        self.n = n
        self.labels = None if labels is None else list(labels)
        self._places = {} if labels is None else {label: float(i) for i, label in enumerate(labels)}

    def names(self) -> list[str]:
        """What to call them."""
        return [str(a) for a in range(self.n)] if self.labels is None else list(self.labels)

    def column(self, cells: Any) -> Column:
        """Cells as numbers of arms."""
        if self.labels is None:
            return as_column(cells)
        found = [label_of(cell) for cell in cells]
        values = np.array([self._places.get(label, np.nan) for label in found], dtype=np.float64)
        missing = np.array([not label for label in found], dtype=bool)
        return Column(values, missing, np.isnan(values) & ~missing, cells)


def label_of(cell: Any) -> str:
    """A cell as the label of an arm; empty if there is none."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)
    return str(cell).strip()
