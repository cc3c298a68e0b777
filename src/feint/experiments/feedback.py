"""Private rewards seldom or never seen: the slope of the error, what a spread leaves of it, and what the observer sees.

docs/theory.md derives what is claimed, and docs/samples.md says why there are so many seeds.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.goals import take_turns
from feint.experiments.resumable import simulate_resumably
from feint.explorers import RoundRobin
from feint.feedback import Linked, Sometimes
from feint.numerics import best_arm_probabilities
from feint.registry.instance_files import PAPER
from feint.support.figure_style import COLOURS, GREY, band, new_figure, tidy
from feint.support.intervals import Interval, gappy_median_interval, median_interval, share_interval
from feint.theory import optimal_boosting, saturated_log_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "share": 0.2,
    "correlations": (0.0, 0.8),
    "slope": -1.0,  # of `Linked`
    "epsilon": 0.1,
    "sigma": 0.1,  # small, so that few pulls tell much and long horizons are cheap; Γ* and d scale with it
    "horizon": 10**9,
    "replications": 15,
    "spread": 0.3,
    "spread_times": (10**5, 10**6, 10**7, 10**8),
    "spread_replications": 200,
    "watch_horizon": 800,  # pulls of Algorithm 1, with σ = 1
    "watch_replications": 300,
    "alpha": 0.05,
}
QUICK: dict[str, Any] = {
    "horizon": 10**7,
    "replications": 15,
    "spread_times": (10**4, 10**5, 10**6),
    "spread_replications": 100,
    "watch_replications": 60,
}
FULL: dict[str, Any] = {
    "horizon": 10**10,
    "replications": 201,
    "spread_replications": 1000,
    "watch_replications": 12_000,
}
CAPTION = (
    "Left: the error where private rewards are seen with probability {share}, or never; dashed: the predicted slopes; "
    "{replications} seeds. Middle: with a spread of {spread}, the mean square of what the error still lacks; dashed: "
    "1/√(εT); {spread_replications} seeds. Right: Algorithm 1 and when its observer notices (dots, medians); "
    "{watch_replications} seeds. Bands and bars are 95 % intervals."
)
_GROUPS, _CYCLE, _TOLERANCE = 20, 1000, 0.03  # groups of runs with a mean square each: their median holds for any law
_CHANGED_SPREAD = ("15250c7",)  # how many seeds there are
_CHANGED_SEEDS = ("15250c7", "0b8c8bb", "7a8f80b")  # the same, and what alarms are compared with
_TWINS = {"seldom seen": "all seen", "seldom seen, correlated": "all seen", "never seen": "all seen, θ = −μ"}


def steps(settings: dict[str, Any]) -> int:
    """Return the number of runs."""
    return int(3 * settings["replications"] + settings["spread_replications"] + 5 * settings["watch_replications"])


def instances(settings: dict[str, Any], sigma: float) -> dict[str, Bandit]:
    """Return the instances by what is seen of private rewards."""
    public, private = settings["public"], settings["private"]
    plain, correlated = (Sometimes(settings["share"], correlation) for correlation in settings["correlations"])
    never = Linked([0.0] * len(public), [settings["slope"]] * len(public))
    return {
        "all seen": Bandit(public, private, sigma),
        "seldom seen": Bandit(public, private, sigma, feedback=plain),
        "seldom seen, correlated": Bandit(public, private, sigma, feedback=correlated),
        "never seen": Bandit(public, None, sigma, feedback=never),
        "all seen, θ = −μ": Bandit(public, never.private_means(public), sigma),
    }


def with_spread(settings: dict[str, Any]) -> Bandit:
    """Return the instance with a spread and given private means."""
    link = replace(instances(settings, 1.0)["never seen"].feedback, spread=settings["spread"])
    return Bandit(settings["public"], settings["private"], settings["sigma"], feedback=link)


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `log_error(case, replication, time)` with `gamma(case)` and whether the best arm was `found`; `excess(run,
    spread_time)`, log error less its limit, and its first-order standard deviation `predicted`; and, for watched
    runs, `watched_error` and `alarm`.
    """
    seed = int(np.random.SeedSequence((seed, 2)).generate_state(1, np.uint64)[0])
    common: dict[str, Any] = {"epsilon": settings["epsilon"], "seed": seed, "method": "event"}
    times = np.geomspace(settings["horizon"] / 10, settings["horizon"], 11).round().astype(np.int64)
    cases = {name: case for name, case in instances(settings, settings["sigma"]).items() if case.feedback is not None}
    errors, found, gammas = [], [], []
    for bandit in cases.values():
        best = optimal_boosting(bandit)
        runs = simulate_resumably(
            bandit,
            RoundRobin(take_turns(best.weights, _CYCLE)),
            horizon=settings["horizon"],
            replications=settings["replications"],
            checkpoints=times,
            **common,
        )
        tick(settings["replications"])
        errors.append(runs.log_error.values)
        found.append(runs.recommendation.values[:, -1] == bandit.best_private)
        gammas.append(best.gamma)
    excess, predicted = _excess_errors(settings, common, tick)
    watched, alarm, watch_times = _watched_runs(settings, seed, tick)
    return xr.Dataset(
        {
            "log_error": (("case", "replication", "time"), np.array(errors)),
            "found": (("case", "replication"), np.array(found, dtype=np.int8)),
            "gamma": ("case", gammas),
            "excess": (("run", "spread_time"), excess),
            "predicted": (("run", "spread_time"), predicted),
            "watched_error": (("watched", "seed", "watch_time"), watched),
            "alarm": (("watched", "seed"), alarm),
        },
        coords={
            "case": np.array(list(cases), dtype=object),
            "time": times,
            "spread_time": list(settings["spread_times"]),
            "watched": np.array(list(instances(settings, 1.0)), dtype=object),
            "watch_time": watch_times,
        },
        attrs={"epsilon": settings["epsilon"]},
    )


