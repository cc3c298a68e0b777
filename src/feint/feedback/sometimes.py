r"""Private rewards that are seen with some probability, and whose noise is correlated with the public reward's.

A pull of an arm pays (X, Y), jointly normal with standard deviations σ_x and σ_y and correlation ρ. X is always seen,
Y with probability s; the first pull of an arm is always seen whole.

**Belief.** Put c = ρσ_y/σ_x. Then Z = Y − cX is independent of X, with variance (1 − ρ²)·σ_y². So the information about
(μ_x, μ_z), which for (μ_x, μ_y) is a full 2×2 matrix, is diagonal. After N pulls, n of them seen, with flat priors,

    μ_y = μ_z + c·μ_x ~ N( Ȳ_n + c·(X̄_N − X̄_n),  σ_y²·[(1 − ρ²)/n + ρ²/N] ),

where X̄_n is the mean of the public rewards whose private ones were seen. With n = sN the variance is σ_y²/(κN),
**κ = s/(1 − (1 − s)·ρ²)**: a pull is worth κ seen rewards.

**Digits.** Inverting the 2×2 matrix would cancel as ρ → ±1, where its determinant nN/(1 − ρ²) leaves float64. The
variance is therefore written σ_y²/m, m = n/(((1 − ρ²)·(N − n) + n)/N), in which everything is added and nothing
subtracted but whole numbers and 1 − ρ² = (1 − ρ)(1 + ρ). Where everything was seen, N = n, it is exactly σ_y²/n, and
X̄_N − X̄_n is exactly 0. The estimate loses no more than a plain mean does: X̄_N − X̄_n is rounded by an ulp of X̄.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, Belief
from feint.families.gaussian import NORMAL_PARTS
from feint.families.normal_region import set_corners
from feint.feedback.base import check_normal
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import set_number
from feint.numerics.counts import draw_binomial, draw_hypergeometric
from feint.numerics.sequence import DrawSequence, next_normal


@inlined
def _draw_private(
    family: "SometimesKernel", is_first: bool, mean: float, public_normal: float, normal: float, uniform: float
) -> float:
    if is_first or uniform < family.share:
        return mean + family.sigma * (family.correlation * public_normal + family.rest * normal)
    return math.nan


@inlined
def _add_private(family: "SometimesKernel", belief: Belief, arm: int, public: float, private: float) -> None:
    if belief.pulls[arm] == 1:  # forget what an earlier replication left
        family.seen[arm] = 0
        family.paired[arm] = 0.0
    if not math.isnan(private):
        family.seen[arm] += 1
        family.paired[arm] += public
        belief.sums[arm] += private


@inlined
def _private_mean(family: "SometimesKernel", belief: Belief, arm: int) -> float:
    seen = family.seen[arm]
    unseen = family.public_sums[arm] / belief.pulls[arm] - family.paired[arm] / seen
    return float(belief.sums[arm] / seen + family.slope * unseen)


@inlined
def _sd(family: "SometimesKernel", pulls: int, seen: int) -> float:
    return family.sigma / math.sqrt(seen / ((family.unexplained * (pulls - seen) + seen) / pulls))


@inlined
def _set_posterior(family: "SometimesKernel", belief: Belief, a: int) -> None:
    belief.posterior[0, a] = _private_mean(family, belief, a)
    belief.posterior[1, a] = _sd(family, belief.pulls[a], family.seen[a])


@part
def _fill_corners(
    family: "SometimesKernel",
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    corners: FloatArray,
) -> float:
    """Fill the box and its corners. Pulls that are seen or not only lower the sd, at most to that of all being seen."""
    pulls, seen = belief.pulls[arm], family.seen[arm]
    more = min(max_pulls, seen // 2)  # so that the sd stays above 0.81 of what it is, which the proof of a region needs
    # The radius of Z̄ plus that of c·X̄, so that both have room inside (`inner_lines`).
    own = family.sigma * family.rest / math.sqrt(seen)
    shared = family.sigma * abs(family.correlation) / math.sqrt(pulls)
    half = radius * (own + shared)
    mean = belief.means[arm]
    box[MEAN_LOW], box[MEAN_HIGH], box[MOST] = mean - half, mean + half, float(pulls + more)
    sd, sd_low = _sd(family, pulls, seen), _sd(family, pulls + more, seen + more)
    return set_corners(corners, mean - half, mean + half, sd, sd_low)


@inlined
def _count_seen(family: "SometimesKernel", belief: Belief, arm: int) -> int:
    return int(family.seen[arm])


@inlined
def _learnt_sum(family: "SometimesKernel", belief: Belief, arm: int) -> float:
    return float(belief.sums[arm] - family.slope * family.paired[arm])


@inlined
def _set_learnt(family: "SometimesKernel", belief: Belief, arm: int, seen: int, total: float) -> None:
    family.seen[arm] = seen
    family.paired[arm] = 0.0  # Z has no part of X
    belief.sums[arm] = total


@inlined
def _draw_seen(family: "SometimesKernel", n: int, draws: DrawSequence) -> int:
    return int(draw_binomial(float(n), family.share, draws))


@inlined
def _draw_seen_part(family: "SometimesKernel", seen: int, n: int, first: int, draws: DrawSequence) -> int:
    return int(draw_hypergeometric(float(n), float(seen), float(first), draws))


@inlined
def _draw_learnt(family: "SometimesKernel", public_mean: float, mean: float, seen: int, draws: DrawSequence) -> float:
    return seen * (mean - family.slope * public_mean) + family.sigma * family.rest * math.sqrt(seen) * next_normal(
        draws
    )


@inlined
def _draw_part(family: "SometimesKernel", total: float, n: int, first: int, draws: DrawSequence) -> float:
    """Draw the sum of the first `first` of n numbers Z, given that of all."""
    if first == 0 or first == n:
        return total if first == n else 0.0
    share = first / n
    return total * share + family.sigma * family.rest * math.sqrt(first * (1.0 - share)) * next_normal(draws)


@inlined
def _nats_to_cross(family: "SometimesKernel", total: float, n: int, here: float, there: float) -> float:
    variance = n * family.sigma * family.sigma * family.unexplained
    return 2.0 * here * there / variance if variance > 0.0 else math.inf


@inlined
def _inner_lines(family: "SometimesKernel", public_box: FloatArray, private_box: FloatArray) -> tuple[float, float]:
    one, other = family.slope * public_box[MEAN_LOW], family.slope * public_box[MEAN_HIGH]
    return private_box[MEAN_LOW] - min(one, other), private_box[MEAN_HIGH] - max(one, other)


@inlined
def _is_between(family: "SometimesKernel", belief: Belief, arm: int, lines: tuple[float, float]) -> bool:
    mean = _learnt_sum(family, belief, arm) / family.seen[arm]
    return bool(lines[0] <= mean <= lines[1])


@inlined
def _worth(family: "SometimesKernel", arm: int) -> float:
    return float(family.share / (family.share + (1.0 - family.share) * family.unexplained))


@parts(
    **NORMAL_PARTS
    | {
        "set_posterior": _set_posterior,
        "fill_corners": _fill_corners,
        "draw_part": _draw_part,
        "nats_to_cross": _nats_to_cross,
        "draw_private": _draw_private,
        "add_private": _add_private,
        "private_mean": _private_mean,
        "count_seen": _count_seen,
        "learnt_sum": _learnt_sum,
        "set_learnt": _set_learnt,
        "draw_seen": _draw_seen,
        "draw_seen_part": _draw_seen_part,
        "draw_learnt": _draw_learnt,
        "inner_lines": _inner_lines,
        "is_between": _is_between,
        "worth": _worth,
    }
)
class SometimesKernel(NamedTuple):
    """`Sometimes` for kernels, with what was seen so far; arrays are (K,)."""

    sigma: float
    share: float
    correlation: float
    unexplained: float  # 1 − ρ²
    rest: float  # √(1 − ρ²)
    slope: float  # c
    seen: IntArray  # n
    paired: FloatArray  # sums of the public rewards whose private ones were seen
    public_sums: FloatArray  # the agent's own array


@dataclass(frozen=True)
class Sometimes:
    """Private rewards are seen with probability `share`; their noise is correlated with the public rewards'.

    The private reward of an arm's first pull is always seen. A pull is worth κ = s/(1 − (1 − s)ρ²) seen rewards
    (docs/theory.md).

    Parameters
    ----------
    share
        s, above 0 and at most 1: the probability that the private reward of a pull is seen.
    correlation
        ρ, from −1 to 1: the correlation of the noises of a pull's public and private reward.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1], feedback=feint.Sometimes(0.2, 0.8))
    >>> seen_all = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    >>> round(feint.optimal_boosting(bandit).gamma / feint.optimal_boosting(seen_all).gamma, 4)
    0.4098
    """

    name: ClassVar[str] = "sometimes"
    share: float
    correlation: float = 0.0

    def __post_init__(self) -> None:
        what = (
            "share, the probability that a private reward is seen, must be a number above 0 and at most 1 (Linked is "
            "for rewards that are never seen)"
        )
        set_number(self, "share", what, lambda x: 0 < x <= 1)
        what = "correlation, that of the two noises, must be a number from -1 to 1"
        set_number(self, "correlation", what, lambda x: -1 <= x <= 1)

    @property
    def reads_public(self) -> bool:
        """Whether beliefs depend on public rewards."""
        return self.correlation != 0.0

    @property
    def alike(self) -> bool:
        """Return True: a pull of every arm is worth the same."""
        return True

    @property
    def spread(self) -> float:
        """Return 0: the private means are those of the instance."""
        return 0.0

    @property
    def kappa(self) -> float:
        """κ, what a pull is worth in private rewards that are seen."""
        return self.share / (self.share + (1.0 - self.share) * (1.0 - self.correlation) * (1.0 + self.correlation))

    def check(self, n_arms: int, families: Any) -> None:
        """Check that rewards are normal."""
        check_normal(self, families)

    def kernel(self, families: Any, public_sums: FloatArray) -> SometimesKernel:
        """Return the settings for kernels, with nothing seen yet."""
        public, private = families
        unexplained = (1.0 - self.correlation) * (1.0 + self.correlation)
        return SometimesKernel(
            private.sigma,
            self.share,
            self.correlation,
            unexplained,
            math.sqrt(unexplained),
            self.correlation * private.sigma / public.sigma,
            np.zeros(public_sums.size, dtype=np.int64),
            np.zeros(public_sums.size),
            public_sums,
        )

    def check_private(self, private: Any, is_first: bool) -> None:
        """Check that the first private reward of an arm is there."""
        if is_first and private is None:
            raise ValueError(
                "Nothing was recorded: private is missing; give it, since the private rewards of the initial round are "
                "always seen."
            )

    def private_means(self, public: tuple[float, ...]) -> None:
        """Return None: private means do not follow from public ones."""

    def information(self, families: Any, n_arms: int) -> FloatArray:
        """Return κ of every arm."""
        return np.full(n_arms, self.kappa)
