"""An explorer that tracks the optimal proportions, as the paper's Section 5 describes before Algorithm 1."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray, IntArray
from feint.explorers.base import Uniforms, View
from feint.explorers.fixed_boosting import furthest_behind
from feint.families.base import divergence_to, move_inside
from feint.feedback.base import worth
from feint.goals.base import fill_weights
from feint.numerics._jit import Plain, inlined, part, parts, shared_inlined
from feint.theory.maximin_kernel import optimal_weights


@shared_inlined
def _neglected(boosts: IntArray) -> tuple[int, int]:
    """Return (the arm that forced exploration boosts, or −1 if there is none; the number of boosts so far)."""
    made = 0
    least = 0
    for a in range(boosts.size):
        made += boosts[a]
        if boosts[a] < boosts[least]:
            least = a
    return (least if boosts[least] < math.sqrt(made) - 0.5 * boosts.size else -1), made


@shared_inlined
def _estimate(view: View) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both estimates of the means, inside their families' ranges, and space for weights."""
    public, private, weights = view.scratch[0], view.scratch[1], view.scratch[2]
    for a in range(view.pulls.size):
        public[a] = move_inside(view.public_family, view.public_means[a], view.pulls[a])
        private[a] = move_inside(view.private_family, view.private_means[a], view.pulls[a])
    return public, private, weights


@inlined
def _choose(settings: "TrackingKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    least, made = _neglected(view.boosts)
    if least >= 0:
        return least
    public, private, weights = _estimate(view)
    optimal_weights(view.public_family, view.private_family, public, private, weights, view.scratch[3:])
    return furthest_behind(weights, view.boosts, made)


@parts(uses_posterior=False, choose=_choose)
class TrackingKernel(NamedTuple):
    """`Tracking` for kernels."""


@part
def _choose_for_goal(settings: "GoalTrackingKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    least, made = _neglected(view.boosts)
    if least >= 0:
        return least
    public, private, weights = _estimate(view)
    best, cost, free = 0, view.scratch[3], 0
    for a in range(public.size):
        if public[a] > public[best]:
            best = a
    for a in range(public.size):
        # A pull that is worth κ is one of a cost lower by κ² (`theory.maximin`).
        value = worth(view.private_family, a)
        cost[a] = divergence_to(view.public_family, public[a], public[best] - public[a]) / (value * value)
        free += 1 if cost[a] == 0.0 else 0
    if free > 1 or not fill_weights(settings.goal, view.private_family, private, cost, weights):
        for a in range(public.size):
            weights[a] = 0.0 if a == best else 1.0 / (public.size - 1)
    return furthest_behind(weights, view.boosts, made)


@parts(uses_posterior=False, choose=_choose_for_goal)
class GoalTrackingKernel(NamedTuple):
    """`Tracking` for kernels, with the settings of a goal other than the best arm."""

    goal: Any


@dataclass(frozen=True)
class Tracking:
    """An explorer that solves the maximin problem for the current estimates and boosts the arm furthest behind.

    This is D-tracking after Garivier & Kaufmann (2016) with boosts B_a instead of pulls. After s boosts, if some arm
    has B_a < √s − K/2, boost the least boosted arm (forced exploration, without which a wrong estimate could starve an
    arm for good). Otherwise boost argmax_a (s + 1)·ŵ_a − B_a. Ties go to the first arm. For a goal other than
    `BestArm`, ŵ is optimal for that goal.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = feint.simulate(bandit, feint.Tracking(), epsilon=0.1, horizon=300, replications=2)
    >>> int(runs.boosts.isel(replication=0, time=-1).sum())  # every pull after the initial round
    296
    """

    name: ClassVar[str] = "tracking"

    def kernel(self, n_arms: int) -> "TrackingKernel":
        """Return empty settings."""
        return TrackingKernel()

    def for_goal(self, goal: Any) -> GoalTrackingKernel:
        """Return the settings for a goal other than the best arm."""
        if isinstance(goal, Plain):
            raise ValueError(
                "Tracking knows the optimal shares for feint's own goals only; for yours, use TopTwo() or "
                "TopTwoTransport(), or FixedBoosting(optimal_boosting(bandit, goal=…).weights)."
            )
        return GoalTrackingKernel(goal)
