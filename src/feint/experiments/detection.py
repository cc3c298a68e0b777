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
from feint.registry.instance_files import PAPER
from feint.simulation.simulate import simulate
from feint.support.figure_style import COLOURS, GREY, draw_intervals, new_figure, tidy
from feint.support.intervals import gappy_median_interval, median_interval, median_ratio_interval, share_interval

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
    "identify_replications": (110,) * 3,  # at each δ
    "detect_total": 20,  # the observer watches (this over ε) + detect_extra pulls
    "detect_extra": 900,
    "detect_replications": (110,) * 7,  # at each ε, of the first identifying runs: the same trajectories
}
QUICK: dict[str, Any] = {
    "epsilons": (0.01, 0.1, 1.0),
    "deltas": (0.05, 0.001),
    "identify_replications": (40,) * 2,
    "detect_replications": (40,) * 3,
}
FULL: dict[str, Any] = {
    "identify_replications": (1_400, 1_400, 1_500),
    "detect_replications": (1_400, 500, 150, 150, 150, 150, 150),
}
CAPTION = (
    "Median pulls until the agent is sure, and until the observer, who tests at {alpha}, notices, with 95 % intervals; "
    "{identify_replications} seeds per δ, of which {detect_replications} are watched per ε. Dashed: planned. "
    "Dotted: the floor, an observer who knows the private posterior."
)
INSTANCES = ("best arms differ", "best arms agree")
_PLANNER = 0.25  # tolerance of the planned median
_WATCHED_STEP = 1_500  # the time of a watched step, in steps of the identifying runs, most of which are skipped
_CHANGED_WATCH = ("3ae282a", "ae8dca9")  # how long the observer watches
_CHANGED_WRONG = ("7b1734e",)  # one claim per δ
_CHANGED_SLOPE = ("7b1734e", *_CHANGED_WATCH, "9c71bac")  # the statistic
_CHANGED_PLANNER = ("9c71bac",)  # the statistic
_CHANGED_FLOOR = ("2aec69e", *_CHANGED_WATCH)  # what the observer is compared with
_NO_RUN = -1  # in `right`, where one δ has fewer runs than another


def steps(settings: dict[str, Any]) -> int:
    """Return the weighted number of trajectory-steps, for the progress bar."""
    longest = sum(_identify_horizon(settings, e) for e in settings["epsilons"])
    watched = zip(settings["epsilons"], settings["detect_replications"], strict=True)
    detect = sum(runs * _detect_horizon(settings, epsilon) for epsilon, runs in watched)
    return int(len(settings["private"]) * (sum(settings["identify_replications"]) * longest + _WATCHED_STEP * detect))


def _identify_horizon(settings: dict[str, Any], epsilon: float) -> int:
    return int(settings["identify_total"] / epsilon)


