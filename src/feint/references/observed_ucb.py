"""UCB seen by an observer with samples of its own: the paper's Remark in Section 3."""

import math
from dataclasses import dataclass
from typing import ClassVar

from feint.numerics._validate import as_number
from feint.references.base import register


@register
@dataclass(frozen=True)
class ObservedUCB:
    r"""UCB, which pulls argmax_a μ̂¹_a + σ·√(exploration·log t/N_a) on the agent's public means μ̂¹.

    UCB is deterministic, but the observer does not see what the agent saw. After N_a pulls of an arm, its own N_a
    independent samples have the mean μ̂²_a. With a flat prior its belief about the true mean is N(μ̂²_a, σ²/N_a); given
    the true mean, the agent's mean is N(μ_a, σ²/N_a) and independent of the observer's samples. So the observer's
    belief about the agent's mean has

        E[μ̂¹_a] = μ̂²_a,        Var[μ̂¹_a] = σ²/N_a + σ²/N_a = 2σ²/N_a,

    independent over arms, and from its view UCB pulls the arm with the largest of the normal indices
    N(μ̂²_a + σ·√(exploration·log t/N_a), 2σ²/N_a). It does not draw on the agent's past choices to refine that belief.

    The Remark leaves open whether the agent knows the observer's samples. Here it does: otherwise it could not know
    what the observer expects, nor meet the constraint exactly.
    """

    OWN_SAMPLES: ClassVar[bool] = True

    exploration: float = 2.0

    def __post_init__(self) -> None:
        what = "exploration, UCB's factor, must be a finite number from 0 to 1e12"
        number = as_number(self.exploration, what)
        if not 0 <= number <= 1e12:
            raise ValueError(f"{what}; got {self.exploration!r}.")
        object.__setattr__(self, "exploration", number)

    def index(self) -> tuple[float, float]:
        """See the class."""
        return math.sqrt(self.exploration), math.sqrt(2.0)

    def pseudo_pulls(self, sigma: float) -> float:
        """UCB has no prior."""
        return 0.0

    def describe(self, sigma: float) -> str:
        """In words."""
        return f"UCB with exploration {self.exploration:g} and σ = {sigma:g}, seen by an observer with its own samples"
