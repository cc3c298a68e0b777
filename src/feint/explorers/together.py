"""Explorers in plain Python that choose for many replications at once.

Beside `choose(view, uniforms)` such an explorer has

    choose_many(views, uniforms) -> an arm for each of the n replications

where `views` is a `PlainViews` and `uniforms` (n, 3) has the step's leader, challenger and selection of each.
`simulate` then moves the replications forward in lockstep, so that one call in Python serves all of them; `Agent` asks
`choose`.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.explorers.base import View
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import read_only
from feint.support.own_parts import OwnPartError, call
from feint.support.printable import short_repr


def chooses_together(explorer: Any) -> bool:
    """Return whether an explorer in plain Python can choose for many replications at once."""
    return hasattr(explorer, "choose_many") and hasattr(explorer, "choose") and not hasattr(explorer, "values")


class PlainViews:
    """What `choose_many` may look at: read-only arrays (n, K) over replications and arms.

    They have the names of `PlainView`, and `time` is the same for all replications. A row is the same replication at
    every step.
    """

    def __init__(
        self,
        time: int,
        pulls: IntArray,
        boosts: IntArray,
        public_means: FloatArray,
        private_means: FloatArray,
        private: Any,
        reference: Any,
    ) -> None:
        self.time = time
        self.pulls: IntArray = read_only(pulls)
        self.boosts: IntArray = read_only(boosts)
        self.public_means: FloatArray = read_only(public_means)
        self.private_means: FloatArray = read_only(private_means)
        self._private, self._reference = private, reference

    @cached_property
    def private_probabilities(self) -> FloatArray:
        """The probability that each arm is the best private one, (n, K)."""
        return read_only(self._private())

    @cached_property
    def reference_probabilities(self) -> FloatArray:
        """The observer's π, (n, K)."""
        return read_only(self._reference())


def choose_together(explorer: Any, views: PlainViews, uniforms: FloatArray) -> IntArray:
    """Return the arm to boost in each replication, as the explorer says, checked."""
    n, n_arms = views.pulls.shape
    step = views.time + 1
    answer = call(explorer, "choose_many", step, views, read_only(uniforms))
    try:
        arms = np.asarray(answer)
    except ValueError:  # lists of different lengths
        arms = np.empty(0)
    if arms.shape != (n,) or arms.dtype.kind not in "iu" or arms.min() < 0 or arms.max() >= n_arms:
        raise OwnPartError(
            f"{type(explorer).__name__}.choose_many returned {short_repr(answer)} at step {step:,}; it must be {n} "
            f"whole numbers from 0 to {n_arms - 1}, the arm to boost in each replication."
        )
    return arms.astype(np.int64)


@inlined
def _fill_unknown(settings: "Chosen", view: View, boosted: int, shares: FloatArray) -> None:
    """Fill in NaN: an explorer in plain Python does not say how probable its choice was."""
    for b in range(shares.size):
        shares[b] = math.nan


@parts(uses_posterior=False, fill_known_shares=_fill_unknown)
class Chosen(NamedTuple):
    """The settings of an explorer whose choices are made outside the kernels and passed to them."""
