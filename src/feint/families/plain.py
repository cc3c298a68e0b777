"""A family in plain Python, such as a user's own, where kernels expect the settings of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import Plain
from feint.numerics.posterior_draws import draw_uniform
from feint.numerics.streams import Word
from feint.support.own_parts import call

if TYPE_CHECKING:
    from feint.families.base import Belief

_SUM_TOLERANCE = 1e-6


class PlainFamily(Plain):
    """A family without a kernel; the `ws` of its belief is (pulls, sums)."""

    def __init__(self, family: Any) -> None:
        self.family = family

    @staticmethod
    def draw_reward(settings: PlainFamily, mean: float, normal: float, uniform: float) -> float:
        """Ask the family and check its answer."""
        reward = float(call(settings.family, "draw", None, float(mean), float(uniform)))
        if not call(settings.family, "accepts", None, reward):
            name, rewards = type(settings.family).__name__, settings.family.rewards
            raise ValueError(f"{name}.draw returned {reward!r}; by its own `rewards` it must be {rewards}.")
        return reward

    @staticmethod
    def set_posterior(settings: PlainFamily, belief: Belief, a: int) -> None:
        """Do nothing: such a belief has only pulls and sums."""

    @staticmethod
    def fill_log_best(settings: PlainFamily, posterior: FloatArray, ws: Any, out: FloatArray) -> None:
        """Ask the family and check its answer."""
        pulls, sums = (array.copy() for array in ws)
        answer = np.asarray(call(settings.family, "log_best", int(pulls.sum()) + 1, pulls, sums), dtype=float)
        if answer.shape != out.shape or not abs(np.exp(answer).sum() - 1.0) <= _SUM_TOLERANCE:
            raise ValueError(
                f"{type(settings.family).__name__}.log_best returned {answer.tolist()} after {int(ws[0].sum())} pulls; "
                f"it must be the logarithms of {out.size} probabilities that sum to 1."
            )
        out[:] = answer

    @staticmethod
    def draw_mean(settings: PlainFamily, belief: Belief, a: int, first: Word, second: Word) -> float:
        """Ask the family, if it has this method."""
        family = settings.family
        if not hasattr(family, "draw_mean"):
            raise ValueError(
                f"This explorer draws from the private posterior; give {type(family).__name__} a method "
                "draw_mean(pulls, sum, uniform), or choose another explorer."
            )
        known = int(belief.pulls[a]), float(belief.sums[a])
        step = int(belief.pulls.sum()) + 1
        return float(call(family, "draw_mean", step, *known, draw_uniform(a, first, second)))

    @staticmethod
    def divergence_to(settings: PlainFamily, x: float, change: float) -> float:
        """Ask the family."""
        return float(call(settings.family, "divergence", None, x, x + change))
