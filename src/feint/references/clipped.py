"""A reference whose probabilities are kept away from 0."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from feint.families.base import Belief
from feint.numerics._jit import parts, shared
from feint.numerics._validate import FloatArray, as_number
from feint.references.base import describe, expect, reference_prior, reference_settings, speaks_after


@shared
def _expect(settings: "ClippedKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    expect(settings.reference, belief, t, pi, log_pi)
    # Raising some arms scales the others down, which may bring them below: at most K rounds.
    scale, changed = 1.0, True
    while changed:
        changed = False
        raised, rest = 0, 0.0
        for a in range(pi.size):
            if pi[a] * scale < settings.low:
                raised += 1
            else:
                rest += pi[a]
        found = (1.0 - raised * settings.low) / rest
        if found < scale:
            scale, changed = found, True
    for a in range(pi.size):
        pi[a] = max(pi[a] * scale, settings.low)
        log_pi[a] = math.log(pi[a])


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class ClippedKernel(NamedTuple):
    """`Clipped` for kernels."""

    reference: Any
    low: float


@dataclass(frozen=True)
class Clipped:
    """Follow `reference`, but pull no arm with less than `low`: smaller probabilities are raised to it and the others
    scaled down in proportion. With two arms both stay between `low` and 1 − `low`.

    >>> from feint.references import ThompsonSampling
    >>> Clipped(ThompsonSampling(), 0.05).low
    0.05
    """

    reference: Any
    low: float

    def __post_init__(self) -> None:
        what = "low, the least probability of an arm, must be a number above 0 and below 0.5"
        number = as_number(self.low, what)
        if not 0 < number < 0.5:
            raise ValueError(f"{what}; got {self.low!r}.")
        object.__setattr__(self, "low", number)

    def prior_of(self, family: Any) -> Any:
        """That of the reference."""
        return reference_prior(self.reference, family)

    def speaks_after(self, family: Any) -> int:
        """As the reference does."""
        return speaks_after(self.reference, family)

    def kernel(self, family: Any, n_arms: int) -> ClippedKernel:
        """Its settings."""
        if self.low * n_arms > 1:
            raise ValueError(f"low is {self.low:g}, which {n_arms} arms cannot all have; give at most {1 / n_arms:g}.")
        return ClippedKernel(reference_settings(self.reference, family, n_arms), self.low)

    def describe(self, family: Any) -> str:
        """In words."""
        return f"{describe(self.reference, family)}, no probability below {self.low:g}"
