"""Thompson Sampling on the public rewards: the paper's reference."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.families.base import Belief, fill_log_best
from feint.numerics._jit import inlined, parts
from feint.numerics.best_arm_rows import complete_logs
from feint.references.priors import HasPrior


@inlined
def _expect(settings: "ThompsonSamplingKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    fill_log_best(belief.family, belief.posterior, belief.ws, log_pi)
    complete_logs(log_pi, pi)


@parts(own_samples=False, follows_posterior=True, expect=_expect)
class ThompsonSamplingKernel(NamedTuple):
    """`ThompsonSampling` for kernels."""


@dataclass(frozen=True)
class ThompsonSampling(HasPrior):
    """A reference that pulls arm a with the posterior probability that it is the best (the paper's Section 2.2).

    `simulate` and `Agent` first pull every arm once, whatever the prior.

    Parameters
    ----------
    prior
        A pair of numbers whose meaning depends on the rewards: (mean, sd) for normal rewards, (successes, failures) for
        0 and 1, (shape, rate) for counts, and (shape, rate) of the reciprocal mean for exponential rewards. Or (K, 2),
        one such pair per arm. None is the usual prior: flat, (1, 1), (½, 0) and (0, 0), in this order.

    Examples
    --------
    >>> ThompsonSampling(prior=(0.0, 1.0)).prior
    (0.0, 1.0)
    >>> ThompsonSampling(prior=[(1, 1), (8, 2)]).prior
    ((1.0, 1.0), (8.0, 2.0))
    """

    name: ClassVar[str] = "thompson-sampling"
    aliases: ClassVar[tuple[str, ...]] = ("thompson",)
    prior: tuple[Any, ...] | None = None

    def kernel(self, family: Any, n_arms: int) -> ThompsonSamplingKernel:
        """Return empty settings: the prior is part of the belief."""
        self.check_pairs(n_arms)
        return ThompsonSamplingKernel()

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return f"Thompson Sampling with {self.posterior_words(family)}"
