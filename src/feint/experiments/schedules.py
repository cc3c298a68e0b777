"""The price of deception in divergence: pulls gained against the total KL that may be spent, however it is spread."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.budgets import Constant, PowerLaw, TotalBudget
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding, Point, at_every_point
from feint.experiments.resumable import simulate_resumably
from feint.explorers import RoundRobin
from feint.registry.instance_files import PAPER
from feint.support.figure_style import COLOURS, GREY, draw_intervals, new_figure, tidy
from feint.support.intervals import median_interval
from feint.theory import predicted_pulls

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Budget = Constant | PowerLaw | TotalBudget

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "boosted": 2,  # the arm with the largest public gap, for which the limit comes soonest
    "totals": (1.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0),
    "compared": ((10.0, 30.0, 100.0), (1_000.0,), (10_000.0,)),  # groups of totals at which schedules are compared
    "exponents": (0.0, 0.5, 0.9),  # ε_t ∝ t^−exponent up to the horizon; and one more schedule:
    "early": 0.1,  # a constant ε over this share of the horizon, and nothing later
    "horizon": 100_000,
    "runs": (130,) * 8,  # at each total
}
QUICK: dict[str, Any] = {
    "totals": (10.0, 100.0, 1_000.0),
    "compared": ((10.0, 100.0), (1_000.0,)),
    "horizon": 10_000,
    "runs": (60,) * 3,
}
FULL: dict[str, Any] = {"runs": (200, 200, 200, 200, 200, 2_100, 200, 3_400)}
CAPTION = (
    "Pulls of one boosted arm that four schedules of the same total gain within {horizon} steps, in units of the "
    "first-order curve (2σ/Δ)√B; medians with 95 % intervals, of {runs} seeds at each B. Dashed: the fluid "
    "prediction. B is what a schedule may spend; one that offers more than a step can spend leaves some of it."
)
_AGREE, _FIRST_ORDER, _FLUID = 0.05, 0.1, 0.05  # shares of the first-order curve, and of the prediction
_CHANGED = ("669ea38", "9c71bac")  # the totals that are compared; seed by seed, by the KL on offer
_APART = 1.07  # schedules are drawn side by side, each at this multiple of the KL of the one before


def steps(settings: dict[str, Any]) -> int:
    """Return the number of trajectory-steps, for the progress bar."""
    runs = (len(settings["exponents"]) + 1) * sum(settings["runs"]) + max(settings["runs"])
    return int(runs * settings["horizon"])


def schedules(settings: dict[str, Any], total: float) -> list[Budget]:
    """Return budgets that add up to `total` at the horizon, spread over time in different ways."""
    n, horizon = len(settings["public"]), settings["horizon"]
    spread: list[Budget] = []
    for exponent in settings["exponents"]:
        scale = total / PowerLaw(1.0, exponent).sum_to(n, horizon)
        spread.append(PowerLaw(scale, exponent) if exponent else Constant(scale))
    early = round(settings["early"] * horizon)
    # TotalBudget leaves the share of the initial round unspent.
    return [*spread, TotalBudget(total * early / (early - n), early)]


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `pulls` of one arm boosted at every step, `own_pulls` without a budget, and predictions.

    All are at the same time and with the same seeds, so a schedule's gain is pulls − own_pulls, run by run. Thompson
    Sampling pulls the arm some 40 times by itself, which costs nothing, and a boost that only makes such a pull come
    sooner gains nothing. Medians are compared, since the limit is about almost every run and the fluid prediction about
    a typical one. A single run in which the best public arm starts badly can move a mean by half.
    """
    bandit, boosted = Bandit(settings["public"], settings["private"]), settings["boosted"]
    horizon = settings["horizon"]
    weights = np.eye(bandit.n_arms)[boosted]

    def pulled(budget: Budget, number: int) -> Any:
        runs = simulate_resumably(
            bandit,
            RoundRobin([boosted]),
            epsilon=budget,
            horizon=horizon,
            replications=number,
            seed=seed,
            checkpoints=[horizon],
            progress=tick,
        )
        return runs.pulls.values[:, -1, boosted]

    def fluid(budget: Budget) -> float:
        return float(predicted_pulls(bandit, weights, budget, [horizon])[0, boosted])

    shape = (len(settings["exponents"]) + 1, len(settings["totals"]))
    pulls, predicted = np.full((*shape, max(settings["runs"])), np.nan), np.empty(shape)
    for j, (total, number) in enumerate(zip(settings["totals"], settings["runs"], strict=True)):
        for i, budget in enumerate(schedules(settings, total)):
            pulls[i, j, :number], predicted[i, j] = pulled(budget, number), fluid(budget)
    axes = ("schedule", "total")
    return xr.Dataset(
        {
            "pulls": ((*axes, "seed"), pulls),
            "own_pulls": ("seed", pulled(Constant(0.0), max(settings["runs"]))),
            "runs": ("total", list(settings["runs"])),
            "fluid": (axes, predicted),
            "exponent": ("schedule", [*settings["exponents"], 0.0]),
            "until": ("schedule", [1.0] * len(settings["exponents"]) + [settings["early"]]),
        },
        coords={"total": list(settings["totals"])},
        attrs={
            "first_order_rate": 2 * bandit.sigma / float(bandit.public_gaps[boosted]),
            "own_fluid": fluid(Constant(0.0)),
            "horizon": horizon,
        },
    )


