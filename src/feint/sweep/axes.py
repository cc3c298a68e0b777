"""The axes of a study: what stands along each, under which labels."""

from collections.abc import Iterable, Mapping
from typing import Any

from feint.bandit import Bandit
from feint.budgets import Constant, as_budget
from feint.registry import show_part
from feint.simulation.checks import check_bandit
from feint.support.errors import blaming
from feint.support.printable import short_repr

AXES = ("bandit", "explorer", "reference", "epsilon")
CellIndex = tuple[int, ...]  # along AXES
SORTS = {"explorer": "explorer", "reference": "reference", "epsilon": "budget"}  # of parts, by axis
_LABELS_SHOWN = 6


def read_bandits(bandits: Any) -> dict[str, Bandit]:
    """Return checked bandits by label."""
    if not isinstance(bandits, Mapping) or not bandits:
        raise ValueError(f'bandits is {short_repr(bandits)}; give a dict of one or more, as {{"mine": Bandit(…)}}.')
    for label, bandit in bandits.items():
        _check_label(label, "bandit")
        with blaming(f"Bandit {label!r} is invalid: "):
            check_bandit(bandit)
            if bandit.draws_private:
                raise ValueError("its private means are drawn anew for every replication; a sweep needs fixed ones.")
    return dict(bandits)


def read_parts(values: Any, axis: str) -> dict[Any, Any]:
    """Return values by label: the user's, or a description; if all budgets are numbers, the numbers are the labels."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{axis}s is {values!r}; give a list of them, or a dict with their labels.")
    if isinstance(values, Mapping):
        pairs = list(values.items())
        for label, _ in pairs:
            _check_label(label, axis)
    else:
        pairs = [(None, value) for value in values]
    if not pairs:
        raise ValueError(f"{axis}s is empty; give one or more.")
    if axis == "epsilon":
        pairs = [(label, _budget(value)) for label, value in pairs]
    numbers = axis == "epsilon" and all(label is None and isinstance(value, Constant) for label, value in pairs)
    found: dict[Any, Any] = {}
    for given, value in pairs:
        label = _usual_label(value, axis, numbers) if given is None else given
        if label in found:
            raise ValueError(
                f"Two {axis}s have the label {label!r}; leave one out, or give {axis}s as a dict of different labels."
            )
        found[label] = value
    return found


def _usual_label(value: Any, axis: str, numbers: bool) -> Any:
    if isinstance(value, Constant):
        return value.epsilon if numbers else repr(value.epsilon)
    return show_part(value, SORTS[axis])


def _budget(value: Any) -> Any:
    with blaming(f"epsilons has {value!r}: "):
        return as_budget(value)


def _check_label(label: Any, axis: str) -> None:
    if not isinstance(label, str) or not label.strip():
        raise ValueError(f"{label!r} cannot be a label of {axis}s; give a text that is not empty.")


def short_labels(labels: Iterable[Any]) -> str:
    """Return the first labels, and how many more there are."""
    shown = [str(label) for label in labels]
    more = f" and {len(shown) - _LABELS_SHOWN:,} more" if len(shown) > _LABELS_SHOWN else ""
    return ", ".join(shown[:_LABELS_SHOWN]) + more


def find_places(axis: str, known: list[Any], labels: Any, number: int) -> list[int]:
    """Return the positions of labels (one, a list, or None for all) among the `known` ones of an axis, for the cell of
    this number.
    """
    if labels is None:
        return list(range(len(known)))
    found = []
    for label in labels if isinstance(labels, list | tuple) else [labels]:
        matches = [i for i, other in enumerate(known) if label == other or str(label) == str(other)]
        matches = matches or [i for i, other in enumerate(known) if _same_number(label, other)]
        if not matches:
            raise ValueError(f"Cell {number} names the {axis} {label!r}; there are {', '.join(map(repr, known[:20]))}.")
        found += matches
    return found


def _same_number(label: Any, other: Any) -> bool:
    try:
        return not isinstance(label, bool) and float(label) == float(other)
    except (TypeError, ValueError):
        return False
