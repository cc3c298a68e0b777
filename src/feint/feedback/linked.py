r"""Private rewards that are never seen, but whose means follow from the public ones.

The private mean of arm a is θ_a = c_a + b_a·μ_a + τ·N(0, 1), with known intercepts c, slopes b and spread τ. The agent
learns μ_a from its public rewards alone: after N pulls, with a flat prior,

    θ_a ~ N( c_a + b_a·X̄_a,  b_a²·σ_x²/N + τ² ).

Without a spread this is the paper's problem with arm-wise standard deviations |b_a|·σ_x. Nothing cancels in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, Belief
from feint.families.gaussian import NORMAL_PARTS
from feint.families.normal_region import set_corners
from feint.feedback.base import check_normal
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import as_floats, as_number
from feint.numerics.sequence import DrawSequence

_SMALLEST = 1e-75  # the smallest slope; its square, which a pull's worth needs, must stay in float64's range
_WIDER = 1e-6  # how much wider the box of the private mean is than the image of the public one: more than rounding


@inlined
def _draw_private(
    family: LinkedKernel, is_first: bool, mean: float, public_normal: float, normal: float, uniform: float
) -> float:
    return math.nan


@inlined
def _add_private(family: LinkedKernel, belief: Belief, arm: int, public: float, private: float) -> None:
    pass


@inlined
def _private_mean(family: LinkedKernel, belief: Belief, arm: int) -> float:
    return float(family.intercepts[arm] + family.slopes[arm] * (family.public_sums[arm] / belief.pulls[arm]))


@inlined
def _sd(family: LinkedKernel, arm: int, pulls: int) -> float:
    learnt = family.sigma * abs(family.slopes[arm]) / math.sqrt(pulls)
    return math.sqrt(learnt * learnt + family.spread * family.spread)


@inlined
def _set_posterior(family: LinkedKernel, belief: Belief, a: int) -> None:
    belief.posterior[0, a] = _private_mean(family, belief, a)
    belief.posterior[1, a] = _sd(family, a, belief.pulls[a])


@part
def _fill_corners(
    family: LinkedKernel,
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    corners: FloatArray,
) -> float:
    """Fill the box and its corners. The box is the image of the public mean's: one holds where the other does."""
    pulls = belief.pulls[arm]
    most = pulls + max_pulls
    mean = belief.means[arm]
    half = (radius + _WIDER) * family.sigma * abs(family.slopes[arm]) / math.sqrt(pulls)
    box[MEAN_LOW], box[MEAN_HIGH], box[MOST] = mean - half, mean + half, float(most)
    return set_corners(corners, mean - half, mean + half, _sd(family, arm, pulls), _sd(family, arm, most))


@inlined
def _nothing_seen(family: LinkedKernel, belief: Belief, arm: int) -> int:
    return 0


@inlined
def _nothing_learnt(family: LinkedKernel, belief: Belief, arm: int) -> float:
    return 0.0


@inlined
def _set_learnt(family: LinkedKernel, belief: Belief, arm: int, seen: int, total: float) -> None:
    pass


@inlined
def _draw_seen(family: LinkedKernel, n: int, draws: DrawSequence) -> int:
    return 0


@inlined
def _draw_seen_part(family: LinkedKernel, seen: int, n: int, first: int, draws: DrawSequence) -> int:
    return 0


@inlined
def _draw_learnt(family: LinkedKernel, public_mean: float, mean: float, seen: int, draws: DrawSequence) -> float:
    return 0.0


@inlined
def _draw_part(family: LinkedKernel, total: float, n: int, first: int, draws: DrawSequence) -> float:
    return 0.0


@inlined
def _nats_to_cross(family: LinkedKernel, total: float, n: int, here: float, there: float) -> float:
    return math.inf


@inlined
def _inner_lines(family: LinkedKernel, public_box: FloatArray, private_box: FloatArray) -> tuple[float, float]:
    return 0.0, 0.0  # nothing is learnt beyond the public rewards, so nothing moves


