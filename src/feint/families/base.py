r"""The contract of reward families, and how kernels reach a family: by the type of its settings.

A family in plain Python, a user's own, has

- `mean_range`, the open interval of means, and `rewards`, what a reward must be, in a clause;
- `accepts(rewards)`: whether each of an array can be a reward;
- `draw(mean, uniform)`: a reward from a uniform number;
- `log_best(pulls, sums)`: exact log P(arm is the best), K floats, from each arm's pulls and sum of rewards;
- `divergence(x, y)` = KL(ν_x ‖ ν_y) between rewards of these means, and `draw_mean(pulls, sum, uniform)`, a draw of
  an arm's mean from its posterior by a uniform number, if an explorer asks for them.

Those of the package have, instead of `log_best`, all that the engine, the observer and the theory need:

- `kernel()`: settings for kernels, a NamedTuple whose class has the parts below (without `fill_region` only the eager
  method runs, without `draw_sum` not the event-driven one, without tangents fewer steps are decided by bounds) and
  `normal`, whether rewards are drawn from normals or from uniform numbers;
- `prior(given)`: a prior as the two numbers that `posterior` takes, None for the usual one; `posterior(prior, pulls,
  sums)`: the two parameters of every arm's posterior; `log_probabilities(first, second)` of many rows of them;
  `is_proper(prior)`: whether there is a posterior before the first pull;
- `possible(pulls, sums)`: whether sums can come from rewards; `draw_range`, if rewards of some means cannot be drawn;
  `observable`, if rewards can be too large to recompute a log of them; `most_pulls`, if a posterior loses its digits
  after so many;
- `variance(x)`, and `log_prior(x)`, the usual prior's density against the natural parameter, for the theory;
- `words(prior)` for reports.

**Conjugacy.** All families here are exponential: with natural parameter y, cumulant function A and mean x = A′(y), the
posterior after n pulls (those of the prior included) of mean m has a density ∝ exp(n·(m·y − A(y))). The two posterior
parameters are what the family's best-arm kernel takes: (mean, sd), (α, β) or (shape, rate).
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from feint.numerics._jit import Plain, by_type, kernel
from feint.numerics._validate import FloatArray, IntArray, restore
from feint.numerics.posterior_draws import draw_uniform
from feint.numerics.sequence import Sequence
from feint.numerics.streams import Word
from feint.own_parts import call

# Rows of `extremes` (4, 2): posteriors of D, the arm that moves, which bound every P(a) over a region.
OTHERS_HIGH, OTHERS_LOW, OWN_LOW, OWN_HIGH = 0, 1, 2, 3
# Entries of `box` (3,): the region itself, an interval of D's sample mean and its largest number of pulls.
MEAN_LOW, MEAN_HIGH, MOST = 0, 1, 2

_SUM_TOLERANCE = 1e-6


class Family(Protocol):
    """How rewards are distributed around a mean; see the module's docstring."""

    @property
    def mean_range(self) -> tuple[float, float]: ...
    @property
    def rewards(self) -> str: ...
    def accepts(self, rewards: Any, /) -> Any: ...
    def draw(self, mean: float, uniform: float, /) -> float: ...


Families = Family | tuple[Family, Family]  # of both sides, or of the public and of the private one


class Belief(NamedTuple):
    """What has been learnt of one side's means: arrays over arms. `pulls` is common to both sides."""

    family: Any
    prior: FloatArray  # (2, K)
    pulls: IntArray
    sums: FloatArray  # of the rewards
    means: FloatArray  # of the rewards: sums/pulls
    posterior: FloatArray  # (2, K)
    ws: Any


class Tangents(NamedTuple):
    """Where one side was last evaluated, its centre, and how far posteriors have moved since; owned by the caller."""

    log_best: FloatArray  # (K,) log P(a) there
    slopes: FloatArray  # (K, K) of log P(a) by arm j
    centre: FloatArray  # (2, K) the posterior there
    moved: FloatArray  # (3, K) in the family's coordinates


def tangents(n_arms: int, most: int) -> Tangents:
    """Allocate them, without slopes for more than `most` arms; NaN: nothing evaluated yet."""
    few = n_arms if n_arms <= most else 0
    shapes = n_arms, (few, few), (2, n_arms), (3, n_arms)
    return Tangents(*(np.full(shape, np.nan) for shape in shapes))


