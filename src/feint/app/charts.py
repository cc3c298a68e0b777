"""What the page draws, with Bokeh: sources that are filled anew, and figures that stay.

Changes of what a page shows are made `unlocked`, as Panel makes its own: they then reach the browser in order, and do
not need the document's lock, which Panel's callbacks do not hold.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    FactorRange,
    FixedTicker,
    NumeralTickFormatter,
    PrintfTickFormatter,
    Range1d,
    Span,
)
from bokeh.plotting import figure
from panel.io import unlocked

from feint.app.unfolding import ALPHA, Watched
from feint.support.figure_style import COLOURS

_POINTS = 300  # more points are thinned out: a screen has no room for them
_HEIGHT = 230
_FIRST = 20  # a chart has room for at least this many pulls
_PURPLE, _GREY = "#8a63d2", "#8c8c8c"  # arms have the other colours; these can be seen in light and in dark mode
_PAIR = (("A", "B"), (_PURPLE, _GREY), ("solid", "dashed"))


def new_chart(words: str, x: str, y: str, **options: Any) -> Any:
    """Return an empty figure as wide as its place; `words` are what a screen reader says of it.

    It has no background and no small ticks, and the page's style colours its axes (`style_sheet`).
    """
    chart = figure(
        x_axis_label=x, y_axis_label=y, height=_HEIGHT, sizing_mode="stretch_width", tools="", toolbar_location=None,
        min_border_right=22, background_fill_color=None, border_fill_color=None, outline_line_color=None,
        html_attributes={"role": "img", "aria-label": words}, **options,
    )  # fmt: skip
    for axis in (*chart.xaxis, *chart.yaxis):
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
    return chart


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks for a logarithmic axis, far enough apart that their labels do not run into each other."""
    factors = (1, 2, 5) if high < 100 * low else (1, 3) if high < 10_000 * low else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]


class LogRange:
    """The range of a figure's logarithmic vertical axis, whose numbers are written out."""

    def __init__(self) -> None:
        self.range, self._ticker = Range1d(0.9, _FIRST), FixedTicker(ticks=[])

    def put_on(self, chart: Any) -> None:
        """Use the ticks of this range for a figure that has it."""
        chart.yaxis.ticker = self._ticker
        chart.yaxis.formatter = NumeralTickFormatter(format="0,0")

    def span(self, low: float, high: float) -> None:
        """Show what lies from `low` to `high`."""
        with unlocked():
            self.range.start, self.range.end = low, high
            self._ticker.ticks = log_ticks(low, high)


def arm_colour(arm: int) -> str:
    """Return the colour that an arm has in every chart."""
    return COLOURS[arm % len(COLOURS)]


class Lines:
    """Several lines over time, solid for the first of two agents and dashed for the second."""

    def __init__(
        self, title: str, y: str, names: Sequence[str], colours: Sequence[str], dashes: Sequence[str], **options: Any
    ) -> None:
        self.title = title
        self.source = ColumnDataSource({"t": [], **{name: [] for name in names}})
        self._x = Range1d(0, _FIRST)
        self.figure = new_chart(title, "pulls made", y, x_range=self._x, **options)
        self.figure.xaxis.formatter = NumeralTickFormatter(format="0,0")
        for name, colour, dash in zip(names, colours, dashes, strict=True):
            self.figure.line("t", name, source=self.source, color=colour, line_dash=dash, line_width=2)
        self._names = list(names)

    def fill(self, columns: Iterable[Any], n: int) -> None:
        """Show the values after each of n pulls, thinned to what can be seen; the last one is always shown."""
        rows = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(int))
        data = {name: np.asarray(column, float)[rows] for name, column in zip(self._names, columns, strict=True)}
        with unlocked():
            self._x.end = max(n, _FIRST)
            self.source.data = {"t": rows + 1.0, **data}