def _excess_errors(settings: dict[str, Any], common: dict[str, Any], tick: Tick) -> tuple[FloatArray, FloatArray]:
    """Return log error less its limit, and its standard deviation to first order at each run's pulls."""
    bandit = with_spread(settings)
    runs = simulate_resumably(
        bandit,
        RoundRobin([arm for arm in range(bandit.n_arms) if arm != bandit.best_public]),
        horizon=settings["spread_times"][-1],
        replications=settings["spread_replications"],
        checkpoints=list(settings["spread_times"]),
        **common,
    )
    tick(settings["spread_replications"])
    moved = settings["slope"] * settings["sigma"] * gradient(bandit)
    return runs.log_error.values - saturated_log_error(bandit), np.sqrt((moved**2 / runs.pulls.values).sum(-1))


def gradient(bandit: Bandit) -> FloatArray:
    """Return ∂ log(1 − p*)/∂m_a of the limit at m = c + b·μ, (K,), by central differences."""
    means, n_arms = np.array(bandit.feedback.private_means(bandit.public)), bandit.n_arms
    step = 1e-4 * bandit.feedback.spread
    moved = means + step * np.concatenate([np.eye(n_arms), -np.eye(n_arms)])
    logs = best_arm_probabilities(moved, np.full(moved.shape, bandit.feedback.spread), log=True)
    errors = np.logaddexp.reduce(np.delete(logs, bandit.best_private, axis=1), axis=1)
    return np.asarray((errors[:n_arms] - errors[n_arms:]) / (2 * step))


def _watched_runs(settings: dict[str, Any], seed: int, tick: Tick) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log errors, alarms and times of Algorithm 1 with its observer."""
    errors, alarms = [], []
    for bandit in instances(settings, 1.0).values():
        runs = simulate_resumably(
            bandit,
            epsilon=settings["epsilon"],
            horizon=settings["watch_horizon"],
            replications=settings["watch_replications"],
            seed=seed,
            observe=True,
            alpha=settings["alpha"],
        )
        tick(settings["watch_replications"])
        errors.append(runs.log_error.values)
        alarms.append(runs.detection_time.values)
    return np.array(errors), np.array(alarms), runs.time.values


def plot(data: xr.Dataset) -> "Figure":
    """Draw errors against √(εT), the mean square with a spread, and errors with alarms."""
    figure = new_figure(9.6, 3.1)
    left, middle, right = figure.subplots(1, 3)
    _slopes(left, data)
    root = data.spread_time.values * data.attrs["epsilon"]
    squares = data.excess.values**2
    band(middle, root, squares, COLOURS[0], "")
    middle.plot(root, squares.mean(0)[-1] * (root[-1] / root) ** 0.5, color=GREY, linestyle="--", linewidth=1)
    middle.set(xscale="log", yscale="log", xlabel=r"$\varepsilon T$", ylabel="mean square of log error − limit")
    for colour, watched in zip(COLOURS, data.watched.values, strict=False):
        errors = data.watched_error.sel(watched=watched).values / math.log(10)
        band(right, data.watch_time.values, errors, colour, str(watched))
        value, low, high = median_interval(data.alarm.sel(watched=watched).values)
        height = float(np.interp(value, data.watch_time.values, errors.mean(0)))
        right.plot(value, height, "o", color=colour, markersize=3.5)
        right.hlines(height, low, high, color=colour, linewidth=1.2)
    right.set(xscale="log", xlabel="time $t$", ylabel=r"$\log_{10}(1 - p^*_t)$, mean of runs")
    right.legend(frameon=False, fontsize=7)
    tidy(left, middle, right)
    return figure


def _slopes(axes: "Axes", data: xr.Dataset) -> None:
    root = np.sqrt(data.attrs["epsilon"] * data.time.values)
    for colour, case in zip(COLOURS[1:], data.case.values, strict=False):
        errors = data.log_error.sel(case=case).values
        band(axes, root, errors, colour, str(case))
        line = errors.mean(0)[0] - float(data.gamma.sel(case=case)) * (root - root[0])
        axes.plot(root, line, color=GREY, linestyle="--", linewidth=1)
    axes.set(xlabel=r"$\sqrt{\varepsilon T}$", ylabel=r"$\log(1 - p^*_T)$, mean of runs")
    axes.legend(frameon=False, fontsize=7)


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test the slopes, the limit with a spread and how it is approached, and that the observer sees no difference."""
    arrived = data.found.sel(case="never seen").values
    return [
        *(_slope_claim(data.sel(case=case), str(case)) for case in data.case.values),
        _claim(
            "never seen and b < 0: the publicly worst arm is found",
            f"share of runs that recommend it at T = {int(data.time[-1]):,}",
            share_interval(int(arrived.sum()), arrived.size, LEVEL),
            (0.75, 1.0),
            *_CHANGED_SEEDS,
        ),
        *_spread(data),
        *_alarms(data),
    ]


