"""An explorer that tracks the optimal proportions, as the paper's Section 5 describes before Algorithm 1."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.explorers.base import Uniforms, View
from feint.families.base import move_inside
from feint.numerics._jit import inlined, parts
from feint.theory.maximin_kernel import optimal_weights


@inlined
def _choose(settings: "TrackingKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    n = view.boosts.size
    made = 0
    least = 0
    for a in range(n):
        made += view.boosts[a]
        if view.boosts[a] < view.boosts[least]:
            least = a
    if view.boosts[least] < math.sqrt(made) - 0.5 * n:
        return least
    public, private, weights = view.scratch[0], view.scratch[1], view.scratch[2]
    for a in range(n):
        public[a] = move_inside(view.public_family, view.public_means[a], view.pulls[a])
        private[a] = move_inside(view.private_family, view.private_means[a], view.pulls[a])
    optimal_weights(view.public_family, view.private_family, public, private, weights, view.scratch[3:])
    chosen = 0
    for a in range(1, n):
        if (made + 1) * weights[a] - view.boosts[a] > (made + 1) * weights[chosen] - view.boosts[chosen]:
            chosen = a
    return chosen


@parts(uses_posterior=False, choose=_choose)
class TrackingKernel(NamedTuple):
    """`Tracking` for kernels."""


@dataclass(frozen=True)
class Tracking:
    """An explorer that solves the maximin problem for the current estimates and boosts the arm furthest behind.

    This is D-tracking after Garivier & Kaufmann (2016) with boosts B_a instead of pulls. After s boosts, if some arm
    has B_a < √s − K/2, boost the least boosted arm (forced exploration, without which a wrong estimate could starve an
    arm for good). Otherwise boost argmax_a (s + 1)·ŵ_a − B_a. Ties go to the first arm.

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

    def for_goal(self, goal: Any) -> Any:
        """Refuse: the kernel solves the problem of the best arm only."""
        raise ValueError(
            "Tracking follows the shares that are optimal for the best arm; for another goal use TopTwo() or "
            "TopTwoTransport(), or FixedBoosting(optimal_boosting(bandit, goal=…).weights)."
        )
