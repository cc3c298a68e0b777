"""Explore: the run unfolds, and a visitor may accuse at any time."""

import math
import secrets
from typing import Any

import panel as pn

from feint.app.background import in_background, later
from feint.app.charts import RunCharts, arm_colour
from feint.app.instance import InstanceForm
from feint.app.messages import Line
from feint.app.unfolding import ALPHA, Unfolding, Watched

_PATIENCE = 1.0  # seconds after which the page says why a start takes long
_PERIOD = 150  # ms between two pictures
_SPEEDS = {"slow": 1, "medium": 5, "fast": 25, "very fast": 75}  # pulls per picture
# Two charts per row where there is room.
_GRID = """
:host { display: grid !important; gap: 8px; grid-template-columns: repeat(auto-fit, minmax(min(330px, 100%), 1fr)); }
.scroll-button { display: none; }
"""
_OPEN, _GUESS = "show who is who", "guess who deceives"


class Explore:
    """The tab that shows a run of the settings, with the buttons that steer it."""

    def __init__(self, form: InstanceForm) -> None:
        self._form, self._line, self._head = form, Line(), pn.pane.HTML("", sizing_mode="stretch_width")
        self._run: Unfolding | None = None
        self._pictures: RunCharts | None = None
        self._asked = 0  # counts restarts
        self._swapped = self._told = self._working = self._refused = False
        self._hidden: list[Any] = []
        small = {"sizing_mode": "fixed", "height": 34, "margin": (4, 4)}
        self.play = pn.widgets.Button(label="Play", color="primary", width=80, **small)
        self.step = pn.widgets.Button(label="Step", width=70, **small)
        self.jump = pn.widgets.Button(label="Jump to detection", width=140, **small)
        self.again = pn.widgets.Button(label="Start again", width=100, **small)
        self.speed = pn.widgets.Select(options=list(_SPEEDS), value="medium", width=100, css_classes=["speed"], **small)
        self.view_of = pn.widgets.Select(options=[_OPEN, _GUESS], width=170, css_classes=["view-of"], **small)
        self.accuse = {who: pn.widgets.Button(label=f"Accuse {who}", color="danger", width=90, **small) for who in "AB"}
        self._charts = pn.Column(sizing_mode="stretch_width", stylesheets=[_GRID])
        for button, action in ((self.play, self._toggle), (self.step, self._step), (self.again, self.restart)):
            button.on_click(lambda event, action=action: action())
        self.jump.on_click(self._jump)
        for who, button in self.accuse.items():
            button.on_click(lambda event, who=who: self._accused(who))
        self.view_of.param.watch(lambda event: self.restart(), "value")
        self._ticks: Any = None
        form.on_change(self.restart)
        self.view = pn.Column(
            pn.FlexBox(self.play, self.step, self.jump, self.again, self.speed, sizing_mode="stretch_width"),
            pn.FlexBox(self.view_of, *self.accuse.values(), sizing_mode="stretch_width"),
            self._line.view, self._head, self._charts, sizing_mode="stretch_width",
        )  # fmt: skip
        # Charts added while the browser is still fetching the page would be lost on the way.
        pn.state.onload(self.restart)

    def restart(self) -> None:
        """Start a new run with the settings as they are now."""
        self._pause()
        self._run = None  # until the new one is there, and for good where a setting is wrong
        self._asked += 1
        asked = self._asked

        def begin(run: Unfolding) -> None:
            if asked == self._asked:  # otherwise the settings have changed since
                self._begin(run)

        def excuse() -> None:
            if asked == self._asked and self._run is None and not self._refused:
                self._line.say("Compiling what these settings need, which takes some seconds.")

        self._refused = True
        with self._line.wrong():
            setting = self._form.setting()
            self._refused = False
            in_background(lambda: Unfolding(setting), begin, self._line, lambda: None)
            later(_PATIENCE, excuse)

    def _begin(self, run: Unfolding) -> None:
        self._run = run
        self._swapped = self.view_of.value == _GUESS and secrets.randbelow(2) == 1
        self._told = self.view_of.value == _OPEN
        n_arms = run.setting.bandit.n_arms
        fresh = self._pictures is None or self._pictures.n_arms != n_arms
        if fresh:
            self._pictures = RunCharts(n_arms)
            shown, self._hidden = (
                [pn.pane.Bokeh(chart, sizing_mode="stretch_width", margin=0) for chart in charts]
                for charts in (self._pictures.of_both, self._pictures.of_knowing)
            )
        self._line.say("")
        self._draw()
        if fresh:  # only now: Bokeh complains of charts without data
            self._charts.objects = [*shown, *self._hidden]

    def _named(self) -> dict[str, Watched]:
        assert self._run is not None
        first, second = self._run.deceiver, self._run.twin
        return {"A": second, "B": first} if self._swapped else {"A": first, "B": second}

    def _draw(self) -> None:
        run, named = self._run, self._named()
        assert run is not None
        assert self._pictures is not None
        self._pictures.fill(named["A"], named["B"])
        for pane in self._hidden:
            pane.visible = self._told
        if self._told:
            who = next(name for name, trace in named.items() if trace is run.deceiver)
            self._pictures.fill_policy(who, run.deceiver)
        cells = "".join(self._cell(name, trace) for name, trace in named.items())
        self._head.object = (
            f"<div class='cells'><div class='cell'><b>Pull <span class='pull'>{run.time:,}</span></b> of "
            f"{run.setting.horizon:,}<br>alarm at an e-value of {1 / ALPHA:g}</div>{cells}</div>"
            f"<p class='legend'>{_legend(run.setting.bandit.n_arms)}</p>"
        )

    def _cell(self, name: str, trace: Watched) -> str:
        assert self._run is not None
        who = ""
        if self._told:
            agent = trace.agent
            role = (
                f"deceives, ε = {self._run.setting.epsilon:g}" if trace is self._run.deceiver else "is the honest twin"
            )
            who = f" {role}<br>best private arm: {agent.best_arm}, error {_readable_exp(agent.log_error)}"
        alarm = "no alarm yet" if trace.detected_at is None else f"<b>alarm at pull {trace.detected_at:,}</b>"
        return f"<div class='cell'><b>{name}</b>{who}<br>e-value {_readable_exp(trace.log_e_values[-1])}, {alarm}</div>"

    def _toggle(self) -> None:
        if self._ticks is not None:
            self._pause()
        elif self._run is not None and not self._run.finished:
            self.play.label = "Pause"
            self._ticks = pn.state.add_periodic_callback(self._tick, period=_PERIOD)

    def _pause(self) -> None:
        self.play.label = "Play"
        if self._ticks is not None:
            self._ticks.stop()
            self._ticks = None

    def _tick(self) -> None:
        self._by(_SPEEDS[self.speed.value])
        if self._run is None or self._run.finished:
            self._pause()

    def _step(self) -> None:
        self._pause()
        self._by(1)

    def _by(self, pulls: int) -> None:
        if self._run is None or self._working:
            return
        with self._line.wrong():
            self._run.advance(pulls)
            self._draw()
            if self._run.finished:
                self._line.say("The run is over: start again, or change a setting.")

    def _jump(self, event: Any) -> None:
        self._pause()
        run = self._run
        if run is None or self._working:
            return

        def arrive(nothing: None) -> None:
            if run is self._run:
                self._draw()
                if run.deceiver.detected_at is None:
                    self._line.say(f"No alarm in {run.time:,} pulls: give it more pulls or more budget.")

        def end() -> None:
            self._working = self.jump.loading = False

        self._working = self.jump.loading = True
        in_background(run.to_detection, arrive, self._line, end)

    def _accused(self, who: str) -> None:
        self._pause()
        if self._run is None or self._working:
            return
        with self._line.wrong():
            guilty = self._named()[who] is self._run.deceiver
            self._told = True
            text = self._run.accused(who, guilty)
            self._line.say(text, "good" if text.startswith("Right") else "bad")
            self._draw()


def _legend(n_arms: int) -> str:
    """Return which colour stands for which arm."""
    return " ".join(f"<span style='color:{arm_colour(a)}'>■</span> arm {a}" for a in range(n_arms))


def _readable_exp(log_value: float) -> str:
    """Return exp(log_value), readable however large or small."""
    power = log_value / math.log(10)
    if -4 < power < 5:
        return f"{math.exp(log_value):,.3g}" if power < 3 else f"{math.exp(log_value):,.0f}"
    return f"10<sup>{power:.1f}</sup>"
