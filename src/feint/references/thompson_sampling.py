"""Thompson Sampling on the public rewards: the paper's reference."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from feint.families.base import Belief, fill_log_best, usual_prior
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import FloatArray, as_floats
from feint.numerics.best_arm_rows import complete_logs


@inlined
def _expect(settings: "ThompsonSamplingKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    fill_log_best(belief.family, belief.posterior, belief.ws, log_pi)
    complete_logs(log_pi, pi)


@parts(own_samples=False, follows_posterior=True, expect=_expect)
class ThompsonSamplingKernel(NamedTuple):
    """`ThompsonSampling` for kernels."""


@dataclass(frozen=True)
class ThompsonSampling:
    """Pull arm a with the probability that it is the best under its posterior (the paper's Section 2.2).

    `prior` is a pair of numbers whose meaning depends on the rewards: (mean, sd) for normal ones, (successes, failures)
    for 0 and 1, (shape, rate) for counts and, of the reciprocal mean, for exponential ones. None is the usual one:
    flat, (1, 1), (½, 0) and (0, 0). `simulate` and `Agent` pull every arm once first, whatever the prior.

    >>> ThompsonSampling(prior=(0.0, 1.0)).prior
    (0.0, 1.0)
    """

    prior: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.prior is None:
            return
        what = f"prior is {self.prior!r}; give two numbers, as (mean, sd) or (successes, failures)."
        try:
            pair = as_floats(self.prior, "prior")
        except ValueError:
            raise ValueError(what) from None
        if pair.shape != (2,):
            raise ValueError(what)
        object.__setattr__(self, "prior", (float(pair[0]), float(pair[1])))

    def prior_of(self, family: Any) -> tuple[float, float]:
        """The two numbers that the family's posterior takes."""
        if not hasattr(family, "kernel"):
            if self.prior is not None:
                raise ValueError(f"{family!r} knows its prior by itself; leave prior out.")
            return usual_prior(family)
        found = family.prior(self.prior)
        return float(found[0]), float(found[1])

    def speaks_at_once(self, family: Any) -> bool:
        """Whether the prior alone makes a posterior."""
        return hasattr(family, "kernel") and bool(family.is_proper(self.prior_of(family)))

    def kernel(self, family: Any, n_arms: int) -> ThompsonSamplingKernel:
        """The prior is part of the belief; it has no other settings."""
        return ThompsonSamplingKernel()

    def describe(self, family: Any) -> str:
        """In words."""
        return f"Thompson Sampling with {family.words(self.prior) if hasattr(family, 'words') else repr(family)}"
