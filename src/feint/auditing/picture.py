"""An audit as a picture: the evidence over time, and each arm's departure from the claim."""

import math
from typing import TYPE_CHECKING

import numpy as np

from feint.auditing.report import AuditReport
from feint.style import COLOURS, GREY, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLAT = 15.0  # times the threshold, above which the axis bends
_DECADES_IN_VIEW = 3.0  # of log E below 0: how far an honest log sinks says nothing


def draw(report: AuditReport) -> "Figure":
    """Left: log E by row. Right: observed − expected pulls by arm, where they are known."""
    calibrated = any(arm.excess is not None for arm in report.arms)
    figure = new_figure(7.2 if calibrated else 4.6, 2.9)
    panels = figure.subplots(1, 2 if calibrated else 1, squeeze=False, width_ratios=[3, 2] if calibrated else [1])[0]
    _draw_evidence(panels[0], report)
    if calibrated:
        _draw_arms(panels[1], report)
    tidy(*panels)
    return figure


def _draw_evidence(axes: "Axes", report: AuditReport) -> None:
    threshold = -math.log10(report.alpha)
    values = report.history_log_e_values / math.log(10)
    axes.plot(report.history_rows, values, color=COLOURS[0], linewidth=1.2)
    axes.axhline(threshold, color=COLOURS[1], linewidth=1, linestyle="--")
    top = max(threshold * 1.3, float(values.max(initial=0.0)) * 1.05)
    if top > _FLAT * threshold:  # else a strong rejection would press the threshold onto the axis
        axes.set_yscale("symlog", linthresh=2 * threshold)
    axes.set_ylim(max(float(values.min(initial=0.0)), -_DECADES_IN_VIEW) - 0.1, top)
    axes.annotate(
        rf"$1/\alpha = {1 / report.alpha:.4g}$",
        (1.0, threshold),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 2),
        textcoords="offset points",
        color=COLOURS[1],
        fontsize=8,
        ha="right",
    )
    if report.rejected_at is not None:
        axes.plot([report.rejected_at], [threshold], "o", color=COLOURS[1], markersize=4)
    axes.set(xlabel="row of the log", ylabel=r"evidence, $\log_{10} E$")
    axes.set_title(report.verdict, fontsize=10)


def _draw_arms(axes: "Axes", report: AuditReport) -> None:
    from matplotlib.ticker import MaxNLocator

    arms = [arm for arm in report.arms if arm.excess is not None]
    middle = np.array([arm.excess for arm in arms], dtype=float)
    low, high = (np.array([getattr(arm, side) for arm in arms], dtype=float) for side in ("low", "high"))
    clear = np.array([arm.departs for arm in arms])
    for chosen, colour in ((~clear, COLOURS[0]), (clear, COLOURS[1])):
        if chosen.any():
            axes.errorbar(
                np.array([arm.arm for arm in arms])[chosen],
                middle[chosen],
                yerr=(middle[chosen] - low[chosen], high[chosen] - middle[chosen]),
                fmt="o",
                markersize=4,
                capsize=3,
                color=colour,
            )
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.15)
    axes.set(xlabel="arm", ylabel="pulls, observed − expected")
    axes.set_title(report.confidence, fontsize=10)
