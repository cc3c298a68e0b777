"""The contract that every explorer fulfils, compiled or in plain Python.

In plain Python an explorer is anything with

    choose(view, uniforms) -> arm

where `view` is a `PlainView` and `uniforms` are the step's (leader, challenger, selection), each in (0, 1). Instead of
`choose` it may have `values(view, uniforms)`, which returns what a pull of each arm is worth (`tilting`). Beside
`choose` it may have `choose_many(views, uniforms)`, which chooses for many replications at once (`together`).

With a kernel it runs at the engine's speed. It is then a frozen dataclass with `kernel(n_arms)`, which checks its
settings against the number of arms and returns them as a NamedTuple whose class has (see `parts`)

- `uses_posterior`: whether it reads the private best-arm probabilities;
- `choose(settings, view, bounds, uniforms) -> arm, or −1`, a part;
- `fill_shares`, a part (see below), if its choice is random and a bound on how well it can be detected is wanted;
- `floor_ratio`, a part (see below), if it does not boost and the same bound is wanted;
- `fill_least_shares` if its choice is random, or else `pass_boosts`, a part (see below), if the event-driven method is
  to run it;
- `for_goal(goal)` on the dataclass itself, if its settings differ for goals other than the best arm (`weakest`);
- `fill_policy` and `spent`, parts (see below), if a step does more than boost one arm (`tilting`); it then runs
  eagerly.

Here `view` is a `View`, and `bounds` (6, K) holds a lower and an upper bound of every private best-arm probability and
of the cuts they make (`bounded_draws`). `choose` decides from the bounds: it returns an arm if all probabilities within
them lead to that arm, and −1 if not. Where both bounds are equal it always decides. Because this one function serves
the exact and the lazy engine, their trajectories are equal.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple, Protocol, SupportsIndex

import numpy.typing as npt

from feint._types import FloatArray, IntArray
from feint.families.base import Belief
from feint.numerics._jit import Plain, by_type
from feint.numerics._validate import is_whole, read_only
from feint.numerics.boost_kernel import bernoulli_kl, boost_policy, boost_scalar
from feint.support.own_parts import OwnPartError, call, fresh
from feint.support.printable import short_repr

# Rows of `bounds`: P(a is the best private arm); the point after arm a at which a draw in index order cuts (0, 1); and
# the same for a draw among all arms but the likeliest, whose own entry is −1.
P_LOW, P_HIGH, CUT_LOW, CUT_HIGH, REST_LOW, REST_HIGH = 0, 1, 2, 3, 4, 5
BOUND_ROWS = 6
SCRATCH_ROWS = 7

UNDECIDED = -1

Uniforms = tuple[float, float, float]


class View(NamedTuple):
    """What a compiled explorer may look at: arrays (K,) of one replication, both families, scratch (7, K) and what has
    been learnt about the private means.
    """

    time: int
    pulls: IntArray
    boosts: IntArray
    public_means: FloatArray
    private_means: FloatArray
    public_family: Any
    private_family: Any
    scratch: FloatArray
    private: Belief  # with the posteriors from which some explorers draw


class PlainView:
    """What an explorer in plain Python may look at: arrays over arms, which cannot be written to.

    They are `time`, `pulls`, `boosts`, `public_means`, `private_means`, `private_probabilities` (of being the best
    private arm) and `reference_probabilities` (what the observer expects). The last two are computed on first use.
    """

    def __init__(self, view: View, private: Any, reference: Any) -> None:
        self.time = int(view.time)
        self.pulls: IntArray
        self.boosts: IntArray
        self.public_means: FloatArray
        self.private_means: FloatArray
        self._private, self._reference = private, reference
        for name in ("pulls", "boosts", "public_means", "private_means"):
            setattr(self, name, read_only(getattr(view, name)))

    @cached_property
    def private_probabilities(self) -> FloatArray:
        """The probability that each arm is the best private one, (K,)."""
        return read_only(self._private())

    @cached_property
    def reference_probabilities(self) -> FloatArray:
        """The observer's π, (K,)."""
        return read_only(self._reference())


class HasChoose(Protocol):
    """An explorer in plain Python that returns the arm to boost."""

    def choose(self, view: PlainView, uniforms: Uniforms, /) -> SupportsIndex: ...


class HasValues(Protocol):
    """An explorer in plain Python that returns what a pull of each arm is worth."""

    def values(self, view: PlainView, uniforms: Uniforms, /) -> npt.ArrayLike: ...


class HasExplorerKernel(Protocol):
    """An explorer with a kernel."""

    def kernel(self, n_arms: int, /) -> Any: ...


Explorer = HasChoose | HasValues | HasExplorerKernel  # see the module's docstring


