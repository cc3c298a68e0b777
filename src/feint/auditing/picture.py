"""An audit as pictures: the evidence over time, and each arm's departure from the claim."""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from feint.auditing.facts import power_of_ten, superscript
from feint.auditing.report import ArmReport, AuditReport
from feint.support.figure_style import COLOURS, GREY, new_figure, tidy
from feint.support.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DECADES_IN_VIEW = 3.0  # of E below 1: how far an honest log sinks says nothing
_SMALL, _TITLE = 8, 9  # points
_LETTER = 0.65  # mean width of a letter, in font sizes
_LONGEST = 14  # letters of an arm's label
_MANY = 30  # arms from which the marks are thin
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_NICE = (1, 2, 5, 10)  # between ticks, times a power of ten


def draw(report: AuditReport) -> "Figure":
    """Draw E by row on the left and, where they are known, observed − expected pulls by arm on the right."""
    if not report.calibrated:
        return draw_evidence(report)
    figure = new_figure(7.6, 3.1)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    _draw_evidence(left, report)
    _draw_arms(right, report, 150)
    tidy(left, right)
    return figure


def draw_evidence(report: AuditReport) -> "Figure":
    """Draw E by row, alone."""
    figure = new_figure(4.4, 2.8)
    axes = figure.subplots()
    _draw_evidence(axes, report)
    tidy(axes)
    return figure


def draw_arms(report: AuditReport) -> "Figure":
    """Draw observed − expected pulls by arm, alone."""
    figure = new_figure(4.4, 3.0)
    axes = figure.subplots()
    _draw_arms(axes, report, 240)
    tidy(axes)
    return figure


