"""ε-greedy on the public means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.families.base import Belief
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import set_number


@inlined
def _expect(settings: "EpsilonGreedyKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    top = -math.inf
    for a in range(pi.size):
        top = max(top, belief.means[a])
    tied = 0
    for a in range(pi.size):
        if belief.means[a] == top:
            tied += 1
    for a in range(pi.size):
        pi[a] = settings.epsilon / pi.size
        if belief.means[a] == top:
            pi[a] += (1.0 - settings.epsilon) / tied
        log_pi[a] = math.log(pi[a])


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class EpsilonGreedyKernel(NamedTuple):
    """`EpsilonGreedy` for kernels."""

    epsilon: float


@dataclass(frozen=True)
class EpsilonGreedy:
    """A reference that pulls the arm with the largest public sample mean, or with probability ε a random arm.

    Arms that tie for the largest mean share its probability equally.

    Parameters
    ----------
    epsilon
        ε, above 0 and at most 1; this is not the agent's KL budget.

    Examples
    --------
    >>> import feint
    >>> observer = feint.Observer(2, feint.EpsilonGreedy(0.1))
    >>> for arm, reward in [(0, 1.0), (1, 0.5)]:
    ...     _ = observer.update(arm, reward)
    >>> observer.reference_probabilities().round(4)
    array([0.95, 0.05])
    """

    name: ClassVar[str] = "epsilon-greedy"
    epsilon: float

    def __post_init__(self) -> None:
        set_number(self, "epsilon", "epsilon of ε-greedy must be a number above 0 and at most 1", lambda x: 0 < x <= 1)

    def among(self, arms: Sequence[int]) -> "EpsilonGreedy":
        """Return the reference of these arms alone: the best and the random one are among them."""
        return self

    def kernel(self, family: Any, n_arms: int) -> EpsilonGreedyKernel:
        """Return the settings for kernels."""
        return EpsilonGreedyKernel(self.epsilon)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return f"ε-greedy on the sample means with ε = {self.epsilon:g}"
