"""Boost a list of arms in turn."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from feint.explorers.base import FloatArray, View, register
from feint.numerics._jit import inlined
from feint.numerics._validate import as_integers


@register
@dataclass(frozen=True)
class RoundRobin:
    """Boost the given arms in turn; all suboptimal arms equally is the paper's first experiment.

    >>> RoundRobin([1, 2, 3]).arms
    (1, 2, 3)
    """

    KIND: ClassVar[int] = 3
    USES_POSTERIOR: ClassVar[bool] = False

    arms: tuple[int, ...]

    def __init__(self, arms: npt.ArrayLike) -> None:
        what = "arms must be a list of arm numbers, counted from 0"
        array = as_integers(arms, what)
        if array.size == 0 or array.min() < 0:
            raise ValueError(f"{what}; got {arms!r}.")
        object.__setattr__(self, "arms", tuple(int(a) for a in array))

    def parameters(self, n_arms: int) -> FloatArray:
        """The arms."""
        if max(self.arms) >= n_arms:
            raise ValueError(f"RoundRobin boosts arm {max(self.arms)}, but the {n_arms} arms count from 0.")
        return np.array(self.arms, dtype=float)


@inlined
def choose(parameters: FloatArray, view: View, bounds: FloatArray, uniforms: tuple[float, float, float, float]) -> int:
    """See `base`."""
    made = 0
    for a in range(view.boosts.size):
        made += view.boosts[a]
    return int(parameters[made % parameters.size])
