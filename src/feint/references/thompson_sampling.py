"""Thompson Sampling on the public rewards: the paper's reference."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

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

    `simulate` and `Agent` pull every arm once first, whatever the prior.

    Parameters
    ----------
    prior
        A pair of numbers whose meaning depends on the rewards: (mean, sd) for normal ones, (successes, failures) for 0
        and 1, (shape, rate) for counts and, of the reciprocal mean, for exponential ones; or (K, 2), such a pair for
        every arm. None is the usual one: flat, (1, 1), (½, 0) and (0, 0).

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
        what = (
            f"prior is {self.prior!r}; give two numbers, as (mean, sd) or (successes, failures), or two of every arm."
        )
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
        """The prior of every arm, or the one of all."""
        return list(self.prior) if self.prior is not None and isinstance(self.prior[0], tuple) else [self.prior]

    def prior_of(self, family: Any) -> FloatArray:
        """The two numbers that the family's posterior takes, (2,), or (2, K)."""
        if not hasattr(family, "kernel"):
            if self.prior is not None:
                raise ValueError(f"{family!r} knows its prior by itself; leave prior out.")
            return np.array(usual_prior(family))
        found = np.array([family.prior(pair) for pair in self._pairs], dtype=float).T
        return found if found.shape[1] > 1 else found[:, 0]

    def speaks_after(self, family: Any) -> int:
        """0 where the prior alone makes a posterior of every arm."""
        proper = hasattr(family, "kernel") and all(family.is_proper(family.prior(pair)) for pair in self._pairs)
        return 0 if proper else 1

    def kernel(self, family: Any, n_arms: int) -> ThompsonSamplingKernel:
        """The prior is part of the belief; it has no other settings."""
        if len(self._pairs) not in (1, n_arms):
            raise ValueError(f"There are priors of {len(self._pairs)} arms, but {n_arms} arms; give one for each.")
        return ThompsonSamplingKernel()

    def describe(self, family: Any) -> str:
        """In words."""
        if not hasattr(family, "words"):
            return f"Thompson Sampling with {family!r}"
        if len(self._pairs) > 1:
            return f"Thompson Sampling with {family.words(self._pairs[0])} of arm 0, and others of the other arms"
        return f"Thompson Sampling with {family.words(self._pairs[0])}"
