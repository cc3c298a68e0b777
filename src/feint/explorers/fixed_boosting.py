"""An explorer that boosts in fixed proportions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, IntArray
from feint.explorers.base import Uniforms, View
from feint.numerics._jit import inlined, part, parts, shared_inlined
from feint.numerics._validate import as_floats


@shared_inlined
def furthest_behind(weights: FloatArray, boosts: IntArray, made: int) -> int:
    """Return argmax_a (s + 1)·w_a − B_a over the arms with w_a > 0, after s boosts; the first of equals."""
    chosen = 0
    furthest = -math.inf
    for a in range(boosts.size):
        behind = (made + 1) * weights[a] - boosts[a]
        if weights[a] > 0.0 and behind > furthest:
            chosen = a
            furthest = behind
    return chosen


@inlined
def _choose(settings: FixedBoostingKernel, view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    made = 0
    for a in range(view.boosts.size):
        made += view.boosts[a]
    return furthest_behind(settings.weights, view.boosts, made)


@part
def _pass_boosts(settings: FixedBoostingKernel, boosts: IntArray, steps: int) -> None:
    """Add the boosts one after another, a few nanoseconds each: for three or more arms there is no closed form."""
    made = 0
    for a in range(boosts.size):
        made += boosts[a]
    for i in range(steps):
        boosts[furthest_behind(settings.weights, boosts, made + i)] += 1


@parts(uses_posterior=False, choose=_choose, pass_boosts=_pass_boosts)
class FixedBoostingKernel(NamedTuple):
    """`FixedBoosting` for kernels."""

    weights: FloatArray


@dataclass(frozen=True)
class FixedBoosting:
    """An explorer that keeps the shares of boosts at `weights`: after s boosts it boosts argmax_a (s + 1)·w_a − B_a.

    So every B_a stays within K of s·w_a, without randomness; w is that of the paper's Section 5. An arm with weight 0
    is never boosted.

    Parameters
    ----------
    weights
        (K,) numbers of 0 or more that sum to 1; `optimal_boosting` finds the best ones.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> explorer = feint.FixedBoosting([0, 0.25, 0.5, 0.25])
    >>> runs = feint.simulate(bandit, explorer, epsilon=0.1, horizon=404, replications=1)
    >>> runs.boosts.isel(replication=0, time=-1).values
    array([  0, 100, 200, 100])
    """

    name: ClassVar[str] = "fixed-boosting"
    weights: tuple[float, ...]

    def __init__(self, weights: npt.ArrayLike) -> None:
        array = as_floats(weights, "weights")
        if array.ndim != 1 or not (array >= 0).all() or abs(array.sum() - 1) > 1e-9:
            raise ValueError(f"weights is {weights!r}; give one number of 0 or more per arm, summing to 1.")
        object.__setattr__(self, "weights", tuple(float(w) for w in array))

    def kernel(self, n_arms: int) -> FixedBoostingKernel:
        """Return the settings for kernels."""
        if len(self.weights) != n_arms:
            raise ValueError(f"FixedBoosting has {len(self.weights)} weights for {n_arms} arms; give one per arm.")
        return FixedBoostingKernel(np.array(self.weights))