def belief(family: Any, prior: Any, pulls: Any) -> Belief:
    """Nothing learnt yet; `prior` is two numbers, or (2, K)."""
    n_arms = pulls.size
    table = np.array(np.broadcast_to(np.asarray(prior, dtype=float).reshape(2, -1), (2, n_arms)))
    sums, means, posterior = np.zeros(n_arms), np.zeros(n_arms), np.zeros((2, n_arms))
    if not hasattr(family, "kernel"):
        return Belief(PlainFamily(family), table, pulls, sums, means, posterior, (pulls, sums))
    settings = family.kernel()
    return Belief(settings, table, pulls, sums, means, posterior, settings.workspace(n_arms))


def recall(belief: Belief, family: Any, sums: npt.ArrayLike, name: str) -> None:
    """Fill a belief whose pulls are known with sums from a saved state, or refuse what cannot come from rewards."""
    restore(belief.sums, sums, name)
    if hasattr(family, "possible") and not family.possible(belief.pulls, belief.sums):
        raise ValueError(f"The state is damaged: {name} cannot come from rewards.")
    belief.means[:] = np.divide(belief.sums, belief.pulls, out=np.zeros(belief.sums.size), where=belief.pulls > 0)
    for a in np.flatnonzero(belief.pulls):
        set_posterior(belief.family, belief, int(a))


def observable_rewards(family: Any) -> str:
    """What a reward must be for an observer, in a clause."""
    return str(family.observable[1] if hasattr(family, "observable") else family.rewards)


def is_observable(family: Any, rewards: Any) -> Any:
    """Whether a number, or each of an array, can be a reward for an observer."""
    found = family.accepts(rewards)
    return found & (abs(rewards) <= family.observable[0]) if hasattr(family, "observable") else found


class PlainFamily(Plain):
    """A family without a kernel; the `ws` of its belief are pulls and sums."""

    def __init__(self, family: Any) -> None:
        self.family = family

    @staticmethod
    def draw_reward(settings: "PlainFamily", mean: float, normal: float, uniform: float) -> float:
        """Ask it, and check what it says."""
        reward = float(call(settings.family, "draw", None, float(mean), float(uniform)))
        if not settings.family.accepts(reward):
            name = type(settings.family).__name__
            raise ValueError(f"{name}.draw returned {reward!r}; by its own word a reward is {settings.family.rewards}.")
        return reward

    @staticmethod
    def set_posterior(settings: "PlainFamily", belief: Belief, a: int) -> None:
        """It keeps nothing but pulls and sums."""

    @staticmethod
    def fill_log_best(settings: "PlainFamily", posterior: FloatArray, ws: Any, out: FloatArray) -> None:
        """Ask it, and check what it says."""
        pulls, sums = (array.copy() for array in ws)
        answer = np.asarray(call(settings.family, "log_best", int(pulls.sum()) + 1, pulls, sums), dtype=float)
        if answer.shape != out.shape or not abs(np.exp(answer).sum() - 1.0) <= _SUM_TOLERANCE:
            raise ValueError(
                f"{type(settings.family).__name__}.log_best returned {answer.tolist()} after {int(ws[0].sum())} pulls; "
                f"it must be the logarithms of {out.size} probabilities that sum to 1."
            )
        out[:] = answer

    @staticmethod
    def draw_mean(settings: "PlainFamily", belief: Belief, a: int, first: Word, second: Word) -> float:
        """Ask it, if it can say."""
        family = settings.family
        if not hasattr(family, "draw_mean"):
            raise ValueError(
                f"This explorer draws from the private posterior; give {type(family).__name__} a method "
                "draw_mean(pulls, sum, uniform), or choose another explorer."
            )
        known = int(belief.pulls[a]), float(belief.sums[a])
        step = int(belief.pulls.sum()) + 1
        return float(call(family, "draw_mean", step, *known, draw_uniform(a, first, second)))

    @staticmethod
    def divergence_to(settings: "PlainFamily", x: float, change: float) -> float:
        """Ask it."""
        return float(settings.family.divergence(x, x + change))


def usual_prior(family: Any) -> tuple[float, float]:
    """What the posterior starts from where nothing else is said."""
    return family.prior(None) if hasattr(family, "kernel") else (0.0, 0.0)


@by_type
def draw_reward(family: Any, mean: float, normal: float, uniform: float) -> float:
    """A reward of this mean, from a standard normal or from a uniform number, whichever the family takes.

    It rounds as written, also where it is inlined, so that an `Agent` learns the same from the same reward.
    """
    raise NotImplementedError


