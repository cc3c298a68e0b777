"""The coordinates of a store: the labels along its axes, the instances and the settings."""

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feint.registry import show_part
from feint.simulation.dataset import about, families_in_words, seed_coordinate
from feint.sweep.axes import AXES
from feint.sweep.study import Study
from feint.version import versions


def make_coordinates(study: Study, block: int) -> Any:
    """Return labels, instances and settings as a Dataset, with the study's text and versions as attributes."""
    import xarray as xr

    axes = study.axes
    bandits = list(axes["bandit"].values())
    over_arms = {
        "public_mean": [bandit.public for bandit in bandits],
        "private_mean": [bandit.private for bandit in bandits],
        "public_gap": [bandit.public_gaps for bandit in bandits],
        "private_gap": [bandit.private_gaps for bandit in bandits],
    }
    budgets = [show_part(budget, "budget") for budget in axes["epsilon"].values()]
    numbers = all(not isinstance(label, str) for label in axes["epsilon"])
    data = xr.Dataset(
        coords={
            **{axis: (axis, _texts(list(axes[axis]))) for axis in AXES[:3]},
            "epsilon": ("epsilon", np.array(list(axes["epsilon"])) if numbers else _texts(list(axes["epsilon"]))),
            "budget": ("epsilon", _texts(budgets)),
            "replication": np.arange(study.replications),
            "time": study.times,
            "arm": np.arange(study.most_arms),
            **{name: (("bandit", "arm"), _padded(rows, study.most_arms)) for name, rows in over_arms.items()},
            "n_arms": ("bandit", [bandit.n_arms for bandit in bandits]),
            "best_public": ("bandit", [bandit.best_public for bandit in bandits]),
            "best_private": ("bandit", [bandit.best_private for bandit in bandits]),
            "family": ("bandit", _texts([families_in_words(bandit) for bandit in bandits])),
            "is_arm": (("bandit", "arm"), [np.arange(study.most_arms) < bandit.n_arms for bandit in bandits]),
            "seed": seed_coordinate(study.options["seed"]),
        },
        attrs={
            "study": json.dumps(study.config()),
            "text": study.text,
            "versions": json.dumps(versions()),
            "replications_a_block": block,
        },
    )
    for name in data.variables:
        data[name].attrs.update(about(str(name)))
    return data


def _padded(rows: list[Any], width: int) -> NDArray[np.float64]:
    table = np.full((len(rows), width), math.nan)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


def _texts(values: list[str]) -> NDArray[Any]:
    return np.array(values, dtype=object)  # of variable length: Zarr does not specify texts of fixed length
