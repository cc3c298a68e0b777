"""The price of deception in time: how long until the agent is sure of the best private arm, and until it is noticed."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding, Point, at_every_point
from feint.experiments.resumable import simulate_resumably
from feint.numerics.boost_kernel import bernoulli_kl
from feint.planning.plan import planned_median
from feint.registry.instances import PAPER
from feint.simulation.simulate import simulate
from feint.support.intervals import bootstrap, gappy_median_interval, median_interval, normal_interval, share_interval
from feint.support.style import COLOURS, GREY, draw_intervals, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    # In the first (the paper's) the best arms differ, in the second they agree; the private gaps are the same.
    "private": (PAPER.private, (0.5, 0.2, 0.1, 0.0)),
    "epsilons": tuple(10.0 ** (i / 2) for i in range(-6, 1)),
    "deltas": (0.05, 0.01, 0.001),
    "alpha": 0.05,
    "identify_total": 10_000,  # total KL at which an agent that is not yet sure gives up: the horizon is this over ε
    "identify_replications": 110,
    "detect_total": 20,  # the observer watches (this over ε) + detect_extra pulls
    "detect_extra": 900,
    "detect_replications": 110,  # the first of the identifying runs, with the same trajectories
}
QUICK: dict[str, Any] = {
    "epsilons": (0.01, 0.1, 1.0),
    "deltas": (0.05, 0.001),
    "identify_replications": 40,
    "detect_replications": 40,
}
CAPTION = (
    "Median pulls until the agent is sure, and until the observer, who tests at {alpha}, notices; "
    "{identify_replications} and {detect_replications} seeds per point, with 95 % intervals. Dashed: planned. "
    "Dotted: the floor, an observer who knows the private posterior."
)
INSTANCES = ("best arms differ", "best arms agree")
_PLANNER, _SLOPE, _FACTOR = 0.25, 0.1, 2.0  # tolerances: of the planned median, of the power −1, over the floor
_WATCHED_STEP = 1_500  # the time of a watched step, in steps of the identifying runs, most of which are skipped


def steps(settings: dict[str, Any]) -> int:
    """Return the weighted number of trajectory-steps, for the progress bar."""
    identify = settings["identify_replications"] * sum(_identify_horizon(settings, e) for e in settings["epsilons"])
    detect = settings["detect_replications"] * sum(_detect_horizon(settings, e) for e in settings["epsilons"])
    return int(len(settings["private"]) * (len(settings["deltas"]) * identify + _WATCHED_STEP * detect))


def _identify_horizon(settings: dict[str, Any], epsilon: float) -> int:
    return int(settings["identify_total"] / epsilon)


def _detect_horizon(settings: dict[str, Any], epsilon: float) -> int:
    return int(settings["detect_total"] / epsilon + settings["detect_extra"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return stopping times `identified` (NaN: never), whether they were `right`, `planned` medians, and alarms."""
    shape = (len(settings["private"]), len(settings["epsilons"]), len(settings["deltas"]))
    identified, planned = np.empty((*shape, settings["identify_replications"])), np.empty(shape)
    right = np.empty(identified.shape, dtype=np.int8)
    detected, floor = np.empty((2, *shape[:2], settings["detect_replications"]))
    for i, private in enumerate(settings["private"]):
        bandit = Bandit(settings["public"], private)
        for j, epsilon in enumerate(settings["epsilons"]):
            # Points have different seeds, so that averages over points are sharper.
            own_seed = int(np.random.SeedSequence((seed, i, j)).generate_state(1, np.uint64)[0])
            horizon = _identify_horizon(settings, epsilon)
            for k, delta in enumerate(settings["deltas"]):
                runs = simulate(  # nearly all stop long before the horizon
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
                planned[i, j, k] = planned_median(bandit, epsilon, delta)
            watched = simulate_resumably(
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


def plot(data: xr.Dataset) -> "Figure":
    """Draw medians against ε, one panel per instance."""
    figure = new_figure(7.2, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for i, (axes, instance) in enumerate(zip((left, right), INSTANCES, strict=True)):
        _times(axes, data.isel(instance=i))
        axes.set_title(f"{instance[0].upper()}{instance[1:]}", fontsize=9)
    left.set_ylabel("median time (pulls)")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=7.5)
    tidy(left, right)
    return figure


def _times(axes: "Axes", data: xr.Dataset) -> None:
    x = data.epsilon.values
    for colour, delta in zip((COLOURS[5], COLOURS[0], COLOURS[6]), data.delta.values, strict=False):
        at = data.sel(delta=delta)
        points = [median_interval(times) for times in at.identified.values]
        draw_intervals(axes, x, points, colour, marker="o", linestyle="", label=rf"sure, $\delta$ = {100 * delta:g} %")
        axes.plot(x, at.planned, color=colour, linewidth=1, linestyle="--")
    axes.plot([], [], color=GREY, linewidth=1, linestyle="--", label="planned")
    detected = [median_interval(times) for times in data.detected.values]
    draw_intervals(axes, x, detected, COLOURS[1], marker="s", linestyle="-", linewidth=1, label="detected")
    floor = [median_interval(times)[0] for times in data.floor.values]
    axes.plot(x, floor, color=COLOURS[1], linewidth=1, linestyle=":", label="floor")
    axes.set(xscale="log", yscale="log", xlabel=r"KL budget per step $\varepsilon$")


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test what comes first, how detection scales with ε and compares with its bounds, and how good the planner is."""
    found = []
    for i, instance in enumerate(INSTANCES):
        found += [_detected_first(data.isel(instance=i), delta, instance) for delta in data.delta.values]
    found += [_slope(data.isel(instance=i), instance) for i, instance in enumerate(INSTANCES)]
    for k, delta in enumerate(data.delta.values):
        found += [_planner(data, k, delta), _wrong(data, k, delta)]
    return [*found, *_detection_bounds(data)]


def _detected_first(data: xr.Dataset, delta: float, instance: str) -> Finding:
    """Compare both times run by run, on the same trajectory. If neither has come when the observer stops, the agent is
    taken to be sure first.
    """
    points = []
    for epsilon in data.epsilon.values:
        detected = data.detected.sel(epsilon=epsilon).values
        identified = data.identified.sel(epsilon=epsilon, delta=delta).values[: detected.size]
        first = int((detected <= np.where(np.isnan(identified), math.inf, identified)).sum())
        share = share_interval(first, detected.size, LEVEL / data.sizes["epsilon"])
        points.append(Point(f"ε = {epsilon:.2g}", *share))
    name = f"caught before sure at δ = {delta:g}, {instance}"
    return at_every_point(name, OURS, "share of runs detected first", points, at_least=0.5)


def _slope(data: xr.Dataset, instance: str) -> Finding:
    """Fit a slope to each row of one run per ε; with a run that was never detected the slope may be anything."""
    x = np.log(data.epsilon.values)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    slopes = weights @ np.log(data.detected.values)
    return Finding(
        f"time to detection ∝ 1/ε, {instance}",
        OURS,
        "median slope of log time on log ε, one run at each ε",
        *gappy_median_interval(slopes, LEVEL),
        at_least=-1 - _SLOPE,
        at_most=-1 + _SLOPE,
    )


def _planner(data: xr.Dataset, k: int, delta: float) -> Finding:
    planned = np.log(data.planned.values[..., k, None])
    # A median is the same whether a run that was never sure counts as infinite or as its horizon.
    times = data.identified.fillna(data.identify_horizon).values[:, :, k]
    value, error = bootstrap(lambda medians: (planned - np.log(medians)).mean((0, 1))[None], times)
    ratio, low, high = np.exp(normal_interval(float(value[0]), float(error[0]), LEVEL))
    each = np.exp(planned[..., 0]) / np.median(times, -1)
    return Finding(
        f"planned median at δ = {delta:g} is within {100 * _PLANNER:g} %",
        OURS,
        f"planned ÷ simulated median time, geometric mean over {each.size} points of ε and instance; "
        f"from {each.min():.2f} to {each.max():.2f}",
        float(ratio),
        float(low),
        float(high),
        at_least=1 / (1 + _PLANNER),
        at_most=1 + _PLANNER,
    )


def _wrong(data: xr.Dataset, k: int, delta: float) -> Finding:
    """Measure how often the agent is sure and wrong: a posterior that is checked at every pull promises no level."""
    stopped = ~np.isnan(data.identified.values[:, :, k])
    wrong = int((stopped & (data.right.values[:, :, k] == 0)).sum())
    return Finding(
        f"wrong at δ = {delta:g} with probability δ at most",
        OURS,
        f"share of wrong runs, all ε and instances together, {stopped.size:,} runs",
        *share_interval(wrong, stopped.size, LEVEL),
        at_most=float(delta),
    )


def _detection_bounds(data: xr.Dataset) -> list[Finding]:
    """Compare detection with two bounds. Power ½ needs a total of KL(½ ‖ α), so no median can come earlier. And without
    seeing the draws no test beats the likelihood ratio of the agent's policy averaged over them: the floor.
    """
    alpha, n = data.attrs["alpha"], data.attrs["n_arms"]
    half = bernoulli_kl(0.5, alpha, math.log(alpha))
    level = LEVEL / (data.sizes["instance"] * data.sizes["epsilon"])
    allowed: list[Point] = []
    slow: list[Point] = []
    for i, instance in enumerate(INSTANCES):
        for j, epsilon in enumerate(data.epsilon.values):
            detected, floor = data.detected.values[i, j], data.floor.values[i, j]
            where = f"ε = {epsilon:.2g} ({instance})"
            allowed.append(Point(where, *median_interval(detected / (n + half / epsilon), level)))
            slow.append(Point(where, *gappy_median_interval(_ratio(detected, floor), level)))
    return [
        at_every_point(
            "nobody is caught sooner than the bound allows",
            OURS,
            "median time to detection ÷ the time at which q*(α; εt) = ½",
            allowed,
            at_least=1.0,
            theorem=True,
        ),
        at_every_point(
            "the observer takes at most twice the floor's time",
            OURS,
            "median over runs of the time to detection ÷ that of the floor",
            slow,
            at_most=_FACTOR,
        ),
    ]


def _ratio(detected: FloatArray, floor: FloatArray) -> FloatArray:
    """Return the ratio of two times, where NaN means never: infinite if only the first never came, NaN (anything) if
    neither came.
    """
    never, floor_never = np.isnan(detected), np.isnan(floor)
    ratio = np.where(never, math.inf, np.where(floor_never, 0.0, detected / floor))
    return np.asarray(np.where(never & floor_never, math.nan, ratio))