@by_type
def set_posterior(family: Any, belief: Belief, a: int) -> None:
    """The posterior of arm a from its count and sum."""
    raise NotImplementedError


@by_type
def fill_log_best(family: Any, posterior: FloatArray, ws: Any, out: FloatArray) -> None:
    """log P(a is the best arm) of every arm; the error is below `slack`/2, times |log p| where that is above 1."""
    raise NotImplementedError


@by_type
def log_best_of(family: Any, posterior: FloatArray, ws: Any, arm: int) -> float:
    """The same of one arm."""
    raise NotImplementedError


@by_type
def fill_region(
    family: Any, belief: Belief, arm: int, radius: float, lasting: int, box: FloatArray, extremes: FloatArray
) -> None:
    """A region about the posterior of `arm`, `radius` of its standard deviations wide and at most `lasting` of its
    pulls long, and what bounds P over it.
    """
    raise NotImplementedError


@by_type
def draw_sum(family: Any, mean: float, n: int, draws: Sequence) -> float:
    """The sum of n rewards of this mean."""
    return math.nan


@by_type
def draw_part(family: Any, total: float, n: int, first: int, draws: Sequence) -> float:
    """The sum of the first of n rewards whose sum is `total`: their law is the same whatever the mean."""
    return math.nan


@by_type
def nats_to_cross(family: Any, total: float, n: int, here: float, there: float) -> float:
    """At least this is −log P(the sum of the first j rewards passes a line for some j < n), given that all n sum to
    `total`, where the line is `here` above (or below) the sum at j = 0 and `there` above it at j = n, both above 0.
    """
    return 0.0


@by_type
def has_tangents(family: Any) -> bool:
    """Whether it has the next four."""
    return False


@by_type
def recentre(family: Any, belief: Belief, tangents: Tangents, out: FloatArray) -> None:
    """Exact log P into `out`, bit for bit as from `fill_log_best`, and the tangents there."""
    fill_log_best(belief.family, belief.posterior, belief.ws, out)


@by_type
def displace(family: Any, belief: Belief, tangents: Tangents, arm: int) -> None:
    """Note where an arm's posterior is now."""


@by_type
def fill_log_bounds(family: Any, tangents: Tangents, low: FloatArray, high: FloatArray) -> None:
    """Bounds of every log P(a), wherever the posteriors have moved; NaN where nothing was evaluated yet."""
    low[0] = math.nan


@by_type
def fill_corners(
    family: Any, belief: Belief, arm: int, radius: float, lasting: int, box: FloatArray, corners: FloatArray
) -> float:
    """The region of `fill_region`, and four posteriors (4, 2) of `arm` whose log bounds together hold for all of it;
    returns what the upper ones are to be raised by.
    """
    return 0.0


@by_type
def slack(family: Any) -> float:
    """By how much bounds are widened, relatively: more than the error of `fill_log_best`."""
    raise NotImplementedError


@by_type
def draw_mean(family: Any, belief: Belief, a: int, first: Word, second: Word) -> float:
    """A draw of arm a's mean from its posterior, keyed by two words (`numerics.posterior_draws`)."""
    raise NotImplementedError


@by_type
def inside(family: Any, mean: float, pulls: int) -> float:
    """A sample mean moved off the ends of the family's range, where divergences are infinite."""
    raise NotImplementedError


@by_type
def divergence_to(family: Any, x: float, change: float) -> float:
    """KL(ν_x ‖ ν_{x + change}), to full relative precision however small the change."""
    raise NotImplementedError


@kernel
def _fill_divergences(family: Any, x: FloatArray, change: FloatArray, out: FloatArray) -> None:
    for i in range(out.size):
        out[i] = divergence_to(family, x[i], change[i])


def divergences(settings: Any, x: npt.ArrayLike, change: npt.ArrayLike) -> FloatArray:
    """KL(ν_x ‖ ν_{x + change}) of arrays that broadcast, by a family's part."""
    # Copies: what `broadcast_arrays` returns warns when somebody asks whether it may be written to, as Numba does.
    first, second = map(np.array, np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(change, dtype=float)))
    out = np.empty(first.shape)
    _fill_divergences(settings, first.ravel(), second.ravel(), out.reshape(-1))
    return out[()]
