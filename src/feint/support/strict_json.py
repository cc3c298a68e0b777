"""JSON that can be read in one way only: repeated keys are refused, where Python would take the last one."""

import json
from typing import Any


class RepeatedKey(ValueError):
    """An object has a key twice."""


def parse_json(text: str) -> Any:
    """Return what `text` describes; a ValueError says in a clause why it cannot.

    >>> parse_json('{"arm": [0, 1]}')
    {'arm': [0, 1]}
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (json.JSONDecodeError, RepeatedKey):
        raise
    except ValueError:  # Python refuses them, since they take quadratic time
        raise ValueError("it has a whole number with thousands of digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise RepeatedKey(f"it has the key {twice!r} twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
