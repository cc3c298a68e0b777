r"""The plan: how long until the agent is sure, what it costs, and who notices when.

The stopping time is random. With one rival the evidence at stopping is inverse Gaussian with mean L = log(1/δ) and
variance 2L, time grows with its square, and chance in the public rewards adds as much spread again. So it is sampled by
`_PATHS` paths in leaps (`paths`), the same every time; `errors` has the resulting Monte Carlo errors.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.budgets import Epsilon, as_budget, checked_at, power_of
from feint.evidence.boost_mixture import nearly_boosted
from feint.explorers import Explorer, TopTwo
from feint.goals import BestArm, Goal
from feint.numerics._validate import check_level
from feint.planning.facts import facts_of_plan, show_budget
from feint.planning.notice import Notice, mean_error, notice_of, path_count, quantile_errors, quantiles_of, watch_paths
from feint.planning.path_setup import LATEST, draw_paths
from feint.planning.path_state import Paths
from feint.registry import show_part
from feint.support.own_parts import fresh
from feint.support.progress import shows_progress
from feint.theory.maximin import optimal_allocation, optimal_boosting
from feint.theory.rates import total_budget

_PATHS = 4000
_FEWER_PATHS = 1200  # for goals whose errors are integrated on every path
_FEWEST = 1e-300  # boosts, where every path is sure after the initial round
_GRID = 4000  # times at which a user's own budget is evaluated for its sum


@dataclass(frozen=True)
class Plan:
    """The answer of `plan` for a `bandit`. Times count pulls, the initial round included; arrays are (K,).

    `time` is the expected stopping time with Monte Carlo standard error `standard_error`, `quantiles` its 10, 50 and 90
    % points; `never` is the share of runs that are never sure, which are left out of all means. `weights` are the
    shares of boosts. `pulls` are the mean pulls of each arm when the agent stops, `costs` the KL divergence spent on
    its boosts, and `kl_spent` their total. `power` bounds that of every test of level `alpha` that watches until the
    agent stops, or 10¹⁵ pulls: it is q*(α; B) with B the mean total of *all* runs, those that are never sure included,
    and as exact as B is. `informed` and `observer` say who notices when. `gamma`, `case` and `best_weights`, w*, are
    those of `optimal_boosting` (`optimal_allocation` if ε = ∞). For comparison, `first_order_time` solves
    B(T) = (log(1/δ)/Γ*)², from the exponent alone. `errors` has the Monte Carlo standard error of every field that is
    estimated from paths, by its name.
    """

    bandit: Bandit
    epsilon: Any
    delta: float
    alpha: float
    explorer: Any
    time: float
    standard_error: float
    quantiles: tuple[float, float, float]
    never: float
    weights: FloatArray
    pulls: FloatArray
    costs: FloatArray
    kl_spent: float
    power: float
    informed: Notice
    observer: Notice
    gamma: float
    case: str
    best_weights: FloatArray
    first_order_time: float
    errors: dict[str, Any]
    goal: Any = BestArm()  # noqa: RUF009 - frozen

    def __repr__(self) -> str:
        low, _, high = self.quantiles
        return (
            f"<Plan of {show_part(self.explorer, 'explorer')} with ε = {show_budget(self.epsilon)} until "
            f"δ = {self.delta:g}: expected time {self.time:,.0f} pulls (80 % of runs: {low:,.0f} to {high:,.0f}); "
            f"noticed after {self.observer.quantiles[1]:,.0f} in the median>"
        )

    def _repr_html_(self) -> str:
        from feint.support.html import facts_html

        return facts_html(facts_of_plan(self))


# Each option can be left out; bundling them would only hide their names.
@shows_progress("planning")
def plan(
    bandit: Bandit,
    epsilon: Epsilon,
    delta: float,
    *,
    explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
    alpha: float = 0.05,
    goal: Goal = BestArm(),  # noqa: B008 - frozen
) -> Plan:
    r"""Plan how long it takes to reach confidence 1 − δ with KL budget ε per step, what it costs and who notices when.

    .. math:: \text{power} \le q^*(\alpha; B), \quad B = E \textstyle\sum_t \mathrm{KL}_t

    is the paper's own boost function. An observer's test of level α is an event of probability α under the reference,
    and a total divergence B cannot raise its probability above q*(α). The mean is over all runs: if some are never
    sure and spend for ever, B has no limit, and the bound is 1.

    Parameters
    ----------
    bandit
        The instance; one arm is publicly the best.
    epsilon
        A number, math.inf, `PowerLaw`, `TotalBudget` or anything with `at(t)`. With 0 there is nothing to plan.
    delta, alpha
        Strictly between 0 and 1.
    explorer
        Which arm to boost: `TopTwo()` (Algorithm 1), `TopTwoTransport()`, or `FixedBoosting(weights)`.
    goal
        What is to be learnt, as in `simulate`; goals other than `BestArm` need a limited budget.

    Returns
    -------
    Plan
        `time`, `standard_error`, `quantiles`, `never`; `weights`, `pulls`, `costs` (K,), `kl_spent`, `power` when it
        stops; `gamma`, `case`, `first_order_time`; and who notices when: `observer`, `informed`.

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> answer = plan(bandit, 0.1, 0.001)
    >>> 14_000 < answer.time < 18_000, answer.power
    (True, 1.0)
    >>> answer.informed.quantiles[1] < answer.observer.quantiles[1] < answer.quantiles[1]
    True
    """
    budget = checked_budget(bandit, epsilon)
    check_level(delta, "delta, the error to stop at,")
    check_level(alpha, "alpha, the level of a test,")
    unlimited = checked_at(budget, 1) == math.inf
    if unlimited and not isinstance(goal, BestArm):
        raise ValueError("A plan without any limit (ε = ∞) needs the goal BestArm(); give that or a finite epsilon.")
    best = optimal_allocation(bandit) if unlimited else optimal_boosting(bandit, goal=goal)
    paths = stopping_paths(bandit, explorer, budget, delta, goal=goal)
    seen = watch_paths(bandit, explorer, budget, alpha, goal=goal)
    done = ~np.isnan(paths.stopped)
    if not done.mean() > 0.5:
        raise ValueError(
            f"With this budget, only {100 * done.mean():.2g} % of runs reach confidence {1 - delta:g} within "
            f"{LATEST:g} pulls; give a larger one."
        )
    times = paths.stopped[done]
    costs = paths.spent[done].mean(0)
    spent_by_all = float(paths.spent.sum(1).mean())
    boosts = paths.boosts[done].mean(0)
    return Plan(
        bandit=bandit,
        epsilon=epsilon,
        delta=float(delta),
        alpha=float(alpha),
        explorer=explorer,
        time=float(times.mean()),
        standard_error=mean_error(times),
        quantiles=quantiles_of(paths.stopped),
        never=1.0 - float(done.mean()),
        weights=boosts / max(_FEWEST, boosts.sum()),
        pulls=paths.pulls[done].mean(0),
        costs=costs,
        kl_spent=float(costs.sum()),
        power=float(nearly_boosted(np.log(alpha), spent_by_all)),
        informed=notice_of(seen.floor),
        observer=notice_of(seen.alarm),
        gamma=best.gamma,
        case=best.case,
        best_weights=best.weights,
        first_order_time=first_order_time(budget, math.log(1.0 / delta) / best.gamma),
        errors=_errors(paths, done, alpha),
        goal=goal,
    )


def _errors(paths: Paths, done: Any, alpha: float) -> dict[str, Any]:
    """Return the standard errors of what is estimated from paths."""
    boosts = paths.boosts[done]
    totals = boosts.sum(1, keepdims=True)
    share = boosts.sum(0) / max(_FEWEST, totals.sum())
    never = 1.0 - float(done.mean())
    spent = paths.spent.sum(1)
    around = np.maximum(0.0, spent.mean() + np.array([-1.0, 1.0]) * mean_error(spent))
    less, more = nearly_boosted(np.full(2, np.log(alpha)), around)
    return {
        "time": mean_error(paths.stopped[done]),
        "quantiles": quantile_errors(paths.stopped),
        "never": math.sqrt(never * (1.0 - never) / done.size),
        "weights": mean_error(boosts - share * totals) / max(_FEWEST, float(totals.mean())),  # of a ratio of means
        "pulls": mean_error(paths.pulls[done]),
        "costs": mean_error(paths.spent[done]),
        "kl_spent": mean_error(spent[done]),
        "power": float(more - less) / 2,  # from the error of B
    }


def checked_budget(bandit: Bandit, epsilon: Any) -> Any:
    """Return the budget of `epsilon`, which must be above 0 at the first pull; a user's own budget is copied."""
    budget = fresh(as_budget(epsilon), bandit.n_arms)
    if checked_at(budget, 1) == 0.0:
        raise ValueError(
            "The budget is 0: without one the exponent is zero (Thompson Sampling pulls the publicly worse arms only "
            "about log T times, so the error does not fall like exp(-√T)); give an epsilon above 0."
        )
    return budget


