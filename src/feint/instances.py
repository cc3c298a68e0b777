"""An instance from a TOML or JSON file."""

import json
import tomllib
from pathlib import Path
from typing import Any

from feint.bandit import Bandit

_FIELDS = {"public", "private", "sigma"}


def load_bandit(path: Path) -> Bandit:
    """A `Bandit` from a file with `public`, `private` and, if it is not 1, `sigma`."""
    if path.suffix not in (".toml", ".json"):
        raise ValueError(f"{path} must be a .toml or a .json file with public, private and, optionally, sigma.")
    try:
        text = path.read_text(encoding="utf-8")
        fields: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from None
    if not isinstance(fields, dict) or not {"public", "private"} <= set(fields) <= _FIELDS:
        names = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
        raise ValueError(f"{path} has {names}; it must have public, private and, optionally, sigma, and nothing else.")
    return Bandit(**fields)
