"""Thompson Sampling on the public rewards: the paper's reference."""

from dataclasses import dataclass
from typing import ClassVar

from feint.references.base import register


@register
@dataclass(frozen=True)
class ThompsonSampling:
    """Pull arm a with the probability that it is the best under N(μ̂_a, σ²/N_a) (the paper's Section 2.2)."""

    OWN_SAMPLES: ClassVar[bool] = False

    def index(self) -> tuple[float, float]:
        """A posterior sample is the index."""
        return 0.0, 1.0