@by_type
def choose(explorer: Any, view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    """Return the arm to boost, or UNDECIDED where the bounds do not decide."""
    raise NotImplementedError


@by_type
def fill_shares(explorer: Any, view: View, log_best: FloatArray, shares: FloatArray) -> None:
    """Fill `shares` with the probability that each arm is boosted, for an observer who knows log P(a is the best
    private arm) but not the step's draws. This default, NaN, is for explorers that do not offer it.
    """
    for a in range(shares.size):
        shares[a] = math.nan


@by_type
def floor_ratio(
    explorer: Any,
    shares: FloatArray,
    pi: FloatArray,
    log_pi: FloatArray,
    policy: FloatArray,
    pulled: int,
    epsilon: float,
) -> float:
    """Return Σ_b w_b·q^b(A)/π(A), the likelihood ratio of the pulled arm A for an observer who knows all that the agent
    knows, but not its draws; w are the shares of `fill_shares`.

    For an explorer with a policy of its own, that policy's expectation takes the place of the sum.
    """
    ratio = 0.0
    for b in range(shares.size):
        if shares[b] != 0.0:
            q = boost_scalar(pi[b], log_pi[b], epsilon, True)
            rest = -math.expm1(log_pi[b])
            other = (1.0 - q) / rest if q < 1.0 else 0.0
            ratio += shares[b] * (math.exp(math.log(q) - log_pi[b]) if b == pulled else other)
    return ratio


class Range(NamedTuple):
    """A region of the private side while only one arm is pulled: bounds of that arm's sample mean and pulls, and thus
    of every arm's log P(a is the best).
    """

    arm: int
    mean_low: float
    mean_high: float
    most: int  # largest number of pulls; the smallest is the present one
    log_low: FloatArray  # (K,)
    log_high: FloatArray  # (K,)


@by_type
def fill_least_shares(explorer: Any, view: View, within: Range, least: FloatArray) -> None:
    """Fill `least` with a lower bound on the probability that each arm is boosted, valid everywhere in the range. This
    is for explorers whose choice depends only on pulls, private means, the private posterior and the step's draws.
    """


@by_type
def fill_known_shares(explorer: Any, view: View, boosted: int, shares: FloatArray) -> None:
    """Fill `shares` as `fill_shares` does, for an explorer that does not read the private probabilities. By default it
    boosts without drawing.
    """
    for b in range(shares.size):
        shares[b] = 1.0 if b == boosted else 0.0


@by_type
def pass_boosts(explorer: Any, boosts: IntArray, steps: int) -> None:
    """Add the boosts of `steps` steps. This is for explorers whose choice depends only on earlier boosts."""


@by_type
def fill_policy(
    explorer: Any,
    view: View,
    pi: FloatArray,
    log_pi: FloatArray,
    boosted: int,
    epsilon: float,
    policy: FloatArray,
) -> None:
    """Fill `policy` with the distribution of the step, within KL ε of π: Definition 1 unless the explorer has its own.

    It runs after `choose` of the same step and finds the scratch as `choose` left it.
    """
    boost_policy(pi, log_pi, boosted, epsilon, policy)


@by_type
def spent(explorer: Any, pi: FloatArray, log_pi: FloatArray, boosted: int, policy: FloatArray) -> float:
    """Return KL(policy ‖ π)."""
    return bernoulli_kl(policy[boosted], pi[boosted], log_pi[boosted])


class PlainExplorer(Plain):
    """An explorer without a kernel; `private` and `reference` are functions that return probabilities over arms."""

    uses_posterior = True

    def __init__(self, explorer: Any, private: Any, reference: Any) -> None:
        self.explorer, self.private, self.reference = explorer, private, reference

    @staticmethod
    def choose(settings: "PlainExplorer", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
        """Ask the explorer and check its answer."""
        name, n_arms = type(settings.explorer).__name__, view.pulls.size
        seen = PlainView(view, settings.private, settings.reference)
        answer = call(settings.explorer, "choose", seen.time + 1, seen, uniforms)
        if not is_whole(answer, 0, n_arms - 1):
            raise OwnPartError(
                f"{name}.choose returned {answer!r} at step {view.time + 1}; it must be a whole number from 0 to "
                f"{n_arms - 1}, the arm to boost."
            )
        return int(answer)


def explorer_settings(explorer: Any, n_arms: int, goal: Any = None) -> Any:
    """Return the settings of a fresh copy of an explorer for kernels, or None for one in plain Python. For a goal other
    than the best arm, whose settings are `goal`, an explorer may have other settings (`for_goal`).
    """
    if isinstance(explorer, type) or not any(hasattr(explorer, name) for name in ("kernel", "choose", "values")):
        raise ValueError(
            f"explorer is {short_repr(explorer)}; give one of feint.explorers with its parentheses, such as TopTwo(), "
            "or an object of your own with choose(view, uniforms) or values(view, uniforms) (docs/extending.md)."
        )
    if goal is not None and hasattr(explorer, "for_goal"):
        return explorer.for_goal(goal)
    return call(fresh(explorer, n_arms), "kernel", None, n_arms) if hasattr(explorer, "kernel") else None
