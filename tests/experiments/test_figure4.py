"""The claims about Figure 4 on planted data: the fall over the whole run decides, not its last decade."""

import numpy as np
import pytest
import xarray as xr

from feint.experiments.figure4 import SETTINGS, claims


def planted(power):
    """Shortfalls that fall like t^−power until t = 10⁶ and then stay, with noise of each seed and time."""
    times = np.unique(np.geomspace(4, 10**8, 80).astype(np.int64))
    noise = np.random.default_rng(0).lognormal(0, 0.5, (2, 50, times.size))
    shortfall = 0.003 * noise * (np.minimum(times, 10**6) / 100) ** -power
    return xr.Dataset(
        {"shortfall": (("instance", "replication", "time"), shortfall), "optimum": ("instance", [0.0357, 0.0235])},
        coords={"time": times, "instance": [0, 1]},
    )


@pytest.mark.parametrize(("power", "expected"), [(0.4, "shown"), (0.0, "undecided"), (-0.2, "refuted")])
def test_the_fall_over_the_whole_run_decides(power, expected):
    found = {claim.name: claim for claim in claims(planted(power), SETTINGS)}
    for instance in (1, 2):  # as printed
        claim = found[f"Γ(w_t) comes closer to Γ*, instance {instance}"]
        assert claim.verdict == expected
        assert "from t = 1" in claim.quantity
        assert claim.exploratory
