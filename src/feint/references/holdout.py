"""A holdout: a share of the rows goes to one arm, whatever the reference says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.numerics._jit import parts, shared
from feint.numerics._validate import check_level, is_whole
from feint.references.around import Around, expect_around
from feint.references.base import Reference, among_arms, describe


@shared
def _hold_out(settings: "HoldoutKernel", t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    # Logarithms keep the digits of an arm that is almost impossible.
    for a in range(pi.size):
        log_pi[a] += math.log1p(-settings.share)
        pi[a] *= 1.0 - settings.share
    rest = 0.0
    for a in range(pi.size):
        if a != settings.arm:
            rest += pi[a]
    pi[settings.arm] += settings.share
    log_pi[settings.arm] = math.log1p(-rest) if rest < 0.5 else math.log(pi[settings.arm])


@parts(own_samples=False, follows_posterior=False, expect=expect_around, change=_hold_out)
class HoldoutKernel(NamedTuple):
    """`Holdout` for kernels."""

    reference: Any
    arm: int
    share: float


def check_arm_and_share(arm: Any, share: Any) -> float:
    """Check an arm, counted from 0, and return its share; the number of arms is not known yet."""
    if not is_whole(arm, 0):
        raise ValueError(f"arm is {arm!r}; give a whole number, counted from 0.")
    return check_level(share, "share, the arm's part of the rows,")


def check_arm_exists(arm: int, n_arms: int) -> None:
    """Check that there is such an arm."""
    if arm >= n_arms:
        raise ValueError(f"arm is {arm}; with {n_arms} arms it must be from 0 to {n_arms - 1}.")


class AroundWithShare(Around):
    """A reference around another in which one arm has a share; both are checked."""

    arm: int
    share: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", check_arm_and_share(self.arm, self.share))
        object.__setattr__(self, "arm", int(self.arm))


@dataclass(frozen=True, repr=False)
class Holdout(AroundWithShare):
    """Another reference, except that a share of the rows, drawn at random, goes to one arm.

    π = share·1{arm} + (1 − share)·π of the reference inside. A platform shows a random tenth of its visitors the old
    page, and the others what its bandit chooses, which may be the old page too.

    Parameters
    ----------
    reference
        What chooses for the other rows.
    arm
        The arm that is held out, counted from 0.
    share
        Its share of the rows, above 0 and below 1.

    Examples
    --------
    >>> import feint
    >>> held_out = feint.Holdout(feint.Split([0.5, 0.3, 0.2]), arm=0, share=0.1)
    >>> feint.Observer(3, held_out, initial_round=False).reference_probabilities().round(4)
    array([0.55, 0.27, 0.18])
    """

    name: ClassVar[str] = "holdout"
    reference: Reference
    arm: int
    share: float

    def among(self, arms: Sequence[int]) -> Any:
        """Return the reference of these arms alone: where the one held out is not among them, nothing is held out."""
        inside = among_arms(self.reference, arms)
        return Holdout(inside, list(arms).index(self.arm), self.share) if self.arm in arms else inside

    def kernel(self, family: Any, n_arms: int) -> Any:
        """Return the settings for kernels."""
        check_arm_exists(self.arm, n_arms)
        return self.settings_around(HoldoutKernel(None, self.arm, self.share), family, n_arms)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return (
            f"a share of {self.share:g} held out for arm {self.arm}, and otherwise {describe(self.reference, family)}"
        )
