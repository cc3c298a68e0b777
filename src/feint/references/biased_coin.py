"""Efron's biased coin, and the big stick: two arms whose numbers of pulls stay close."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.families.base import Belief
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import is_whole, set_number


@inlined
def _expect(settings: "BiasedCoinKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    ahead = belief.pulls[0] - belief.pulls[1]
    behind = 1 if ahead > 0 else 0
    p = 0.5 if ahead == 0 else settings.p
    if abs(ahead) >= settings.mti:
        p = 1.0
    pi[behind] = p
    pi[1 - behind] = 1.0 - p
    for a in range(2):
        log_pi[a] = math.log(pi[a]) if pi[a] > 0.0 else -math.inf


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class BiasedCoinKernel(NamedTuple):
    """`BiasedCoin` for kernels; without a tolerated imbalance, `mti` is ∞."""

    p: float
    mti: float


@dataclass(frozen=True)
class BiasedCoin:
    """A reference for two arms that favours the one with fewer pulls: Efron's biased coin.

    The arm with fewer pulls is pulled with probability p; if both have equally many, each has probability ½ (Biometrika
    58, 1971). All pulls count, whether or not their rewards are known. For strata, audit with one group per stratum.

    Parameters
    ----------
    p
        The probability of the arm with fewer pulls, from ½ to 1.
    mti
        The maximum tolerated imbalance: once the arms differ by this many pulls, the arm with fewer is pulled for sure.
        None means no limit. With p = ½ this is the big stick design of Soares and Wu.

    Examples
    --------
    >>> import feint
    >>> observer = feint.Observer(2, feint.BiasedCoin(0.7, mti=2), initial_round=False)
    >>> for arm in (0, 0):
    ...     print(observer.reference_probabilities())
    ...     _ = observer.update(arm, 0.0)
    [0.5 0.5]
    [0.3 0.7]
    >>> observer.reference_probabilities()
    array([0., 1.])
    """

    name: ClassVar[str] = "biased-coin"
    ignores_rewards: ClassVar[bool] = True
    p: float = 2 / 3
    mti: int | None = None

    def __post_init__(self) -> None:
        what = "p, the probability of the arm behind, must be a number from 0.5 to 1"
        set_number(self, "p", what, lambda x: 0.5 <= x <= 1)
        if self.mti is not None:
            if not is_whole(self.mti, 1, 10**9):
                raise ValueError(
                    f"mti, the maximum tolerated imbalance, is {self.mti!r}; give a whole number, 1 or more."
                )
            object.__setattr__(self, "mti", int(self.mti))

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0: it needs no pulls."""
        return 0

    def kernel(self, family: Any, n_arms: int) -> BiasedCoinKernel:
        """Return the settings for kernels."""
        if n_arms != 2:
            raise ValueError(f"BiasedCoin is for 2 arms, not {n_arms}; use PermutedBlocks for more.")
        return BiasedCoinKernel(self.p, math.inf if self.mti is None else float(self.mti))

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        forced = "" if self.mti is None else f", which is forced once they differ by {self.mti}"
        return f"a biased coin with probability {self.p:.4g} for the arm behind{forced}"
