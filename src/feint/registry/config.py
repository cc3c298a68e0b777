"""Parts as plain JSON, for states, data sets and stores, and as the tables of a study; and back again."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from feint.registry.names import (
    MOST_NESTED,
    Argument,
    arguments,
    class_of,
    find,
    is_registered,
    names_own_class,
    registered,
)
from feint.registry.text import blaming_part, fill_in, parse
from feint.support.own_parts import make
from feint.support.printable import short_repr
from feint.support.saved import damaged


def config_of(part: Any, sort: str) -> dict[str, Any]:
    """Return a JSON-ready description. ∞ is written as "inf". For a user's own class it has the name; for a class that
    holds one, also its other arguments.
    """
    cls: Any = type(part)
    own = {"kind": cls.__name__, "own": True}
    if not is_registered(part, sort):
        return own
    config = {argument.name: _config_json(getattr(part, argument.name), argument.sort) for argument in arguments(cls)}
    if any(isinstance(item, dict) and item.get("own") for item in config.values()):
        return own | {"arguments": config}
    return {"kind": cls.name} | config


def from_config(config: dict[str, Any], sort: str, own: Any = None) -> Any:
    """Return what `config_of` described; `own` is the user's own object, if it was one."""
    name = config.get("kind") if isinstance(config, dict) else None
    if not isinstance(name, str):
        raise damaged(f"its {sort}", config)
    if config.get("own"):
        if own is None:
            raise ValueError(
                f"This state has {'an' if sort == 'explorer' else 'a'} {sort} of your own, {name}; hand it in again: "
                f"load(…, {sort}={name}(…))."
            )
        if type(own).__name__ != name:
            raise ValueError(f"This state was saved with the {sort} {name}, but {type(own).__name__} was handed in.")
        if config_of(own, sort) != config:
            raise ValueError(f"This state was saved with other arguments of {name} than those of {short_repr(own)}.")
        return own
    if find(name, sort) is None:
        raise ValueError(f"The state names the {sort} {name!r}; known are {', '.join(registered(sort))}.")
    if own is not None:
        raise ValueError(f"This state has its {sort}, {name}; do not hand one in.")
    return _build(config, sort, None, {}, 0)


def families_from_config(configs: list[Any], own: Any = None) -> tuple[Any, ...]:
    """Return the (public, private) families that `config_of` described; `own` are the user's, if some are."""
    from feint.bandit import family_pair  # `feint --help` needs no families

    given = (None, None) if own is None else family_pair(own)
    if len(configs) != len(given) or not all(isinstance(config, dict) for config in configs):
        raise damaged("families", configs)
    return tuple(
        from_config(config, "family", side if config.get("own") else None)
        for config, side in zip(configs, given, strict=True)
    )


def from_table(table: Mapping[str, Any], sort: str, label: str, folder: Path | None, known: Mapping[str, Any]) -> Any:
    """Return the part that a study's table describes, such as {kind = "round-robin", arms = [1, 2]}; a part inside it
    is a table or a text.

    `label` is what an error calls it; `folder` and `known` are those of `parse`.
    """
    class_of(table["kind"], sort, folder)  # a wrong name is an error about the name alone
    with blaming_part(sort, label):
        return _build(table, sort, folder, known, 0)


def _config_json(item: Any, sort: str | None) -> Any:
    if isinstance(item, tuple):
        return [_config_json(inner, sort) for inner in item]
    if sort is not None and item is not None:
        return config_of(item, sort)
    return "inf" if isinstance(item, float) and item == math.inf else item


def _build(config: Mapping[str, Any], sort: str, folder: Path | None, known: Mapping[str, Any], depth: int) -> Any:
    if depth > MOST_NESTED:
        raise ValueError(f"parts are nested more than {MOST_NESTED} deep.")
    if not isinstance(config.get("kind"), str):
        raise ValueError(f"{dict(config)!r} names no {sort}; give its name as `kind`.")
    cls = class_of(config["kind"], sort, folder)
    given = {name: item for name, item in config.items() if name != "kind"}
    if names_own_class(config["kind"]):
        return make(cls, **given)
    takes = {argument.name: argument for argument in arguments(cls)}
    if unknown := [name for name in given if name not in takes]:
        raise ValueError(f"it has no argument {unknown[0]!r}; it has {', '.join(takes) or 'none'}.")
    settings = {name: _restored(item, takes[name], folder, depth) for name, item in given.items()}
    return cls(**settings, **fill_in(cls, settings, known))


def _restored(item: Any, argument: Argument | None, folder: Path | None, depth: int) -> Any:
    if argument is not None and argument.sort is not None and item is not None:
        if isinstance(item, dict):
            return _build(item, argument.sort, folder, {}, depth + 1)
        return parse(str(item), argument.sort, folder=folder)
    if isinstance(item, list):
        return tuple(_restored(inner, None, folder, depth + 1) for inner in item)
    return math.inf if item == "inf" else item