@inlined
def _worth(family: LinkedKernel, arm: int) -> float:
    return 1.0 / float(family.slopes[arm] * family.slopes[arm])


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
        "count_seen": _nothing_seen,
        "learnt_sum": _nothing_learnt,
        "set_learnt": _set_learnt,
        "draw_seen": _draw_seen,
        "draw_seen_part": _draw_seen_part,
        "draw_learnt": _draw_learnt,
        "inner_lines": _inner_lines,
        "worth": _worth,
    }
)
class LinkedKernel(NamedTuple):
    """`Linked` for kernels; arrays are (K,)."""

    sigma: float  # of the public rewards
    intercepts: FloatArray
    slopes: FloatArray
    spread: float
    public_sums: FloatArray  # the agent's own array


@dataclass(frozen=True)
class Linked:
    """Private rewards are never seen; the private mean of an arm is intercept + slope·public mean + N(0, spread²).

    With a spread, `simulate` draws the private means anew for every replication, unless the instance has them. The
    error then does not tend to 0, since pulls cannot tell more than the public means (docs/theory.md).

    Parameters
    ----------
    intercepts, slopes
        (K,) numbers, one of each per arm; no slope may be 0.
    spread
        The standard deviation of the private means around the line, 0 or more.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit([0.6, 0.3, 0.0], feedback=feint.Linked([0, 0, 0], [-1, -1, -1]))
    >>> bandit.private, bandit.best_private
    ((-0.6, -0.3, 0.0), 2)
    """

    name: ClassVar[str] = "linked"
    intercepts: tuple[float, ...]
    slopes: tuple[float, ...]
    spread: float = 0.0

    def __init__(self, intercepts: npt.ArrayLike, slopes: npt.ArrayLike, spread: float = 0.0) -> None:
        for name, value in (("intercepts", intercepts), ("slopes", slopes)):
            array = as_floats(value, name)
            if array.ndim != 1 or array.size < 2 or not np.isfinite(array).all():
                raise ValueError(f"{name} are {value!r}; give one finite number per arm.")
            object.__setattr__(self, name, tuple(float(number) for number in array))
        if len(self.intercepts) != len(self.slopes):
            raise ValueError(
                f"There are {len(self.intercepts)} intercepts and {len(self.slopes)} slopes; give one of each per arm."
            )
        if 0.0 in self.slopes:
            raise ValueError(
                f"slopes are {list(self.slopes)}; where one is 0, pulls teach nothing about the private mean, so give "
                "another number."
            )
        if not all(_SMALLEST <= abs(slope) <= 1.0 / _SMALLEST for slope in self.slopes):
            raise ValueError(
                f"slopes are {list(self.slopes)}; their absolute values must be from {_SMALLEST:g} to "
                f"{1.0 / _SMALLEST:g}, so rescale the private rewards."
            )
        number = as_number(spread, "spread must be a number, 0 or more")
        if not 0 <= number < math.inf:
            raise ValueError(f"spread is {spread!r}; it is a standard deviation, 0 or more.")
        object.__setattr__(self, "spread", number)

    @property
    def reads_public(self) -> bool:
        """Return True: public rewards are all that is known."""
        return True

    @property
    def alike(self) -> bool:
        """Whether a pull of every arm is worth the same."""
        return len({abs(slope) for slope in self.slopes}) == 1

    def check(self, n_arms: int, families: Any) -> None:
        """Check that there is a line for every arm, and that rewards are normal."""
        check_normal(self, families)
        if len(self.slopes) != n_arms:
            raise ValueError(f"The feedback has {len(self.slopes)} slopes, but there are {n_arms} arms; give one each.")

    def kernel(self, families: Any, public_sums: FloatArray) -> LinkedKernel:
        """Return the settings for kernels."""
        return LinkedKernel(
            families[0].sigma, np.array(self.intercepts), np.array(self.slopes), self.spread, public_sums
        )

    def check_private(self, private: Any, is_first: bool) -> None:
        """Check that there is no private reward."""
        if private is not None:
            raise ValueError(
                f"Nothing was recorded: private is {private!r}, but with Linked no private reward is seen; leave it "
                "out."
            )

    def private_means(self, public: tuple[float, ...]) -> tuple[float, ...]:
        """Return the private means on the line."""
        return tuple(c + b * mean for c, b, mean in zip(self.intercepts, self.slopes, public, strict=True))

    def information(self, families: Any, n_arms: int) -> FloatArray:
        """Return what a pull of each arm is worth in seen rewards, (σ_y/(b·σ_x))², if there is no spread."""
        public, private = families
        return np.asarray((private.sigma / (np.array(self.slopes) * public.sigma)) ** 2)
