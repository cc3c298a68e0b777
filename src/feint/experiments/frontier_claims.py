"""The claims of `frontier`, none of them in the paper; most are about several points, and say which fail."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import neg, pos
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from feint.experiments.claims import Claim, FloatArray, mean_interval, not_above, within
from feint.experiments.frontier_statistics import (
    bootstrap,
    median_not_above,
    median_not_below,
    neyman_pearson,
    normal_interval,
    normal_within,
    share_interval,
    share_not_above,
)
from feint.intervals import median_interval
from feint.numerics import boost_probability
from feint.numerics.boost_kernel import bernoulli_kl

INSTANCES = ("best arms differ", "best arms agree")
_STATED = "(not in the paper)"
_PLANNER, _SLOPE, _FACTOR = 0.25, 0.1, 2.0  # tolerances: share of the median, of the power −1, times the floor
_AGREE, _FIRST_ORDER, _FLUID = 0.05, 0.1, 0.05  # shares of the first-order curve, and of the prediction
_REACHED, _NORMAL = 0.5, 0.1  # shares of the floor's power, and of the normal approximation


@dataclass(frozen=True)
class Point:
    """One of the points that a claim is about."""

    where: str
    value: float
    low: float
    high: float
    holds: bool


def _point(where: str, interval: tuple[float, float, float], unit: float, holds: bool, zero: float = 0.0) -> Point:
    """A point whose value and interval are measured from `zero` in multiples of `unit`."""
    value, low, high = ((end - zero) / unit for end in interval)
    return Point(where, value, low, high, holds)


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Claim]:
    """Every claim, true or false as measured."""
    return [*_time_claims(data), *_pull_claims(data, settings), *_power_claims(data)]


def schedule_name(data: xr.Dataset, schedule: int) -> str:
    """A schedule in words."""
    exponent, until = float(data.exponent[schedule]), float(data.until[schedule])
    if until < 1:
        return f"first {100 * until:g} % of steps"
    return f"ε ∝ t^−{exponent:g}" if exponent else "constant ε"


def _short(instance: str) -> str:
    return instance.split()[-1]


def gained(data: xr.Dataset) -> FloatArray:
    """(schedule, total, seed): pulls gained in units of the first-order curve (2σ/Δ)·√B at the KL that was spent."""
    first_order = data.attrs["first_order_rate"] * np.sqrt(data.spent.values)
    return np.asarray((data.pulls.values - data.own_pulls.values) / first_order[..., None])


def powers(data: xr.Dataset) -> tuple[FloatArray, FloatArray]:
    """(power_total, sample) values whose means are the powers: of the observer's test, 0 or 1, and of the best one."""
    alpha = data.attrs["alpha"]
    best = np.array([neyman_pearson(ratios, alpha) for ratios in data.log_ratio.values])
    return (data.p_value.values <= alpha).astype(float), best


def normal_power(total: FloatArray, alpha: float) -> FloatArray:
    """Φ(√2B − z_α), the power of the best test of N(0, 1) against N(√2B, 1), whose divergence is B."""
    return np.asarray(stats.norm.cdf(np.sqrt(2 * total) - stats.norm.isf(alpha)))


def _worst(name: str, quantity: str, points: list[Point], key: Callable[[float], float] = abs) -> Claim:
    """A claim about all points, measured at the worst, where `key` of the value is largest."""
    worst = max(points, key=lambda point: key(point.value))
    failed = [point.where for point in points if not point.holds]
    text = f"{quantity}; the worst at {worst.where}" + (f"; fails at {', '.join(failed)}" if failed else "")
    return Claim(name, _STATED, text, worst.value, worst.low, worst.high, not failed)


def _time_claims(data: xr.Dataset) -> list[Claim]:
    found = []
    for i, instance in enumerate(INSTANCES):
        for delta in data.delta.values:
            found.append(_detected_first(data.isel(instance=i), delta, instance))
    for i, instance in enumerate(INSTANCES):
        found.append(_slope(data.isel(instance=i), instance))
    return [*found, *_detection_bounds(data), *_planner(data), _wrong(data)]


def _detected_first(data: xr.Dataset, delta: float, instance: str) -> Claim:
    """Run by run: both times belong to the same trajectory. Undecided when the observer stops looking: identified."""
    points = []
    for epsilon in data.epsilon.values:
        detected = data.detected.sel(epsilon=epsilon).values
        identified = data.identified.sel(epsilon=epsilon, delta=delta).values[: detected.size]
        first = int((detected <= np.where(np.isnan(identified), math.inf, identified)).sum())
        later = detected.size - first
        holds = share_not_above(later, detected.size, 0.5, data.sizes["epsilon"])
        points.append(Point(f"ε = {epsilon:.2g}", *share_interval(first, detected.size), holds))
    name = f"detected before it is sure at δ = {delta:g}, {instance}"
    return _worst(name, "share of runs detected first (fails if surely below ½)", points, neg)


