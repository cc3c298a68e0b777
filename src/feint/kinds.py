"""Explorers, references, families and budgets as plain JSON, for states and data sets, and back again.

What a folder of the package offers is found by looking into its files: a new one is known without being listed.
"""

import math
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

_HOMES = {
    "explorer": "feint.explorers",
    "reference": "feint.references",
    "family": "feint.families",
    "budget": "feint.budgets",
}


@cache
def kinds(what: str) -> dict[str, type]:
    """The classes of one sort ("explorer", "reference", "family" or "budget") by name."""
    return {cls.__name__: cls for cls in sorted(_found(_HOMES[what]), key=lambda cls: cls.__name__)}


def _found(home: str) -> Iterator[type]:
    module = import_module(home)
    names = [f"{home}.{info.name}" for info in pkgutil.iter_modules(getattr(module, "__path__", []))] or [home]
    for name in names:
        for value in vars(import_module(name)).values():
            if isinstance(value, type) and value.__module__ == name and is_dataclass(value):
                yield value


def option_name(cls: type) -> str:
    """TopTwo -> top-two, as the command line calls it."""
    return "".join(("-" if c.isupper() and i else "") + c.lower() for i, c in enumerate(cls.__name__))


def config_of(value: Any, what: str) -> dict[str, Any]:
    """A JSON-ready description. ∞ is written as "inf"; of a user's own class, or what holds one, it has the name."""
    name = type(value).__name__
    if kinds(what).get(name) is not type(value) or not is_dataclass(value):
        return {"kind": name, "own": True}
    config = {field.name: _as_json(getattr(value, field.name), what) for field in fields(value)}
    if any(isinstance(item, dict) and item.get("own") for item in config.values()):
        return {"kind": name, "own": True}
    return {"kind": name} | config


def from_config(config: dict[str, Any], what: str, own: Any = None) -> Any:
    """What `config_of` described; `own` is the user's own object, where it was one."""
    name = config["kind"]
    if config.get("own"):
        if own is None:
            raise ValueError(
                f"This state has {'an' if what == 'explorer' else 'a'} {what} of your own, {name}; hand it in again: "
                f"load(…, {what}={name}(…))."
            )
        if type(own).__name__ != name:
            raise ValueError(f"This state was saved with the {what} {name}, but {type(own).__name__} was handed in.")
        return own
    if name not in kinds(what):
        raise ValueError(f"The state names the {what} {name!r}; known are {', '.join(kinds(what))}.")
    if own is not None:
        raise ValueError(f"This state has its {what}, {name}; do not hand one in.")
    return kinds(what)[name](**{field: _restored(item, what) for field, item in config.items() if field != "kind"})


def _as_json(item: Any, what: str) -> Any:
    if isinstance(item, tuple):
        return [_as_json(inner, what) for inner in item]
    if item is None or isinstance(item, bool | int | float | str):
        return "inf" if item == math.inf else item
    return config_of(item, what)  # a part inside a part of its own sort, as the reference that is clipped


def _restored(item: Any, what: str) -> Any:
    if isinstance(item, dict):
        return from_config(item, what)
    return math.inf if item == "inf" else item
