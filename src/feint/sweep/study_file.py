"""A study from a TOML file."""

import sys
import tomllib
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from feint.bandit import Bandit
from feint.errors import blaming
from feint.instances import bandit_of
from feint.kinds import kinds, option_name
from feint.sweep.sweep import Sweep

_LISTS = {"explorers": "explorer", "references": "reference", "epsilons": "budget"}
_OTHERS = ("horizon", "replications", "seed", "delta", "observe", "alpha", "checkpoints", "method", "cells")


def load_study(path: Path) -> Sweep:
    """The sweep that a file describes; docs/sweeps.md shows one."""
    try:
        text = path.read_text(encoding="utf-8")
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from None
    known = ["bandits", *_LISTS, *_OTHERS]
    for name in fields:
        if name not in known:
            raise ValueError(f"{path} has {name!r}, which is unknown; a study has {', '.join(known)}.")
    for name in ("bandits", "epsilons", "horizon"):
        if name not in fields:
            raise ValueError(f"{path} has no {name}; a study needs bandits, epsilons and horizon.")
    arguments = {name: fields[name] for name in _OTHERS if name in fields}
    modules: dict[Path, ModuleType] = {}

    def own(where: str) -> Any:
        return _own(where, path.parent, modules)

    with blaming(f"{path}: "):
        for name, sort in _LISTS.items():
            if name in fields:
                arguments[name] = _labelled(fields[name], name, sort, own)
        return Sweep(bandits=_bandits(fields["bandits"], own), text=text, **arguments)


def _bandits(tables: Any, own: Callable[[str], Any]) -> dict[str, Bandit]:
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ValueError("bandits are tables with names, as [bandits.mine].")
    found = {}
    for label, table in tables.items():
        with blaming(f"Bandit {label!r} is invalid: "):
            found[label] = bandit_of(table, own)
    return found


def _labelled(entries: Any, name: str, sort: str, own: Callable[[str], Any]) -> list[Any] | dict[str, Any]:
    """What a list names, by label: what was written, or the key `label` of a table. Numbers alone need none."""
    if not isinstance(entries, list):
        raise ValueError(f"{name} is {entries!r}; give a list.")
    if all(isinstance(entry, int | float) for entry in entries):
        return entries
    found: dict[str, Any] = {}
    for entry in entries:
        label, value = _entry(entry, sort, own)
        if label in found:
            raise ValueError(f"Two {name} have the label {label!r}; leave one out, or give one another `label`.")
        found[label] = value
    return found


def _entry(entry: Any, sort: str, own: Callable[[str], Any]) -> tuple[str, Any]:
    """(label, object) of 0.1, "top-two", "mine.py:Mine" or {kind = "round-robin", arms = [1, 2], label = "…"}."""
    if isinstance(entry, int | float) and sort == "budget":
        return repr(float(entry)), entry
    table = {"kind": entry} if isinstance(entry, str) else entry
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        raise ValueError(f'{entry!r} names no {sort}; give a name, or a table as {{kind = "…"}} with its settings.')
    kind = table["kind"]
    settings = {name: value for name, value in table.items() if name not in ("kind", "label")}
    written = ", ".join(f"{name}={value}" for name, value in settings.items())
    label = table.get("label", f"{kind}({written})" if settings else kind)
    if not isinstance(label, str):
        raise ValueError(f"The label {label!r} is no text.")
    classes = {option_name(cls): cls for cls in kinds(sort).values()}
    if ".py:" in kind:
        cls = own(kind)
    elif kind in classes:
        cls = classes[kind]
    else:
        raise ValueError(
            f"There is no {sort} {kind!r}; choose among {', '.join(classes)}, or give your own as FILE.py:CLASS."
        )
    try:
        return label, cls(**settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The {sort} {label!r} cannot be made: {error}") from None


def _own(where: str, folder: Path, modules: dict[Path, ModuleType]) -> Any:
    """A class of a user's file, beside the study or elsewhere. Dask pickles such a module by value, so that workers
    need not have the file.
    """
    name, _, attribute = where.rpartition(":")
    path = (folder / name).resolve()
    if path not in modules:
        modules[path] = _load(path)
    if not hasattr(modules[path], attribute):
        raise ValueError(f"{where!r}: {path.name} has no {attribute}.")
    return getattr(modules[path], attribute)


def _load(path: Path) -> ModuleType:
    # A name of its own: a user's random.py is not Python's, nor somebody else's mine.py this one.
    name = f"own_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"There is no Python file {path}.")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be run: {type(error).__name__}: {error}") from None
    with suppress(ImportError):  # without Dask nothing travels
        import cloudpickle

        cloudpickle.register_pickle_by_value(module)
    return module
