"""Plan: time to be sure against ε, what can be learnt unseen, and what each arm costs."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import panel as pn

import feint
from feint.app.background import in_background
from feint.app.charts import TimeChart
from feint.app.instance_form import EPSILONS, InstanceForm
from feint.app.messages import MessageLine
from feint.app.style_sheet import CARD
from feint.app.unfolding import ALPHA, MOST_PULLS
from feint.bandit import Bandit
from feint.explorers import TopTwo
from feint.explorers.base import explorer_settings
from feint.goals import BestArm
from feint.planning.facts import facts_of_plan, facts_of_unseen
from feint.planning.path_setup import says_shares
from feint.registry import needs_arguments, parse, registered
from feint.support.errors import is_users
from feint.support.facts import ArmFacts
from feint.support.html import escape, table

_EPSILONS = [epsilon for epsilon in EPSILONS if 0.003 <= epsilon <= 3.0]
_USUAL = 0.1
_POWERS = (0.1, 0.5, 0.9)
_SECONDS = 60
_UNSEEN = (
    "<h2>What can be learnt unseen</h2><p>The <i>power</i> of a test is the probability that it catches the agent; a "
    f"test at level {ALPHA:g} accuses an honest one with probability {ALPHA:g}. If no such test may exceed a certain "
    "power, only this much KL may be spent in all, which gains this many pulls.</p>"
)
# Explorers that say with which probability they boost an arm.
_PLANNED = [
    name
    for name, cls in registered("explorer").items()
    if not needs_arguments(cls) and says_shares(explorer_settings(cls(), 2))
]


class Job(NamedTuple):
    """One question: what it is about, who answers it, and who shows the answer."""

    about: str
    work: Callable[[], Any]
    show: Callable[[Any], None]


class PlanTab:
    """The tab that plans the instance for one ε after another; `take` brings ε, explorer and pulls into Explore."""

    def __init__(self, form: InstanceForm, take: Callable[[float, str, int], object]) -> None:
        self._form, self._take, self._line = form, take, MessageLine()
        self._asked = 0  # counts questions: what an older one finds is no longer shown
        self._about: Any = None  # what the last plans are about
        self._explorer = TopTwo.name
        self._plans: dict[float, Any] = {}  # by ε
        self._wrong: dict[str, str] = {}  # sentences about what could not be planned
        self._epsilon = _USUAL
        small = {"sizing_mode": "fixed", "height": 34, "margin": (4, 4)}
        self.delta = pn.widgets.Select(
            label="How sure the agent wants to be, 1 − δ", value=0.05,
            options={f"{100 * (1 - d):g} %": d for d in (0.1, 0.05, 0.01, 0.001)}, width=290, margin=4,
            css_classes=["delta"],
        )  # fmt: skip
        self.ask = pn.widgets.Button(label="Plan it", color="primary", width=90, **small)
        self.use = pn.widgets.Button(label="Take into Explore", width=190, disabled=True, **small)
        self._chart = TimeChart(_EPSILONS[0], _EPSILONS[-1])
        self._words, self._unseen = (pn.pane.HTML("", sizing_mode="stretch_width", margin=4) for _ in range(2))
        self._answers = pn.Column(
            pn.pane.HTML(self._chart.legend, sizing_mode="stretch_width", margin=4),
            pn.pane.Bokeh(self._chart.figure, sizing_mode="stretch_width", margin=4, stylesheets=[CARD]),
            self._words, self._unseen, sizing_mode="stretch_width", visible=False,
        )  # fmt: skip
        self.ask.on_click(self._plan)
        self.use.on_click(lambda event: self._into_explore(self._epsilon))
        self._chart.clicked(self._into_explore)
        self.delta.param.watch(lambda event: self._changed(), "value")
        form.on_change(self._changed)
        if pn.state.curdoc is not None:
            pn.state.on_session_destroyed(lambda context: self._stop())
        self.view = pn.Column(
            pn.FlexBox(self.delta, self.ask, self.use, sizing_mode="stretch_width", align_items="end"),
            self._line.view, self._answers, sizing_mode="stretch_width",
        )  # fmt: skip
        self._line.say("Plan it: how many pulls until the agent knows, and until it is noticed, for seven budgets ε.")

    def _stop(self) -> None:
        """Drop what is still to be planned."""
        self._asked += 1

    def _changed(self) -> None:
        """Say that plans are outdated if instance, explorer or confidence changed; another ε or seed is fine."""
        with self._line.wrong():
            if self._about is not None and self._about != self._question():
                self._stop()
                self._grey(True)
                self._line.say("The settings have changed since: plan it again.")

    def _grey(self, old: bool) -> None:
        """Mark the answers as outdated, or as current."""
        self._old = old
        self._answers.css_classes = ["old"] if old else []

    def _renew(self) -> None:
        """Remove the answers to another question, as soon as there is one to this."""
        if self._old:
            self._chart.clear()
            self._words.object = self._unseen.object = ""
            self._answers.visible = True
            self._grey(False)

    def _question(self) -> tuple[Bandit, str, float, Any]:
        chosen = self._form.explorer.value
        explorer = chosen if chosen in _PLANNED else TopTwo.name
        return self._form.bandit(), explorer, self.delta.value, self._form.goal.part()

    def _into_explore(self, epsilon: float) -> None:
        """Take a plan into Explore, with as many pulls as nine runs in ten need, if Explore goes that far."""
        pulls = min(MOST_PULLS, math.ceil(min(self._plans[epsilon].quantiles[2], MOST_PULLS)))
        self._take(epsilon, self._explorer, pulls)

    def _plan(self, event: Any) -> None:
        self._stop()
        self._about = None
        with self._line.wrong():
            setting, question = self._form.setting(), self._question()
            bandit, self._explorer, delta, goal = self._about = question
            chosen = setting.epsilon if setting.epsilon in _EPSILONS else _USUAL
            order = sorted(_EPSILONS, key=lambda epsilon: abs(math.log(epsilon / chosen)))  # the chosen one first
            explorer = parse(self._explorer, "explorer")
            jobs = [
                Job(
                    f"ε = {epsilon:g}",
                    partial(feint.plan, bandit, epsilon, delta, explorer=explorer, alpha=ALPHA, goal=goal),
                    partial(self._planned, chosen),
                )
                for epsilon in order
            ]
            jobs[1:1] = [
                Job(
                    f"what can be learnt if at most {100 * power:g} % notice",
                    partial(feint.plan_unseen, bandit, power, ALPHA, setting.horizon),
                    self._had_unseen,
                )
                for power in _POWERS
                if isinstance(goal, BestArm)
            ]
            self._plans, self._wrong = {}, {}
            self._grey(True)
            self.use.disabled = self.ask.loading = True
            self._next(self._asked, jobs, time.monotonic() + _SECONDS)

    def _next(self, asked: int, jobs: Sequence[Job], until: float) -> None:
        """Answer the first job, then the others; a job without an answer leaves a sentence for the end."""
        job, more = jobs[0], False
        self._line.say(f"Planning: {job.about} …")

        def work() -> Any:
            try:
                return job.work()
            except ValueError as error:
                if not is_users(error):
                    raise
                return error

        def show(answer: Any) -> None:
            nonlocal more
            if asked != self._asked:
                return
            if isinstance(answer, ValueError):
                self._wrong.setdefault(str(answer), job.about)
            else:
                job.show(answer)
            more = len(jobs) > 1 and time.monotonic() < until
            if more:
                self._next(asked, jobs[1:], until)
            elif len(jobs) > 1:
                self._line.say(
                    f"This instance takes long: after {_SECONDS} s, {len(jobs) - 1} of the questions are left. "
                    "feint plan in a shell has no limit."
                )
            elif self._wrong:
                with self._line.wrong():
                    raise ValueError(" ".join(f"{about}: {text}" for text, about in self._wrong.items()))
            else:
                self._line.say(f"{self._planned_words()} Click a point to take its ε into Explore.")

        def end() -> None:
            self.ask.loading = more

        in_background(work, show, self._line, end)

    def _planned_words(self) -> str:
        """Return what was planned, and which settings could not be used."""
        chosen, words = self._form.explorer.value, f"Planned with {self._explorer}."
        if chosen != self._explorer:
            words = f"Planned with {self._explorer}, since plans cannot use {chosen}."
        if not isinstance(self._form.goal.part(), BestArm):
            words += " What can be learnt unseen is planned for the best arm only."
        return words

    def _planned(self, chosen: float, answer: Any) -> None:
        self._renew()
        self._plans[float(answer.epsilon)] = answer
        self._chart.add(answer)
        if answer.epsilon == chosen:
            self._epsilon = chosen
            self.use.param.update(disabled=False, label=f"Take ε = {chosen:g} into Explore")
            self._words.object = section(facts_of_plan(answer))

    def _had_unseen(self, answer: Any) -> None:
        self._renew()
        self._unseen.object = self._unseen.object or _UNSEEN
        self._unseen.object += section(facts_of_unseen(answer))


def section(facts: ArmFacts) -> str:
    """Return facts as the page shows them. A wide table scrolls, and does not widen the page."""
    told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.numbers)
    arms = table("", *facts.arms.with_marks())
    return f"<h2>{escape(facts.title)}</h2><dl class='facts'>{told}</dl><div class='scroll'>{arms}</div>"
