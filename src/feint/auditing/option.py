"""How an option of an audit is described, and how a shell writes its value."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple


class Option(NamedTuple):
    """What a field means, and how a shell writes it."""

    help: str
    kind: Any = None  # the type that a shell reads, where it is not the default's, or a text if that is None
    name: str | None = None  # what a shell calls it, where that is not the field's name
    usual: Any = None  # what a shell takes if it is not given, where that is not the default
    parse: Callable[[Any], Any] | None = None  # from what a shell reads to the field's value
    in_shell: bool = True  # otherwise other options of the shell describe it
    distinguishes: bool = True  # whether audits that differ in it are of different claims


def option(default: Any, help: str, **more: Any) -> Any:
    """Return a field of a dataclass with this default, described by an `Option`."""
    return field(default=default, metadata={"option": Option(help, **more)})


def arms_of(text: str | None) -> Any:
    """Return the number of arms, or their labels; None to take them from the log."""
    if text is None:
        return None
    return int(text) if text.strip().isdecimal() else [label.strip() for label in text.split(",")]


def share_of(text: str) -> float:
    """Return the share that 1% or 0.01 stands for."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f"--within is {text!r}; give a share, such as 1% or 0.01.") from None
