"""A reference whose probabilities are raised to a power: closer to uniform, or greedier."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.numerics._jit import parts, shared
from feint.numerics._validate import set_number
from feint.numerics.best_arm_rows import normalise_logs
from feint.numerics.sorting import find_largest
from feint.references.around import Around, expect_around
from feint.references.base import Reference, among_arms, describe, reference_settings

_GROWING = re.compile(r"n/(\d+(?:\.\d+)?)")
_LARGEST = 1e6


@shared
def _temper(settings: "TemperedKernel", t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    power = settings.power + settings.slope * t
    top = log_pi[find_largest(log_pi)]
    for a in range(pi.size):
        if log_pi[a] > -math.inf:  # an impossible arm stays so, also to the power 0
            log_pi[a] = power * (log_pi[a] - top)
    normalise_logs(log_pi, pi)


@parts(own_samples=False, follows_posterior=False, expect=expect_around, change=_temper)
class TemperedKernel(NamedTuple):
    """`Tempered` for kernels: the power after t pulls is power + slope·t."""

    reference: Any
    power: float
    slope: float


@dataclass(frozen=True, repr=False)
class Tempered(Around):
    """Another reference with probabilities ∝ π^power.

    Trials stabilise Thompson Sampling in this way. Thall and Wathen (European Journal of Cancer 43, 2007) raise P(best)
    to the power n/2N, where n patients of N have been assigned.

    Parameters
    ----------
    reference
        What is raised to the power.
    power
        A number from 0 (uniform) through 1 (unchanged) to 1e6; or "n/400", where n is the number of rows before this
        one (of the same group): Thall and Wathen's n/2N for N = 200. It is not capped and exceeds 1 from row 401 on.

    Examples
    --------
    >>> import feint
    >>> tempered = feint.Tempered(feint.Split([0.8, 0.2]), 0.5)
    >>> feint.Observer(2, tempered, initial_round=False).reference_probabilities().round(4)  # √0.8 to √0.2
    array([0.6667, 0.3333])
    """

    name: ClassVar[str] = "tempered"
    reference: Reference
    power: float | str

    def __post_init__(self) -> None:
        what = 'power must be a number from 0 to 1e6, or a text such as "n/400", where n is the number of earlier rows'
        if isinstance(self.power, str):
            found = _GROWING.fullmatch(self.power)
            if found is None or not float(found[1]) > 0:
                raise ValueError(f"{what}; got {self.power!r}.")
            return
        set_number(self, "power", what, lambda x: 0 <= x <= _LARGEST)

    def among(self, arms: Sequence[int]) -> "Tempered":
        """Return the reference of these arms alone: the one inside, among them, is raised to the power."""
        return Tempered(among_arms(self.reference, arms), self.power)

    def kernel(self, family: Any, n_arms: int) -> Any:
        """Return the settings for kernels."""
        if not isinstance(self.power, str):
            return self.settings_around(TemperedKernel(None, float(self.power), 0.0), family, n_arms)
        if not (self.takes_contexts or hasattr(reference_settings(self.reference, family, n_arms), "expect")):
            raise ValueError(
                f"power is {self.power}, which grows with the rows, but {type(self.reference).__name__} is computed "
                "for whole logs; give a number as the power."
            )
        return self.settings_around(TemperedKernel(None, 0.0, 1.0 / float(self.power[2:])), family, n_arms)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        growing = isinstance(self.power, str)
        power = f"{self.power}, where n is the number of earlier rows" if growing else f"{self.power:g}"
        return f"{describe(self.reference, family)}, its probabilities raised to the power {power}"
