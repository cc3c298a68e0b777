"""Data sets that describe themselves: means, gaps and settings are coordinates, variables have long names and units."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.bandit import Bandit
from feint.budgets import Constant
from feint.registry import config_of, show_part
from feint.simulation.scenario import RunOptions, Scenario
from feint.version import versions

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

    scenario: Scenario
    options: RunOptions
    times: IntArray
    variables: dict[str, Any]  # by name, over (replication, time, arm) or the first of these
    truth: FloatArray | None = None  # (replication, arm) private means, where every replication has its own

    @property
    def bandit(self) -> Bandit:
        """Return the instance."""
        return self.scenario.bandit

    @property
    def settings(self) -> dict[str, Any]:
        """Return how the runs were made, as plain JSON."""
        return self.scenario.config() | self.options.config()

    def dataset(self) -> "xr.Dataset":
        """Return the runs with their instance and settings. Each setting that distinguishes simulations is a scalar
        coordinate, so that `xr.concat` keeps it.
        """
        import xarray as xr

        bandit, budget = self.bandit, self.scenario.budget
        axes = ("replication", "time", "arm")
        over_arms = {
            "public_mean": bandit.public,
            "private_mean": bandit.private,
            "public_gap": bandit.public_gaps,
            "private_gap": bandit.private_gaps,
        }
        coordinates: dict[str, Any] = {
            "replication": np.array(self.options.which),
            "time": self.times,
            "arm": np.arange(bandit.n_arms),
            **{name: ("arm", np.array(values)) for name, values in over_arms.items()},
            "best_public": bandit.best_public,
            "best_private": bandit.best_private,
            "epsilon": budget.epsilon if isinstance(budget, Constant) else np.nan,
            **{sort: text(words) for sort, words in self.scenario.words().items()},
            "family": text(families_in_words(bandit)),
            "seed": seed_coordinate(self.options.seed),
        }
        if bandit.feedback is not None:
            coordinates["feedback"] = text(show_part(bandit.feedback, "feedback"))
        if self.truth is not None:
            over_both = {"private_mean": self.truth, "private_gap": self.truth.max(1, keepdims=True) - self.truth}
            coordinates |= {name: (("replication", "arm"), values) for name, values in over_both.items()}
            coordinates["best_private"] = "replication", self.truth.argmax(1)
        data = xr.Dataset(
            {name: (axes[: values.ndim], values) for name, values in self.variables.items()},
            coords=coordinates,
            attrs={
                "bandit": json.dumps(instance_of(bandit)),
                "config": json.dumps(self.settings),
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


def families_in_words(bandit: Bandit) -> str:
    """Return the families of the rewards for labels, once if they are the same."""
    return ", ".join(dict.fromkeys(show_part(family, "family") for family in bandit.families))


def seed_coordinate(seed: int) -> np.int64 | np.uint64:
    """Return a seed that Zarr can store; NumPy alone would turn a large one into a type that Zarr does not know.

    >>> seed_coordinate(7).dtype, seed_coordinate(2**64 - 1).dtype
    (dtype('int64'), dtype('uint64'))
    """
    return np.int64(seed) if seed < 2**63 else np.uint64(seed)


def about(name: str) -> dict[str, str]:
    """Return the long name and the unit of a variable, where it has them."""
    return dict(zip(("long_name", "units"), _ABOUT.get(name, ()), strict=False))


def text(value: str) -> Any:
    """Return a text of variable length, since Zarr does not specify texts of fixed length."""
    return np.array(value, dtype=object)
