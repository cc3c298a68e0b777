"""Saved states: check that what was read from a file has the form of a state, before anything is taken from it.

A failure after that is a mistake in this package or in a user's own part, not damage to the file.
"""

from typing import Any

_DAMAGED = "The state is incomplete or damaged: "
_KINDS: dict[type, Any] = {bool: bool, int: (int, float), float: (int, float), str: str, list: list, dict: dict}


def check_form(state: Any, like: Any, name: str = "it") -> None:
    """Raise ValueError unless a saved state has every field of `like`, a valid state, with values of the same kinds.

    Entries of lists are not compared, and None stands for anything. A state may have more, such as what was learnt.

    >>> check_form({"pulls": [1, 2], "seed": 3}, {"pulls": []})
    >>> check_form({"pulls": "x"}, {"pulls": []})
    Traceback (most recent call last):
    ValueError: The state is incomplete or damaged: pulls is 'x'.
    """
    if like is None:
        return
    if not isinstance(state, _KINDS[type(like)]) or (isinstance(state, bool) and not isinstance(like, bool)):
        raise damaged(name, state)
    if isinstance(like, dict):
        for key, value in like.items():
            if key not in state:
                raise ValueError(f"{_DAMAGED}it has no {key}.")
            check_form(state[key], value, key)


def of_length(value: Any, length: int, name: str) -> list[Any]:
    """Return a list of a state; raise ValueError unless it is one of this length."""
    if not isinstance(value, list) or len(value) != length:
        raise damaged(name, value)
    return value


def damaged(name: str, value: Any) -> ValueError:
    """Return the error that says that a value of a state cannot be right."""
    shown = repr(value)
    return ValueError(f"{_DAMAGED}{name} is {shown if len(shown) <= 60 else shown[:57] + '…'}.")
