"""Set up and draw many paths (`paths`) from an instance, an explorer and a budget."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.explorers import FixedBoosting
from feint.explorers.base import SCRATCH_ROWS, View, explorer_settings, fill_shares
from feint.families.base import Belief, belief, usual_prior
from feint.goals import BestArm
from feint.numerics._jit import kernel, kernel_or_python
from feint.planning.lift import Lift
from feint.planning.path_goal import PathGoal
from feint.planning.path_state import Paths, PathSettings
from feint.planning.paths import walk_paths
from feint.planning.seldom_seen import private_side
from feint.planning.sides import Side
from feint.registry import show_part
from feint.theory.instance import check_families, check_unique_best_public

LATEST = 1e15  # a path that is not sure by this time never is


# Paths have as many options as a simulation, and they are not bundled for the same reason.
def draw_paths(
    bandit: Bandit,
    explorer: Any,
    budget: Any,
    n_paths: int,
    *,
    delta: float = 0.0,
    horizon: float = LATEST,
    checkpoints: Any = (),
    alpha: float | None = None,
    goal: Any = BestArm(),  # noqa: B008 - frozen
) -> Paths:
    """Draw paths until the error is δ; with `alpha`, until both observers have raised the alarm; or to the horizon."""
    from scipy.special import ndtri_exp

    check_families(bandit)
    check_unique_best_public(bandit)
    n_arms = bandit.n_arms
    public, private = Side(bandit.families[0], np.array(bandit.public)), private_side(bandit)
    aim = None if isinstance(goal, BestArm) else PathGoal(goal, bandit, private)
    shares, weights = _shares_of(explorer, bandit, aim)
    common = PathSettings(
        public=public,
        private=private,
        shares=shares,
        weights=weights,
        lift=Lift(budget, n_arms + 1, horizon),
        best=bandit.best_private,
        delta=delta,
        bar=float(-ndtri_exp(math.log(delta))) if delta else math.inf,
        horizon=horizon,
        checkpoints=np.array(checkpoints, dtype=float),
        threshold=None if alpha is None else -math.log(alpha),
        goal=aim,
    )
    shape = n_paths, len(common.checkpoints), 4 + n_arms
    out = Paths(
        np.full(n_paths, np.nan),
        np.zeros((n_paths, n_arms)),
        np.full((n_paths, 2), np.nan),
        np.full((n_paths, 2), np.nan),
        np.zeros((n_paths, n_arms)),
        np.zeros((n_paths, n_arms)),
        np.zeros(shape),
    )
    walk_paths(common, out)
    return out


def _shares_of(
    explorer: Any, bandit: Bandit, goal: PathGoal | None
) -> tuple[Callable[..., FloatArray], FloatArray | None]:
    """Return a function that gives the probability with which each arm is boosted; and the shares, if fixed."""
    settings = explorer_settings(explorer, bandit.n_arms, None if goal is None else goal.settings())
    if not isinstance(explorer, FixedBoosting) and not says_shares(settings):
        raise ValueError(
            f"{show_part(explorer, 'explorer')} does not say with which probability it boosts an arm; plan with "
            "TopTwo(), TopTwoTransport() or FixedBoosting(weights), or simulate it."
        )
    family = bandit.families[1]

    def shares(t: FloatArray, pulls: FloatArray, sums: FloatArray, boosts: FloatArray, log_best: FloatArray) -> Any:
        known = belief(family, usual_prior(family), np.zeros(bandit.n_arms))
        if bandit.feedback is not None:
            known = known._replace(family=bandit.feedback.kernel(bandit.families, known.sums))
        inputs = _Inputs(t, *(np.ascontiguousarray(found.T) for found in (pulls, sums / pulls, boosts, log_best)))
        found = np.empty(inputs.pulls.shape)
        fill_share_rows = kernel_or_python(_fill_share_rows, settings)
        fill_share_rows(settings, known, np.empty((SCRATCH_ROWS, bandit.n_arms)), inputs, found)
        return np.ascontiguousarray(found.T)

    return shares, np.array(explorer.weights) if isinstance(explorer, FixedBoosting) else None


def says_shares(settings: Any) -> bool:
    """Return whether an explorer with these settings for kernels says with which probability it boosts an arm."""
    return hasattr(type(settings), "fill_shares")


class _Inputs(NamedTuple):
    """What an explorer may look at; times are (R,), the others (R, K)."""

    times: FloatArray
    pulls: FloatArray
    means: FloatArray
    boosts: FloatArray
    log_best: FloatArray


@kernel
def _fill_share_rows(explorer: Any, private: Belief, scratch: FloatArray, inputs: _Inputs, shares: FloatArray) -> None:
    family = private.family
    for i in range(inputs.times.size):
        means = inputs.means[i]
        view = View(
            int(inputs.times[i]), inputs.pulls[i], inputs.boosts[i], means, means, family, family, scratch, private
        )
        fill_shares(explorer, view, inputs.log_best[i], shares[i])
