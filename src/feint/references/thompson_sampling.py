"""Thompson Sampling on the public rewards: the paper's reference."""

import math
from dataclasses import dataclass
from typing import ClassVar

from feint.numerics._validate import as_number
from feint.references.base import register


@register
@dataclass(frozen=True)
class ThompsonSampling:
    """Pull arm a with the probability that it is the best under its posterior (the paper's Section 2.2).

    The paper's prior is flat: the posterior is N(μ̂_a, σ²/N_a), and every arm is pulled once first. A normal prior
    N(prior_mean, prior_sd²) counts like κ = (σ/prior_sd)² pulls of reward prior_mean; observer and audit know it,
    since most real logs start from one, while `simulate` and `Agent` follow the paper.
    """

    OWN_SAMPLES: ClassVar[bool] = False

    prior_mean: float = 0.0
    prior_sd: float = math.inf

    def __post_init__(self) -> None:
        for name, lowest in (("prior_mean", -math.inf), ("prior_sd", 0.0)):
            what = f"{name} must be a number" + (" above 0 (math.inf for the flat prior)" if name == "prior_sd" else "")
            number = as_number(getattr(self, name), what)
            if not number > lowest or (name == "prior_mean" and math.isinf(number)):
                raise ValueError(f"{what}; got {getattr(self, name)!r}.")
            object.__setattr__(self, name, number)

    def index(self) -> tuple[float, float]:
        """A posterior sample is the index."""
        return 0.0, 1.0

    def pseudo_pulls(self, sigma: float) -> float:
        """κ, 0 for the flat prior."""
        ratio = sigma / self.prior_sd
        return ratio * ratio  # ** would raise where it overflows

    def describe(self, sigma: float) -> str:
        """In words."""
        prior = "a flat prior" if self.prior_sd == math.inf else f"the prior N({self.prior_mean:g}, {self.prior_sd:g}²)"
        return f"Thompson Sampling with normal posteriors, {prior} and σ = {sigma:g}"
