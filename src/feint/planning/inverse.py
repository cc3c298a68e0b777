"""The inverse questions: which ε, or which total budget, is needed to finish by a given time."""

import math
from collections.abc import Callable

import numpy as np

from feint.bandit import Bandit
from feint.budgets import Constant, TotalBudget
from feint.explorers import Explorer, TopTwo
from feint.goals import BestArm, Goal
from feint.numerics._validate import check_level, is_whole
from feint.planning.plan import stopping_paths
from feint.support.progress import shows_progress
from feint.theory.maximin import optimal_boosting

_SAME_TIME = 0.005
_SAME_SHARE = 0.002
_SAME_ROUGHLY, _SAME_SHARE_ROUGHLY = 0.05, 0.03  # with few paths, whose own error this is
_STEP = 0.3
_TRIES = 25
_ROUGH = 8  # a search begins with this part of the paths where every path costs integrals (of goals)
_CLEARLY, _UNSURE = 0.7, 0.15  # what so few paths cannot decide: times closer than 30 %, shares than 0.15 (3.7 errors)
_SMALLEST, _LARGEST = 1e-9, 1e4


@shows_progress("planning")
def plan_epsilon(
    bandit: Bandit,
    time: float,
    delta: float,
    *,
    explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
    goal: Goal = BestArm(),  # noqa: B008 - frozen
) -> float:
    """Return the constant ε with which `plan` expects to finish by `time`, to 0.5 % of the time, or as near as
    `plan`'s paths can: where few of them decide, the expected time jumps.

    Return 0 where less than 1e-9 would do: Thompson Sampling's own pulls are then enough.

    Parameters
    ----------
    bandit
        The instance; one arm is publicly the best.
    time
        The number of pulls, more than K.
    delta
        Posterior error to stop at, strictly between 0 and 1.
    explorer, goal
        Which arm to boost and what to learn, as in `plan`.

    Examples
    --------
    >>> bandit = Bandit(public=[2.0, 0.0], private=[0.0, 2.0])
    >>> from feint import plan
    >>> abs(plan(bandit, plan_epsilon(bandit, 200, 0.01), 0.01).time / 200 - 1) < 0.006
    True
    """
    if isinstance(time, bool) or not isinstance(time, int | float | np.number) or not bandit.n_arms < time < math.inf:
        raise ValueError(f"time is {time!r}; it must be a number of pulls above {bandit.n_arms}, the initial round.")
    check_level(delta, "delta, the error to stop at,")
    gamma = optimal_boosting(bandit, goal=goal).gamma
    rough = _fraction_of(goal)

    def expected(epsilon: float, fraction: int = 1) -> float:
        paths = stopping_paths(bandit, explorer, Constant(epsilon), delta, goal=goal, fraction=fraction)
        return float(np.nanmean(paths.stopped))

    shortest = expected(math.inf, rough)
    if shortest > _CLEARLY * time:
        shortest = expected(math.inf)
    if shortest > time:
        raise ValueError(
            f"No epsilon is expected to reach confidence {1 - delta:g} in {time:g} pulls: without any limit it takes "
            f"{shortest:.4g}; allow more time or a larger delta."
        )
    point = math.log((math.log(1.0 / delta) / gamma) ** 2 / time)
    if rough == 1:
        return math.exp(_search_epsilon(expected, time, point, _SAME_TIME))
    point = _search_epsilon(lambda epsilon: expected(epsilon, rough), time, point, _SAME_ROUGHLY)
    return math.exp(_search_epsilon(expected, time, point, _SAME_TIME, step=_SAME_ROUGHLY))


def _search_epsilon(
    expected: Callable[[float], float], time: float, point: float, close: float, step: float = _STEP
) -> float:
    """Return log ε with which the expected time is `time`, but for `close`; −∞ if less than the smallest would do.

    Find a bracket in log ε from `point`, by steps of at least `step`. Then use regula falsi (Illinois) in logarithms,
    in which the time is nearly a line. Where it jumps, the nearest of all that were tried is returned.
    """
    point = min(math.log(_LARGEST), max(math.log(_SMALLEST), point))
    low = high = math.nan
    value_low = value_high = 0.0
    tried: list[tuple[float, float]] = []
    for _ in range(_TRIES):
        value = math.log(expected(math.exp(point)) / time)
        tried.append((abs(value), point))
        if abs(value) < close:
            break
        if value > 0.0:
            low, value_low, value_high = point, value, 0.5 * value_high if low == low else value_high
        else:
            high, value_high, value_low = point, value, 0.5 * value_low if high == high else value_low
        if math.isnan(high):
            point = min(math.log(_LARGEST), point + max(step, value))
        elif math.isnan(low):
            if point <= math.log(_SMALLEST):
                return -math.inf
            point = max(math.log(_SMALLEST), point + 1.3 * min(-step, value))
        elif high - low < 1e-6:
            break
        else:
            share = value_low / (value_low - value_high)
            point = low + min(0.95, max(0.05, share)) * (high - low)
    return min(tried)[1]


