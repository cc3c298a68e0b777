"""A reference whose probabilities are kept away from 0 and from 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.numerics._jit import parts, shared
from feint.numerics._validate import set_number
from feint.references.around import Around, expect_around
from feint.references.base import Reference, among_arms, describe

_BISECTIONS = 200  # enough to tell any two float64 scales apart
_LARGEST_SCALE = 1e300


@shared
def _raise_to(low: float, pi: FloatArray) -> None:
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


@shared
def _keep_between(low: float, high: float, pi: FloatArray) -> None:
    """Solve Σ min(max(c·π, low), high) = 1 for the scale c: the sum grows with c."""
    least, most = 0.0, _LARGEST_SCALE
    for i in range(_BISECTIONS):
        # Bisect the exponents first, then the numbers.
        scale = math.sqrt(max(least, 1e-300)) * math.sqrt(most) if i < _BISECTIONS // 2 else 0.5 * (least + most)
        total = 0.0
        for a in range(pi.size):
            total += min(max(pi[a] * scale, low), high)
        if total < 1.0:
            least = scale
        else:
            most = scale
    total, free = 0.0, 0
    for a in range(pi.size):
        pi[a] = min(max(pi[a] * most, low), high)
        total += pi[a]
        if pi[a] < high:
            free += 1
    # What no scale can give, because the others have probability 0, goes to them in equal parts.
    for a in range(pi.size):
        if pi[a] < high and total < 1.0:
            pi[a] += (1.0 - total) / free


@shared
def _clip(settings: "ClippedKernel", t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    if settings.high < 1.0:
        _keep_between(settings.low, settings.high, pi)
    else:
        _raise_to(settings.low, pi)
    for a in range(pi.size):
        log_pi[a] = math.log(pi[a]) if pi[a] > 0.0 else -math.inf


@parts(own_samples=False, follows_posterior=False, expect=expect_around, change=_clip)
class ClippedKernel(NamedTuple):
    """`Clipped` for kernels."""

    reference: Any
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Clipped(Around):
    """Another reference whose probabilities never fall below `low` or rise above `high`.

    Every probability is multiplied by the same number, and those that are then smaller than `low` or larger than `high`
    are set to that limit. The number is the one for which they sum to 1. With two arms and no `high`, both stay between
    `low` and 1 − `low`. If the arms below `high` all have probability 0, they share what is left equally.

    Parameters
    ----------
    reference
        What is clipped.
    low
        The least probability, from 0 to 1/K and below 0.5.
    high
        The largest probability, from 1/K to 1 and above `low`.

    Examples
    --------
    >>> import feint
    >>> feint.Clipped(feint.ThompsonSampling(), 0.05).high
    1.0
    >>> clipped = feint.Clipped(feint.Split([0.94, 0.05, 0.01]), 0.02, 0.8)
    >>> observer = feint.Observer(3, clipped, initial_round=False)
    >>> observer.reference_probabilities().round(4)  # 0.05 and 0.01, scaled to 0.2
    array([0.8   , 0.1667, 0.0333])
    """

    name: ClassVar[str] = "clipped"
    reference: Reference
    low: float
    high: float = 1.0

    def __post_init__(self) -> None:
        what = "`low`, the least probability of an arm, must be a number of at least 0 and below 0.5"
        set_number(self, "low", what, lambda x: 0 <= x < 0.5)
        what = "`high`, the largest probability of an arm, must be a number above the least and at most 1"
        set_number(self, "high", what, lambda x: self.low < x <= 1)
        if self.low == 0 and self.high == 1:
            raise ValueError("With a least probability of 0 and a largest of 1 nothing is clipped; give other limits.")

    def among(self, arms: Sequence[int]) -> "Clipped":
        """Return the reference of these arms alone: the one inside, among them, is clipped."""
        return Clipped(among_arms(self.reference, arms), self.low, self.high)

    def kernel(self, family: Any, n_arms: int) -> Any:
        """Return the settings for kernels."""
        if self.low * n_arms > 1:
            most = f"give at most {1 / n_arms:g}"
            raise ValueError(f"`low` is {self.low:g}, which {n_arms} arms cannot all have; {most}.")
        if self.high * n_arms < 1:
            least = f"give at least {1 / n_arms:g}"
            raise ValueError(f"`high` is {self.high:g}, with which {n_arms} arms cannot sum to 1; {least}.")
        return self.settings_around(ClippedKernel(None, self.low, self.high), family, n_arms)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        limits = [f"below {self.low:g}"] * (self.low > 0) + [f"above {self.high:g}"] * (self.high < 1)
        return f"{describe(self.reference, family)}, no probability {' or '.join(limits)}"
