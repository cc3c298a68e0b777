r"""The contract that every reward family fulfils, and how kernels reach a family: by the type of its settings.

A family in plain Python, such as a user's own, has

- `mean_range`, the open interval of means, and `rewards`, a phrase that says what a reward must be;
- `accepts(rewards)`: whether each entry of an array can be a reward;
- `draw(mean, uniform)`: a reward made from a uniform number;
- `log_best(pulls, sums)`: exact log P(arm is the best), K floats, from each arm's pulls and sum of rewards;
- if an explorer asks for them, `divergence(x, y)` = KL(ν_x ‖ ν_y) between rewards with these means, and
  `draw_mean(pulls, sum, uniform)`, a draw of an arm's mean from its posterior, made from a uniform number.

Instead of `log_best`, families of the package have all that the engine, the observer and the theory need:

- `kernel()`: settings for kernels, a NamedTuple whose class has the parts below and `normal`, whether rewards are drawn
  from normals or from uniform numbers. Without `fill_region` only the eager method runs, without `draw_sum` the
  event-driven one does not, and without tangents fewer steps are decided by bounds;
- `prior(given)`: the prior as the two numbers that `posterior` takes, where None is the usual prior; `posterior(prior,
  pulls, sums)`: the two parameters of every arm's posterior; `log_probabilities(first, second)` for many rows of these
  parameters; `is_proper(prior)`: whether there is a posterior before the first pull;
- `possible(pulls, sums)`: whether sums can come from rewards; `draw_range`, if rewards of some means cannot be drawn;
  `observable`, if some rewards are too large to recompute a log; `most_pulls`, if a posterior is inaccurate after more
  pulls than this;
- `variance(x)`, and `log_prior(x)`, the log density of the usual prior of the natural parameter, for the theory;
- `words(prior)`: a description for reports.

**Conjugacy.** All families here are exponential: with natural parameter y, cumulant function A and mean x = A′(y), the
posterior after n pulls (those of the prior included) of mean m has a density ∝ exp(n·(m·y − A(y))). The two posterior
parameters are what the family's best-arm kernel takes: (mean, sd), (α, β) or (shape, rate).
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, IntArray
from feint.families.plain import PlainFamily
from feint.numerics._jit import by_type, kernel
from feint.numerics._validate import restore
from feint.numerics.best_arm_rows import best_sums
from feint.numerics.sequence import DrawSequence
from feint.numerics.streams import Word
from feint.support.own_parts import call, read

# Rows of `extremes` (4, 2): posteriors of D, the arm that moves, which bound every P(a) over a region.
OTHERS_HIGH, OTHERS_LOW, OWN_LOW, OWN_HIGH = 0, 1, 2, 3
# Entries of `box` (3,): the region itself, an interval of D's sample mean and its largest number of pulls.
MEAN_LOW, MEAN_HIGH, MOST = 0, 1, 2


class Family(Protocol):
    """A distribution of rewards around a mean; see the module's docstring."""

    @property
    def mean_range(self) -> tuple[float, float]: ...
    @property
    def rewards(self) -> str: ...
    def accepts(self, rewards: Any, /) -> Any: ...
    def draw(self, mean: float, uniform: float, /) -> float: ...


Families = Family | tuple[Family, Family]  # one for both sides, or one for the public and one for the private side


class Belief(NamedTuple):
    """What has been learnt about one side's means: arrays over arms. Both sides share `pulls`."""

    family: Any
    prior: FloatArray  # (2, K)
    pulls: IntArray
    sums: FloatArray  # of the rewards
    means: FloatArray  # of the rewards: sums/pulls
    posterior: FloatArray  # (2, K)
    ws: Any


class Tangents(NamedTuple):
    """One side's last exact evaluation (the centre) and how far posteriors have moved since; owned by the caller."""

    log_best: FloatArray  # (K,) log P(a) at the centre
    slopes: FloatArray  # (K, K) of log P(a) in arm j
    centre: FloatArray  # (2, K) the posterior at the centre
    moved: FloatArray  # (3, K) in the family's coordinates


