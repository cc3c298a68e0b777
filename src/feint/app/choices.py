"""Goals and feedbacks to choose: a list in words, and a field for the argument of the chosen one."""

from typing import Any, NamedTuple

import panel as pn

from feint.app.messages import number_of
from feint.feedback import Linked
from feint.registry import parse, registered, signature


class OfferedPart(NamedTuple):
    """An entry of the list: the part's name, and the label and the usual value of its argument."""

    name: str
    argument: str = ""
    usual: str = ""


GOALS = {
    "which arm is best": OfferedPart("best-arm"),
    "which m arms are best": OfferedPart("top-arms", "m", "2"),
    "which arms are above a threshold": OfferedPart("above-threshold", "Threshold", "0.15"),
}
FEEDBACKS = {
    "every one": OfferedPart(""),
    "some, by chance": OfferedPart("sometimes", "Share that it sees, correlation with the public reward", "0.3,0.5"),
    "none: private means follow from public ones": OfferedPart("linked", "Slope of private over public means", "-1"),
}


def _with_others(options: dict[str, OfferedPart], sort: str) -> dict[str, OfferedPart]:
    """Return the options with every other registered part of this sort."""
    listed = {option.name for option in options.values()}
    others = {name: cls for name, cls in registered(sort).items() if name not in listed}
    return options | {signature(cls): OfferedPart(name, "Its arguments") for name, cls in others.items()}


class PartChoice:
    """A list of parts of one sort, with a field that shows if the chosen one has an argument."""

    def __init__(self, sort: str, label: str, options: dict[str, OfferedPart], **layout: Any) -> None:
        self._sort, self._options = sort, _with_others(options, sort)
        self.select = pn.widgets.Select(label=label, options=list(self._options), css_classes=[sort], **layout)
        self.argument = pn.widgets.TextInput(css_classes=[f"{sort}-argument"], visible=False, **layout)
        self.select.param.watch(self._chosen, "value")

    def _chosen(self, event: Any) -> None:
        option = self.option
        self.argument.param.update(visible=bool(option.argument), label=option.argument or " ", value=option.usual)

    @property
    def option(self) -> OfferedPart:
        """Return the entry that is chosen."""
        return self._options[self.select.value]

    def part(self) -> Any:
        """Return the chosen part, or None for no part."""
        name, argument = self.option.name, self.argument.value.strip()
        if not name:
            return None
        return parse(f"{name}:{argument}" if argument else name, self._sort)


def linked(public: list[float], private: list[float], slope: str) -> Linked:
    """Return the feedback in which each private mean is an intercept plus slope × the public mean."""
    value = number_of(slope, "The slope", float, -100, 100)
    intercepts = [round(mean - value * seen, 9) for seen, mean in zip(public, private, strict=True)]
    return Linked(intercepts, [value] * len(public))
