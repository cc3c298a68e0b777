"""A fixed share for one arm, and a reference among the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.families.base import Belief, belief, usual_prior
from feint.numerics._jit import parts, shared
from feint.references.base import Reference, among_arms, describe, expect, reference_prior, reference_settings
from feint.references.holdout import AroundWithShare, check_arm_exists
from feint.references.split import Split


@shared
def _expect(settings: "ControlShareKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    inside = settings.belief
    for i in range(inside.pulls.size):
        a = i if i < settings.arm else i + 1
        inside.pulls[i] = belief.pulls[a]
        inside.sums[i] = belief.sums[a]
        inside.means[i] = belief.means[a]
        inside.posterior[0, i] = belief.posterior[0, a]
        inside.posterior[1, i] = belief.posterior[1, a]
    expect(settings.reference, inside, t, settings.pi, settings.log_pi)
    for i in range(inside.pulls.size):
        a = i if i < settings.arm else i + 1
        pi[a] = (1.0 - settings.share) * settings.pi[i]
        log_pi[a] = math.log1p(-settings.share) + settings.log_pi[i]
    pi[settings.arm] = settings.share
    log_pi[settings.arm] = math.log(settings.share)


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class ControlShareKernel(NamedTuple):
    """`ControlShare` for kernels."""

    reference: Any
    arm: int
    share: float
    belief: Belief  # scratch: what is known of the other arms
    pi: FloatArray  # (K − 1,) scratch
    log_pi: FloatArray  # (K − 1,) scratch

    def arm_inside(self, arm: int) -> int | None:
        """Return the number of an arm among the others; None for the control."""
        return None if arm == self.arm else arm - (arm > self.arm)


class ControlShareRows:
    """`ControlShare` for a reference that is only for whole logs."""

    def __init__(self, settings: Any, arm: int, share: float, others: IntArray) -> None:
        self._settings, self._arm, self._share, self._others = settings, arm, share, others

    def log_probabilities(self, *known: FloatArray) -> FloatArray:
        """Return log π of each row, (n, K)."""
        log_pi = np.full(known[0].shape, math.log(self._share))
        inside = self._settings.log_probabilities(*(table[:, self._others] for table in known))
        log_pi[:, self._others] = math.log1p(-self._share) + inside
        return log_pi

    def has_posterior(self, *known: FloatArray) -> BoolArray:
        """Return for which rows the reference inside has a posterior, (n,)."""
        if not hasattr(self._settings, "has_posterior"):
            return np.ones(len(known[0]), dtype=bool)
        return np.asarray(self._settings.has_posterior(*(table[:, self._others] for table in known)))


@dataclass(frozen=True, repr=False)
class ControlShare(AroundWithShare):
    """A reference in which one arm has a fixed share, and another reference draws among the others alone.

    With `ThompsonSampling` inside, the others are pulled by their probability of being best among themselves. Platform
    trials protect their control arm in this way. A reference inside with a number per arm, such as weights or a prior
    per arm, has K − 1 of them.

    Parameters
    ----------
    reference
        What draws among the other arms.
    arm
        The control, counted from 0.
    share
        The share of the control, above 0 and below 1.

    Examples
    --------
    >>> import feint
    >>> trial = feint.ControlShare(feint.Split([0.75, 0.25]), arm=0, share=0.4)
    >>> feint.Observer(3, trial, initial_round=False).reference_probabilities()
    array([0.4 , 0.45, 0.15])
    """

    name: ClassVar[str] = "control-share"
    reference: Reference
    arm: int
    share: float

    def prior_of(self, family: Any) -> Any:
        """Return the prior of the reference inside; if it has one per arm, the usual one is added for the control."""
        found = np.asarray(reference_prior(self.reference, family), dtype=float)
        return found if found.ndim == 1 else np.insert(found, self.arm, usual_prior(family), axis=1)

    def among(self, arms: Sequence[int]) -> Any:
        """Return the reference of these arms alone: the control keeps its share, and where it is not among them, the
        reference inside draws among them all.
        """
        others = [arm - (arm > self.arm) for arm in arms if arm != self.arm]
        if self.arm not in arms:
            return among_arms(self.reference, others)
        control = list(arms).index(self.arm)
        if len(others) == 1:
            return Split((self.share, 1 - self.share) if control == 0 else (1 - self.share, self.share))
        return ControlShare(among_arms(self.reference, others), control, self.share)

    def kernel(self, family: Any, n_arms: int) -> Any:
        """Return the settings for kernels."""
        check_arm_exists(self.arm, n_arms)
        if n_arms < 3:
            raise ValueError(
                f"ControlShare needs 3 arms or more, not {n_arms}; with two, the other arm has the rest, so use Split."
            )
        if self.takes_contexts:
            raise ValueError(
                f"ControlShare has no version of {type(self.reference).__name__} for the other arms alone, since that "
                "knows contexts; where the reference draws among all arms in the other rows, give Holdout."
            )
        inside = reference_settings(self.reference, family, n_arms - 1)
        if not hasattr(inside, "expect"):
            return ControlShareRows(inside, self.arm, self.share, np.delete(np.arange(n_arms), self.arm))
        others = belief(family, reference_prior(self.reference, family), np.zeros(n_arms - 1, dtype=np.int64))
        return ControlShareKernel(inside, self.arm, self.share, others, *np.empty((2, n_arms - 1)))

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return f"a share of {self.share:g} for arm {self.arm}, and among the others {describe(self.reference, family)}"
