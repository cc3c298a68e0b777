"""The contract of references.

From the observer's view a reference with normal rewards pulls the arm with the largest of K independent normal indices,

    mean_a = μ̂_a + bonus·σ·√(log t/n_a),        sd_a = spread·σ/√n_a,        n_a = N_a + κ,

where N_a are the pulls, μ̂_a is the mean of the public rewards the observer saw and of κ more at the prior mean, and t
the pulls made so far. Such a reference is a frozen dataclass with `index()`, its (bonus, spread), its κ by
`pseudo_pulls(sigma)`, and `OWN_SAMPLES`: whether the observer sees samples of its own rather than the agent's public
rewards. The agent and the simulation follow those with κ = 0, the paper's flat prior; `BetaThompsonSampling` is for
the observer alone.
"""

import math
from dataclasses import asdict
from typing import Any, ClassVar, Protocol


class Reference(Protocol):
    """What the observer expects; see the module's docstring."""

    OWN_SAMPLES: ClassVar[bool]

    def index(self) -> tuple[float, float]:
        """(bonus, spread)."""
        ...

    def pseudo_pulls(self, sigma: float) -> float:
        """κ."""
        ...

    def describe(self, sigma: float) -> str:
        """In words, for reports."""
        ...


_KINDS: dict[str, type] = {}


def register(cls: type) -> type:
    """Make a reference known by name, so that a saved state can be read again."""
    _KINDS[cls.__name__] = cls
    return cls


def reference_config(reference: Any) -> dict[str, Any]:
    """A JSON-ready description of a reference; ∞ is written as "inf"."""
    if type(reference) not in _KINDS.values():
        raise ValueError(f"reference is {reference!r}; use one of {', '.join(sorted(_KINDS))} with its parentheses.")
    fields = {name: "inf" if value == math.inf else value for name, value in asdict(reference).items()}
    return {"kind": type(reference).__name__} | fields


def reference_from_config(config: dict[str, Any]) -> Any:
    """The reference that `reference_config` described."""
    if config.get("kind") not in _KINDS:
        raise ValueError(
            f"The state names the reference {config.get('kind')!r}; known are {', '.join(sorted(_KINDS))}."
        )
    fields = {name: math.inf if value == "inf" else value for name, value in config.items() if name != "kind"}
    return _KINDS[config["kind"]](**fields)
