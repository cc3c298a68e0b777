"""An explorer that boosts a list of arms in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, IntArray
from feint.explorers.base import Uniforms, View
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import as_integers


@inlined
def _choose(settings: RoundRobinKernel, view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    made = 0
    for a in range(view.boosts.size):
        made += view.boosts[a]
    return settings.arms[made % settings.arms.size]


@part
def _pass_boosts(settings: RoundRobinKernel, boosts: IntArray, steps: int) -> None:
    made = 0
    for a in range(boosts.size):
        made += boosts[a]
    n = settings.arms.size
    for i in range(n):
        ahead = (i - made) % n  # steps before this entry's turn
        if steps > ahead:
            boosts[settings.arms[i]] += (steps - ahead + n - 1) // n


@parts(uses_posterior=False, choose=_choose, pass_boosts=_pass_boosts)
class RoundRobinKernel(NamedTuple):
    """`RoundRobin` for kernels."""

    arms: IntArray


@dataclass(frozen=True)
class RoundRobin:
    """An explorer that boosts the given arms in turn; the paper's first experiment does so with all suboptimal arms.

    Parameters
    ----------
    arms
        (n,) arms, counted from 0, in the order in which they are boosted.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = feint.simulate(bandit, feint.RoundRobin([1, 2, 3]), epsilon=0.1, horizon=304, replications=1)
    >>> runs.boosts.isel(replication=0, time=-1).values
    array([  0, 100, 100, 100])
    """

    name: ClassVar[str] = "round-robin"
    arms: tuple[int, ...]

    def __init__(self, arms: npt.ArrayLike) -> None:
        what = "arms must be a list of arm numbers, counted from 0"
        array = as_integers(arms, what)
        if array.size == 0 or array.min() < 0:
            raise ValueError(f"{what}; got {arms!r}.")
        object.__setattr__(self, "arms", tuple(int(a) for a in array))

    def kernel(self, n_arms: int) -> RoundRobinKernel:
        """Return the settings for kernels."""
        if max(self.arms) >= n_arms:
            raise ValueError(f"RoundRobin boosts arm {max(self.arms)}, but there are {n_arms} arms, counted from 0.")
        return RoundRobinKernel(np.array(self.arms))
