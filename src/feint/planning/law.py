"""From an instance, an explorer and a budget to many paths (`paths`), on all cores."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from feint.bandit import Bandit
from feint.budgets import PowerKernel, checked_at
from feint.evidence.boost_mixture import EPSILONS, bets
from feint.explorers import FixedBoosting, TopTwo
from feint.explorers.base import SCRATCH_ROWS, explorer_settings
from feint.families.base import belief, usual_prior
from feint.numerics._jit import inlined, parts
from feint.numerics._threads import run_slices
from feint.numerics._validate import FloatArray
from feint.planning.paths import (
    ALARM,
    FIXED,
    FLOOR,
    SPENT,
    STOPPED,
    Space,
    Task,
    walk_all,
)
from feint.planning.paths import ROWS as ARM_ROWS
from feint.theory.maximin import check_unique_best_public

LATEST = 1e15  # a path that is not sure by then never is
_CURVE = 2000  # points of a budget of a user's own
_DOUBT = 3.0  # factor by which Φ(−√(2E)) may be above the posterior error of families that are not normal


@inlined
def _curve_at(settings: "Curve", t: int) -> float:
    place = (math.log(float(t)) - settings.first) * settings.density
    return settings.values[min(settings.values.size - 1, max(0, int(place + 0.5)))]


@parts(epsilon_at=_curve_at)
class Curve(NamedTuple):
    """A budget of a user's own, read on a logarithmic grid of times."""

    first: float
    density: float
    values: FloatArray


@dataclass(frozen=True)
class Paths:
    """(R,) of each path; `pulls` and `boosts` (R, K) at its end.

    `stopped` is NaN where the path was never sure; so are the alarms, which come with log errors at their time.
    `course` (R, C, 4 + K) has log error, log floor ratio, log E, KL spent and the pulls at the checkpoints.
    """

    stopped: FloatArray
    spent: FloatArray
    floor: FloatArray  # (R, 2) time and log error
    alarm: FloatArray  # (R, 2)
    pulls: FloatArray
    boosts: FloatArray
    course: FloatArray


def _explorer_settings(explorer: Any, n_arms: int) -> tuple[Any, bool, FloatArray]:
    """(settings that say with which probability each arm is boosted, whether shares are fixed, those shares)."""
    settings = explorer_settings(explorer, n_arms)
    if isinstance(explorer, FixedBoosting):
        return TopTwo().kernel(n_arms), True, np.array(explorer.weights)
    if not hasattr(type(settings), "fill_shares"):
        raise ValueError(
            f"{explorer!r} does not say with which probability it boosts an arm; plan TopTwo(), TopTwoTransport() or "
            "FixedBoosting(weights), or simulate it."
        )
    return settings, False, np.zeros(n_arms)


def _budget_settings(budget: Any, n_arms: int, horizon: float) -> tuple[Any, float]:
    if hasattr(budget, "kernel"):
        power: PowerKernel = budget.kernel()
        return power, power.last
    times = np.geomspace(n_arms + 1, horizon, _CURVE)
    values = np.array([checked_at(budget, round(t)) for t in times])
    return Curve(math.log(times[0]), (_CURVE - 1) / math.log(times[-1] / times[0]), values), math.inf


# A path has as many options as a simulation; they are not bundled for the same reason.
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
) -> Paths:
    """Paths until the error is δ, or, with `alpha`, until both observers have raised the alarm, or to the horizon."""
    check_unique_best_public(bandit)
    if not all(hasattr(side, "kernel") for side in bandit.families):
        raise ValueError("Plans need families with a kernel; simulate this one (docs/extending.md).")
    n_arms, families = bandit.n_arms, bandit.families
    means = np.array([bandit.public, bandit.private])
    settings, last = _budget_settings(budget, n_arms, horizon)
    boosting, keeps_shares, weights = _explorer_settings(explorer, n_arms)
    task = Task(
        boosting,
        settings,
        means,
        np.array(
            [np.broadcast_to(np.sqrt(side.variance(own)), n_arms) for side, own in zip(families, means, strict=True)]
        ),
        np.array([side.mean_range for side in families], dtype=float),
        bandit.best_private,
        delta,
        horizon,
        last,
        keeps_shares,
        weights,
        alpha is not None,
        -math.log(0.5 if alpha is None else alpha),
        np.array(checkpoints, dtype=float),
        _least_evidence(delta, families[1]),
    )
    out = np.empty((n_paths, FIXED + 2 * n_arms))
    course = np.empty((n_paths, len(checkpoints), 4 + n_arms))

    def walk(start: int, stop: int) -> None:
        test = bets(n_arms, np.array(EPSILONS))
        space = Space(
            np.empty((ARM_ROWS, n_arms)),
            np.empty(n_arms, dtype=np.uint64),
            np.empty((SCRATCH_ROWS, n_arms)),
            belief(families[0], usual_prior(families[0]), np.zeros(n_arms)),
            belief(families[1], usual_prior(families[1]), np.zeros(n_arms)),
            test,
            np.empty(test.experts.weights.shape),
        )
        walk_all(task, space, start, out[start:stop], course[start:stop])

    run_slices(walk, n_paths, smallest=20)
    return Paths(
        out[:, STOPPED],
        out[:, SPENT],
        out[:, FLOOR : FLOOR + 2],
        out[:, ALARM : ALARM + 2],
        out[:, FIXED : FIXED + n_arms],
        out[:, FIXED + n_arms :],
        course,
    )


def _least_evidence(delta: float, family: Any) -> float:
    """E with Φ(−√(2E)) = δ, less what families that are not normal may differ by."""
    from scipy.special import erfcinv

    return float(erfcinv(2.0 * min(0.5, delta * (1.0 if family.kernel().normal else _DOUBT))) ** 2)
