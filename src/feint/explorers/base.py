"""The contract of explorers.

An explorer is a frozen dataclass of its settings with

- `KIND`: the number under which `dispatch.choose` finds its kernel;
- `USES_POSTERIOR`: whether the kernel reads the private best-arm probabilities;
- `parameters(n_arms)`: its settings as the kernel's float array, checked against the number of arms;

and a kernel in the same file, all of one shape,

    choose(parameters, view, bounds, uniforms) -> arm, or −1

where `view` holds what the agent knows (`View`), `uniforms` is the step's (LEADER, CHALLENGER, TOP_TWO, ARM) and
`bounds` (6, K) holds a lower and an upper bound of every private best-arm probability and of the cuts they make
(`draws`). A kernel decides from the bounds: it returns the arm if every probability inside them leads to the same one,
and −1 if not. With both bounds equal it always decides. That one function serves the exact and the lazy engine is what
makes their trajectories equal.
"""

from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Rows of `bounds`: the probabilities P(a is the best private arm); where a draw in index order cuts (0, 1) behind
# arm a; and the same for a draw among all arms but the likeliest, whose own entry is −1.
P_LOW, P_HIGH, CUT_LOW, CUT_HIGH, REST_LOW, REST_HIGH = 0, 1, 2, 3, 4, 5
BOUND_ROWS = 6

UNDECIDED = -1


class View(NamedTuple):
    """What an explorer may look at: arrays (K,) of one replication, and scratch (3, K)."""

    pulls: IntArray
    boosts: IntArray
    public_means: FloatArray
    private_means: FloatArray
    scratch: FloatArray


class Explorer(Protocol):
    """Whom to boost; see the module's docstring."""

    KIND: ClassVar[int]
    USES_POSTERIOR: ClassVar[bool]

    def parameters(self, n_arms: int) -> FloatArray:
        """The settings as the kernel takes them; ValueError where they do not fit `n_arms`."""
        ...


_KINDS: dict[str, type] = {}


def register(cls: type) -> type:
    """Make an explorer known by name, so that a saved state can be read again."""
    _KINDS[cls.__name__] = cls
    return cls


def explorer_config(explorer: Any) -> dict[str, Any]:
    """A JSON-ready description of an explorer."""
    if type(explorer) not in _KINDS.values():
        raise ValueError(f"explorer is {explorer!r}; use one of {', '.join(sorted(_KINDS))} with its parentheses.")
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(explorer).items()}
    return {"kind": type(explorer).__name__} | fields


def explorer_from_config(config: dict[str, Any]) -> Any:
    """The explorer that `explorer_config` described."""
    if config.get("kind") not in _KINDS:
        raise ValueError(f"The state names the explorer {config.get('kind')!r}; known are {', '.join(sorted(_KINDS))}.")
    return _KINDS[config["kind"]](**{name: value for name, value in config.items() if name != "kind"})
