"""Thompson Sampling on the public rewards: the paper's reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.families.base import Belief, fill_log_best, usual_prior
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import as_floats
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

    def __post_init__(self) -> None:
        if self.prior is None:
            return
        what = f"prior is {self.prior!r}; give two numbers, as (mean, sd) or (successes, failures), or two per arm."
        try:
            given = as_floats(self.prior, "prior")
        except ValueError:
            raise ValueError(what) from None
        if given.shape != (2,) and (given.ndim != 2 or given.shape[1] != 2):
            raise ValueError(what)
        object.__setattr__(
            self, "prior", tuple(given.tolist()) if given.ndim == 1 else tuple(map(tuple, given.tolist()))
        )

    @property
    def _pairs(self) -> list[Any]:
        """A list of the priors of all arms, or of the one prior that they share."""
        return list(self.prior) if self.prior is not None and isinstance(self.prior[0], tuple) else [self.prior]

    def prior_of(self, family: Any) -> FloatArray:
        """Return the two numbers that the family's posterior takes, (2,), or (2, K)."""
        if not hasattr(family, "kernel"):
            if self.prior is not None:
                raise ValueError(f"{family!r} has its own prior; leave prior out.")
            return np.array(usual_prior(family))
        found = np.array([family.prior(pair) for pair in self._pairs], dtype=float).T
        return found if found.shape[1] > 1 else found[:, 0]

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0 where the prior alone gives every arm a posterior, and 1 otherwise."""
        proper = hasattr(family, "kernel") and all(family.is_proper(family.prior(pair)) for pair in self._pairs)
        return 0 if proper else 1

    def among(self, arms: Sequence[int]) -> "ThompsonSampling":
        """Return the reference of these arms alone: the best among them is drawn, each with its own prior."""
        pairs = self._pairs
        return self if len(pairs) == 1 else ThompsonSampling(tuple(pairs[a] for a in arms))

    def kernel(self, family: Any, n_arms: int) -> ThompsonSamplingKernel:
        """Return empty settings: the prior is part of the belief."""
        if len(self._pairs) not in (1, n_arms):
            raise ValueError(f"prior has {len(self._pairs)} pairs for {n_arms} arms; give one pair per arm.")
        return ThompsonSamplingKernel()

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        if not hasattr(family, "words"):
            return f"Thompson Sampling with {family!r}"
        if len(self._pairs) > 1:
            return f"Thompson Sampling with {family.words(self._pairs[0])} for arm 0 and other priors for the others"
        return f"Thompson Sampling with {family.words(self._pairs[0])}"