def _slope(data: xr.Dataset, instance: str) -> Claim:
    def slope(medians: FloatArray) -> FloatArray:
        return np.asarray(np.polyfit(np.log(data.epsilon.values), np.log(medians), 1)[0])

    # A median is the same whether undetected runs count as infinite or as their horizon, if less than half are.
    value, error = bootstrap(slope, data.detected.fillna(data.detect_horizon).values)
    return Claim(
        f"the time to detection is proportional to 1/ε, {instance}",
        _STATED,
        f"power of ε in the median time (fails if surely more than {_SLOPE:g} from −1)",
        *normal_interval(float(value), float(error)),
        normal_within(float(value), float(error), -1 - _SLOPE, -1 + _SLOPE),
    )


def _detection_bounds(data: xr.Dataset) -> list[Claim]:
    """Power ½ needs a total of KL(½ ‖ α), so no median can come earlier; and no observer who does not see the draws has
    a better test than the likelihood ratio of what the agent does without them: the floor.
    """
    alpha, n = data.attrs["alpha"], data.attrs["n_arms"]
    half = bernoulli_kl(0.5, alpha, math.log(alpha))
    tests = data.sizes["instance"] * data.sizes["epsilon"]
    allowed: list[Point] = []
    slow: list[Point] = []
    for i, instance in enumerate(INSTANCES):
        for j, epsilon in enumerate(data.epsilon.values):
            times = data.detected.values[i, j]
            median = median_interval(np.where(np.isnan(times), float(data.detect_horizon[j]), times))
            where = f"ε = {epsilon:.2g} ({_short(instance)})"
            least = n + half / epsilon
            floor = data.floor.values[i, j]
            unit = float(np.median(np.where(np.isnan(floor), float(data.detect_horizon[j]), floor)))
            allowed.append(_point(where, median, least, median_not_below(times, least, tests)))
            slow.append(_point(where, median, unit, median_not_above(times, _FACTOR * unit, tests)))
    return [
        _worst(
            "nobody is detected sooner than the bound allows",
            "median time to detection ÷ the time at which q*(α; εt) = ½ (fails if surely below 1)",
            allowed,
            neg,
        ),
        _worst(
            "the observer needs at most twice the time of one who knows the private posterior",
            f"median time to detection ÷ that of the floor (fails if surely above {_FACTOR:g})",
            slow,
            pos,
        ),
    ]


def _planner(data: xr.Dataset) -> list[Claim]:
    found = []
    for k, delta in enumerate(data.delta.values):
        planned = np.log(data.planned.values[..., k, None])
        times = data.identified.fillna(data.identify_horizon).values[:, :, k]

        def mean_log_ratio(medians: FloatArray, planned: FloatArray = planned) -> FloatArray:
            return np.asarray((planned - np.log(medians)).mean((0, 1)))

        mean, error = (float(part) for part in bootstrap(mean_log_ratio, times))
        value, low, high = np.exp(normal_interval(mean, error)).tolist()
        each = np.exp(planned[..., 0]) / np.median(times, -1)
        limit = math.log1p(_PLANNER)
        found.append(
            Claim(
                f"the planner's median at δ = {delta:g} is within {100 * _PLANNER:g} %",
                _STATED,
                f"planned ÷ simulated median time, geometric mean over {each.size} points of ε and instance; "
                f"from {each.min():.2f} to {each.max():.2f}",
                value,
                low,
                high,
                normal_within(mean, error, -limit, limit),
            )
        )
    return found


def _wrong(data: xr.Dataset) -> Claim:
    """A posterior that is looked at after every pull promises no such level, so it is measured."""
    points = []
    tests = data.planned.size
    for (i, j, k), _ in np.ndenumerate(data.planned.values):
        stopped = ~np.isnan(data.identified.values[i, j, k])
        wrong, runs = int((stopped & (data.right.values[i, j, k] == 0)).sum()), stopped.size
        delta = float(data.delta[k])
        where = f"δ = {delta:g}, ε = {float(data.epsilon[j]):.2g} ({_short(INSTANCES[i])})"
        holds = share_not_above(wrong, runs, delta, tests)
        points.append(_point(where, share_interval(wrong, runs), delta, holds))
    return _worst("an arm identified at δ is wrong with probability δ at most", "share of wrong runs ÷ δ", points, pos)


