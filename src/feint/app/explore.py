"""Explore: a run unfolds, with who is who shown, or as a game in which a visitor guesses who deceives."""

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn

from feint.app.background import in_background, later
from feint.app.charts import RunCharts, arm_colour
from feint.app.instance_form import InstanceForm
from feint.app.logs import ReadyLog, log_of_run
from feint.app.messages import MessageLine
from feint.app.style_sheet import CARD, GRID
from feint.app.unfolding import ALPHA, Unfolding, Watched
from feint.goals import BestArm

_FIRST_PULLS = 100  # that a visitor who has just come is shown
_PATIENCE = 1.0  # seconds after which the page says why a start takes long
_PERIOD = 150  # ms between two pictures
_SPEEDS = {"slow": 1, "medium": 5, "fast": 25, "very fast": 75}  # pulls per picture
_OPEN, _GAME = "Show who is who", "Game: guess who deceives"


class Explore:
    """The tab that shows a run of the settings, with the buttons that steer it; `audit` takes a log into Audit."""

    def __init__(self, form: InstanceForm, audit: Callable[[ReadyLog], object]) -> None:
        self._form, self._audit = form, audit
        self._line, self._head = MessageLine(), pn.pane.HTML("", sizing_mode="stretch_width", margin=4)
        self._run: Unfolding | None = None
        self._pictures: RunCharts | None = None
        self._asked = 0  # counts restarts
        self._pulls = _FIRST_PULLS  # that a new run begins with
        self._swapped = self._told = self._working = self._refused = False
        self._hidden: list[Any] = []
        small = {"sizing_mode": "fixed", "height": 34, "margin": (4, 4)}
        self.play = pn.widgets.Button(label="Play", color="primary", width=80, **small)
        self.step = pn.widgets.Button(label="One pull", width=90, **small)
        self.jump = pn.widgets.Button(label="On to the alarm", width=140, **small)
        self.again = pn.widgets.Button(label="Start again", width=110, **small)
        self.audit = pn.widgets.Button(label="Audit this run", width=130, **small)
        self.speed = pn.widgets.Select(
            label="Speed", options=list(_SPEEDS), value="medium", width=110, margin=4, css_classes=["speed"]
        )
        self.view_of = pn.widgets.RadioButtonGroup(options=[_OPEN, _GAME], css_classes=["view-of"], height=34, margin=4)
        self.accuse = {who: pn.widgets.Button(label=f"Accuse {who}", color="danger", width=90, **small) for who in "AB"}
        self._charts = pn.Column(sizing_mode="stretch_width", margin=4, stylesheets=[GRID])
        for button, action in (
            (self.play, self._toggle), (self.step, self._step), (self.again, self._from_start), (self.jump, self._jump),
            (self.audit, self._take_to_audit),
        ):  # fmt: skip
            button.on_click(lambda event, action=action: action())
        for who, button in self.accuse.items():
            button.on_click(lambda event, who=who: self._accused(who))
        self.view_of.param.watch(lambda event: self.restart(), "value")
        self._ticks: Any = None
        form.on_change(self.restart)
        row = {"sizing_mode": "stretch_width", "align_items": "end"}
        self.view = pn.Column(
            pn.FlexBox(self.play, self.step, self.jump, self.again, self.speed, **row),
            pn.FlexBox(self.view_of, *self.accuse.values(), self.audit, **row),
            self._line.view, self._head, self._charts, sizing_mode="stretch_width",
        )  # fmt: skip
        # Charts added while the browser is still fetching the page would be lost on the way.
        pn.state.onload(self.restart)

    def restart(self) -> None:
        """Start a new run with the present settings, as long as the one that is shown, which is greyed."""
        self._pause()
        self._run = None  # until the new one is there, and for good if a setting is wrong
        self._asked += 1
        asked, pulls = self._asked, self._pulls
        self._grey(True)

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
            in_background(lambda: Unfolding(setting, pulls), begin, self._line)
            later(_PATIENCE, excuse)

    def _from_start(self) -> None:
        self._pulls = 0
        self.restart()

    def _grey(self, old: bool) -> None:
        """Mark what is shown as outdated, or as current."""
        for pane in (self._head, self._charts):
            pane.css_classes = ["old"] if old else []

    def _begin(self, run: Unfolding) -> None:
        self._run = run
        game = self.view_of.value == _GAME
        self._swapped, self._told = game and secrets.randbelow(2) == 1, not game
        n_arms = run.setting.bandit.n_arms
        fresh = self._pictures is None or self._pictures.n_arms != n_arms
        if fresh:
            self._pictures = RunCharts(n_arms)
            shown, self._hidden = (
                [_titled(*chart) for chart in charts.items()]
                for charts in (self._pictures.of_both, self._pictures.of_knowing)
            )
        self._line.say("")
        self._draw()
        if fresh:  # only now: Bokeh complains about charts without data
            self._charts.objects = [*shown, *self._hidden]
        self._grey(False)

    def _named(self) -> dict[str, Watched]:
        assert self._run is not None
        first, second = self._run.deceiver, self._run.twin
        return {"A": second, "B": first} if self._swapped else {"A": first, "B": second}

    def _draw(self) -> None:
        run, named = self._run, self._named()
        assert run is not None
        assert self._pictures is not None
        self._pulls = run.time
        self._pictures.fill(named["A"], named["B"])
        for pane in self._hidden:
            pane.visible = self._told
        for button in self.accuse.values():
            button.visible = not self._told
        self.jump.visible = self.audit.visible = self._told  # both would tell how strong the evidence is
        if self._told:
            self._pictures.fill_policy(run.deceiver)
        cells = "".join(self._cell(name, trace) for name, trace in named.items())
        self._head.object = (
            f"<div class='cells'><div class='cell'><b>Pull <span class='pull'>{run.time:,}</span></b> of "
            f"{run.setting.horizon:,}<br><span class='muted'>The e-value of an agent is the observer's evidence "
            f"against it. At {1 / ALPHA:g} (log₁₀: {-math.log10(ALPHA):.1f}) it raises the alarm.</span></div>"
            f"{cells}</div>"
            f"<p class='legend'>{_legend(run.setting.bandit.n_arms)} &nbsp; A: solid lines, B: dashed</p>"
        )

    def _cell(self, name: str, trace: Watched) -> str:
        run = self._run
        assert run is not None
        if not self._told:
            return (
                f"<div class='cell'><b>{name}</b> is either the deceiver or its honest twin.<br>"
                "<span class='muted'>The evidence is shown once you have accused one.</span></div>"
            )
        deceives = f"deceives, ε = {run.setting.epsilon:g}"
        role = deceives if trace is run.deceiver else "is its honest twin"
        wrong = f"wrong with probability {_readable_exp(trace.agent.log_error)}"
        alarm = "no alarm yet" if trace.detected_at is None else f"<b>alarm at pull {trace.detected_at:,}</b>"
        return (
            f"<div class='cell'><b>{name}</b> {role}<br>{_answer_text(run.setting.goal, trace.agent)}, {wrong}<br>"
            f"e-value {_readable_exp(trace.log_e_values[-1])}, {alarm}</div>"
        )

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

    def _jump(self) -> None:
        self._pause()
        run = self._run
        if run is None or self._working:
            return

        def arrive(nothing: None) -> None:
            if run is self._run:
                self._draw()
                if run.deceiver.detected_at is None:
                    self._line.say(f"No alarm in {run.time:,} pulls: allow more pulls or a larger budget.")

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
            self._line.say(f"{text} Start again for another round.", "good" if text.startswith("Right") else "bad")
            self._draw()

    def _take_to_audit(self) -> None:
        """Take what the observer of A saw so far into Audit, with what A claims to do."""
        self._pause()
        run = self._run
        if run is None or self._working:
            return
        trace = self._named()["A"]
        in_background(lambda: log_of_run(run, trace), self._audit, self._line)