class RunCharts:
    """The four views of two agents: `first` is drawn solid, `second` dashed."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        arms = [str(a) for a in range(n_arms)]
        colours = [arm_colour(a) for a in range(n_arms)]
        self._most = LogRange()
        # One arm has hundreds of pulls, the others tens: on a linear scale these would all look like 0.
        self.pulls = Lines(
            "How often each arm was pulled",
            "pulls of an arm",
            [f"{who}{a}" for who in "AB" for a in arms],
            colours * 2,
            ["solid"] * n_arms + ["dashed"] * n_arms,
            y_axis_type="log",
            y_range=self._most.range,
        )
        self._most.put_on(self.pulls.figure)
        alarm = -math.log10(ALPHA)
        self.evidence = Lines("The observer's evidence; dotted: alarm", "log₁₀ e-value", *_PAIR)
        self.evidence.figure.add_layout(Span(location=alarm, dimension="width", line_color=_GREY, line_dash="dotted"))
        # Without these, a threshold that no line has come near to would lie outside the picture.
        self.evidence.figure.scatter([1.0, 1.0], [-0.5, alarm + 0.2], size=0.1, alpha=0.0)
        self.error = Lines("How likely the agent's answer is wrong", "log₁₀ probability", *_PAIR)
        self.error.figure.scatter([1.0, 1.0], [-1.0, 0.0], size=0.1, alpha=0.0)
        self._bars = ColumnDataSource(
            {"arm": arms, "policy": [0.0] * n_arms, "expected": [0.0] * n_arms, "colour": colours}
        )
        title = "The deceiver's next pull; box: expected"
        policy = new_chart(title, "arm", "probability", x_range=FactorRange(*arms), y_range=(0, 1))
        policy.vbar("arm", 0.5, "policy", source=self._bars, color="colour")
        policy.vbar("arm", 0.8, "expected", source=self._bars, fill_color=None, line_color=_GREY, line_width=2)
        self.of_both = {self.pulls.title: self.pulls.figure}
        # Whoever sees these knows who deceives.
        self.of_knowing = {
            self.evidence.title: self.evidence.figure, title: policy, self.error.title: self.error.figure,
        }  # fmt: skip

    def fill(self, first: Watched, second: Watched) -> None:
        """Show what both agents have done."""
        pulls = np.concatenate([np.array(trace.pulls, float).T for trace in (first, second)])
        self._most.span(0.9, max(1.5 * float(pulls.max()), _FIRST))
        self.pulls.fill(np.where(pulls == 0, math.nan, pulls), first.time)
        for lines, name in ((self.evidence, "log_e_values"), (self.error, "log_errors")):
            lines.fill([np.array(getattr(trace, name)) / math.log(10) for trace in (first, second)], first.time)

    def fill_policy(self, trace: Watched) -> None:
        """Show the deceiver's policy for its next pull."""
        policy, expected = trace.policy()
        with unlocked():
            self._bars.data = {**self._bars.data, "policy": policy, "expected": expected}


_TIMES = {"sure": COLOURS[0], "noticed": COLOURS[1]}
_POINTS_OF_TIMES = ("low", "median", "high")


class TimeChart:
    """Time to be sure and time to be noticed against ε: medians with the middle 80 % of runs. Points can be clicked."""

    def __init__(self, low: float, high: float) -> None:
        self._names = [f"{what}_{point}" for what in _TIMES for point in _POINTS_OF_TIMES]
        self.source = ColumnDataSource()
        # It has its own ranges: Bokeh's would complain about logarithms of nothing until there is a point.
        self._y = LogRange()
        self._rows: list[tuple[float, ...]] = []
        self.clear()
        self.figure = new_chart(
            "Pulls until sure and until noticed, by ε", "ε, nats per pull", "pulls",
            x_axis_type="log", y_axis_type="log",
            x_range=Range1d(low / 1.5, high * 1.5), y_range=self._y.range,
        )  # fmt: skip
        self.figure.xaxis.ticker = FixedTicker(ticks=[0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
        self.figure.xaxis.formatter = PrintfTickFormatter(format="%g")
        self._y.put_on(self.figure)
        self.figure.add_tools("tap")
        for what, colour in _TIMES.items():
            low_name, median, high_name = (f"{what}_{point}" for point in _POINTS_OF_TIMES)
            drawn = {"source": self.source, "color": colour, "nonselection_alpha": 1.0}
            self.figure.segment("epsilon", low_name, "epsilon", high_name, line_width=2, **drawn)
            self.figure.line("epsilon", median, line_width=2, **drawn)
            self.figure.scatter("epsilon", median, size=12, **drawn)
        self.legend = (
            "<p class='legend'>Pulls until "
            + " and until ".join(f"<span style='color:{c}'>●</span> {what}" for what, c in _TIMES.items())
            + f" (by the observer, at level {ALPHA:g}): medians and the middle 80 % of runs.</p>"
        )

    def add(self, plan: Any) -> None:
        """Add a point; the line stays in the order of ε. What never happens is not drawn."""
        new = [value if math.isfinite(value) else math.nan for value in (*plan.quantiles, *plan.observer.quantiles)]
        self._rows = sorted([*self._rows, (float(plan.epsilon), *new)])
        self._show()

    def clear(self) -> None:
        """Remove all points."""
        self._rows = []
        self._show()

    def _show(self) -> None:
        rows = self._rows
        values = [value for row in rows for value in row[1:] if not math.isnan(value)] or [2.0, 5.0]
        self._y.span(min(values) / 2, max(values) * 2)
        with unlocked():
            self.source.data = {name: [row[i] for row in rows] for i, name in enumerate(("epsilon", *self._names))}

    def clicked(self, action: Callable[[float], object]) -> None:
        """Call `action` with the ε of every point that is clicked."""

        def hear(name: str, old: Any, new: Any) -> None:
            if new:
                epsilon = float(self.source.data["epsilon"][new[0]])
                with unlocked():
                    self.source.selected.indices = []
                action(epsilon)

        self.source.selected.on_change("indices", hear)