def tangents(n_arms: int, most: int) -> Tangents:
    """Allocate tangents, without slopes for more than `most` arms; NaN means that nothing was evaluated yet."""
    few = n_arms if n_arms <= most else 0
    shapes = n_arms, (few, few), (2, n_arms), (3, n_arms)
    return Tangents(*(np.full(shape, np.nan) for shape in shapes))


def family_settings(family: Any) -> Any:
    """Return the settings of a family for kernels, or `PlainFamily` for one in plain Python."""
    return call(family, "kernel", None) if hasattr(family, "kernel") else PlainFamily(family)


def belief(family: Any, prior: Any, pulls: Any) -> Belief:
    """Return the belief before any reward; `prior` is two numbers, or (2, K)."""
    n_arms = pulls.size
    table = np.array(np.broadcast_to(np.asarray(prior, dtype=float).reshape(2, -1), (2, n_arms)))
    sums, means, posterior = np.zeros(n_arms), np.zeros(n_arms), np.zeros((2, n_arms))
    if not hasattr(family, "kernel"):
        return Belief(family_settings(family), table, pulls, sums, means, posterior, (pulls, sums))
    settings = family_settings(family)
    return Belief(settings, table, pulls, sums, means, posterior, settings.workspace(n_arms))


def recall(belief: Belief, family: Any, sums: npt.ArrayLike, name: str) -> None:
    """Restore the sums of a belief whose pulls are known; raise ValueError if they cannot come from rewards."""
    restore(belief.sums, sums, name)
    if hasattr(family, "possible") and not family.possible(belief.pulls, belief.sums):
        raise ValueError(f"The state is damaged: {name} cannot come from rewards.")
    belief.means[:] = np.divide(belief.sums, belief.pulls, out=np.zeros(belief.sums.size), where=belief.pulls > 0)
    for a in np.flatnonzero(belief.pulls):
        set_posterior(belief.family, belief, int(a))


def observable_rewards(family: Any) -> str:
    """Return a phrase that says what a reward must be for an observer."""
    return str(family.observable[1] if hasattr(family, "observable") else read(family, "rewards"))


def is_observable(family: Any, rewards: Any) -> Any:
    """Return whether a number, or each entry of an array, can be a reward for an observer."""
    found = call(family, "accepts", None, rewards)
    return found & (abs(rewards) <= family.observable[0]) if hasattr(family, "observable") else found


def usual_prior(family: Any) -> tuple[float, float]:
    """Return the prior that is used where none is given."""
    return family.prior(None) if hasattr(family, "kernel") else (0.0, 0.0)


@by_type
def draw_reward(family: Any, mean: float, normal: float, uniform: float) -> float:
    """Draw a reward with this mean from a standard normal or from a uniform number, whichever the family uses.

    It rounds as written even where it is inlined, so that an `Agent` learns the same from the same reward.
    """
    raise NotImplementedError


@by_type
def set_posterior(family: Any, belief: Belief, a: int) -> None:
    """Set the posterior of arm a from its pulls and sum of rewards."""
    raise NotImplementedError


@by_type
def fill_log_best(family: Any, posterior: FloatArray, ws: Any, out: FloatArray) -> None:
    """Fill `out` with log P(a is the best arm); the error is below `slack`/2, times |log p| where that is above 1."""
    sums, exponents = best_sums(ws, posterior[0], posterior[1])
    for a in range(out.size):
        out[a] = math.log(sums[a]) + exponents[a]


@by_type
def fill_log_others(
    family: Any, posterior: FloatArray, ws: Any, arm: int, extremes: FloatArray, high: FloatArray, low: FloatArray
) -> None:
    """Fill upper and lower bounds of log P(a is the best arm), (K,), of all arms but `arm`, from its posteriors in rows
    `OTHERS_HIGH` and `OTHERS_LOW` of `extremes`. The entry of `arm` means nothing, and its posterior is overwritten.
    """
    posterior[0, arm], posterior[1, arm] = extremes[OTHERS_HIGH, 0], extremes[OTHERS_HIGH, 1]
    fill_log_best(family, posterior, ws, high)
    posterior[0, arm], posterior[1, arm] = extremes[OTHERS_LOW, 0], extremes[OTHERS_LOW, 1]
    fill_log_best(family, posterior, ws, low)


