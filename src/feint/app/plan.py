"""Plan: time to be sure against ε, what can be had unseen, and which arm costs what."""

import math
from collections.abc import Callable
from typing import Any

import panel as pn
from scipy.special import rel_entr

import feint
from feint.app.background import in_background
from feint.app.charts import TimeChart
from feint.app.instance import EPSILONS, InstanceForm
from feint.app.saying import Line
from feint.app.unfolding import ALPHA
from feint.bandit import Bandit
from feint.html import table

_EPSILONS = [epsilon for epsilon in EPSILONS if 0.003 <= epsilon <= 3.0]
_USUAL = 0.1
_POWERS = (0.1, 0.25, 0.5, 0.9)


class Plan:
    """Plans of the instance, a point after the other; `take` brings a budget into Explore."""

    def __init__(self, form: InstanceForm, take: Callable[[float], object]) -> None:
        self._form, self._take, self._line = form, take, Line()
        self._asked = 0  # counts questions: what an older one finds is no longer shown
        small = {"sizing_mode": "fixed", "height": 34, "margin": (4, 4)}
        self.delta = pn.widgets.Select(
            options={f"until sure to {100 * (1 - d):g} %": d for d in (0.1, 0.05, 0.01, 0.001)}, value=0.05, width=170,
            css_classes=["delta"], **small,
        )  # fmt: skip
        self.ask = pn.widgets.Button(name="Plan it", button_type="primary", width=90, **small)
        self.use = pn.widgets.Button(name="Take into Explore", width=150, disabled=True, **small)
        self._chart = TimeChart(_EPSILONS[0], _EPSILONS[-1])
        self._words, self._arms = (pn.pane.HTML("", sizing_mode="stretch_width") for _ in range(2))
        self._epsilon = _USUAL
        self.ask.on_click(self._plan)
        self.use.on_click(lambda event: self._take(self._epsilon))
        self._chart.source.selected.on_change("indices", self._clicked)
        form.on_change(self._outdated)
        self.view = pn.Column(
            pn.FlexBox(self.delta, self.ask, self.use, sizing_mode="stretch_width"), self._line.view,
            pn.pane.Bokeh(self._chart.figure, sizing_mode="stretch_width"), self._words, self._arms,
            sizing_mode="stretch_width",
        )  # fmt: skip
        self._line.say("Plan it: how long the instance beside takes to be learnt, and at what cost.")

    def _outdated(self) -> None:
        self._asked += 1
        if self._chart.source.data["epsilon"]:
            self._line.say("The settings have changed since: plan it again.")

    def _clicked(self, name: str, old: Any, new: Any) -> None:
        if new:
            epsilon = float(self._chart.source.data["epsilon"][new[0]])
            self._chart.source.selected.indices = []
            self._take(epsilon)

    def _plan(self, event: Any) -> None:
        self._asked += 1
        self._chart.clear()
        with self._line.wrong():
            setting, delta = self._form.setting(), self.delta.value
            chosen = setting.epsilon if 0 < setting.epsilon < math.inf else _USUAL
            order = sorted({*_EPSILONS, chosen}, key=lambda e: abs(math.log(e / chosen)))  # the chosen one first
            self.ask.loading = True
            self._next(self._asked, setting.bandit, delta, order)

    def _next(self, asked: int, bandit: Bandit, delta: float, epsilons: list[float]) -> None:
        """Plan with the first of them, then with the others."""
        self._line.say(f"Planning with ε = {epsilons[0]:g} …")

        more = False

        def show(answer: Any) -> None:
            nonlocal more
            if asked != self._asked:
                return
            if not self._chart.source.data["epsilon"]:
                self._tell(bandit, answer)
            self._chart.add(epsilons[0], answer.quantiles)
            if epsilons[1:]:
                more = True
                self._next(asked, bandit, delta, epsilons[1:])
            else:
                self._line.say("Click a point, or take the ε of the settings into Explore.")

        def end() -> None:
            self.ask.loading = more

        in_background(lambda: feint.plan(bandit, epsilons[0], delta, alpha=ALPHA), show, self._line, end)

    def _tell(self, bandit: Bandit, answer: Any) -> None:
        self._epsilon = float(answer.epsilon)
        self.use.disabled = False
        self.use.name = f"Take ε = {self._epsilon:g} into Explore"
        self.use.width = 190
        sure = f"{100 * (1 - answer.delta):g} %"
        self._words.object = (
            f"<div class='cells'><div class='cell'><b>ε = {answer.epsilon:g}</b>: sure to {sure} "
            f"after {answer.time:,.0f} pulls in the mean, half of all runs by {answer.quantiles[1]:,.0f}. By then "
            f"{answer.kl_spent:,.3g} nats are spent, and a test of level {answer.alpha:g} could notice with "
            f"probability up to {answer.power:.3g}.</div></div>"
        )
        rows = [
            (a, f"{bandit.public[a]:g}", f"{bandit.private[a]:g}", f"{100 * answer.weights[a]:.1f} %",
             f"{answer.pulls[a]:,.0f}", f"{answer.weights[a] * answer.kl_spent:,.3g}")
            for a in range(bandit.n_arms)
        ]  # fmt: skip
        head = ("arm", "public", "private", "boosts", "pulls", "nats")
        costs = table(
            "Which arm costs what", head, rows, ("arms count from 0; nats of divergence spent on boosting it",)
        )
        self._arms.object = f"<div class='scroll'>{costs}</div><div class='scroll'>{_unseen(answer.gamma)}</div>"


def _unseen(gamma: float) -> str:
    """Power ≤ β allows B = KL(Ber(β) ‖ Ber(α)) in all, whatever the horizon, and with it an exponent of √B·Γ*."""
    rows = []
    for power in _POWERS:
        total = float(rel_entr([power, 1 - power], [ALPHA, 1 - ALPHA]).sum())
        rows.append((f"{100 * power:g} %", f"{total:.3g}", f"{math.exp(-math.sqrt(total) * gamma):.3g}"))
    head = ("noticed at most", "nats in all", "error falls by the factor")
    notes = (
        f"for every test of level {ALPHA:g}; to first order, exp(−√B·Γ*), beside what the reference learns anyway",
    )
    return table("What can be had unseen", head, rows, notes)
