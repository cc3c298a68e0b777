"""Randomised play-the-winner: an urn that learns from successes and failures."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.families import Bernoulli
from feint.families.base import Belief
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import set_number
from feint.support.printable import short_repr

_LARGEST = 1e12  # balls


@inlined
def _expect(settings: "PlayTheWinnerKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    failures = 0.0
    for a in range(pi.size):
        failures += belief.pulls[a] - belief.sums[a]
    total = 0.0
    for a in range(pi.size):
        others = failures - (belief.pulls[a] - belief.sums[a])
        pi[a] = settings.initial + settings.success * belief.sums[a] + settings.failure * others / (pi.size - 1)
        total += pi[a]
    for a in range(pi.size):
        pi[a] /= total
        log_pi[a] = math.log(pi[a])


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class PlayTheWinnerKernel(NamedTuple):
    """`PlayTheWinner` for kernels."""

    initial: float
    success: float
    failure: float


@dataclass(frozen=True)
class PlayTheWinner:
    """A reference that draws a ball from an urn: the randomised play-the-winner rule of Wei and Durham.

    The urn starts with `initial` balls of every arm. A success (reward 1) adds `success` balls of its arm, a failure
    (reward 0) adds `failure` balls, shared equally by the other arms (Journal of the American Statistical Association
    73, 1978). Each ball is put back. Balls are added when the reward is known, so delays are part of the claim.

    Parameters
    ----------
    initial
        The number of balls of every arm at the start, above 0; it need not be whole.
    success, failure
        The number of balls that each adds, 0 or more.

    Examples
    --------
    >>> import feint
    >>> observer = feint.Observer(2, feint.PlayTheWinner(), family=feint.Bernoulli(), initial_round=False)
    >>> for arm, reward in [(0, 1), (0, 1), (1, 0)]:
    ...     _ = observer.update(arm, reward)
    >>> observer.reference_probabilities()  # 4 balls of arm 0, 1 of arm 1
    array([0.8, 0.2])
    """

    name: ClassVar[str] = "play-the-winner"
    usual_family: ClassVar[str] = "bernoulli"
    initial: float = 1.0
    success: float = 1.0
    failure: float = 1.0

    def __post_init__(self) -> None:
        what = "initial, a number of balls, must be a number above 0 to 1e12"
        set_number(self, "initial", what, lambda x: 0 < x <= _LARGEST)
        for name in ("success", "failure"):
            what = f"{name}, a number of balls, must be a number from 0 to 1e12"
            set_number(self, name, what, lambda x: 0 <= x <= _LARGEST)

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0: the urn has balls of every arm."""
        return 0

    def kernel(self, family: Any, n_arms: int) -> PlayTheWinnerKernel:
        """Return the settings for kernels."""
        if not isinstance(family, Bernoulli):
            raise ValueError(
                f"PlayTheWinner is about successes and failures, not {short_repr(family)}; give the family bernoulli "
                "and rewards of 0 and 1."
            )
        return PlayTheWinnerKernel(self.initial, self.success, self.failure)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return (
            f"randomised play-the-winner (balls of every arm: {self.initial:g}, per success: {self.success:g}, per "
            f"failure: {self.failure:g})"
        )
