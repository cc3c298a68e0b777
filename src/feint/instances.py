"""The paper's instance, others from TOML or JSON files, and families by name."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from feint.bandit import Bandit
from feint.kinds import kinds, option_name
from feint.strict_json import parse_json

PAPER = Bandit((0.6, 0.3, 0.0, 0.2), (0.2, 0.5, 0.1, 0.0))  # Section 6
_FIELDS = {"public", "private", "sigma", "family"}
_OTHER_NAMES = {"normal": "gaussian", "beta": "bernoulli"}


def load_bandit(path: Path) -> Bandit:
    """A `Bandit` from a file with `public`, `private` and, if it is not Gaussian(1), `family` or `sigma`."""
    if path.suffix not in (".toml", ".json"):
        raise ValueError(
            f"{path} must be a .toml or a .json file with public, private and, optionally, sigma or family."
        )
    try:
        text = path.read_text(encoding="utf-8")
        fields: Any = tomllib.loads(text) if path.suffix == ".toml" else parse_json(text)
    except ValueError as error:  # of TOML, of JSON and of UTF-8
        raise ValueError(f"{path} cannot be read: {error}.") from None
    return bandit_of(fields, what=str(path))


def bandit_of(fields: Any, own: Callable[[str], Any] | None = None, what: str = "It") -> Bandit:
    """A `Bandit` from such fields; `own` finds a class of the user's, as mine.py:Mine."""
    if not isinstance(fields, dict) or not {"public", "private"} <= set(fields) <= _FIELDS:
        names = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
        raise ValueError(
            f"{what} has {names}; it must have public, private and, optionally, sigma or family, and nothing else."
        )
    if "family" in fields:
        fields = {**fields, "family": family_of(fields["family"], own)}
    return Bandit(**fields)


def family_of(name: Any, own: Callable[[str], Any] | None = None) -> Any:
    """A family by name, as "bernoulli" or "gaussian:2" (its σ), or a pair, as "bernoulli,gaussian:2" or a list of two.

    >>> family_of("bernoulli,gaussian:2")
    (Bernoulli(), Gaussian(sigma=2.0))
    """
    parts = name.split(",") if isinstance(name, str) else name
    if not isinstance(parts, list) or not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"family is {name!r}; give one name, or two for public and private rewards: {_known()}.")
    found = tuple(own(part)() if own and ".py:" in part else _one(part.strip()) for part in parts)
    return found if len(found) == 2 else found[0]


def _one(text: str) -> Any:
    name, _, argument = text.partition(":")
    classes = {option_name(cls): cls for cls in kinds("family").values()}
    cls = classes.get(_OTHER_NAMES.get(name, name))
    if cls is None:
        raise ValueError(f"There is no family {name!r}; choose among {_known()}.")
    try:
        return cls(*([float(argument)] if argument else []))
    except (TypeError, ValueError) as error:
        raise ValueError(f"family {text!r} cannot be made: {error}") from None


def _known() -> str:
    return ", ".join("gaussian:SIGMA" if name == "Gaussian" else name.lower() for name in kinds("family"))
