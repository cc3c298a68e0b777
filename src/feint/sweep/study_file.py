"""A study from a TOML or JSON file."""

from pathlib import Path
from typing import Any

from feint.bandit import Bandit
from feint.registry import from_table, imply_family, is_family_of, parse
from feint.registry.instance_files import bandit_of
from feint.support.errors import blaming
from feint.support.files import read_fields
from feint.support.printable import short_repr
from feint.sweep.sweep import Sweep

_LISTS = {"explorers": "explorer", "references": "reference", "epsilons": "budget"}
_OTHERS = ("horizon", "replications", "seed", "delta", "observe", "alpha", "checkpoints", "method", "cells")
_GOAL = "goal"


def load_study(path: Path) -> Sweep:
    """Return the sweep that a file describes; docs/sweeps.md shows one."""
    fields, text = read_fields(path, "a study: bandits, epsilons, horizon and more")
    known = ["bandits", *_LISTS, *_OTHERS, _GOAL]
    if not isinstance(fields, dict):
        raise ValueError(f"{path} holds a {type(fields).__name__}; a study is an object with {', '.join(known)}.")
    for name in fields:
        if name not in known:
            raise ValueError(f"{path} has {name!r}, which is unknown; a study has {', '.join(known)}.")
    for name in ("bandits", "epsilons", "horizon"):
        if name not in fields:
            raise ValueError(f"{path} has no {name}; a study needs bandits, epsilons and horizon.")
    arguments = {name: fields[name] for name in _OTHERS if name in fields}
    with blaming(f"{path}: "):
        bandits = _read_bandits(fields["bandits"], path.parent)
        reader = _Reader(path.parent, bandits, {"horizon": fields["horizon"]})
        for name, sort in _LISTS.items():
            if name in fields:
                arguments[name] = reader.labelled(fields[name], name, sort)
        if _GOAL in fields:
            arguments[_GOAL] = reader.part(fields[_GOAL], _GOAL)
        return Sweep(bandits=bandits, text=text, **arguments)


def _read_bandits(tables: Any, folder: Path) -> dict[str, Bandit]:
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ValueError("bandits are tables with names, as [bandits.mine].")
    found = {}
    for label, table in tables.items():
        with blaming(f"Bandit {label!r} is invalid: "):
            found[label] = bandit_of(table, folder)
    return found


class _Reader:
    """Reads the lists of a study; `known` is what their entries may leave out."""

    def __init__(self, folder: Path, bandits: dict[str, Bandit], known: dict[str, Any]) -> None:
        self._folder, self._bandits, self._known = folder, bandits, known

    def labelled(self, entries: Any, name: str, sort: str) -> list[Any] | dict[str, Any]:
        """Return what a list names, by label: what was written, or the key `label` of a table. Numbers alone need
        none.
        """
        if not isinstance(entries, list):
            raise ValueError(f"{name} is {entries!r}; give a list.")
        if all(isinstance(entry, int | float) for entry in entries):
            return entries
        found: dict[str, Any] = {}
        for entry in entries:
            label, value = self._entry(entry, sort)
            if label in found:
                raise ValueError(f"Two {name} have the label {label!r}; leave one out, or give one another `label`.")
            found[label] = value
        return found

    def part(self, entry: Any, sort: str) -> Any:
        """Return what a single entry names."""
        return self._entry(entry, sort)[1]

    def _entry(self, entry: Any, sort: str) -> tuple[str, Any]:
        """Return (label, object) of 0.1, "top-two", "softmax:0.5", "mine.py:Mine" or a table, as {kind = "round-robin",
        arms = [1, 2], label = "…"}.
        """
        if isinstance(entry, int | float) and sort == "budget":
            return repr(float(entry)), entry
        if isinstance(entry, str):
            return entry, parse(self._checked(entry, sort), sort, folder=self._folder, known=self._known)
        if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
            raise ValueError(f'{entry!r} names no {sort}; give a name, or a table as {{kind = "…"}} with its settings.')
        table = {name: value for name, value in entry.items() if name != "label"}
        written = ", ".join(f"{name}={value}" for name, value in table.items() if name != "kind")
        label = entry.get("label", f"{entry['kind']}({written})" if written else entry["kind"])
        if not isinstance(label, str):
            raise ValueError(f"The label {label!r} is not a text.")
        return label, from_table(table, sort, label, self._folder, self._known)

    def _checked(self, text: str, sort: str) -> str:
        """Return the reference of an alias such as beta, if its family is that of every bandit."""
        if sort != "reference":
            return text
        reference, implied = imply_family(text)
        for label, bandit in self._bandits.items():
            if implied is not None and not is_family_of(implied, bandit.families[0]):
                raise ValueError(
                    f"The reference {text!r} contradicts the public rewards of bandit {label!r}, "
                    f"{short_repr(bandit.families[0])}; write {reference!r}."
                )
        return reference
