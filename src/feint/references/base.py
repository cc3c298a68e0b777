"""The contract of references.

From the observer's view every reference here pulls the arm with the largest of K independent normal indices, with

    mean_a = μ̂_a + bonus·σ·√(log t/N_a),        sd_a = spread·σ/√N_a,

where μ̂_a is the mean of the public rewards the observer saw, N_a the pulls and t the pulls made so far. A reference
is a frozen dataclass with `index()`, its (bonus, spread), and `OWN_SAMPLES`: whether the observer sees samples of its
own rather than the agent's public rewards.
"""

from dataclasses import asdict
from typing import Any, ClassVar, Protocol


class Reference(Protocol):
    """What the observer expects; see the module's docstring."""

    OWN_SAMPLES: ClassVar[bool]

    def index(self) -> tuple[float, float]:
        """(bonus, spread)."""
        ...


_KINDS: dict[str, type] = {}


def register(cls: type) -> type:
    """Make a reference known by name, so that a saved state can be read again."""
    _KINDS[cls.__name__] = cls
    return cls


def reference_config(reference: Any) -> dict[str, Any]:
    """A JSON-ready description of a reference."""
    if type(reference) not in _KINDS.values():
        raise ValueError(f"reference is {reference!r}; use one of {', '.join(sorted(_KINDS))} with its parentheses.")
    return {"kind": type(reference).__name__} | asdict(reference)


def reference_from_config(config: dict[str, Any]) -> Any:
    """The reference that `reference_config` described."""
    if config.get("kind") not in _KINDS:
        raise ValueError(
            f"The state names the reference {config.get('kind')!r}; known are {', '.join(sorted(_KINDS))}."
        )
    return _KINDS[config["kind"]](**{name: value for name, value in config.items() if name != "kind"})
