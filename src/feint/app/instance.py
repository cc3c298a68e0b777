"""The settings of a run: an instance by sliders or a preset, the budget, the explorer, the seed."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import panel as pn

from feint.app.messages import number_of
from feint.app.unfolding import MOST_PULLS, Setting
from feint.bandit import Bandit
from feint.registry import needs_arguments, parse, registered, signatures
from feint.registry.instances import PAPER, usual_arguments

EPSILONS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, math.inf)
_MOST_ARMS = 6
_OWN = "your own"


class Preset(NamedTuple):
    """An instance to start from."""

    family: str
    public: tuple[float, ...]
    private: tuple[float, ...]


PRESETS = {
    "the paper's": Preset("gaussian", PAPER.public, PAPER.private),
    "two arms": Preset("gaussian", (0.5, 0.0), (0.0, 0.5)),
    "one best arm on both sides": Preset("gaussian", (0.6, 0.3, 0.0), (0.6, 0.3, 0.1)),
    "hidden in the worst arm": Preset("gaussian", (0.8, 0.5, 0.2, 0.0), (0.1, 0.2, 0.3, 0.9)),
    "clicks": Preset("bernoulli", (0.6, 0.45, 0.3), (0.3, 0.4, 0.7)),
    "counts": Preset("poisson", (2.0, 1.5, 1.0), (1.0, 1.5, 2.5)),
    "waiting times": Preset("exponential", (2.0, 1.5, 1.0), (1.0, 1.5, 2.5)),
}
_STEP = 0.02


def _means_offered(family: str) -> tuple[float, float]:
    """Return the least and the largest mean that a slider offers for rewards of a family."""
    low, high = parse(family, "family").mean_range
    if math.isinf(low):
        return -1.0, 1.0
    return (low + 0.1, low + 4.0) if math.isinf(high) else (low + _STEP, high - _STEP)


def _preset_of(family: str) -> Preset:
    """Return a preset for a family that has none: three arms, in opposite orders on the two sides."""
    low, high = _means_offered(family)
    means = tuple(round(low + share * (high - low), 2) for share in (0.75, 0.5, 0.25))
    return Preset(family, means, means[::-1])


FAMILIES = [name for name, cls in registered("family").items() if not needs_arguments(cls)]
EXPLORERS = [name for name, cls in registered("explorer").items() if not needs_arguments(cls, ("arms",))]
PRESETS |= {name: _preset_of(name) for name in FAMILIES if name not in {preset.family for preset in PRESETS.values()}}


class InstanceForm:
    """Widgets whose values make a `Setting`; `on_change` functions are called when one of them changes."""

    def __init__(self) -> None:
        stretch = {"sizing_mode": "stretch_width", "margin": 4}
        self.preset = pn.widgets.Select(label="Preset", options=[*PRESETS, _OWN], css_classes=["preset"], **stretch)
        self.family = pn.widgets.Select(
            label="Rewards", options=FAMILIES, value="gaussian", css_classes=["family"], **stretch
        )
        self.sigma = pn.widgets.TextInput(label="Their σ", value="1", css_classes=["sigma"], **stretch)
        self.arms = pn.widgets.IntSlider(
            label="Arms", start=2, end=_MOST_ARMS, value=4, css_classes=["arms"], **stretch
        )
        self.epsilon = pn.widgets.DiscreteSlider(
            label="ε, the KL budget per step", options=list(EPSILONS), value=0.1, formatter="%.3g",
            css_classes=["epsilon"], **stretch,
        )  # fmt: skip
        self.explorer = pn.widgets.Select(
            label="Explorer", options=EXPLORERS, value="top-two", css_classes=["explorer"], **stretch
        )
        self.goal = pn.widgets.TextInput(
            label="Goal: " + ", ".join(signatures("goal")), value="best-arm", css_classes=["goal"], **stretch
        )
        self.seed = pn.widgets.TextInput(label="Seed", value="0", css_classes=["seed"], **stretch)
        self.horizon = pn.widgets.TextInput(label="Pulls", value="1000", css_classes=["horizon"], **stretch)
        self.public, self.private = ([self._mean(side, a) for a in range(_MOST_ARMS)] for side in ("public", "private"))
        self._listeners: list[Callable[[], object]] = []
        self._quiet = False
        self._load(PRESETS["the paper's"])
        self.preset.param.watch(self._preset_chosen, "value")
        self.family.param.watch(self._family_chosen, "value")
        for widget in (self.arms, *self.public, *self.private):
            widget.param.watch(self._instance_changed, "value_throttled")
        for widget in (self.sigma, self.epsilon, self.explorer, self.goal, self.seed, self.horizon):
            name = "value_throttled" if widget is self.epsilon else "value"
            widget.param.watch(lambda event: self._tell(), name)
        # Two columns of sliders, one row per arm: the public side left, the private side right.
        pairs = [pn.Row(*pair, sizing_mode="stretch_width") for pair in zip(self.public, self.private, strict=True)]
        self._rows = pairs
        self.view = pn.Column(
            self.preset, pn.Row(self.family, self.sigma, sizing_mode="stretch_width"), self.arms, *pairs, self.epsilon,
            self.explorer, self.goal, pn.Row(self.seed, self.horizon, sizing_mode="stretch_width"),
            css_classes=["form"], styles={"flex": "1 1 290px", "max-width": "380px", "min-width": "0"},
        )  # fmt: skip
        self._show_arms()

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
        return Bandit(public, private, family=parse(family, "family"))

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
            parse(self.goal.value, "goal"),
        )

    def take(self, epsilon: float, explorer: str, pulls: int) -> None:
        """Take over the settings of a plan."""
        self._quiet = True
        self.epsilon.value, self.explorer.value, self.horizon.value = epsilon, explorer, str(pulls)
        self._quiet = False
        self._tell()

    def _mean(self, side: str, arm: int) -> Any:
        return pn.widgets.FloatSlider(
            label=f"{side} {arm}", start=-1.0, end=1.0, step=_STEP, value=0.0, css_classes=[f"{side}-{arm}"],
            sizing_mode="stretch_width", margin=(2, 4),
        )  # fmt: skip

    def _load(self, preset: Preset) -> None:
        low, high = _means_offered(preset.family)
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

    def _tell(self) -> None:
        if not self._quiet:
            for listener in self._listeners:
                listener()
