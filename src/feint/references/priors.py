"""What references with a posterior share: a prior of two numbers, or of two numbers per arm."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from feint._types import FloatArray
from feint.families.base import usual_prior
from feint.numerics._validate import as_floats
from feint.support.printable import short_repr


class HasPrior:
    """A reference whose field `prior` is None, a pair or a pair per arm, as `ThompsonSampling` describes it."""

    prior: tuple[Any, ...] | None

    def __post_init__(self) -> None:
        if self.prior is None:
            return
        what = f"prior is {self.prior!r}; give two numbers, like (mean, sd) or (successes, failures), or two per arm."
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
                raise ValueError(f"{short_repr(family)} has its own prior; leave prior out.")
            return np.array(usual_prior(family))
        found = np.array([family.prior(pair) for pair in self._pairs], dtype=float).T
        return found if found.shape[1] > 1 else found[:, 0]

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0 where the prior alone gives every arm a posterior, and 1 otherwise."""
        proper = hasattr(family, "kernel") and all(family.is_proper(family.prior(pair)) for pair in self._pairs)
        return 0 if proper else 1

    def among(self, arms: Sequence[int]) -> Self:
        """Return the reference of these arms alone: it compares draws from their posteriors."""
        if len(self._pairs) == 1:
            return self
        # mypy does not know that only dataclasses inherit this.
        return replace(self, prior=tuple(self._pairs[a] for a in arms))  # type: ignore[type-var]

    def check_pairs(self, n_arms: int) -> None:
        """Check that there is one prior for all arms, or one per arm."""
        if len(self._pairs) not in (1, n_arms):
            raise ValueError(f"prior has {len(self._pairs)} pairs for {n_arms} arms; give one pair per arm.")

    def posterior_words(self, family: Any) -> str:
        """Return a description of posteriors and prior for reports."""
        if not hasattr(family, "words"):
            return short_repr(family)
        others = " for arm 0 and other priors for the others" if len(self._pairs) > 1 else ""
        return f"{family.words(self._pairs[0])}{others}"
