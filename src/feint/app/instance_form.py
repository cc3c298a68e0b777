"""The settings of a run: an instance by a story or by sliders, the budget, the explorer, goal, feedback and seed."""

import math
from collections.abc import Callable
from typing import Any

import panel as pn

from feint.app.choices import FEEDBACKS, GOALS, PartChoice, linked
from feint.app.messages import number_of
from feint.app.presets import FAMILIES, PRESETS, STEP, Preset, means_offered
from feint.app.unfolding import MOST_PULLS, Setting
from feint.bandit import Bandit
from feint.feedback import Linked
from feint.registry import needs_arguments, parse, registered
from feint.registry.instance_files import usual_arguments
from feint.support.html import escape

EPSILONS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, math.inf)
EXPLORERS = [name for name, cls in registered("explorer").items() if not needs_arguments(cls, ("arms",))]
_MOST_ARMS = 6
_OWN = "Your own"


class InstanceForm:
    """Widgets whose values make a `Setting`; `on_change` functions are called when one of them changes.

    `story` goes above what is computed; `view`, with everything else, goes beside it.
    """

    def __init__(self) -> None:
        stretch = {"sizing_mode": "stretch_width", "margin": 4}
        self.preset = pn.widgets.Select(label="Story", options=[*PRESETS, _OWN], css_classes=["preset"], **stretch)
        self.epsilon = pn.widgets.DiscreteSlider(
            label="ε: how far each pull may bend (0 is honest)", options=list(EPSILONS), value=0.1, formatter="%.3g",
            css_classes=["epsilon"], **stretch,
        )  # fmt: skip
        self.family = pn.widgets.Select(
            label="Rewards are", options=FAMILIES, value="gaussian", css_classes=["family"], **stretch
        )
        self.sigma = pn.widgets.TextInput(label="Noise σ", value="1", css_classes=["sigma"], **stretch)
        self.arms = pn.widgets.IntSlider(
            label="Number of arms", start=2, end=_MOST_ARMS, value=4, css_classes=["arms"], **stretch
        )
        self.explorer = pn.widgets.Select(
            label="Explorer: which arm to boost", options=EXPLORERS, value="top-two", css_classes=["explorer"],
            **stretch,
        )  # fmt: skip
        self.goal = PartChoice("goal", "The agent wants to know, in private,", GOALS, **stretch)
        self.feedback = PartChoice("feedback", "Private rewards that it sees", FEEDBACKS, **stretch)
        self.seed = pn.widgets.TextInput(label="Random seed", value="0", css_classes=["seed"], **stretch)
        self.horizon = pn.widgets.TextInput(label="Pulls in all", value="1000", css_classes=["horizon"], **stretch)
        self.public, self.private = ([self._mean(side, a) for a in range(_MOST_ARMS)] for side in ("public", "private"))
        self._words = pn.pane.HTML("", **stretch)
        self._listeners: list[Callable[[], object]] = []
        self._quiet = False
        self._load(next(iter(PRESETS.values())))
        self._watch()
        # Two columns of sliders, one row per arm: the public side left, the private side right.
        self._rows = [
            pn.Row(*pair, sizing_mode="stretch_width") for pair in zip(self.public, self.private, strict=True)
        ]
        flexible = {"flex": "1 1 290px", "min-width": "0"}
        choices = [pn.Column(widget, styles=flexible) for widget in (self.preset, self.epsilon)]
        self.story = pn.Column(
            pn.FlexBox(*choices, sizing_mode="stretch_width", gap="12px"), self._words, sizing_mode="stretch_width"
        )
        self.view = pn.Column(
            pn.pane.HTML("<h2>The arms: mean rewards</h2>", **stretch), *self._rows, self.arms,
            pn.Row(self.family, self.sigma, sizing_mode="stretch_width"), pn.pane.HTML("<h2>The agent</h2>", **stretch),
            self.goal.select, self.goal.argument, self.feedback.select, self.feedback.argument, self.explorer,
            pn.Row(self.seed, self.horizon, sizing_mode="stretch_width"),
            css_classes=["form"],
            # It stays in sight while one scrolls through what is computed.
            styles=flexible | {"max-width": "420px", "position": "sticky", "top": "8px"},
        )  # fmt: skip
        self._show_arms()

    def _watch(self) -> None:
        self.preset.param.watch(self._preset_chosen, "value")
        self.family.param.watch(self._family_chosen, "value")
        for widget in (self.arms, *self.public, *self.private):
            widget.param.watch(self._instance_changed, "value_throttled")
        self.epsilon.param.watch(lambda event: self._tell(), "value_throttled")
        parts = (self.goal, self.feedback)
        lists = [widget for part in parts for widget in (part.select, part.argument)]
        for widget in (self.sigma, self.explorer, *lists, self.seed, self.horizon):
            widget.param.watch(lambda event: self._tell(), "value")

    def on_change(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever a setting changes."""
        self._listeners.append(listener)

    def bandit(self) -> Bandit:
        """Return the instance that the widgets describe."""
        n, family = self.arms.value, self.family.value
        if family == "gaussian":
            family += f":{number_of(self.sigma.value, 'σ', float, 0.01, 100)}"
        # Rounded: a slider at 0.6 may hold a little more, and would not tie with another that does not.
        public, private = ([round(widget.value, 2) for widget in side[:n]] for side in (self.public, self.private))
        if self.feedback.option.name == Linked.name:
            link = linked(public, private, self.feedback.argument.value)
            return Bandit(public, family=parse(family, "family"), feedback=link)
        return Bandit(public, private, family=parse(family, "family"), feedback=self.feedback.part())

    def setting(self) -> Setting:
        """Return all settings; an error says which field is wrong."""
        bandit = self.bandit()
        advice = "; feint run goes further"
        return Setting(
            bandit,
            parse(self.explorer.value, "explorer", known=usual_arguments(bandit)),
            self.epsilon.value,
            number_of(self.seed.value, "The seed", int, 0, 2**32 - 1),
            number_of(self.horizon.value, "The number of pulls", int, bandit.n_arms + 1, MOST_PULLS, advice),
            self.goal.part(),
        )

    def take(self, epsilon: float, explorer: str, pulls: int) -> None:
        """Take over the settings of a plan."""
        self._quiet = True
        self.epsilon.value, self.explorer.value, self.horizon.value = epsilon, explorer, str(pulls)
        self._quiet = False
        self._tell()

    def _mean(self, side: str, arm: int) -> Any:
        return pn.widgets.FloatSlider(
            label=f"Arm {arm}, {side}", start=-1.0, end=1.0, step=STEP, value=0.0, css_classes=[f"{side}-{arm}"],
            sizing_mode="stretch_width", margin=(2, 4),
        )  # fmt: skip

    def _load(self, preset: Preset) -> None:
        low, high = means_offered(preset.family)
        self.family.value, self.arms.value = preset.family, len(preset.public)
        for side, means in ((self.public, preset.public), (self.private, preset.private)):
            for a, widget in enumerate(side):
                # Arms that are not shown wait at the low end: a second best private arm would be a tie.
                widget.param.update(start=low, end=high, value=means[a] if a < len(means) else low)

    def _preset_chosen(self, event: Any) -> None:
        if event.new != _OWN and not self._quiet:
            self._quietly(lambda: self._load(PRESETS[event.new]))

    def _family_chosen(self, event: Any) -> None:
        """Load the first preset of the new family: means of one family need not be means of another."""
        if not self._quiet:
            self.preset.value = next(name for name, preset in PRESETS.items() if preset.family == event.new)

    def _instance_changed(self, event: Any) -> None:
        if not self._quiet:
            self._quietly(lambda: setattr(self.preset, "value", _OWN))

    def _quietly(self, change: Callable[[], object]) -> None:
        """Change widgets without telling the listeners of each change, and then tell them once."""
        self._quiet = True
        try:
            change()
        finally:
            self._quiet = False
        self._show_arms()
        self._tell()

    def _show_arms(self) -> None:
        for a, row in enumerate(self._rows):
            row.visible = a < self.arms.value
        self.sigma.visible = self.family.value == "gaussian"
        own = "Arms of your own: move the sliders."
        self._words.object = f"<p>{escape(own if self.preset.value == _OWN else PRESETS[self.preset.value].story)}</p>"

    def _tell(self) -> None:
        if not self._quiet:
            for listener in self._listeners:
                listener()
