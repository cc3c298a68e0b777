"""UCB as an observer with its own samples sees it: the paper's Remark in Section 3."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.families import Gaussian
from feint.families.base import Belief, fill_log_best
from feint.numerics._jit import part, parts
from feint.numerics._validate import set_number
from feint.numerics.best_arm_rows import complete_logs
from feint.support.printable import short_repr


@part
def _expect(settings: "ObservedUCBKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    for a in range(pi.size):
        sd = belief.posterior[1, a]
        settings.indices[0, a] = belief.posterior[0, a]
        if settings.bonus > 0.0:
            settings.indices[0, a] += settings.bonus * sd * math.sqrt(math.log(t))
        settings.indices[1, a] = settings.spread * sd
    fill_log_best(belief.family, settings.indices, belief.ws, log_pi)
    complete_logs(log_pi, pi)


@parts(own_samples=True, follows_posterior=False, expect=_expect)
class ObservedUCBKernel(NamedTuple):
    """`ObservedUCB` for kernels."""

    bonus: float
    spread: float
    indices: FloatArray  # (2, K) scratch: means and standard deviations of the indices


@dataclass(frozen=True)
class ObservedUCB:
    r"""UCB, which pulls argmax_a μ̂¹_a + σ·√(exploration·log t/N_a) on the agent's public means μ̂¹.

    UCB is deterministic, but the observer does not see what the agent saw. After N_a pulls of an arm, its own N_a
    independent samples have the mean μ̂²_a. With a flat prior its belief about the true mean is N(μ̂²_a, σ²/N_a); given
    the true mean, the agent's mean is N(μ_a, σ²/N_a) and independent of the observer's samples. So the observer's
    belief about the agent's mean has::

        E[μ̂¹_a] = μ̂²_a,        Var[μ̂¹_a] = σ²/N_a + σ²/N_a = 2σ²/N_a,

    independent over arms. So in the observer's view UCB pulls the arm with the largest of the normal indices
    N(μ̂²_a + σ·√(exploration·log t/N_a), 2σ²/N_a). The observer does not use the agent's past choices to refine this
    belief.

    The Remark leaves open whether the agent knows the observer's samples. Here it does: otherwise it could not know
    what the observer expects, nor meet the constraint exactly.

    Parameters
    ----------
    exploration
        The factor in UCB's bonus, 0 or more.

    Examples
    --------
    >>> import feint
    >>> agent = feint.Agent(2, reference=feint.ObservedUCB(), epsilon=0.1)
    >>> for sample, private in [(1.0, 0.0), (0.2, 0.5)]:  # the observer's own samples
    ...     agent.update(agent.pull(), sample, private)
    >>> agent.reference_probabilities().round(3)
    array([0.655, 0.345])
    """

    name: ClassVar[str] = "ucb"
    aliases: ClassVar[tuple[str, ...]] = ("observed-u-c-b",)
    exploration: float = 2.0

    def __post_init__(self) -> None:
        what = "exploration, UCB's factor, must be a finite number from 0 to 1e12"
        set_number(self, "exploration", what, lambda x: 0 <= x <= 1e12)

    def kernel(self, family: Any, n_arms: int) -> ObservedUCBKernel:
        """Return the settings for kernels; the argument above holds only for normal rewards."""
        if not isinstance(family, Gaussian):
            raise ValueError(
                f"ObservedUCB needs normal public rewards, not {short_repr(family)}: only with those does the "
                "observer's belief about the agent's means have a closed form."
            )
        return ObservedUCBKernel(math.sqrt(self.exploration), math.sqrt(2.0), np.empty((2, n_arms)))

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return (
            f"UCB with exploration {self.exploration:g} and σ = {family.sigma:g}, seen by an observer with its own "
            "samples"
        )
