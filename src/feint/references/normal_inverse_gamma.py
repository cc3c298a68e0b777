"""Thompson Sampling on normal rewards whose standard deviation is also unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.numerics._validate import as_floats

_SMALLEST = 1e-11  # smallest scale relative to the other scales and the locations of a row; anything below is rounding


class NormalInverseGammaRows:
    """`NormalInverseGamma` for the rows of a log."""

    def __init__(self, prior: tuple[float, float, float, float] | None) -> None:
        self._prior = (0.0, 0.0, -0.5, 0.0) if prior is None else prior

    def log_probabilities(self, counts: FloatArray, sums: FloatArray, spreads: FloatArray) -> FloatArray:
        """Return log π from each arm's number of rewards, their sum and Σ (reward − mean)², all (n, K)."""
        # Imported here because its scipy.special takes a tenth of the start-up time and nothing else needs it.
        from feint.numerics.student_best_arm import student_best_arm_probabilities

        return student_best_arm_probabilities(*self._students(counts, sums, spreads), log=True)

    def has_posterior(self, counts: FloatArray, sums: FloatArray, spreads: FloatArray) -> BoolArray:
        """Return for which rows there is a posterior, (n,). Under a flat prior there is none where an arm's rewards
        have all been equal so far, or where its past has faded almost completely.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            location, scale, dof = self._students(counts, sums, spreads)
            width = scale.max(axis=1) + np.abs(location).max(axis=1)
            return np.asarray((dof.min(axis=1) >= 1.0) & (scale.min(axis=1) > _SMALLEST * width))

    def _students(self, counts: FloatArray, sums: FloatArray, spreads: FloatArray) -> tuple[FloatArray, ...]:
        """Return locations, scales and degrees of freedom of the arms' means."""
        mean, pulls, shape, scale = self._prior
        total = counts + pulls
        location = (sums + pulls * mean) / total
        half = shape + 0.5 * counts
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(counts > 0, pulls * counts / total * (sums / counts - mean) ** 2, 0.0)
        rest = scale + 0.5 * (spreads + shift)
        return location, np.sqrt(rest / (half * total)), 2.0 * half


@dataclass(frozen=True)
class NormalInverseGamma:
    """Thompson Sampling that draws every arm's mean and variance from their normal–inverse-gamma posterior.

    `prior` is (mean, pulls, shape, scale): the variance is inverse-gamma(shape, scale), and given the variance, the
    mean is normal as after that many pulls. None is the usual reference prior 1/σ², which has a posterior once every
    arm has had two different rewards. It is only for audits: the arms' means follow Student distributions, whose
    best-arm probabilities are too slow to compute for `simulate`.

    >>> NormalInverseGamma((0, 1, 1, 1)).prior
    (0.0, 1.0, 1.0, 1.0)
    """

    name: ClassVar[str] = "normal-inverse-gamma"
    prior: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.prior is None:
            return
        values = as_floats(self.prior, "prior")
        if values.shape != (4,) or not (np.isfinite(values).all() and (values[1:] > 0).all() and values[2] >= 0.5):
            raise ValueError(
                f"prior is {self.prior!r}; give (mean, pulls, shape, scale), all but the mean above 0 and shape ≥ 0.5."
            )
        object.__setattr__(self, "prior", tuple(float(value) for value in values))

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 2, or 0 where the prior alone gives a posterior."""
        return 2 if self.prior is None else 0

    def among(self, arms: Sequence[int]) -> "NormalInverseGamma":
        """Return the reference of these arms alone: the best among them is drawn."""
        return self

    def kernel(self, family: Any, n_arms: int) -> NormalInverseGammaRows:
        """Return the settings for rows of a log."""
        return NormalInverseGammaRows(self.prior)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        shown = "the prior 1/σ²" if self.prior is None else "the prior NIG({:g}, {:g}, {:g}, {:g})".format(*self.prior)
        return f"Thompson Sampling with normal–inverse-gamma posteriors and {shown}"