def _pull_claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Claim]:
    found, share = [], gained(data)
    totals = list(data.total.values)
    names = [schedule_name(data, i) for i in range(data.sizes["schedule"])]
    for group in settings["compared"]:
        at = share[:, [totals.index(total) for total in group]]
        value, error = bootstrap(lambda medians: medians.mean(1) - medians.mean((0, 1)), at)
        points = []
        for i, name in enumerate(names):
            holds = normal_within(value[i], error[i], -_AGREE, _AGREE, len(names))
            points.append(Point(name, *normal_interval(100 * value[i], 100 * error[i]), holds))
        which = ", ".join(f"{total:g}" for total in group)
        text = f"a schedule's median gain less the mean of all, % of (2σ/Δ)√B (fails if surely beyond {100 * _AGREE:g})"
        found.append(_worst(f"schedules gain the same pulls at B = {which}", text, points))
    for i, name in enumerate(names):
        fits = [_median_within(values, 1 - _FIRST_ORDER, 1 + _FIRST_ORDER, 1) for values in share[i]]
        outside = ", ".join(f"{total:g}" for total, fit in zip(totals, fits, strict=True) if not fit)
        text = f"median gain ÷ (2σ/Δ)√B at B = {totals[-1]:,.0f}, of which {float(data.spent[i, -1]):,.0f} were spent "
        text += f"(fails if surely more than {_FIRST_ORDER:g} from 1; the mean is {share[i, -1].mean():.3g}); "
        text += f"outside at B = {outside or 'none'}"
        found.append(Claim(f"{name} gains (2σ/Δ)√B", _STATED, text, *median_interval(share[i, -1]), fits[-1]))
    points = []
    for (i, j), fluid in np.ndenumerate(data.fluid.values):
        off = data.pulls.values[i, j] / fluid - 1
        holds = _median_within(off, -_FLUID, _FLUID, data.fluid.size)
        points.append(Point(f"{names[i]}, B = {totals[j]:g}", *median_interval(100 * off), holds))
    text = f"simulated median pulls against the fluid prediction, %, at {len(points)} points"
    return [*found, _worst(f"the fluid prediction of pulls is within {100 * _FLUID:g} %", text, points)]


def _median_within(values: FloatArray, low: float, high: float, tests: int) -> bool:
    return median_not_below(values, low, 2 * tests) and median_not_above(values, high, 2 * tests)


def _power_claims(data: xr.Dataset) -> list[Claim]:
    """Where log ratios are nearly normal, N(B, 2B), the best test has the power Φ(√2B − z_α), less than the bound."""
    alpha, spent = data.attrs["alpha"], data.power_spent.values
    bounds = np.asarray(boost_probability(alpha, spent))
    tests = bounds.size
    points: dict[str, list[Point]] = {"caught": [], "half": [], "best": [], "normal": []}
    for i, (bound, normal) in enumerate(zip(bounds, normal_power(spent, alpha), strict=True)):
        where, (observed, best) = f"B = {spent[i]:.2g}", (values[i] for values in powers(data))
        runs, caught = observed.size, int(observed.sum())
        share, power = share_interval(caught, runs), mean_interval(best)
        holds = share_not_above(caught, runs, bound, tests)
        points["caught"].append(_point(where, share, 0.01, holds, bound))
        floor = (~np.isnan(data.power_floor.values[i])).astype(float)
        short = _REACHED * floor - observed  # run by run
        value = mean_interval(short)
        points["half"].append(_point(where, value, 0.01, not_above(short, 0.0, tests)))
        points["best"].append(_point(where, power, 0.01, not_above(best, bound, tests), bound))
        holds = within(best / normal - 1, -_NORMAL, _NORMAL, tests)
        points["normal"].append(_point(where, power, 0.01 * normal, holds, normal))
    above = "power less the bound q*(α; B), percentage points"
    reached = "half of the floor's power less the observer's, percentage points (fails if surely above 0)"
    normal_text = f"power of the best test against Φ(√2B − z), % (fails if surely beyond {100 * _NORMAL:g})"
    return [
        _worst("the observer does not beat the bound", above, points["caught"], pos),
        _worst(
            "the observer has half of the power of one who knows the private posterior", reached, points["half"], pos
        ),
        _worst("an observer who knows everything does not beat the bound", above, points["best"], pos),
        _worst("an observer who knows everything has the power of shifted normals", normal_text, points["normal"]),
    ]
