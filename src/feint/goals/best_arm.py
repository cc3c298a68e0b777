"""The paper's goal: find the arm with the largest private mean."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray


class BestArmKernel(NamedTuple):
    """`BestArm` for kernels. It has no parts: the engine's own code is about the best arm."""


@dataclass(frozen=True)
class BestArm:
    """Find the arm with the largest private mean, the goal of the paper.

    Examples
    --------
    >>> BestArm().answer(np.array([0.2, 0.5, 0.1]))
    array([False,  True, False])
    """

    name: ClassVar[str] = "best-arm"

    def check(self, n_arms: int, family: Any) -> None:
        """Accept any number of arms and any rewards."""

    def answer(self, means: FloatArray) -> BoolArray:
        """Return which arm is the best, (K,)."""
        return np.asarray(np.arange(means.size) == int(np.argmax(means)))

    def doubts(
        self, pulls: FloatArray, means: FloatArray, divergence: Callable[[FloatArray, FloatArray], FloatArray]
    ) -> FloatArray:
        """Return the evidence between the best arm and every other one, (K − 1, K)."""
        from feint.goals.top_arms import TopArms

        return TopArms(1).doubts(pulls, means, divergence)

    def kernel(self, n_arms: int, family: Any) -> BestArmKernel:
        """Return empty settings."""
        return BestArmKernel()