def _titled(title: str, chart: Any) -> Any:
    """Return a chart under its title, which wraps where there is little room."""
    return pn.Column(
        pn.pane.HTML(f"<h3>{title}</h3>", sizing_mode="stretch_width", margin=0),
        pn.pane.Bokeh(chart, sizing_mode="stretch_width", margin=0), sizing_mode="stretch_width", stylesheets=[CARD],
    )  # fmt: skip


def _answer_text(goal: Any, agent: Any) -> str:
    """Return what an agent would answer now."""
    arms = [str(arm) for arm in np.flatnonzero(agent.answer)]
    if isinstance(goal, BestArm):
        return f"says that arm {arms[0]} is best in private"
    return f"answers arms {', '.join(arms)}" if len(arms) > 1 else f"answers arm {arms[0]}" if arms else "answers none"


def _legend(n_arms: int) -> str:
    """Return which colour stands for which arm."""
    return " ".join(f"<span style='color:{arm_colour(a)}'>■</span> arm {a}" for a in range(n_arms))


def _readable_exp(log_value: float) -> str:
    """Return exp(log_value), readable however large or small."""
    power = log_value / math.log(10)
    if -4 < power < 5:
        return f"{math.exp(log_value):,.3g}" if power < 3 else f"{math.exp(log_value):,.0f}"
    return f"10<sup>{power:.1f}</sup>"
