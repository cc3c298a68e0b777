"""The price of deception: identifying against being detected, pulls against total KL, and power against its bound."""

from typing import Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.budgets import Constant, PowerLaw, TotalBudget
from feint.experiments.contract import Tick
from feint.experiments.frontier_claims import claims
from feint.experiments.frontier_plot import plot
from feint.experiments.kept import simulate
from feint.explorers import RoundRobin
from feint.planning import plan
from feint.theory import predicted_pulls

__all__ = ["QUICK", "SETTINGS", "TITLE", "claims", "plot", "run", "steps"]

Budget = Constant | PowerLaw | TotalBudget

SETTINGS: dict[str, Any] = {
    "public": (0.6, 0.3, 0.0, 0.2),
    # The best arms differ (the paper's), and agree; the private gaps are the same.
    "private": ((0.2, 0.5, 0.1, 0.0), (0.5, 0.2, 0.1, 0.0)),
    "epsilons": tuple(10.0 ** (i / 2) for i in range(-6, 1)),
    "deltas": (0.05, 0.01, 0.001),
    "alpha": 0.05,
    "identify_total": 10_000,  # total KL at which an agent that is not sure gives up: the horizon is this over ε
    "identify_replications": 110,
    "detect_total": 20,  # the observer watches (this over ε) + detect_extra pulls
    "detect_extra": 900,
    "detect_replications": 110,  # the first of the identifying ones: the same trajectories
    "boosted": 2,  # the arm with the largest public gap, for which the limit comes soonest
    "totals": (1.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0),
    "compared": ((10.0, 30.0, 100.0), (1_000.0,), (10_000.0,)),  # of these, where schedules are compared
    "exponents": (0.0, 0.5, 0.9),  # ε_t ∝ t^−exponent up to the horizon, and then one more schedule:
    "early": 0.1,  # the same ε over this share of the horizon and nothing later
    "pulls_horizon": 100_000,
    "pulls_replications": 130,
    "watched": 1_000,  # first pulls, where a schedule may offer more KL than a step can spend
    "watched_replications": 20,
    "power_totals": tuple(10.0 ** (i / 2) for i in range(-4, 3)),
    "power_horizon": 400,
    "power_replications": 1_500,
}
QUICK: dict[str, Any] = {
    "epsilons": (0.01, 0.1, 1.0),
    "identify_replications": 40,
    "detect_replications": 40,
    "totals": (10.0, 100.0, 1_000.0),
    "compared": ((10.0, 100.0), (1_000.0,)),
    "pulls_horizon": 10_000,
    "pulls_replications": 60,
    "watched_replications": 10,
    "power_totals": (0.01, 0.1, 1.0, 10.0),
    "power_horizon": 300,
    "power_replications": 400,
}
TITLE = "The price of deception"
# What a step of each kind takes, in units of one of the identifying runs, most of which are skipped.
_PULLS_STEP, _WATCHED_STEP = 30, 1_500


def steps(settings: dict[str, Any]) -> int:
    """Weighted trajectory-steps in all, for the progress bar."""
    epsilons, instances = settings["epsilons"], len(settings["private"])
    identify = settings["identify_replications"] * sum(_identify_horizon(settings, e) for e in epsilons)
    detect = settings["detect_replications"] * sum(_detect_horizon(settings, e) for e in epsilons)
    points = (len(settings["exponents"]) + 1) * len(settings["totals"])
    pulls = (points + 1) * settings["pulls_replications"] * settings["pulls_horizon"]
    watched = points * settings["watched_replications"] * settings["watched"]
    power = len(settings["power_totals"]) * settings["power_replications"] * settings["power_horizon"]
    return int(
        instances * len(settings["deltas"]) * identify
        + _PULLS_STEP * pulls
        + _WATCHED_STEP * (instances * detect + watched + power)
    )


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """The three parts in one Dataset."""
    return xr.merge(
        [_times(settings, seed, tick), _pulls(settings, seed, tick), _power(settings, seed, tick)],
        combine_attrs="drop_conflicts",
    )


