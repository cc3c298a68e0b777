"""Logistic Thompson Sampling: rewards 0 and 1, with Laplace's approximation of the posterior after every batch."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

from feint._types import FloatArray
from feint.families import Bernoulli
from feint.numerics._validate import check_flag, set_number
from feint.references.contexts import ContextRows, checked_mean, checked_spread, spread_words
from feint.references.regressions import LOGISTIC, LOGISTIC_DIAGONAL, Regressions


@dataclass(frozen=True)
class LogisticThompsonSampling:
    """A reference that draws each arm's coefficients θ from a normal posterior and pulls the arm with the largest x′θ.

    A reward is 1 with probability 1/(1 + exp(−x′θ)), and every arm has coefficients of its own. The posterior is
    Laplace's approximation, made anew with every batch of rewards: the normal posterior so far is the prior of the next
    batch (Chapelle & Li 2011, Algorithm 3). The rewards of an arm that become known before the same row are one batch:
    one reward, several with `batch`, or, with times, all that arrived since the row before. It is for audits and
    `Observer`, which know contexts.

    Parameters
    ----------
    prior_sd
        The sd of every coefficient's normal prior: a finite number, one per feature, or a covariance.
    prior_mean
        A number, or one per feature.
    intercept
        Whether a constant 1 is added as the last feature. It has the same prior as the others, or its own, last.
    covariance
        "full" keeps the whole information matrix, "diagonal" only its diagonal, as Chapelle & Li do.
    scale
        The sd of the draws is this many times the posterior's.

    Examples
    --------
    >>> import feint
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, arms, clicks = rng.normal(size=(50, 3)), np.tile([0, 1], 25), rng.integers(2, size=50)
    >>> feint.audit(arms, clicks, contexts=x, n_arms=2, reference=LogisticThompsonSampling(2.0)).tested
    48
    """

    name: ClassVar[str] = "logistic-thompson-sampling"
    takes_contexts: ClassVar[bool] = True
    prior_sd: float | tuple[Any, ...] = 1.0
    _: KW_ONLY
    prior_mean: float | tuple[float, ...] = 0.0
    intercept: bool = False
    covariance: Literal["full", "diagonal"] = "full"
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior_sd", checked_spread(self.prior_sd, "prior_sd", flat=False))
        object.__setattr__(self, "prior_mean", checked_mean(self.prior_mean))
        check_flag(self.intercept, "intercept")
        if self.covariance not in ("full", "diagonal"):
            raise ValueError(f"covariance is {self.covariance!r}; give 'full' or 'diagonal'.")
        if self.covariance == "diagonal" and isinstance(self.prior_sd, tuple) and isinstance(self.prior_sd[0], tuple):
            raise ValueError("prior_sd is a covariance, but the posterior's is diagonal; give one sd per feature.")
        what = "scale, the factor on the draws' sd, must be a finite number above 0"
        set_number(self, "scale", what, lambda x: 0 < x < math.inf)

    def family_of(self, family: Any) -> Bernoulli:
        """Return the family of the rewards: 0 or 1."""
        return Bernoulli()

    def among(self, arms: Sequence[int]) -> Self:
        """Return the reference of these arms alone: the largest of their scores wins."""
        return self

    def kernel(self, family: Any, n_arms: int) -> ContextRows:
        """Return the settings that follow a log."""
        kind = LOGISTIC if self.covariance == "full" else LOGISTIC_DIAGONAL
        regress = partial(_regressions, kind, self.scale)
        return ContextRows(n_arms, regress, (self.prior_sd, self.prior_mean), intercept=self.intercept)

    def check_timing(self, timing: Any) -> None:
        """Raise ValueError where the past fades: no batch of a Laplace approximation can be forgotten."""
        if timing.discount < 1:
            raise ValueError("LogisticThompsonSampling has no discount: its batches cannot fade; leave `discount` out.")

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0: the prior alone gives every arm a posterior."""
        return 0

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        more = " and an intercept" if self.intercept else ""
        prior = spread_words(self.prior_sd, self.prior_mean)
        scale = "" if self.scale == 1 else f", the draws' sds times {self.scale:g}"
        kind = "" if self.covariance == "full" else " with a diagonal covariance"
        return (
            f"logistic Thompson Sampling with coefficients of each arm{more}, {prior}, and Laplace's approximation"
            f"{kind} after every batch{scale}"
        )


def _regressions(kind: int, scale: float, prior: FloatArray, n_tables: int) -> Regressions:
    return Regressions(kind, prior, n_tables, scale=scale)
