"""A figure of a plan: confidence and the observers' evidence over time."""

import math
from typing import TYPE_CHECKING

import numpy as np

from feint.bandit import Bandit
from feint.planning.notice import watch_paths
from feint.planning.plan import Plan, checked_budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from feint._types import FloatArray

_POINTS = 60
_SHOWN = (0.1, 0.5, 0.9)


def draw_plan(bandit: Bandit, plan: Plan) -> "Figure":
    """Draw the posterior error (left) and the evidence of both observers (right): medians and 80 % of the runs."""
    from feint.support.figure_style import COLOURS, GREY, new_figure, tidy

    end = plan.quantiles[2] if math.isfinite(plan.quantiles[2]) else 2.0 * plan.time
    times = np.unique(np.geomspace(bandit.n_arms + 1, end, _POINTS).round())
    budget = checked_budget(bandit, plan.epsilon)
    course = watch_paths(bandit, plan.explorer, budget, plan.alpha, times, plan.goal).course
    figure = new_figure(7.2, 3.0)
    left, right = figure.subplots(1, 2)
    _draw_band(left, times, course[..., 0] / math.log(10.0), COLOURS[0], "posterior error")
    left.axhline(math.log10(plan.delta), color=GREY, linewidth=0.8, linestyle=":")
    left.set(xscale="log", xlabel="time $t$", ylabel=r"$\log_{10}(1 - p^*_t)$")
    _draw_band(right, times, course[..., 2], COLOURS[1], "observer")
    _draw_band(right, times, course[..., 1], COLOURS[2], "knows the private rewards")
    level = -math.log(plan.alpha)
    right.axhline(level, color=GREY, linewidth=0.8, linestyle=":")
    right.set(xscale="log", xlabel="time $t$", ylabel="evidence, nats", ylim=(-0.5 * level, 5.0 * level))
    right.legend(frameon=False, fontsize=8, loc="upper left")
    for axes in (left, right):
        for notice, colour in ((plan.observer, COLOURS[1]), (plan.informed, COLOURS[2])):
            if math.isfinite(notice.quantiles[1]):
                axes.axvline(notice.quantiles[1], color=colour, linewidth=0.8, linestyle="--")
    left.set_title(rf"$\varepsilon = {plan.epsilon}$, $\delta = {plan.delta:g}$", fontsize=10)
    tidy(left, right)
    return figure


def _draw_band(axes: "Axes", times: "FloatArray", values: "FloatArray", colour: str, label: str) -> None:
    low, middle, high = np.quantile(values, _SHOWN, axis=0)
    axes.fill_between(times, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(times, middle, color=colour, label=label)
