"""The pulls that are explained, with what was claimed and known before each."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray

_SMALLEST = -690.0  # log-odds
REFUTED = -90.0  # log π of a pull that the claim gives probability 0 or nearly so; within LIMIT of what others give it


class RowsBefore(NamedTuple):
    """What the rows before a pull are: those of its group, and those of earlier instants."""

    groups: IntArray  # (n,)
    begins: BoolArray  # (n,) which rows begin an instant
    numbers: IntArray  # (n,) how many rows of the same group lie before
    ordered: bool = False  # whether the claim depends on the order of the rows within an instant


class Pulls(NamedTuple):
    """Pulls, what was claimed before each, and what several families need of it."""

    arms: IntArray  # (n,)
    log_pi: FloatArray  # (n, K)
    rows: IntArray  # (n,) numbers of the rows
    names: Sequence[str]  # of arms
    pulled: FloatArray  # (n,) log π of the pulled arm
    past: RowsBefore
    available: BoolArray | None = None  # (n, K) the arms that could be drawn; None: all

    def chosen(self, arm: int) -> FloatArray:
        """Return 1 where `arm` was pulled, otherwise 0."""
        return np.asarray(self.arms == arm, dtype=np.float64)

    def p(self, arm: int) -> FloatArray:
        """Return π of one arm."""
        return np.asarray(np.exp(self.log_pi[:, arm]))

    def odds(self, arm: int) -> FloatArray:
        """Return log π/(1 − π) of one arm, within ±690."""
        log_p = self.log_pi[:, arm]
        with np.errstate(divide="ignore"):
            return np.clip(log_p - np.log(-np.expm1(np.minimum(log_p, 0.0))), _SMALLEST, -_SMALLEST)

    def log_uniform(self) -> FloatArray | float:
        """Return log π of each row's arms where the pull is drawn uniformly."""
        if self.available is None:
            return -math.log(len(self.names))
        return np.asarray(-np.log(self.available.sum(axis=1)))

    def name(self, *arms: int) -> str:
        """Return the names of some arms in words."""
        names = [self.names[a] for a in arms]
        return f"arm {names[0]}" if len(names) == 1 else f"arms {', '.join(names[:-1])} and {names[-1]}"


def read_pulls(
    arms: IntArray,
    log_pi: FloatArray,
    rows: IntArray,
    names: Sequence[str],
    past: RowsBefore | None = None,
    available: BoolArray | None = None,
) -> Pulls:
    """Return the pulls of a log; where an arm of probability 0 was pulled, 0 is taken for 1e-39.

    Without a `past` all rows are of one group, and each is an instant.
    """
    each = np.arange(arms.size)
    past = past or RowsBefore(np.zeros_like(each), np.ones(each.size, dtype=bool), each)
    if (log_pi[each, arms] < REFUTED).any():
        log_pi = np.maximum(log_pi, REFUTED)  # in every row, so that the change does not tell what was pulled
    return Pulls(arms, np.ascontiguousarray(log_pi), rows, names, log_pi[each, arms], past, available)
