"""Other goals: how fast the error of the top m arms, and of the arms above a threshold, falls against Γ*."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.budgets import as_budget
from feint.experiments.contract import Tick, in_units, in_words
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.explorers import RoundRobin
from feint.references import ThompsonSampling
from feint.registry import parse
from feint.simulation.scenario import RunOptions, Scenario
from feint.simulation.simulate import run_simulation
from feint.support.figure_style import COLOURS, GREY, band, new_figure, tidy
from feint.support.intervals import median_interval
from feint.theory import gamma, optimal_boosting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# (goal, public means, private means); with a small σ a pull tells much and few are needed (docs/samples.md).
_CASES = (
    ("top-arms:2", (1.0, 0.5, 0.0, 0.3), (0.5, 2.0, 1.5, -0.5)),
    ("top-arms:2", (0.3, 1.2, 1.5, 0.9, 0.6), (0.2, 1.6, 0.4, 1.7, 0.5)),
    ("top-arms:3", (0.0, 0.75, 2.0, 1.5, 1.25), (-0.8, 1.2, 2.2, -0.4, 1.4)),
    ("above-threshold:1", (1.0, 0.5, 0.0, 0.3), (0.5, 2.0, 1.8, -0.5)),
    ("above-threshold:0.5", (0.9, 0.2, 0.5, 0.0, 0.4), (1.5, -0.5, 1.2, 2.0, -0.2)),
    ("above-threshold:0", (0.8, 0.4, 0.0), (1.0, -0.8, 0.7)),
)
SETTINGS: dict[str, Any] = {
    "cases": _CASES,
    "epsilon": 0.1,
    "sigma": 0.1,
    "log10_horizon": 9,
    "replications": 15,
    "turns": 1000,
}
QUICK: dict[str, Any] = {"replications": 12, "log10_horizon": 8}
FULL: dict[str, Any] = {"replications": 61, "log10_horizon": 10}
CAPTION = (
    "Log error over −√(εT)·Γ* for other goals than the best arm, with boosts in the shares w*, σ = {sigma} and "
    "ε = {epsilon}; means of {replications} runs with 95 % bands."
)
TOLERANCE = 0.03
_FITTED = 10  # the slope is that over the last factor of 10 in time
_UNITS = 1000
_CHANGED = ("7a8f80b",)  # σ and the longest horizon


def take_turns(weights: FloatArray, turns: int) -> list[int]:
    """Return a cycle of arms in which each keeps to its share, as in `FixedBoosting`; the event-driven method passes
    whole cycles at once.
    """
    made: list[int] = []
    counts = np.zeros(weights.size)
    for turn in range(turns):
        behind = np.where(weights > 0.0, (turn + 1) * weights - counts, -np.inf)
        made.append(int(behind.argmax()))
        counts[made[-1]] += 1
    return made


def _case_label(case: tuple[Any, ...], number: int) -> str:
    return f"{case[0]}, instance {number}"


def steps(settings: dict[str, Any]) -> int:
    """Return units for each case."""
    return _UNITS * len(settings["cases"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `log_error(case, replication, time)`, and Γ* and Γ of the shares kept by case."""
    horizon = 10 ** settings["log10_horizon"]
    times = np.unique(np.append(np.logspace(2, settings["log10_horizon"], 33).astype(np.int64), horizon // _FITTED))
    errors, best, kept = [], [], []
    for text, public, private in settings["cases"]:
        bandit, goal = Bandit(public, private, settings["sigma"]), parse(text, "goal")
        optimum = optimal_boosting(bandit, goal=goal)
        turns = take_turns(optimum.weights, settings["turns"])
        best.append(optimum.gamma)
        kept.append(gamma(bandit, np.bincount(turns, minlength=bandit.n_arms) / len(turns), goal=goal))
        replications = settings["replications"]
        scenario = Scenario(bandit, RoundRobin(turns), ThompsonSampling(), as_budget(settings["epsilon"]), goal)
        options = RunOptions(horizon=horizon, replications=replications, seed=seed, checkpoints=times, method="event")
        runs = run_simulation(scenario, options, in_units(tick, horizon * replications, _UNITS))
        errors.append(runs.variables["log_error"])
    labels = [_case_label(case, i) for i, case in enumerate(settings["cases"], 1)]
    return xr.Dataset(
        {"log_error": (("case", "replication", "time"), np.array(errors))},
        coords={
            "time": times,
            "label": ("case", np.array(labels, dtype=object)),
            "gamma": ("case", best),
            "gamma_kept": ("case", kept),
        },
        attrs={"epsilon": settings["epsilon"]},
    )


def slope_ratios(data: xr.Dataset, case: int) -> FloatArray:
    """Return the slope of −log error in √(εT) over the last decade of every run, in units of Γ*."""
    one = data.isel(case=case)
    last = int(data.time[-1])
    ends = one.log_error.sel(time=[last // _FITTED, last]).values
    roots = np.sqrt(data.attrs["epsilon"] * np.array([last // _FITTED, last]))
    return np.asarray((ends[:, 0] - ends[:, 1]) / (roots[1] - roots[0]) / float(one.gamma))


def plot(data: xr.Dataset) -> "Figure":
    """Draw the log error over its limit against time."""
    figure = new_figure(6.8, 3.2)
    axes = figure.subplots()
    limit = np.sqrt(data.attrs["epsilon"] * data.time.values)
    for case in range(data.sizes["case"]):
        one = data.isel(case=case)
        colour = COLOURS[case % len(COLOURS)]
        band(axes, data.time.values, -one.log_error.values / (limit * float(one.gamma)), colour, str(one.label.item()))
    axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="time $t$", ylabel=r"$-\log$ error$\,/\,\sqrt{\varepsilon t}\,\Gamma^*$", ylim=(0, 2))
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(axes)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that the log error falls with slope Γ* in √(εT)."""
    first, last = int(data.time[-1]) // _FITTED, int(data.time[-1])
    return [
        Finding(
            f"slope Γ*: {data.label.values[case]}",
            OURS,
            f"median slope of −log error in √(εT) from T = {first:.0e} to {last:.0e}, over Γ*; "
            + in_words(dict(zip(("public means", "private means"), settings["cases"][case][1:], strict=True))),
            *median_interval(slope_ratios(data, case), LEVEL),
            at_least=1 - TOLERANCE,
            at_most=1 + TOLERANCE,
            changed=_CHANGED,
        )
        for case in range(data.sizes["case"])
    ]
