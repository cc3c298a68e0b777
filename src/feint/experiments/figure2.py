"""Figure 2 of the paper: the error probability over time for KL budgets from nothing to no limit."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.experiments.contract import Tick, in_units
from feint.experiments.findings import LEVEL, OURS, Finding, Point, at_every_point
from feint.experiments.resumable import simulate_resumably
from feint.registry.instance_files import PAPER
from feint.support.figure_style import GREY, band, band_of_logs, new_figure, ordered_colours, tidy
from feint.support.intervals import median_interval
from feint.theory import optimal_allocation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "epsilons": (0.0, 1e-3, 1e-2, 1e-1, 1.0, math.inf),
    "horizon": 3_000_000,
    "spent": 600_000,  # nats: each budget runs until it has spent this much, since the limit is in √(εt)
    "limit": 100_000,  # nats from which on a claim about the limit is made: a quick run makes none
    "horizon_unlimited": 100_000,  # for ε = ∞, where no step can be skipped and the error is e^−1000 by then
    "replications": 100,
}
QUICK: dict[str, Any] = {"horizon": 10_000, "spent": 3_000, "horizon_unlimited": 3_000, "replications": 30}
FULL: dict[str, Any] = {}
CAPTION = (
    "Figure 2: error probability over time for six KL budgets, {replications} seeds with 95 % bands. Left: the mean of "
    "1 − p*, the paper's average, which the unluckiest seeds decide: where one of them is most of the mean, the band "
    "reaches down to 0. Right, beside it: the mean of −log(1 − p*), a typical seed; a power of t is a line."
)

_UNITS = 1000  # of progress, per replication
_CHANGED = ("edeb4ab", "7b1734e", "33ba149")  # how long budgets run; the statistic
_CHANGED_UNLIMITED = ("7b1734e", "e06c65f")  # how long the one without a limit runs


def steps(settings: dict[str, Any]) -> int:
    """Return the number of replications, in thousandths, for the progress bar."""
    return int(settings["replications"] * len(settings["epsilons"]) * _UNITS)


def _horizon(settings: dict[str, Any], epsilon: float) -> int:
    if epsilon == math.inf:
        return int(settings["horizon_unlimited"])
    return int(max(settings["horizon"], settings["spent"] / epsilon if epsilon > 0 else 0))


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `log_error(epsilon, replication, time)`, NaN beyond a budget's own horizon."""
    bandit = Bandit(settings["public"], settings["private"])
    longest = max(_horizon(settings, epsilon) for epsilon in settings["epsilons"])
    times = np.unique(np.geomspace(bandit.n_arms, longest, 160).astype(np.int64))
    shape = (len(settings["epsilons"]), settings["replications"], times.size)
    errors = np.full(shape, math.nan)
    for i, epsilon in enumerate(settings["epsilons"]):
        until = times[times <= _horizon(settings, epsilon)]
        horizon = int(until[-1])
        runs = simulate_resumably(
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


def _epsilon_label(epsilon: float) -> str:
    if epsilon == 0:
        return r"$\varepsilon = 0$"
    if epsilon == math.inf:
        return r"$\varepsilon = \infty$"
    return rf"$\varepsilon = 10^{{{round(math.log10(epsilon))}}}$"


def plot(data: xr.Dataset) -> "Figure":
    """Draw the paper's average, log₁₀ of the mean of 1 − p* (left), and the mean of −log(1 − p*), log axes (right)."""
    figure = new_figure(7.2, 3.3)
    left, right = figure.subplots(1, 2)
    left.set(xscale="log", xlabel="time $t$", ylabel=r"$\log_{10}$ of the mean of $1 - p^*_t$", ylim=(-12, 0.3))
    for colour, epsilon in zip(ordered_colours(data.sizes["epsilon"]), data.epsilon.values, strict=True):
        errors = data.log_error.sel(epsilon=epsilon).dropna("time")
        t = errors.time.values
        band_of_logs(left, t, errors.values, colour, _epsilon_label(epsilon))
        late = t >= 100
        band(right, t[late], -errors.values[:, late], colour, _epsilon_label(epsilon))
    left.set_title("The paper's average", fontsize=9)
    right.set(xscale="log", yscale="log", xlabel="time $t$", ylabel=r"mean of $-\log(1 - p^*_t)$")
    right.set_title("A typical seed", fontsize=9)
    t = np.array([1e3, data.time.values[-1]])
    right.plot(t, 0.35 * np.sqrt(t / 1e3), color=GREY, linewidth=0.8, linestyle=":")
    right.annotate("slope ½", (10 * t[0], 0.8), color=GREY, fontsize=8, va="top")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    tidy(left, right)
    return figure


def _growth(errors: xr.DataArray, first: float, last: float) -> FloatArray:
    """Return d log(−log error)/d log t between two times, for each replication."""
    t = errors.time.values
    i, j = int(np.searchsorted(t, first)), int(np.searchsorted(t, last, side="right")) - 1
    values = np.log(-errors.values[:, [i, j]])
    return np.asarray((values[:, 1] - values[:, 0]) / math.log(t[j] / t[i]))


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that more budget is never slower, that ε = ∞ decays exponentially with the classical slope, and that finite
    ε decays like exp(−C√t).

    The horizon of ε = ∞ was made longer, since a shorter one had left the slope undecided.
    """
    unlimited = data.log_error.sel(epsilon=math.inf).dropna("time")
    t = unlimited.time.values
    half = t >= t[-1] / 2
    slopes = np.polyfit(t[half].astype(float), unlimited.values[:, half].T, 1)[0]
    classical = optimal_allocation(Bandit(settings["public"], settings["private"])).gamma
    found = [
        _more_is_faster(data),
        Finding(
            "ε = ∞ has the classical optimal slope",
            "we recover the original behavior of the top-two algorithm",
            "median slope of −log error over the second half ÷ the classical optimum",
            *median_interval(-slopes / classical, LEVEL),
            at_least=0.95,
            at_most=1.05,
            changed=_CHANGED_UNLIMITED,
        ),
        Finding(
            "ε = ∞ decays exponentially",
            "the error probability decreases exponentially fast with time",
            "median power of t in −log error over the last decade",
            *median_interval(_growth(unlimited, t[-1] / 10, t[-1]), LEVEL),
            at_least=0.9,
            at_most=1.1,
            changed=_CHANGED_UNLIMITED,
        ),
    ]
    finite = [e for e in data.epsilon.values if 0 < e < math.inf]
    for epsilon in finite:
        errors = data.log_error.sel(epsilon=epsilon).dropna("time")
        last = float(errors.time[-1])
        power = median_interval(_growth(errors, last / 10, last), LEVEL)
        text = f"median power of t in −log error from t = {last / 10:,.0f} to {last:,.0f}"
        stated = "the rate is subexponential for the other values"
        name = f"ε = {epsilon:g} decays subexponentially"
        found.append(Finding(name, stated, text, *power, at_most=0.9, changed=_CHANGED))
        if epsilon * last >= settings["limit"]:
            name = f"ε = {epsilon:g} decays like exp(−C√t)"
            found.append(Finding(name, OURS, text, *power, at_least=0.4, at_most=0.6, changed=_CHANGED))
    return found


def _more_is_faster(data: xr.Dataset) -> Finding:
    """Compare neighbouring budgets seed by seed, at the last time that both have."""
    points = []
    pairs = list(zip(data.epsilon.values, data.epsilon.values[1:], strict=False))
    for less, more in pairs:
        both = data.log_error.sel(epsilon=[less, more]).dropna("time").isel(time=-1)
        where = f"ε = {less:g} to {more:g} at t = {int(both.time):,}"
        change = both.values[1] - both.values[0]
        points.append(Point(where, *median_interval(change, LEVEL / len(pairs))))
    return at_every_point(
        "more budget is never slower",
        "the agent can reach higher confidence levels faster as the KL budget ε increases",
        "median change of log error to the next larger ε",
        points,
        at_most=0.0,
        changed=(*_CHANGED, "db7e8d4"),  # and how long ε = 0 runs
    )