def planned_median(bandit: Bandit, epsilon: Any, delta: float) -> float:
    """Return `quantiles[1]` of the plan of Algorithm 1, in half the time because nobody asks who notices."""
    return quantiles_of(stopping_paths(bandit, TopTwo(), checked_budget(bandit, epsilon), delta).stopped)[1]


def stopping_paths(
    bandit: Bandit,
    explorer: Any,
    budget: Any,
    delta: float,
    horizon: float = LATEST,
    goal: Any = BestArm(),  # noqa: B008 - frozen
    fraction: int = 1,
) -> Paths:
    """Draw paths until the agent is sure; only the first 1/`fraction` of them for a rough answer."""
    paths = path_count(bandit, (_PATHS if isinstance(goal, BestArm) else _FEWER_PATHS) // fraction)
    return draw_paths(bandit, explorer, budget, paths, delta=delta, horizon=horizon, goal=goal)


def first_order_time(budget: Any, root: float) -> float:
    """Return T with B(T) = root², or root itself if there is no limit; ∞ if the budget never adds up to root²."""
    if checked_at(budget, 1) == math.inf:
        return root
    if power_of(budget) is None:
        times = np.geomspace(1.0, LATEST, _GRID)
        values = np.array([checked_at(budget, round(t)) for t in times])
        sums = np.append(values[0], values[0] + np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(times)))
        return float(np.interp(root**2, sums, times, right=math.inf))
    low, high = 0.0, 300.0 * math.log(10.0)
    # Before the first pull, spend at the rate of the first.
    if root**2 <= checked_at(budget, 1):
        return root**2 / checked_at(budget, 1)
    if float(total_budget(budget, np.array([math.exp(high)]))[0]) < root**2:
        return math.inf
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        if _sum_to(budget, math.exp(middle)) < root**2:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _sum_to(budget: Any, t: float) -> float:
    """Return Σ ε_s up to a real t, with the last pull in part."""
    whole = math.floor(t)
    first = float(total_budget(budget, np.array([whole], dtype=float))[0])
    if t > 1e15:
        return first
    return first + (t - whole) * checked_at(budget, whole + 1)
