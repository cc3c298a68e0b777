"""The price of deception in divergence: pulls gained against the total KL spent, however it is spread over time."""

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
from feint.registry.instances import PAPER
from feint.support.intervals import bootstrap, median_interval, normal_interval
from feint.support.style import COLOURS, GREY, draw_intervals, new_figure, tidy
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
    "replications": 130,
    "watched": 1_000,  # first pulls, where a schedule may offer more KL than a step can spend
    "watched_replications": 20,
}
QUICK: dict[str, Any] = {
    "totals": (10.0, 100.0, 1_000.0),
    "compared": ((10.0, 100.0), (1_000.0,)),
    "horizon": 10_000,
    "replications": 60,
    "watched_replications": 10,
}
CAPTION = (
    "Pulls of one boosted arm that four schedules of the same total gain within {horizon} steps, in units of the "
    "first-order curve (2σ/Δ)√B; medians of {replications} seeds with 95 % intervals. Dashed: the fluid "
    "prediction."
)
_AGREE, _FIRST_ORDER, _FLUID = 0.05, 0.1, 0.05  # shares of the first-order curve, and of the prediction
_PULLS_STEP, _WATCHED_STEP = 1, 50  # the time of a step of each kind
_APART = 1.07  # schedules are drawn side by side, each at this multiple of the KL of the one before


def steps(settings: dict[str, Any]) -> int:
    """Return the weighted number of trajectory-steps, for the progress bar."""
    points = (len(settings["exponents"]) + 1) * len(settings["totals"])
    pulls = (points + 1) * settings["replications"] * settings["horizon"]
    return int(_PULLS_STEP * pulls + _WATCHED_STEP * points * settings["watched_replications"] * settings["watched"])


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
    """Return `pulls` of one arm boosted at every step, `own_pulls` without a budget, the KL `spent`, and predictions.

    All are at the same time and with the same seeds, so a schedule's gain is pulls − own_pulls, run by run. Thompson
    Sampling pulls the arm some 40 times by itself, which costs nothing, and a boost that only makes such a pull come
    sooner gains nothing. Medians are compared, since the limit is about almost every run and the fluid prediction about
    a typical one, and a single run in which the best public arm starts badly can move a mean by half.
    """
    bandit, boosted = Bandit(settings["public"], settings["private"]), settings["boosted"]
    n, horizon, watched = bandit.n_arms, settings["horizon"], settings["watched"]
    weights = np.eye(n)[boosted]

    def boosting(budget: Budget, until: int, runs: int, step: int, observe: bool) -> xr.Dataset:
        return simulate_resumably(
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
        runs = boosting(budget, horizon, settings["replications"], _PULLS_STEP, False)
        return runs.pulls.values[:, -1, boosted]

    def spends(budget: Budget) -> float:
        # A step cannot spend more than −log π of the boosted arm. Only the first steps of a schedule offer more.
        first = boosting(budget, watched, settings["watched_replications"], _WATCHED_STEP, True)
        return float(first.kl_spent.mean()) + budget.sum_to(n, horizon) - budget.sum_to(n, watched)

    def fluid(budget: Budget) -> float:
        return float(predicted_pulls(bandit, weights, budget, [horizon])[0, boosted])

    shape = (len(settings["exponents"]) + 1, len(settings["totals"]))
    pulls = np.empty((*shape, settings["replications"]), dtype=np.int64)
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
    """Return pulls gained (schedule, total, seed), in units of the first-order curve (2σ/Δ)·√B at the KL spent."""
    first_order = data.attrs["first_order_rate"] * np.sqrt(data.spent.values)
    return np.asarray((data.pulls.values - data.own_pulls.values) / first_order[..., None])


def plot(data: xr.Dataset) -> "Figure":
    """Draw gains in units of the first-order curve."""
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    curve = data.attrs["first_order_rate"] * np.sqrt(data.spent.values)
    fluid = (data.fluid.values - data.attrs["own_fluid"]) / curve
    middle = []
    for i, values in enumerate(gained(data)):
        x, colour = data.spent.values[i] * _APART ** (i - 1.5), COLOURS[i]
        points = [median_interval(sample) for sample in values]
        middle += [median for median, _, _ in points]
        draw_intervals(axes, x, points, colour, marker="o", linestyle="", label=_schedule_label(data, i))
        axes.plot(x, fluid[i], color=colour, linewidth=1, linestyle="--")
    axes.plot([], [], color=GREY, linewidth=1, linestyle="--", label="fluid")
    axes.axhline(1.0, color=GREY, linewidth=1, linestyle=":")
    axes.set(xscale="log", xlabel="total KL spent $B$", ylabel=r"gain ÷ $(2\sigma/\Delta)\sqrt{B}$")
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
    totals = list(data.total.values)
    names = [schedule_name(data, i) for i in range(data.sizes["schedule"])]
    found = []
    for group in settings["compared"]:
        at = share[:, [totals.index(total) for total in group]]
        value, error = bootstrap(lambda medians: 100 * (medians.mean(1) - medians.mean((0, 1))), at)
        each = [normal_interval(v, e, LEVEL / len(names)) for v, e in zip(value, error, strict=True)]
        found.append(
            at_every_point(
                f"schedules gain the same at B = {', '.join(f'{total:g}' for total in group)}",
                OURS,
                "a schedule's median gain less the mean of all, % of (2σ/Δ)√B",
                [Point(name, *interval) for name, interval in zip(names, each, strict=True)],
                at_least=-100 * _AGREE,
                at_most=100 * _AGREE,
                exploratory=True,
            )
        )
    for i, name in enumerate(names):
        text = f"median gain ÷ (2σ/Δ)√B at B = {totals[-1]:,.0f}, of which {float(data.spent[i, -1]):,.0f} were spent"
        found.append(
            Finding(
                f"{name} gains (2σ/Δ)√B",
                OURS,
                text,
                *median_interval(share[i, -1], LEVEL),
                at_least=1 - _FIRST_ORDER,
                at_most=1 + _FIRST_ORDER,
                exploratory=True,
            )
        )
    points = []
    for (i, j), fluid in np.ndenumerate(data.fluid.values):
        off = median_interval(100 * (data.pulls.values[i, j] / fluid - 1), LEVEL / data.fluid.size)
        points.append(Point(f"{names[i]}, B = {totals[j]:g}", *off))
    text, limit = "simulated median pulls against the fluid prediction, %", 100 * _FLUID
    name = f"the fluid prediction of pulls is within {limit:g} %"
    return [*found, at_every_point(name, OURS, text, points, at_least=-limit, at_most=limit)]
