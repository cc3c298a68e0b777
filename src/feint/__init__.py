"""Deceptive exploration in multi-armed bandits: explore, plan and audit.

Names load on first use, so that `import feint` and `feint --help` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feint.numerics import best_arm_probabilities as best_arm_probabilities
    from feint.numerics import boost as boost
    from feint.numerics import boost_probability as boost_probability
    from feint.numerics import boost_probability_approx as boost_probability_approx
    from feint.numerics import gauss_hermite_probabilities as gauss_hermite_probabilities

__version__ = "0.1.0"

_HOME = {
    "best_arm_probabilities": "feint.numerics",
    "gauss_hermite_probabilities": "feint.numerics",
    "boost": "feint.numerics",
    "boost_probability": "feint.numerics",
    "boost_probability_approx": "feint.numerics",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'feint' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
