"""What the page draws, with Bokeh: sources that are filled anew, and figures that stay."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FactorRange, NumeralTickFormatter, Span
from bokeh.plotting import figure

from feint.app.unfolding import ALPHA, Trace
from feint.style import COLOURS, GREY

_POINTS = 300  # more than these are thinned: a screen has no room for them
_HEIGHT = 230


def new_chart(title: str, x: str, y: str, **options: Any) -> Any:
    """An empty figure as wide as its place."""
    chart = figure(
        title=title, x_axis_label=x, y_axis_label=y, height=_HEIGHT, sizing_mode="stretch_width", tools="",
        toolbar_location=None, min_border_right=12, **options,
    )  # fmt: skip
    chart.outline_line_color = None
    chart.title.text_font_size = "13px"
    chart.title.text_font_style = "normal"
    for axis in (*chart.xaxis, *chart.yaxis):
        axis.axis_label_text_font_style = "normal"
    chart.grid.grid_line_color = "#eeeeee"
    return chart


class Lines:
    """Several lines over time, solid for the first of two agents and dashed for the second."""

    def __init__(self, title: str, y: str, names: Sequence[str], colours: Sequence[str], dashes: Sequence[str]) -> None:
        self.source = ColumnDataSource({"t": [], **{name: [] for name in names}})
        self.figure = new_chart(title, "pulls made", y)
        self.figure.xaxis.formatter = NumeralTickFormatter(format="0,0")
        for name, colour, dash in zip(names, colours, dashes, strict=True):
            self.figure.line("t", name, source=self.source, color=colour, line_dash=dash, line_width=2)
        self._names = list(names)

    def fill(self, columns: Iterable[Sequence[float]], n: int) -> None:
        """Values after each of n pulls, thinned to what can be seen; the last is always there."""
        rows = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(int))
        data = {name: np.asarray(column, float)[rows] for name, column in zip(self._names, columns, strict=True)}
        self.source.data = {"t": rows + 1.0, **data}


class RunCharts:
    """The four views of two agents: `first` is drawn solid, `second` dashed."""

    def __init__(self, n_arms: int) -> None:
        arms = [str(a) for a in range(n_arms)]
        colours = [COLOURS[a % len(COLOURS)] for a in range(n_arms)]
        self.pulls = Lines(
            "Pulls by arm: A solid, B dashed",
            "pulls",
            [f"{who}{a}" for who in "AB" for a in arms],
            colours * 2,
            ["solid"] * n_arms + ["dashed"] * n_arms,
        )
        pair = (("A", "B"), (COLOURS[1], COLOURS[0]), ("solid", "dashed"))
        self.evidence = Lines("Evidence against A (solid) and B (dashed)", "log₁₀ e-value", *pair)
        threshold = Span(location=-math.log10(ALPHA), dimension="width", line_color=GREY, line_dash="dotted")
        self.evidence.figure.add_layout(threshold)
        # Without this, a threshold that no line has come near to would lie outside the picture.
        self.evidence.figure.scatter([1.0], [-math.log10(ALPHA)], size=0.1, alpha=0.0)
        self.error = Lines("How unsure of the best private arm: A solid, B dashed", "log₁₀ error", *pair)
        self._bars = ColumnDataSource({"arm": arms, "policy": [0.0] * n_arms, "expected": [0.0] * n_arms})
        self.policy = new_chart("", "arm", "probability", x_range=FactorRange(*arms), y_range=(0, 1))
        self.policy.vbar("arm", 0.7, "policy", source=self._bars, color=COLOURS[1], alpha=0.75)
        self.policy.dash("arm", "expected", source=self._bars, size=36, line_width=3, color="#222222")

    def fill(self, first: Trace, second: Trace) -> None:
        """What both have done."""
        pulls = np.concatenate([np.array(trace.pulls).T for trace in (first, second)])
        self.pulls.fill(pulls, first.time)
        for lines, name in ((self.evidence, "log_e_values"), (self.error, "log_errors")):
            lines.fill([np.array(getattr(trace, name)) / math.log(10) for trace in (first, second)], first.time)

    def fill_policy(self, name: str, trace: Trace) -> None:
        """The coming pull of one of them."""
        policy, expected = trace.policy()
        bent = "" if np.array_equal(policy, expected) else f"; it boosts arm {trace.agent.boosted_arm}"
        self.policy.title.text = f"{name}'s coming pull (bars), what is expected (dashes){bent}"
        self._bars.data = {"arm": self._bars.data["arm"], "policy": policy, "expected": expected}


class TimeChart:
    """Time to be sure against ε: medians with 80 % of runs, a point for every ε, to be clicked."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({"epsilon": [], "median": [], "low": [], "high": []})
        self.figure = new_chart(
            "Pulls until sure: median and the middle 80 % of runs; click a point to take it", "ε", "pulls",
            x_axis_type="log", y_axis_type="log",
        )  # fmt: skip
        self.figure.add_tools("tap")
        self.figure.segment("epsilon", "low", "epsilon", "high", source=self.source, color=COLOURS[0], line_width=2)
        self.figure.line("epsilon", "median", source=self.source, color=COLOURS[0], line_width=2)
        self.figure.scatter("epsilon", "median", source=self.source, color=COLOURS[0], size=12)

    def add(self, epsilon: float, quantiles: Sequence[float]) -> None:
        """One more point; the line stays in the order of ε."""
        rows = sorted({*zip(*(self.source.data[name] for name in ("epsilon", "low", "median", "high")), strict=True),
                       (epsilon, *quantiles)})  # fmt: skip
        names = ("epsilon", "low", "median", "high")
        self.source.data = {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def clear(self) -> None:
        """No points."""
        self.source.selected.indices = []
        self.source.data = {name: [] for name in self.source.data}