def _detect_horizon(settings: dict[str, Any], epsilon: float) -> int:
    return int(settings["detect_total"] / epsilon + settings["detect_extra"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return stopping times `identified` (NaN: never), whether they were `right` (−1: there is no such run), `planned`
    medians, and alarms: the first `watched` at each ε.
    """
    shape = (len(settings["private"]), len(settings["epsilons"]), len(settings["deltas"]))
    identified, planned = np.full((*shape, max(settings["identify_replications"])), math.nan), np.empty(shape)
    right = np.full(identified.shape, _NO_RUN, dtype=np.int8)
    detected, floor = np.full((2, *shape[:2], max(settings["detect_replications"])), math.nan)
    for i, private in enumerate(settings["private"]):
        bandit = Bandit(settings["public"], private)
        for j, epsilon in enumerate(settings["epsilons"]):
            # Points have different seeds, so that averages over points are sharper.
            own_seed = int(np.random.SeedSequence((seed, i, j)).generate_state(1, np.uint64)[0])
            horizon = _identify_horizon(settings, epsilon)
            for k, delta in enumerate(settings["deltas"]):
                number = settings["identify_replications"][k]
                runs = simulate(  # nearly all stop long before the horizon
                    bandit,
                    epsilon=epsilon,
                    horizon=horizon,
                    replications=number,
                    seed=own_seed,
                    delta=delta,
                    checkpoints=[horizon],
                    progress=tick,
                )
                identified[i, j, k, :number] = runs.stopping_time.values
                right[i, j, k, :number] = runs.recommendation.values[:, -1] == bandit.best_private
                planned[i, j, k] = planned_median(bandit, epsilon, delta)
            number = settings["detect_replications"][j]
            watched = simulate_resumably(
                bandit,
                epsilon=epsilon,
                horizon=_detect_horizon(settings, epsilon),
                replications=number,
                seed=own_seed,
                observe=True,
                alpha=settings["alpha"],
                checkpoints=[bandit.n_arms],
                progress=lambda made: tick(_WATCHED_STEP * made),
            )
            detected[i, j, :number], floor[i, j, :number] = watched.detection_time.values, watched.floor_time.values
    axes = ("instance", "epsilon", "delta")
    return xr.Dataset(
        {
            "identified": ((*axes, "replication"), identified),
            "right": ((*axes, "replication"), right),
            "planned": (axes, planned),
            "detected": ((*axes[:2], "run"), detected),
            "floor": ((*axes[:2], "run"), floor),
            "watched": ("epsilon", list(settings["detect_replications"])),
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
        points = [median_interval(times[right != _NO_RUN]) for times, right in _zip(at.identified, at.right)]
        draw_intervals(axes, x, points, colour, marker="o", linestyle="", label=rf"sure, $\delta$ = {100 * delta:g} %")
        axes.plot(x, at.planned, color=colour, linewidth=1, linestyle="--")
    axes.plot([], [], color=GREY, linewidth=1, linestyle="--", label="planned")
    detected = [median_interval(times[:runs]) for times, runs in _zip(data.detected, data.watched)]
    draw_intervals(axes, x, detected, COLOURS[1], marker="s", linestyle="-", linewidth=1, label="detected")
    floor = [median_interval(times[:runs])[0] for times, runs in _zip(data.floor, data.watched)]
    axes.plot(x, floor, color=COLOURS[1], linewidth=1, linestyle=":", label="floor")
    axes.set(xscale="log", yscale="log", xlabel=r"KL budget per step $\varepsilon$")


def _zip(*parts: xr.DataArray) -> Any:
    return zip(*(part.values for part in parts), strict=True)


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test what comes first, how detection scales with ε and compares with its bounds, and how good the planner is."""
    found = []
    for i, instance in enumerate(INSTANCES):
        found += [_detected_first(data.isel(instance=i), delta, instance) for delta in data.delta.values]
    found += [_power_of_epsilon(data.isel(instance=i), instance) for i, instance in enumerate(INSTANCES)]
    for k, delta in enumerate(data.delta.values):
        found += [_planner(data, k, delta), _wrong(data, k, delta)]
    return [*found, *_detection_bounds(data)]


def _detected_first(data: xr.Dataset, delta: float, instance: str) -> Finding:
    """Compare both times run by run, on the same trajectory. If neither has come when the observer stops, the agent is
    taken to be sure first.
    """
    points = []
    at = data.sel(delta=delta)
    for epsilon, detected, identified, right, watched in _zip(
        at.epsilon, at.detected, at.identified, at.right, at.watched
    ):
        runs = min(int(watched), int((right != _NO_RUN).sum()))
        first = int((detected[:runs] <= np.where(np.isnan(identified), math.inf, identified)[:runs]).sum())
        share = share_interval(first, runs, LEVEL / data.sizes["epsilon"])
        points.append(Point(f"ε = {epsilon:.2g}", *share))
    name = f"caught before sure at δ = {delta:g}, {instance}"
    text = "share of runs detected first"
    return at_every_point(name, OURS, text, points, at_least=0.5, changed=_CHANGED_WATCH)


def _power_of_epsilon(data: xr.Dataset, instance: str) -> Finding:
    """Compare medians at both ends of ε. A median does not depend on when undetected runs would have been detected, and
    two medians have shorter intervals than a line through many. A run of an hour does not decide whether the power is
    within 0.1 of −1 (docs/samples.md).
    """
    times = [times[:runs] for times, runs in _zip(data.detected, data.watched)]
    small, large = float(data.epsilon[0]), float(data.epsilon[-1])
    with np.errstate(divide="ignore"):  # no interval if there are few runs
        value, low, high = np.log(median_ratio_interval(times[0], times[-1], LEVEL)) / math.log(small / large)
    return Finding(
        f"power of ε in time to detection, {instance}",
        OURS,
        f"power of ε in the median time to detection, from ε = {small:.2g} to {large:.2g}",
        float(value),
        float(high),
        float(low),
        changed=_CHANGED_SLOPE,
    )


def _planner(data: xr.Dataset, k: int, delta: float) -> Finding:
    """Compare the planned medians with all runs of all points: half of them should take longer than planned."""
    ran = data.right.values[0, 0, k] != _NO_RUN
    # A run that was never sure takes longer than any plan.
    times = data.identified.fillna(math.inf).values[:, :, k, ran]
    ratios = data.planned.values[..., k, None] / times
    each = np.median(ratios, -1)
    return Finding(
        f"planned median at δ = {delta:g} is within {100 * _PLANNER:g} %",
        OURS,
        f"planned median ÷ simulated time, median of {ratios.size:,} runs at {each.size} points of ε and instance; "
        f"medians of points from {each.min():.2f} to {each.max():.2f}",
        *median_interval(ratios.ravel(), LEVEL),
        at_least=1 / (1 + _PLANNER),
        at_most=1 + _PLANNER,
        changed=_CHANGED_PLANNER,
    )


def _wrong(data: xr.Dataset, k: int, delta: float) -> Finding:
    """Measure how often the agent is sure and wrong: a posterior that is checked at every pull promises no level."""
    stopped, right = ~np.isnan(data.identified.values[:, :, k]), data.right.values[:, :, k]
    wrong, runs = int((stopped & (right == 0)).sum()), int((right != _NO_RUN).sum())
    return Finding(
        f"wrong at δ = {delta:g} with probability δ at most",
        OURS,
        f"share of wrong runs, all ε and instances together, {runs:,} runs",
        *share_interval(wrong, runs, LEVEL),
        at_most=float(delta),
        changed=_CHANGED_WRONG,
    )


def _detection_bounds(data: xr.Dataset) -> list[Finding]:
    """Compare detection with two bounds. Power ½ needs a total of KL(½ ‖ α), so no median can come earlier. And without
    seeing the draws no test beats the likelihood ratio of the agent's policy averaged over them: the floor. A run of an
    hour does not decide whether the observer takes at most twice the floor's time (docs/samples.md).
    """
    alpha, n = data.attrs["alpha"], data.attrs["n_arms"]
    half = bernoulli_kl(0.5, alpha, math.log(alpha))
    level = LEVEL / (data.sizes["instance"] * data.sizes["epsilon"])
    allowed: list[Point] = []
    slow: list[Point] = []
    for i, instance in enumerate(INSTANCES):
        for j, epsilon in enumerate(data.epsilon.values):
            runs = int(data.watched[j])
            detected, floor = data.detected.values[i, j, :runs], data.floor.values[i, j, :runs]
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
        Finding(
            "the observer's time ÷ the floor's, at worst",
            OURS,
            f"the largest of {len(slow)} medians over runs of the time to detection ÷ that of the floor; all intervals "
            "hold together",
            max(point.value for point in slow),
            max(point.low for point in slow),
            max(point.high for point in slow),
            changed=_CHANGED_FLOOR,
        ),
    ]


def _ratio(detected: FloatArray, floor: FloatArray) -> FloatArray:
    """Return the ratio of two times, where NaN means never: infinite if only the first never came, NaN (anything) if
    neither came.
    """
    never, floor_never = np.isnan(detected), np.isnan(floor)
    ratio = np.where(never, math.inf, np.where(floor_never, 0.0, detected / floor))
    return np.asarray(np.where(never & floor_never, math.nan, ratio))
