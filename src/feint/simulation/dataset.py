"""Data sets that describe themselves: means, gaps and settings are coordinates, variables have long names and units."""

import json
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.bandit import Bandit
from feint.budgets import Constant
from feint.registry import config_of
from feint.registry.names import arguments, class_of
from feint.version import VERSION

if TYPE_CHECKING:
    import xarray as xr

_ABOUT = {
    "pulls": ("pulls of an arm", "pulls"),
    "boosts": ("boosts of an arm", "steps"),
    "log_error": ("log of the posterior probability that the right answer is not the true one", "nats"),
    "answer": ("whether the agent would name an arm in its answer", "1"),
    "recommendation": ("arm that is most likely the best private one", "arm"),
    "public_regret": ("public reward forgone against the best public arm, in expectation", "reward"),
    "private_regret": ("private reward forgone against the best private arm, in expectation", "reward"),
    "private_gain": ("private reward gained over an honest twin on the same draws, in expectation", "reward"),
    "stopping_time": ("pulls until the posterior error was delta", "pulls"),
    "kl_spent": ("KL divergence from the reference spent so far", "nats"),
    "log_e_value": ("log of the observer's e-value", "nats"),
    "log_likelihood_ratio": ("log likelihood ratio of an observer who knows every boost", "nats"),
    "log_floor_ratio": ("log likelihood ratio of an observer who knows the private posterior, not the draws", "nats"),
    "detection_time": ("pulls until the observer's alarm", "pulls"),
    "floor_time": ("first alarm of an observer who knows the private posterior, not the draws", "pulls"),
    "p_value": ("the observer's anytime p-value at the end", "1"),
    "replication": ("number of the run", "1"),
    "time": ("pulls made", "pulls"),
    "arm": ("arm, counted from 0", "1"),
    "public_mean": ("mean public reward", "reward"),
    "private_mean": ("mean private reward", "reward"),
    "public_gap": ("gap to the best public mean", "reward"),
    "private_gap": ("gap to the best private mean", "reward"),
    "best_public": ("best public arm", "arm"),
    "best_private": ("best private arm", "arm"),
    "epsilon": ("KL budget per step", "nats"),
}


class Runs(NamedTuple):
    """The result of a simulation: plain arrays, from which `dataset` makes a data set.

    They are kept apart because the library for data sets takes a second to import.
    """

    bandit: Bandit
    which: range  # replications
    times: IntArray
    variables: dict[str, Any]  # by name, over (replication, time, arm) or the first of these
    settings: dict[str, Any]
    budget: Any
    truth: FloatArray | None = None  # (replication, arm) private means, where every replication has its own

    def dataset(self) -> "xr.Dataset":
        """Return the runs with their instance and settings. Each setting that distinguishes simulations is a scalar
        coordinate, so that `xr.concat` keeps it.
        """
        import xarray as xr

        bandit, settings = self.bandit, self.settings
        axes = ("replication", "time", "arm")
        families = [config_of(family, "family") for family in bandit.families]
        over_arms = {
            "public_mean": bandit.public,
            "private_mean": bandit.private,
            "public_gap": bandit.public_gaps,
            "private_gap": bandit.private_gaps,
        }
        coordinates: dict[str, Any] = {
            "replication": np.arange(self.which.start, self.which.stop),
            "time": self.times,
            "arm": np.arange(bandit.n_arms),
            **{name: ("arm", np.array(values)) for name, values in over_arms.items()},
            "best_public": bandit.best_public,
            "best_private": bandit.best_private,
            "epsilon": self.budget.epsilon if isinstance(self.budget, Constant) else np.nan,
            "budget": text(words(settings["epsilon"], "budget")),
            "explorer": text(words(settings["explorer"], "explorer")),
            "reference": text(words(settings["reference"], "reference")),
            "goal": text(words(settings["goal"], "goal")),
            "family": text(", ".join(dict.fromkeys(words(family, "family") for family in families))),
            "seed": seed_coordinate(settings["seed"]),
        }
        if bandit.feedback is not None:
            coordinates["feedback"] = text(words(config_of(bandit.feedback, "feedback"), "feedback"))
        if self.truth is not None:
            over_both = {"private_mean": self.truth, "private_gap": self.truth.max(1, keepdims=True) - self.truth}
            coordinates |= {name: (("replication", "arm"), values) for name, values in over_both.items()}
            coordinates["best_private"] = "replication", self.truth.argmax(1)
        data = xr.Dataset(
            {name: (axes[: values.ndim], values) for name, values in self.variables.items()},
            coords=coordinates,
            attrs={
                "bandit": json.dumps(instance_of(bandit)),
                "config": json.dumps(settings),
                "versions": json.dumps(versions()),
            },
        )
        for name in data.variables:
            data[name].attrs.update(about(str(name)))
        return data


def instance_of(bandit: Bandit) -> dict[str, Any]:
    """Return an instance as plain JSON, for attributes and reports."""
    families = [config_of(family, "family") for family in bandit.families]
    instance = {"public": list(bandit.public), "private": list(bandit.private), "families": families}
    if bandit.feedback is None:
        return instance
    return instance | {"feedback": config_of(bandit.feedback, "feedback"), "draws_private": bandit.draws_private}


def seed_coordinate(seed: int) -> np.int64 | np.uint64:
    """Return a seed that Zarr can store; of a number above 2⁶³ NumPy alone would make a type that Zarr does not know.

    >>> seed_coordinate(7).dtype, seed_coordinate(2**64 - 1).dtype
    (dtype('int64'), dtype('uint64'))
    """
    return np.int64(seed) if seed < 2**63 else np.uint64(seed)


def about(name: str) -> dict[str, str]:
    """Return the long name and the unit of a variable, where it has them."""
    return dict(zip(("long_name", "units"), _ABOUT.get(name, ()), strict=False))


def versions() -> dict[str, str]:
    """Return the versions of the software that the numbers depend on."""
    import numba

    return {
        "feint": VERSION,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


def text(value: str) -> Any:
    """Return a text of variable length, since Zarr does not specify texts of fixed length."""
    return np.array(value, dtype=object)


def words(config: dict[str, Any], sort: str) -> str:
    """Return what `config_of` described as Python writes it, for labels.

    >>> words({"kind": "power", "scale": 1.0, "exponent": 0.5}, "budget")
    'PowerLaw(scale=1.0, exponent=0.5)'
    """
    given = config.get("arguments") if config.get("own") else config
    if given is None:  # a class of the user's own, not one of the package around it
        return f"{config['kind']}()"
    cls = class_of(config["kind"], sort, None)
    items = [(argument.name, given[argument.name], argument.sort) for argument in arguments(cls)]
    written = (f"{name}={words(item, inner) if inner and item else item}" for name, item, inner in items)
    return f"{cls.__name__}({', '.join(written)})"
