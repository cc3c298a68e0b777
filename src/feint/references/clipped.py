"""A reference whose probabilities are kept away from 0."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.families.base import Belief
from feint.numerics._jit import parts, shared
from feint.numerics._validate import as_number
from feint.references.base import (
    Reference,
    among_arms,
    describe,
    expect,
    min_pulls_per_arm,
    reference_family,
    reference_prior,
    reference_settings,
    takes_contexts,
)


@shared
def _clip(low: float, pi: FloatArray, log_pi: FloatArray) -> None:
    # Raising some arms scales the others down, which may bring those below the limit: at most K rounds.
    scale, changed = 1.0, True
    while changed:
        changed = False
        raised, rest = 0, 0.0
        for a in range(pi.size):
            if pi[a] * scale < low:
                raised += 1
            else:
                rest += pi[a]
        found = (1.0 - raised * low) / rest
        if found < scale:
            scale, changed = found, True
    for a in range(pi.size):
        pi[a] = max(pi[a] * scale, low)
        log_pi[a] = math.log(pi[a])


@shared
def _expect(settings: "ClippedKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    expect(settings.reference, belief, t, pi, log_pi)
    _clip(settings.low, pi, log_pi)


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class ClippedKernel(NamedTuple):
    """`Clipped` for kernels."""

    reference: Any
    low: float


def _clip_rows(low: float, log_pi: FloatArray) -> None:
    for row in log_pi:
        pi = np.exp(row)
        _clip(low, pi, row)


class ClippedRows:
    """`Clipped` for a reference that is only for whole logs."""

    def __init__(self, settings: Any, low: float) -> None:
        self._settings, self._low = settings, low
        if hasattr(settings, "has_posterior"):
            self.has_posterior = settings.has_posterior

    def log_probabilities(self, counts: FloatArray, sums: FloatArray, spreads: FloatArray) -> FloatArray:
        """Return log π of each row, (n, K)."""
        log_pi: FloatArray = self._settings.log_probabilities(counts, sums, spreads)
        _clip_rows(self._low, log_pi)
        return log_pi


class ClippedContexts:
    """`Clipped` for a reference with contexts."""

    draws = None

    def __init__(self, settings: Any, low: float) -> None:
        if settings.draws is not None:
            raise ValueError("The probabilities of this reference are estimated from draws and cannot be clipped.")
        self._settings, self._low = settings, low
        self.contexts_of, self.state, self.recall = settings.contexts_of, settings.state, settings.recall

    def rows(self, *log: Any) -> Any:
        """Return log π of each row that has posteriors, and which rows these are."""
        log_pi, proper = self._settings.rows(*log)
        _clip_rows(self._low, log_pi)
        return log_pi, proper


@dataclass(frozen=True)
class Clipped:
    """Another reference whose probabilities never fall below `low`: smaller ones are raised to `low`, and the others
    are scaled down in proportion. With two arms, both stay between `low` and 1 − `low`.

    >>> from feint.references import ThompsonSampling
    >>> Clipped(ThompsonSampling(), 0.05).low
    0.05
    """

    name: ClassVar[str] = "clipped"
    reference: Reference
    low: float

    def __post_init__(self) -> None:
        what = "`low`, the least probability of an arm, must be a number above 0 and below 0.5"
        number = as_number(self.low, what)
        if not 0 < number < 0.5:
            raise ValueError(f"{what}; got {self.low!r}.")
        object.__setattr__(self, "low", number)

    @property
    def ignores_rewards(self) -> bool:
        """Return whether the reference inside ignores rewards."""
        return bool(getattr(self.reference, "ignores_rewards", False))

    @property
    def takes_contexts(self) -> bool:
        """Return whether the reference inside needs contexts."""
        return takes_contexts(self.reference)

    def family_of(self, family: Any) -> Any:
        """Return the family of the rewards of the reference inside."""
        return reference_family(self.reference, family)

    def check_timing(self, timing: Any) -> None:
        """Check that the reference inside knows rewards in this way."""
        if hasattr(self.reference, "check_timing"):
            self.reference.check_timing(timing)

    def prior_of(self, family: Any) -> Any:
        """Return the prior of the reference inside."""
        return reference_prior(self.reference, family)

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return the number of pulls that the reference inside needs."""
        return min_pulls_per_arm(self.reference, family)

    def among(self, arms: Sequence[int]) -> "Clipped":
        """Return the reference of these arms alone: that inside is clipped among them."""
        return Clipped(among_arms(self.reference, arms), self.low)

    def kernel(self, family: Any, n_arms: int) -> ClippedKernel | ClippedRows | ClippedContexts:
        """Return the settings for kernels."""
        if self.low * n_arms > 1:
            most = f"give at most {1 / n_arms:g}"
            raise ValueError(f"`low` is {self.low:g}, which {n_arms} arms cannot all have; {most}.")
        settings = reference_settings(self.reference, family, n_arms)
        if self.takes_contexts:
            return ClippedContexts(settings, self.low)
        return (ClippedKernel if hasattr(settings, "expect") else ClippedRows)(settings, self.low)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return f"{describe(self.reference, family)}, no probability below {self.low:g}"