def _identify_horizon(settings: dict[str, Any], epsilon: float) -> int:
    return int(settings["identify_total"] / epsilon)


def _detect_horizon(settings: dict[str, Any], epsilon: float) -> int:
    return int(settings["detect_total"] / epsilon + settings["detect_extra"])


def _times(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Stopping times `identified` (NaN: never), whether they were `right`, `planned` medians, and alarms."""
    shape = (len(settings["private"]), len(settings["epsilons"]), len(settings["deltas"]))
    identified, planned = np.empty((*shape, settings["identify_replications"])), np.empty(shape)
    right = np.empty(identified.shape, dtype=np.int8)
    detected, floor = np.empty((2, *shape[:2], settings["detect_replications"]))
    for i, private in enumerate(settings["private"]):
        bandit = Bandit(settings["public"], private)
        for j, epsilon in enumerate(settings["epsilons"]):
            # Other seeds at other points, so that averages over points are sharper.
            own_seed = int(np.random.SeedSequence((seed, i, j)).generate_state(1, np.uint64)[0])
            horizon = _identify_horizon(settings, epsilon)
            for k, delta in enumerate(settings["deltas"]):
                runs = simulate(
                    bandit,
                    epsilon=epsilon,
                    horizon=horizon,
                    replications=settings["identify_replications"],
                    seed=own_seed,
                    delta=delta,
                    checkpoints=[horizon],
                    progress=tick,
                )
                identified[i, j, k] = runs.stopping_time.values
                right[i, j, k] = runs.recommendation.values[:, -1] == bandit.best_private
                planned[i, j, k] = plan(bandit, epsilon, delta).quantiles[1]
            watched = simulate(
                bandit,
                epsilon=epsilon,
                horizon=_detect_horizon(settings, epsilon),
                replications=settings["detect_replications"],
                seed=own_seed,
                observe=True,
                alpha=settings["alpha"],
                checkpoints=[bandit.n_arms],
                progress=lambda made: tick(_WATCHED_STEP * made),
            )
            detected[i, j], floor[i, j] = watched.detection_time.values, watched.floor_time.values
    axes = ("instance", "epsilon", "delta")
    return xr.Dataset(
        {
            "identified": ((*axes, "replication"), identified),
            "right": ((*axes, "replication"), right),
            "planned": (axes, planned),
            "detected": ((*axes[:2], "run"), detected),
            "floor": ((*axes[:2], "run"), floor),
            "identify_horizon": ("epsilon", [_identify_horizon(settings, e) for e in settings["epsilons"]]),
            "detect_horizon": ("epsilon", [_detect_horizon(settings, e) for e in settings["epsilons"]]),
        },
        coords={"epsilon": list(settings["epsilons"]), "delta": list(settings["deltas"])},
        attrs={"alpha": settings["alpha"], "n_arms": len(settings["public"])},
    )


def schedules(settings: dict[str, Any], total: float) -> list[Budget]:
    """Budgets that add up to `total` at the horizon, spread over time in different ways."""
    n, horizon = len(settings["public"]), settings["pulls_horizon"]
    spread: list[Budget] = []
    for exponent in settings["exponents"]:
        scale = total / PowerLaw(1.0, exponent).sum_to(n, horizon)
        spread.append(PowerLaw(scale, exponent) if exponent else Constant(scale))
    early = round(settings["early"] * horizon)
    # TotalBudget leaves the share of the initial round unspent.
    return [*spread, TotalBudget(total * early / (early - n), early)]


def _pulls(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """`pulls` of one arm boosted at every step, `own_pulls` without a budget, what was `spent`, and fluid predictions.

    All at the same time and with the same seeds, so that what a schedule gained is pulls − own_pulls, run by run:
    Thompson Sampling pulls the arm some 40 times by itself, which costs nothing, and a boost that only makes such a
    pull come sooner gains nothing. Medians of it are compared, for the limit is about almost every run, the fluid
    prediction about a typical one, and a single run in which the best public arm starts badly can move a mean by half.
    """
    bandit, boosted = Bandit(settings["public"], settings["private"][0]), settings["boosted"]
    n, horizon, watched = bandit.n_arms, settings["pulls_horizon"], settings["watched"]
    weights = np.eye(n)[boosted]

    def boosting(budget: Budget, until: int, runs: int, step: int, observe: bool) -> xr.Dataset:
        return simulate(
            bandit,
            RoundRobin([boosted]),
            epsilon=budget,
            horizon=until,
            replications=runs,
            seed=seed,
            observe=observe,
            checkpoints=[until],
            progress=lambda made: tick(step * made),
        )

    def pulled(budget: Budget) -> Any:
        runs = boosting(budget, horizon, settings["pulls_replications"], _PULLS_STEP, False)
        return runs.pulls.values[:, -1, boosted]

    def spends(budget: Budget) -> float:
        # A step cannot spend more than −log π of the boosted arm. Only the first steps of a schedule offer more.
        first = boosting(budget, watched, settings["watched_replications"], _WATCHED_STEP, True)
        return float(first.kl_spent.mean()) + budget.sum_to(n, horizon) - budget.sum_to(n, watched)

    def fluid(budget: Budget) -> float:
        return float(predicted_pulls(bandit, weights, budget, [horizon])[0, boosted])

    shape = (len(settings["exponents"]) + 1, len(settings["totals"]))
    pulls = np.empty((*shape, settings["pulls_replications"]), dtype=np.int64)
    spent, predicted = np.empty(shape), np.empty(shape)
    for j, total in enumerate(settings["totals"]):
        for i, budget in enumerate(schedules(settings, total)):
            pulls[i, j], spent[i, j], predicted[i, j] = pulled(budget), spends(budget), fluid(budget)
    axes = ("schedule", "total")
    return xr.Dataset(
        {
            "pulls": ((*axes, "seed"), pulls),
            "own_pulls": ("seed", pulled(Constant(0.0))),
            "spent": (axes, spent),
            "fluid": (axes, predicted),
            "exponent": ("schedule", [*settings["exponents"], 0.0]),
            "until": ("schedule", [1.0] * len(settings["exponents"]) + [settings["early"]]),
        },
        coords={"total": list(settings["totals"])},
        attrs={
            "first_order_rate": 2 * bandit.sigma / float(bandit.public_gaps[boosted]),
            "own_fluid": fluid(Constant(0.0)),
            "pulls_horizon": horizon,
        },
    )


def _power(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """`p_value` of the observer, `log_ratio` of one who knows every boost, when one who knows the private posterior but
    not the draws sounds the alarm (`power_floor`), and the total KL spent, at the horizon.
    """
    bandit, horizon = Bandit(settings["public"], settings["private"][0]), settings["power_horizon"]
    shape = (len(settings["power_totals"]), settings["power_replications"])
    p_value, log_ratio, floor, spent = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape[0])
    for i, total in enumerate(settings["power_totals"]):
        runs = simulate(
            bandit,
            epsilon=TotalBudget(total, horizon),
            horizon=horizon,
            replications=settings["power_replications"],
            seed=seed,
            observe=True,
            checkpoints=[horizon],
            progress=lambda made: tick(_WATCHED_STEP * made),
        )
        p_value[i], log_ratio[i] = runs.p_value.values, runs.log_likelihood_ratio.values[:, -1]
        floor[i] = runs.floor_time.values
        spent[i] = runs.kl_spent.values[:, -1].mean()
    return xr.Dataset(
        {
            "p_value": (("power_total", "sample"), p_value),
            "log_ratio": (("power_total", "sample"), log_ratio),
            "power_floor": (("power_total", "sample"), floor),
            "power_spent": ("power_total", spent),
        },
        coords={"power_total": list(settings["power_totals"])},
    )
