"""The messages of the page: one line that says what happened, or what is wrong and what to do."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import panel as pn

from feint.support.errors import is_users
from feint.support.html import escape

# What the library and the shell call a setting -> what the page calls it.
_NAMES = {
    "skip_bad": "tick “Leave bad rows out”", "arm": "“Column of arms”", "reward": "“Column of rewards”",
    "sigma": "σ of the rewards", "split": "The shares", "reference": "The claim", "alpha": "α",
    "n_arms": "“Arms”", "encoding": "feint audit --encoding in a shell",
}  # fmt: skip
_PARAMETER = re.compile(r"`([a-z_]+)`|--([a-z-]+)")


def in_words_of_the_page(text: str) -> str:
    """Return a message on one line, with the names that the fields have."""

    def named(found: "re.Match[str]") -> str:
        # What has no field is written as in a shell, under "Other options".
        return _NAMES.get(found[1], found[1]) if found[1] else _NAMES.get(found[2].replace("-", "_"), found[0])

    return _PARAMETER.sub(named, " ".join(text.split()))


class MessageLine:
    """One line of text, in the tone of what it says."""

    def __init__(self) -> None:
        self.view = pn.pane.HTML("", sizing_mode="stretch_width", margin=4, visible=False)

    def say(self, text: str, tone: str = "note") -> None:
        """Show a text; `tone` is note, good, bad or wrong."""
        self.view.object = f"<div class='line {tone}' role='status'>{escape(text)}</div>"
        self.view.visible = bool(text)

    @contextmanager
    def wrong(self) -> Iterator[None]:
        """Show here, in one sentence, what goes wrong inside the block; the page keeps working."""
        try:
            yield
        except Exception as error:  # a bug in feint must not leave a page that does not respond
            if is_users(error):
                self.say(in_words_of_the_page(str(error)), "wrong")
                return
            traceback.print_exc()
            said = f"Internal error, {type(error).__name__}: {' '.join(str(error).split())}"
            self.say(f"{said}; please report it", "wrong")


def number_of(text: Any, what: str, kind: type, low: float, high: float, advice: str = "") -> Any:
    """Return the number that a field holds, which must lie from `low` to `high`."""
    try:
        value = kind(str(text).strip().replace("_", "x"))
    except (ValueError, OverflowError):
        value = None
    if value is None or not low <= value <= high:
        whole = "a whole number" if kind is int else "a number"
        shown = str(text) if len(str(text)) <= 40 else str(text)[:37] + "…"
        raise ValueError(f"{what} is {shown!r}; give {whole} from {low:,} to {high:,}{advice}.")
    return value
