"""Linear Thompson Sampling: rewards are linear in a context, and coefficients are drawn from their posterior."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self

from feint._types import FloatArray
from feint.numerics._validate import check_flag, checked_number, set_number
from feint.references.contexts import ContextRows, checked_mean, checked_spread, spread_words
from feint.references.regressions import LINEAR, Regressions


@dataclass(frozen=True)
class LinearThompsonSampling:
    r"""A reference that draws coefficients θ from their normal posterior and pulls the arm whose score x′θ is largest.

    A reward is x′θ plus normal noise. By default every arm has coefficients of its own, all with the same prior, and
    the context x is one vector per row. It is for audits and `Observer`, which know contexts.

    Parameters
    ----------
    prior_sd
        The sd of every coefficient's normal prior: a number, one per feature, or a covariance. `inf` is a flat prior;
        rows are then tested once the data determine every coefficient.
    sigma
        The sd of the rewards' noise, as the agent takes it to be. `ridge` takes both in the form of ridge regressions.
    prior_mean
        A number, or one per feature.
    intercept
        Whether a constant 1 is added as the last feature. It has the same prior as the others, or its own, last.
    shared
        Whether all arms share one θ. Contexts are then (K, d): features of the arms.
    joint
        With `shared`: whether one draw of θ scores all arms. If not, each arm's score is drawn separately, with its own
        sd. If one draw scores more than three arms, it is tested with draws of the auditor's own.

    Examples
    --------
    >>> LinearThompsonSampling.ridge(l2=4.0, alpha=0.5)
    LinearThompsonSampling(prior_sd=0.25, sigma=0.5, prior_mean=0.0, intercept=False, shared=False, joint=True)
    >>> import feint
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, arms = rng.normal(size=(50, 3)), np.tile([0, 1], 25)
    >>> feint.audit(arms, rng.normal(size=50), contexts=x, n_arms=2, reference=LinearThompsonSampling()).tested
    48
    """

    name: ClassVar[str] = "linear-thompson-sampling"
    takes_contexts: ClassVar[bool] = True
    prior_sd: float | tuple[Any, ...] = 1.0
    sigma: float = 1.0
    _: KW_ONLY
    prior_mean: float | tuple[float, ...] = 0.0
    intercept: bool = False
    shared: bool = False
    joint: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior_sd", checked_spread(self.prior_sd, "prior_sd", flat=True))
        what = "sigma, the sd of the rewards' noise, must be a finite number above 0"
        set_number(self, "sigma", what, lambda x: 0 < x < math.inf)
        object.__setattr__(self, "prior_mean", checked_mean(self.prior_mean))
        for flag in ("intercept", "shared", "joint"):
            check_flag(getattr(self, flag), flag)
        if not (self.shared or self.joint):
            raise ValueError("joint is about arms that share coefficients; leave it out, or give shared=True.")

    @classmethod
    def ridge(cls, l2: float, alpha: float, **others: Any) -> Self:
        """Return the reference that draws from N(A⁻¹X′y, alpha²·A⁻¹), A = X′X + l2·I; `others` are other arguments."""
        for name, value in (("l2", l2), ("alpha", alpha)):
            what = f"{name} of a ridge regression must be a finite number above 0"
            checked_number(value, what, lambda x: 0 < x < math.inf)
        return cls(alpha / math.sqrt(l2), alpha, **others)

    def among(self, arms: Sequence[int]) -> Self:
        """Return the reference of these arms alone: the largest of their scores wins."""
        return self

    def kernel(self, family: Any, n_arms: int) -> ContextRows:
        """Return the settings that follow a log."""
        options = {"intercept": self.intercept, "shared": self.shared, "joint": self.joint}
        prior = self.prior_sd, self.prior_mean
        return ContextRows(n_arms, partial(_regressions, self.sigma), prior, **options)

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0: the regressions themselves tell where a flat prior has no posterior yet."""
        return 0

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        scores = "coefficients of each arm"
        if self.shared:
            scores = "shared coefficients" + ("" if self.joint else ", each score drawn separately")
        more = " and an intercept" if self.intercept else ""
        prior = spread_words(self.prior_sd, self.prior_mean)
        return f"linear Thompson Sampling with {scores}{more}, {prior} and σ = {self.sigma:g}"


def _regressions(sigma: float, prior: FloatArray, n_tables: int) -> Regressions:
    return Regressions(LINEAR, prior, n_tables, sigma=sigma)
