"""Softmax (Boltzmann exploration) on the public means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.families.base import Belief
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import set_number
from feint.numerics.best_arm_rows import normalise_logs
from feint.numerics.sorting import find_largest


@inlined
def _expect(settings: "SoftmaxKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    top = belief.means[find_largest(belief.means)]
    for a in range(pi.size):
        log_pi[a] = (belief.means[a] - top) / settings.temperature
    normalise_logs(log_pi, pi)


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class SoftmaxKernel(NamedTuple):
    """`Softmax` for kernels."""

    temperature: float


@dataclass(frozen=True)
class Softmax:
    """A reference that pulls arm a with probability ∝ exp(μ̂_a/temperature), μ̂_a its public sample mean.

    Parameters
    ----------
    temperature
        Above 0, in the units of the rewards.

    Examples
    --------
    >>> import feint
    >>> observer = feint.Observer(2, feint.Softmax(0.5))
    >>> for arm, reward in [(0, 1.0), (1, 0.5)]:
    ...     _ = observer.update(arm, reward)
    >>> observer.reference_probabilities().round(4)  # odds of e^(0.5/0.5) to 1
    array([0.7311, 0.2689])
    """

    name: ClassVar[str] = "softmax"
    temperature: float

    def __post_init__(self) -> None:
        what = "temperature of a softmax must be a finite number above 0"
        set_number(self, "temperature", what, lambda x: 0 < x < math.inf)

    def among(self, arms: Sequence[int]) -> "Softmax":
        """Return the reference of these arms alone: it looks at their means only."""
        return self

    def kernel(self, family: Any, n_arms: int) -> SoftmaxKernel:
        """Return the settings for kernels."""
        return SoftmaxKernel(self.temperature)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return f"a softmax of the sample means with temperature {self.temperature:g}"