def schedule_name(data: xr.Dataset, schedule: int) -> str:
    """Return a schedule in words."""
    exponent, until = float(data.exponent[schedule]), float(data.until[schedule])
    if until < 1:
        return f"first {100 * until:g} % of steps"
    return f"ε ∝ t^−{exponent:g}" if exponent else "constant ε"


def gained(data: xr.Dataset) -> FloatArray:
    """Return pulls gained (schedule, total, seed), in units of the first-order curve (2σ/Δ)·√B at the KL on offer.

    What a run spends of it is random, and not known without watching it, so the curve is not that of the KL spent.
    """
    return np.asarray((data.pulls.values - data.own_pulls.values) / first_order(data)[:, None])


def first_order(data: xr.Dataset) -> FloatArray:
    """Return the first-order curve, one value per total."""
    return np.asarray(data.attrs["first_order_rate"] * np.sqrt(data.total.values))


def plot(data: xr.Dataset) -> "Figure":
    """Draw gains in units of the first-order curve."""
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    fluid = (data.fluid.values - data.attrs["own_fluid"]) / first_order(data)
    middle = []
    for i, values in enumerate(gained(data)):
        x, colour = data.total.values * _APART ** (i - 1.5), COLOURS[i]
        points = [median_interval(sample[:runs]) for sample, runs in zip(values, data.runs.values, strict=True)]
        middle += [median for median, _, _ in points]
        draw_intervals(axes, x, points, colour, marker="o", linestyle="", label=_schedule_label(data, i))
        axes.plot(x, fluid[i], color=colour, linewidth=1, linestyle="--")
    axes.plot([], [], color=GREY, linewidth=1, linestyle="--", label="fluid")
    axes.axhline(1.0, color=GREY, linewidth=1, linestyle=":")
    axes.set(xscale="log", xlabel="total KL on offer $B$", ylabel=r"gain ÷ $(2\sigma/\Delta)\sqrt{B}$")
    axes.set_ylim(min(-0.3, *middle) - 0.1, max(1.6, *middle) + 0.2)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=7.5)
    tidy(axes)
    return figure


def _schedule_label(data: xr.Dataset, schedule: int) -> str:
    exponent, until = float(data.exponent[schedule]), float(data.until[schedule])
    if until < 1:
        return rf"constant until ${until:g}\,T$"
    return rf"$\varepsilon_t \propto t^{{-{exponent:g}}}$" if exponent else r"constant $\varepsilon$"


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that schedules agree, gain what the first order says, and what the fluid prediction says.

    The totals that are compared were chosen after data had been seen.
    """
    share = gained(data)
    totals, runs = list(data.total.values), data.runs.values
    names = [schedule_name(data, i) for i in range(data.sizes["schedule"])]
    found = []
    for group in settings["compared"]:
        places = [totals.index(total) for total in group]
        at = share[:, places, : min(runs[places])].mean(1)
        each = [median_interval(100 * difference, LEVEL / len(names)) for difference in at - at.mean(0)]
        found.append(
            at_every_point(
                f"schedules gain the same at B = {', '.join(f'{total:g}' for total in group)}",
                OURS,
                "median over seeds of a schedule's gain less the mean of all four, % of (2σ/Δ)√B",
                [Point(name, *interval) for name, interval in zip(names, each, strict=True)],
                at_least=-100 * _AGREE,
                at_most=100 * _AGREE,
                changed=_CHANGED,
            )
        )
    for i, name in enumerate(names):
        text = f"median gain ÷ (2σ/Δ)√B at B = {totals[-1]:,.0f} on offer"
        found.append(
            Finding(
                f"{name} gains (2σ/Δ)√B",
                OURS,
                text,
                *median_interval(share[i, -1, : runs[-1]], LEVEL),
                at_least=1 - _FIRST_ORDER,
                at_most=1 + _FIRST_ORDER,
                changed=_CHANGED,
            )
        )
    points = []
    for (i, j), fluid in np.ndenumerate(data.fluid.values):
        off = median_interval(100 * (data.pulls.values[i, j, : runs[j]] / fluid - 1), LEVEL / data.fluid.size)
        points.append(Point(f"{names[i]}, B = {totals[j]:g}", *off))
    text, limit = "simulated median pulls against the fluid prediction, %", 100 * _FLUID
    name = f"the fluid prediction of pulls is within {limit:g} %"
    return [*found, at_every_point(name, OURS, text, points, at_least=-limit, at_most=limit)]