def _claim(name: str, quantity: str, interval: Interval, claimed: tuple[float, float], *changed: str) -> Finding:
    return Finding(name, OURS, quantity, *interval, at_least=claimed[0], at_most=claimed[1], changed=changed)


def _slope_claim(data: xr.Dataset, case: str) -> Finding:
    """Fit the log error of each run by a line in √(εT)."""
    root = np.sqrt(data.attrs["epsilon"] * data.time.values)
    weights = (root - root.mean()) / ((root - root.mean()) ** 2).sum()
    ratios = -(data.log_error.values @ weights) / float(data.gamma)
    return _claim(
        f"{case}: the exponent is the predicted one",
        f"median slope in √(εT) over the prediction, T from {int(data.time[0]):,} to {int(data.time[-1]):,}",
        median_interval(ratios, LEVEL),
        (1 - _TOLERANCE, 1 + _TOLERANCE),
        *_CHANGED_SEEDS,
    )


def _spread(data: xr.Dataset) -> list[Finding]:
    """Test the limit, the slope of the mean square in groups of runs, and its size."""
    last, x = int(data.spread_time[-1]), np.log(data.spread_time.values)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    groups = np.array_split(data.excess.values**2, _GROUPS)
    slopes = np.array([np.log(group.mean(0)) @ weights for group in groups])
    within = np.abs(data.excess.values[:, -1]) <= data.predicted.values[:, -1]
    return [
        _claim(
            "with a spread the error tends to that of known public means",
            f"median of log error − limit at T = {last:,}",
            median_interval(data.excess.values[:, -1], LEVEL),
            (-0.02, 0.02),
            *_CHANGED_SPREAD,
        ),
        _claim(
            "with a spread the mean square of log error − limit falls like 1/√(εT)",
            f"median slope in log(εT) over {_GROUPS} groups of runs, T from {int(data.spread_time[0]):,} to {last:,}",
            median_interval(slopes, LEVEL),
            (-0.6, -0.4),
            *_CHANGED_SPREAD,
        ),
        _claim(
            "with a spread log error − limit has the predicted standard deviation",
            f"share of runs within one of it at T = {last:,} (0.683 for a normal number)",
            share_interval(int(within.sum()), within.size, LEVEL),
            (0.55, 0.8),
            *_CHANGED_SPREAD,
        ),
    ]


def _alarms(data: xr.Dataset) -> list[Finding]:
    """Compare alarms seed by seed with those of runs on the same means that see everything."""
    logs = np.log(data.alarm.fillna(np.inf))
    with np.errstate(invalid="ignore"):  # ∞ − ∞: neither alarm came, so the ratio may be anything
        ratios = {name: (logs.sel(watched=name) - logs.sel(watched=twin)).values for name, twin in _TWINS.items()}
    return [
        _claim(
            f"the observer notices as early as where all is seen: {name}",
            "median over seeds of log(alarm/alarm where all is seen)",
            gappy_median_interval(ratio, LEVEL),
            (math.log(0.8), math.log(1.25)),
            *_CHANGED_SEEDS,
        )
        for name, ratio in ratios.items()
    ]