@by_type
def log_best_of(family: Any, posterior: FloatArray, ws: Any, arm: int) -> float:
    """Return log P(arm is the best), as from `fill_log_best`, for one arm."""
    sums, exponents = best_sums(ws, posterior[0], posterior[1])
    return math.log(sums[arm]) + exponents[arm]


@by_type
def fill_region(
    family: Any, belief: Belief, arm: int, radius: float, max_pulls: int, box: FloatArray, extremes: FloatArray
) -> None:
    """Fill `box` with a region about the posterior of `arm`, and `extremes` with the posteriors that bound P over it.
    The region has `radius` of its standard deviations to each side, and lasts at most `max_pulls` further pulls.
    """
    raise NotImplementedError


@by_type
def draw_sum(family: Any, mean: float, n: int, draws: DrawSequence) -> float:
    """Draw the sum of n rewards with this mean; NaN if the family cannot."""
    return math.nan


@by_type
def draw_part(family: Any, total: float, n: int, first: int, draws: DrawSequence) -> float:
    """Draw the sum of the first `first` of n rewards that sum to `total`; its law does not depend on the mean."""
    return math.nan


@by_type
def nats_to_cross(family: Any, total: float, n: int, here: float, there: float) -> float:
    """Return a lower bound of −log P(the sum of the first j rewards passes a line for some j < n), given that all n sum
    to `total`. The line is `here` above (or below) the sum at j = 0 and `there` above it at j = n; both are above 0.
    """
    return 0.0


@by_type
def has_tangents(family: Any) -> bool:
    """Return whether the family has the next four functions."""
    return False


@by_type
def recentre(family: Any, belief: Belief, tangents: Tangents, out: FloatArray) -> None:
    """Fill `out` with exact log P, bit for bit as `fill_log_best` does, and set the tangents there."""
    fill_log_best(belief.family, belief.posterior, belief.ws, out)


@by_type
def displace(family: Any, belief: Belief, tangents: Tangents, arm: int) -> None:
    """Record where an arm's posterior is now."""


@by_type
def fill_log_bounds(family: Any, tangents: Tangents, low: FloatArray, high: FloatArray) -> None:
    """Fill bounds of every log P(a) at the present posteriors; low[0] is NaN if nothing was evaluated yet."""
    low[0] = math.nan


@by_type
def fill_corners(
    family: Any, belief: Belief, arm: int, radius: float, max_pulls: int, box: FloatArray, corners: FloatArray
) -> float:
    """Fill the region of `fill_region` and `corners` (4, 2), four posteriors of `arm` whose log bounds together hold
    for the whole region; return by how much to raise the upper bounds.
    """
    return 0.0


@by_type
def slack(family: Any) -> float:
    """Return by how much bounds are widened, relatively: more than the error of `fill_log_best`."""
    raise NotImplementedError


@by_type
def draw_mean(family: Any, belief: Belief, a: int, first: Word, second: Word) -> float:
    """Draw arm a's mean from its posterior, keyed by two words (`numerics.posterior_draws`)."""
    raise NotImplementedError


@by_type
def move_inside(family: Any, mean: float, pulls: int) -> float:
    """Return a sample mean moved off the ends of the family's range, where divergences are infinite."""
    raise NotImplementedError


@by_type
def divergence_to(family: Any, x: float, change: float) -> float:
    """Return KL(ν_x ‖ ν_{x + change}) to full relative precision, however small the change."""
    raise NotImplementedError


@kernel
def _fill_divergences(family: Any, x: FloatArray, change: FloatArray, out: FloatArray) -> None:
    for i in range(out.size):
        out[i] = divergence_to(family, x[i], change[i])


def divergences(settings: Any, x: npt.ArrayLike, change: npt.ArrayLike) -> FloatArray:
    """Return KL(ν_x ‖ ν_{x + change}) of arrays that broadcast, by a family's part."""
    # Copies, because arrays from `broadcast_arrays` warn when they are asked whether they are writeable, as Numba does.
    first, second = map(np.array, np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(change, dtype=float)))
    out = np.empty(first.shape)
    _fill_divergences(settings, first.ravel(), second.ravel(), out.reshape(-1))
    return out[()]
