"""A study from a TOML or JSON file."""

from pathlib import Path
from typing import Any

from feint.bandit import Bandit
from feint.registry import (
    USUAL_REFERENCE,
    from_table,
    imply_family,
    is_family_of,
    parse,
    parse_families,
    show_part,
    usual_family,
)
from feint.registry.instance_files import bandit_of, usual_arguments
from feint.support.errors import blaming
from feint.support.files import read_fields
from feint.sweep.sweep import Sweep

_LISTS = {"explorers": "explorer", "epsilons": "budget"}  # beside the references
_OTHERS = ("horizon", "replications", "seed", "delta", "observe", "alpha", "checkpoints", "method", "cells")
_GOAL = "goal"


def load_study(path: Path) -> Sweep:
    """Return the sweep that a file describes; docs/sweeps.md shows one."""
    fields, text = read_fields(path, "a study: bandits, epsilons, horizon and more")
    known = ["bandits", "references", *_LISTS, *_OTHERS, _GOAL]
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
        reader = _Reader(path.parent, {"horizon": fields["horizon"]})
        if "references" in fields:  # they may say what the rewards of the bandits are
            arguments["references"] = reader.labelled(fields["references"], "references", "reference")
        bandits = reader.bandits(fields["bandits"])
        for name, sort in _LISTS.items():
            if name in fields:
                arguments[name] = reader.labelled(fields[name], name, sort)
        if _GOAL in fields:
            arguments[_GOAL] = reader.part(fields[_GOAL], _GOAL)
        return Sweep(bandits=bandits, text=text, **arguments)


class _Reader:
    """Reads the parts of a study: references, then bandits, then the others, which may leave out what is `known`."""

    def __init__(self, folder: Path, known: dict[str, Any]) -> None:
        self._folder, self._known = folder, known
        self._implied: dict[str, Any] = {}  # families by the references, as written, whose names imply them
        self._families: list[Any] = []  # that references imply or are about

    def bandits(self, tables: Any) -> dict[str, Bandit]:
        """Return the bandits by name. One that names no family has the family of the references, if they agree."""
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise ValueError("bandits are tables with names, such as [bandits.mine].")
        agree = all(family == self._families[0] for family in self._families)
        usual = self._families[0] if self._families and agree else None
        found = {}
        for label, table in tables.items():
            with blaming(f"Bandit {label!r} is invalid: "):
                found[label] = bandit_of(table, self._folder, usual_family=usual)
            self._check_family(label, found[label])
        self._known |= usual_arguments(*found.values())
        return found

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
        """Return (label, object) of 0.1, "top-two", "softmax:0.5", "mine.py:Mine" or a table, such as {kind =
        "round-robin", arms = [1, 2], label = "…"}.
        """
        if isinstance(entry, int | float) and sort == "budget":
            return repr(float(entry)), entry
        if isinstance(entry, str):
            return entry, self._part(entry, entry, sort)
        if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
            raise ValueError(
                f'{entry!r} names no {sort}; give a name, or a table such as {{kind = "…"}} with its settings.'
            )
        table = {name: value for name, value in entry.items() if name != "label"}
        written = ", ".join(f"{name}={value}" for name, value in table.items() if name != "kind")
        label = entry.get("label", f"{entry['kind']}({written})" if written else entry["kind"])
        if not isinstance(label, str):
            raise ValueError(f"The label {label!r} is not a text.")
        return label, self._part(table, label, sort)

    def _part(self, entry: Any, label: str, sort: str) -> Any:
        """Return what a text or a table names; for a reference, note which rewards it is about."""
        named, implied = imply_family(entry) if sort == "reference" else (entry, None)
        if isinstance(named, str):
            found = parse(named, sort, folder=self._folder, known=self._known)
        else:
            found = from_table(named, sort, label, self._folder, self._known)
        if sort == "reference":
            if implied is not None:
                self._implied[label] = implied
            family = usual_family(found) if implied is None else parse_families(implied)
            self._families += [] if family is None else [family]
        return found

    def _check_family(self, label: str, bandit: Bandit) -> None:
        """Refuse a bandit whose public rewards are not those that the name of a reference implies."""
        public = bandit.families[0]
        for reference, implied in self._implied.items():
            if not is_family_of(implied, public):
                raise ValueError(
                    f"The reference {reference!r} contradicts the public rewards of bandit {label!r}, "
                    f"{show_part(public, 'family')}; write {USUAL_REFERENCE!r}."
                )
