"""Thompson Sampling on rewards that are 0 or 1, with Beta posteriors: what most real logs come from."""

from dataclasses import dataclass
from typing import ClassVar

from feint.numerics._validate import as_number
from feint.references.base import register


@register
@dataclass(frozen=True)
class BetaThompsonSampling:
    """Pull arm a with the probability that it is the best under Beta(successes + S_a, failures + F_a).

    S_a and F_a count the rewards 1 and 0 of arm a; `successes` and `failures` are the prior, (1, 1) the uniform one.
    For observer and audit; `simulate` and `Agent` have normal rewards.
    """

    OWN_SAMPLES: ClassVar[bool] = False

    successes: float = 1.0
    failures: float = 1.0

    def __post_init__(self) -> None:
        for name in ("successes", "failures"):
            what = f"{name} of a Beta prior must be a number from 0.1 to 1e6"
            number = as_number(getattr(self, name), what)
            if not 0.1 <= number <= 1e6:
                raise ValueError(f"{what}; got {getattr(self, name)!r}.")
            object.__setattr__(self, name, number)

    def describe(self, sigma: float) -> str:
        """In words."""
        return f"Thompson Sampling with Beta posteriors and the prior Beta({self.successes:g}, {self.failures:g})"