@shows_progress("planning")
def plan_total(
    bandit: Bandit,
    time: int,
    delta: float,
    *,
    share: float = 0.5,
    explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
    goal: Goal = BestArm(),  # noqa: B008 - frozen
) -> float:
    """Return the total B with which `share` of the runs finish by `time`, spent evenly: `TotalBudget(B, time)`.

    It plans a share, not a mean time, since runs that are not done by `time` have no budget left. Return 0 where
    Thompson Sampling's own pulls are enough.

    Parameters
    ----------
    bandit
        The instance; one arm is publicly the best.
    time
        The number of pulls, more than K.
    delta
        Posterior error to stop at, strictly between 0 and 1.
    share
        The share of runs that are to finish, strictly between 0 and 1.
    explorer, goal
        Which arm to boost and what to learn, as in `plan`.

    Examples
    --------
    >>> bandit = Bandit(public=[1.0, 0.0], private=[0.0, 1.0])
    >>> from feint import TotalBudget, plan
    >>> total = plan_total(bandit, 500, 0.0001)
    >>> abs(plan(bandit, TotalBudget(total, 500), 0.0001).quantiles[1] / 500 - 1) < 0.03
    True
    """
    if not is_whole(time, bandit.n_arms + 1):
        raise ValueError(f"time is {time!r}; it must be a whole number of pulls above {bandit.n_arms}.")
    check_level(delta, "delta, the error to stop at,")
    check_level(share, "share, the part of the runs that is to finish,")

    gamma = optimal_boosting(bandit, goal=goal).gamma
    rough = _fraction_of(goal)

    def done(total: float, fraction: int = 1) -> float:
        budget = Constant(math.inf) if total == math.inf else TotalBudget(total, int(time))
        paths = stopping_paths(bandit, explorer, budget, delta, float(time), goal, fraction)
        return float(np.isfinite(paths.stopped).mean())

    most = done(math.inf, rough)
    if most < share + _UNSURE:
        most = done(math.inf)
    if most < share:
        raise ValueError(
            f"No total is enough for {100 * share:g} % of the runs to finish by {time}: without any limit, "
            f"{100 * most:.3g} % do; allow more time or a larger delta."
        )
    if done(0.0, rough) >= share - _UNSURE and done(0.0) >= share:
        return 0.0
    guess = 2.0 * math.log(math.log(1.0 / delta) / gamma)
    if rough == 1:
        return math.exp(_search_total(done, share, _SAME_SHARE, time, guess))
    guess = _search_total(lambda total: done(total, rough), share, _SAME_SHARE_ROUGHLY, time, guess)
    return math.exp(_search_total(done, share, _SAME_SHARE, time, guess, margin=0.01))


def _search_total(
    done: Callable[[float], float], share: float, close: float, time: int, guess: float, margin: float = 0.1
) -> float:
    """Return log B with which `share` of the runs are done, but for `close`.

    The bracket in log B is at first all that is possible, and shrinks by at least its `margin` in every round.
    """
    low, high = math.log(_SMALLEST), math.log(_LARGEST * time)
    for _ in range(_TRIES):
        middle = min(high - margin * (high - low), max(low + margin * (high - low), guess))
        found = done(math.exp(middle))
        if abs(found - share) < close or high - low < 1e-4:
            return middle
        if found < share:
            low = middle
        else:
            high = middle
        # The share changes by about 0.4 for each factor e of the total: step accordingly, inside the bracket.
        guess = middle + (share - found) / 0.4 if high - low > 0.5 else 0.5 * (low + high)
    return 0.5 * (low + high)


def _fraction_of(goal: Goal) -> int:
    """Return which part of the paths, 1/n, is enough to search roughly: all for the best arm, which is quick."""
    return 1 if isinstance(goal, BestArm) else _ROUGH
