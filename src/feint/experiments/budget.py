"""Figure 2 of the paper: the error probability over time for KL budgets from nothing to no limit, 100 seeds."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments.claims import Claim, FloatArray, mean_interval, not_above, within
from feint.experiments.contract import Tick, in_units
from feint.experiments.kept import simulate
from feint.style import COLOURS, band, new_figure, tidy
from feint.theory import optimal_allocation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": (0.6, 0.3, 0.0, 0.2),
    "private": (0.2, 0.5, 0.1, 0.0),
    "epsilons": (0.0, 1e-3, 1e-2, 1e-1, 1.0, math.inf),
    "horizon": 3_000_000,
    "spent": 1_000_000,  # nats: small budgets run until they have spent as much, since the limit is one of √(εt)
    "horizon_unlimited": 10_000,  # of ε = ∞, where no step can be skipped and the error is e^−100 by then
    "replications": 100,
}
QUICK: dict[str, Any] = {"horizon": 10_000, "spent": 3_000, "horizon_unlimited": 3_000, "replications": 30}
TITLE = "Impact of the KL budget on confidence"


_UNITS = 1000  # of progress, a replication


def steps(settings: dict[str, Any]) -> int:
    """Replications in all, in thousandths, for the progress bar."""
    return int(settings["replications"] * len(settings["epsilons"]) * _UNITS)


def _horizon(settings: dict[str, Any], epsilon: float) -> int:
    if epsilon == math.inf:
        return int(settings["horizon_unlimited"])
    least = min(e for e in settings["epsilons"] if e > 0)
    return int(max(settings["horizon"], settings["spent"] / max(epsilon, least)))


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """`log_error(epsilon, replication, time)`, NaN beyond a budget's own horizon."""
    bandit = Bandit(settings["public"], settings["private"])
    times = np.unique(np.geomspace(bandit.n_arms, _horizon(settings, 0.0), 160).astype(np.int64))
    shape = (len(settings["epsilons"]), settings["replications"], times.size)
    errors = np.full(shape, math.nan)
    for i, epsilon in enumerate(settings["epsilons"]):
        until = times[times <= _horizon(settings, epsilon)]
        horizon = int(until[-1])
        runs = simulate(
            bandit,
            epsilon=epsilon,
            horizon=horizon,
            replications=settings["replications"],
            seed=seed,
            checkpoints=until,
            method="lazy" if epsilon == math.inf else "event",
            progress=in_units(tick, settings["replications"] * horizon, settings["replications"] * _UNITS),
        )
        errors[i, :, : until.size] = runs.log_error.values
    return xr.Dataset(
        {"log_error": (("epsilon", "replication", "time"), errors)},
        coords={"epsilon": list(settings["epsilons"]), "time": times},
    )


def _label(epsilon: float) -> str:
    if epsilon == 0:
        return r"$\varepsilon = 0$"
    if epsilon == math.inf:
        return r"$\varepsilon = \infty$"
    return rf"$\varepsilon = 10^{{{round(math.log10(epsilon))}}}$"


def plot(data: xr.Dataset) -> "Figure":
    """Left: as in the paper, 1 − p* against time. Right: −log(1 − p*) on two log axes, where a power law is a line."""
    figure = new_figure(7.2, 3.1)
    left, right = figure.subplots(1, 2)
    for colour, epsilon in zip(COLOURS, data.epsilon.values, strict=False):
        errors = data.log_error.sel(epsilon=epsilon).dropna("time")
        mean_log = errors.values / math.log(10)
        band(left, errors.time.values, mean_log, colour, _label(epsilon))
        late = errors.time.values >= 100
        band(right, errors.time.values[late], -errors.values[:, late], colour, _label(epsilon))
    left.set(xscale="log", xlabel="time $t$", ylabel=r"$\log_{10}(1 - p^*_t)$, mean of seeds", ylim=(-12, 0.3))
    right.set(xscale="log", yscale="log", xlabel="time $t$", ylabel=r"$-\log(1 - p^*_t)$")
    t = np.array([1e3, data.time.values[-1]])
    right.plot(t, 0.35 * np.sqrt(t / 1e3), color="#777777", linewidth=0.8, linestyle=":")
    right.annotate("slope ½", (10 * t[0], 0.8), color="#777777", fontsize=8, va="top")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    tidy(left, right)
    return figure


def _growth(errors: xr.DataArray, first: float, last: float) -> FloatArray:
    """Per replication, d log(−log error)/d log t between two times."""
    t = errors.time.values
    i, j = int(np.searchsorted(t, first)), int(np.searchsorted(t, last, side="right")) - 1
    values = np.log(-errors.values[:, [i, j]])
    return np.asarray((values[:, 1] - values[:, 0]) / math.log(t[j] / t[i]))


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Claim]:
    """More is never slower; ∞ decays exponentially with the classical slope; finite ε like exp(−C√t)."""
    found = []
    finite = [e for e in data.epsilon.values if 0 < e < math.inf]
    horizon = settings["horizon_unlimited"]
    at = data.log_error.sel(time=horizon, method="ffill")
    worst, holds = -math.inf, True
    pairs = list(zip(data.epsilon.values, data.epsilon.values[1:], strict=False))
    interval = (0.0, 0.0, 0.0)
    for less, more in pairs:
        difference = at.sel(epsilon=more).values - at.sel(epsilon=less).values
        holds &= not_above(difference, 0.0, len(pairs))
        if difference.mean() > worst:
            worst, interval = float(difference.mean()), mean_interval(difference)
    found.append(
        Claim(
            "more budget is never slower",
            "higher confidence is reached faster as ε increases",
            f"largest mean change of log error to the next larger ε, t = {int(at.time):,}",
            *interval,
            holds,
        )
    )
    bandit = Bandit(settings["public"], settings["private"])
    unlimited = data.log_error.sel(epsilon=math.inf).dropna("time")
    t = unlimited.time.values
    half = t >= t[-1] / 2
    slopes = np.polyfit(t[half].astype(float), unlimited.values[:, half].T, 1)[0]
    classical = optimal_allocation(bandit).gamma
    ratio = -slopes / classical
    mean, low, high = mean_interval(ratio)
    found.append(
        Claim(
            "ε = ∞ has the classical optimal slope",
            "the error decreases exponentially with time, as for the original top-two algorithm",
            "slope of −log error over the second half ÷ classical optimum (holds within 5 %)",
            mean,
            low,
            high,
            within(ratio, 0.95, 1.05),
        )
    )
    growth = _growth(unlimited, t[-1] / 10, t[-1])
    mean, low, high = mean_interval(growth)
    found.append(
        Claim(
            "ε = ∞ decays exponentially",
            "log error is linear in t",
            "power of t in −log error over the last decade (holds within 0.1 of 1)",
            mean,
            low,
            high,
            within(growth, 0.9, 1.1),
        )
    )
    for epsilon in finite:
        errors = data.log_error.sel(epsilon=epsilon).dropna("time")
        last = float(errors.time[-1])
        growth = _growth(errors, last / 10, last)
        mean, low, high = mean_interval(growth)
        found.append(
            Claim(
                f"ε = {epsilon:g} decays like exp(−C√t)",
                "the rate is subexponential for finite ε",
                "power of t in −log error over the last decade (holds within 0.1 of ½)",
                mean,
                low,
                high,
                within(growth, 0.4, 0.6),
            )
        )
    return found
