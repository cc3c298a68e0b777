"""Reference probabilities on the paper's instance: its 32-node Gauss–Hermite rule against the exact values."""

from typing import Any

import numpy as np
import xarray as xr

from feint.numerics import best_arm_probabilities, gauss_hermite_probabilities
from feint.registry.instance_files import PAPER

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "pulls": ((1_000, 20, 10, 15), (10_000, 60, 25, 40), (100_000, 200, 90, 120)),
    "nodes": (32, 200),
}


def run() -> xr.Dataset:
    """Return `exact(state, arm)` and `gauss_hermite(nodes, state, arm)` at three moments of a run, σ = 1."""
    pulls = np.array(SETTINGS["pulls"])
    means = np.broadcast_to(SETTINGS["public"], pulls.shape)
    sds = 1.0 / np.sqrt(pulls)
    approximations = [gauss_hermite_probabilities(means, sds, nodes=n) for n in SETTINGS["nodes"]]
    return xr.Dataset(
        {
            "pulls": (("state", "arm"), pulls),
            "exact": (("state", "arm"), best_arm_probabilities(means, sds)),
            "gauss_hermite": (("nodes", "state", "arm"), np.stack(approximations)),
        },
        coords={"nodes": list(SETTINGS["nodes"]), "arm": np.arange(pulls.shape[1])},
        attrs={"public": list(SETTINGS["public"]), "sigma": 1.0},
    )