def shown_as(arm: ArmReport) -> str:
    """Return an arm's label in a figure: shortened, or its number, such as #3, if the font lacks a letter."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    label = printable(re.sub(r"\s+", " ", arm.label).strip())
    font = get_font(findfont(FontProperties()))
    if not label or any(font.get_char_index(ord(letter)) == 0 for letter in label):
        return f"#{arm.arm}"
    if len(label) <= _LONGEST:
        return label
    kept = _LONGEST - 1
    return f"{label[: kept - kept // 2]}…{label[-(kept // 2) :]}"  # labels often differ at their end


def _draw_evidence(axes: "Axes", report: AuditReport) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    threshold = -math.log10(report.alpha)
    rows = np.concatenate(([0], report.history_rows))
    values = np.concatenate(([0.0], report.history_log_e_values / math.log(10)))
    last = max(report.rows, int(rows.max()), 1)
    if report.impossible is not None:  # E is infinite from there on
        before = rows < report.impossible.row
        rows, values = rows[before], values[before]
    axes.plot(rows, values, color=COLOURS[0], linewidth=1.2)
    axes.axhline(threshold, color=COLOURS[1], linewidth=1, linestyle="--")
    axes.annotate(
        f"1/α = {superscript(-math.log(report.alpha))}",
        (1.0, threshold),
        xycoords=axes.get_yaxis_transform(),
        xytext=(3, 0),
        textcoords="offset points",
        color=COLOURS[1],
        fontsize=_SMALL,
        va="center",
        annotation_clip=False,
    )
    bottom = max(float(values.min()), -_DECADES_IN_VIEW)
    top = max(threshold * 1.3, float(values.max()) * 1.05, 1.05)
    if report.impossible is not None:
        top += 0.2 * (top - bottom)  # room for the words
        _mark_impossible(axes, report.impossible.row, last, top)
    axes.set_ylim(bottom - 0.03 * (top - bottom), top)
    axes.set_xlim(-0.02 * last, 1.02 * last)
    refuted_at = None if report.impossible is None else report.impossible.row
    if report.rejected_at is not None and report.rejected_at != refuted_at:
        axes.plot([report.rejected_at] * 2, [axes.get_ylim()[0], threshold], color=COLOURS[1], linewidth=0.8)
        axes.plot([report.rejected_at], [threshold], "o", color=COLOURS[1], markersize=4)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=_NICE))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda exponent, _: power_of_ten(round(exponent))))
    millions = last >= 2_000_000
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, steps=_NICE))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda row, _: f"{row / 1e6:,g}" if millions else f"{round(row):,}"))
    axes.tick_params(labelsize=_SMALL)
    axes.set_xlabel("row of the log" + (", millions" if millions else ""), fontsize=_TITLE)
    axes.set_ylabel("evidence against the claim, E", fontsize=_TITLE)
    axes.set_title(report.verdict + ("" if report.rejected else " the claim"), fontsize=_TITLE)


def _mark_impossible(axes: "Axes", row: int, last: int, top: float) -> None:
    axes.axvline(row, color=COLOURS[1], linewidth=1.2)
    left = row > last / 2
    axes.annotate(
        f"E = ∞ from row {row:,} on",
        (row, top),
        xytext=(-4 if left else 4, -2),
        textcoords="offset points",
        color=COLOURS[1],
        fontsize=_SMALL,
        ha="right" if left else "left",
        va="top",
    )


def _draw_arms(axes: "Axes", report: AuditReport, width: float) -> None:
    """Draw the arms; the `width` of the axes, in points, decides which labels have room."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    arms = [arm for arm in report.arms if arm.excess is not None]
    middle = np.array([arm.excess for arm in arms], dtype=float)
    low, high, allowed = (np.array([getattr(arm, side) for arm in arms], float) for side in ("low", "high", "allowed"))
    clear = np.array([arm.departs for arm in arms])
    places = np.arange(len(arms))
    many = len(arms) > _MANY
    axes.axhline(0, color=GREY, linewidth=0.8)
    if allowed.any():
        axes.vlines(places, -allowed, allowed, color=GREY, alpha=0.35, linewidth=2 if many else 7)
    for chosen, colour, mark in ((~clear, COLOURS[0], "o"), (clear, COLOURS[1], "D")):
        if chosen.any():
            axes.errorbar(
                places[chosen],
                middle[chosen],
                yerr=(middle[chosen] - low[chosen], high[chosen] - middle[chosen]),
                fmt=mark,
                markersize=2 if many else 4,
                linewidth=0.8 if many else 1.2,
                capsize=0 if many else 3,
                color=colour,
            )
    axes.set_xlim(-0.6, len(arms) - 0.4)
    _write_labels(axes, arms, clear, width)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=_NICE))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda pulls, _: _signed(pulls)))
    axes.tick_params(axis="y", labelsize=_SMALL)
    axes.set_xlabel("arm", fontsize=_TITLE)
    axes.set_ylabel("pulls, observed − expected", fontsize=_TITLE)
    axes.set_title(report.confidence, fontsize=_TITLE)


def _write_labels(axes: "Axes", arms: Sequence[ArmReport], clear: np.ndarray, width: float) -> None:
    """Write as many labels as have room, upright where they would touch; arms that depart come first."""
    longest = max(len(shown_as(arm)) for arm in arms) * _LETTER * _SMALL + 4
    slot = width / len(arms)
    upright = longest > slot and (longest > 26 or len(arms) <= 10)
    needed = (1.4 * _SMALL if upright else longest) / slot
    step = next((step for step in _STEPS if step >= needed), _STEPS[-1])
    chosen: list[int] = []
    for place in (*np.flatnonzero(clear), *range(0, len(arms), step)):
        if all(abs(place - other) >= needed for other in chosen):
            chosen.append(int(place))
    axes.set_xticks(
        chosen,
        [shown_as(arms[place]) for place in chosen],
        fontsize=_SMALL,
        rotation=90 if upright else 0,
        parse_math=False,  # a $ in a label is a $
    )
    for place, text in zip(chosen, axes.get_xticklabels(), strict=True):
        if clear[place]:
            text.set_color(COLOURS[1])


def _signed(pulls: float) -> str:
    return f"{pulls:+,.10g}".replace("-", "−") if abs(pulls) > 1e-9 else "0"
