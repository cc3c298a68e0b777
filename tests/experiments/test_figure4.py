"""The claims about Figure 4 on planted data: the fall over the whole run decides, not its last decade."""

import numpy as np
import pytest
import xarray as xr

from feint import Bandit
from feint.experiments.figure4 import SETTINGS, claims, shortfall
from feint.theory import optimal_boosting


def planted(power):
    """Return shortfalls that fall like t^−power until t = 10⁶ and then stay, with noise of each seed and time."""
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


@pytest.mark.parametrize(("share", "expected"), [(0.005, "shown"), (0.01, "undecided"), (0.02, "refuted")])
def test_the_end_of_the_run_is_a_share_of_the_optimum(share, expected):
    """Shortfalls end at a share of Γ*, and each instance has an optimum of its own."""
    data = planted(0.4)
    noise = np.random.default_rng(1).lognormal(0, 0.2, (2, 50))
    data["shortfall"][:, :, -1] = share * data.optimum.values[:, None] * noise
    found = {claim.name: claim for claim in claims(data, SETTINGS)}
    for instance in (1, 2):
        claim = found[f"Γ(w_t) is within 1 % of Γ*, instance {instance}"]
        assert claim.verdict == expected
        assert claim.measured == pytest.approx(share, rel=0.15)  # 3 standard errors of a median of 50 such values


def test_each_instance_has_its_own_verdict():
    data = planted(0.4)
    data["shortfall"][1] = data.shortfall[1].values[:, ::-1]  # rises
    verdicts = {claim.name: claim.verdict for claim in claims(data, SETTINGS)}
    assert verdicts["Γ(w_t) comes closer to Γ*, instance 1"] == "shown"
    assert verdicts["Γ(w_t) comes closer to Γ*, instance 2"] == "refuted"


def test_the_shortfall_is_that_of_the_boosts():
    """Boosts in the optimal proportions have no shortfall; those of one arm have Γ* less Γ of that arm."""
    bandit = Bandit(SETTINGS["public"][0], SETTINGS["private"][0])
    best = optimal_boosting(bandit)
    boosts = np.stack([1e9 * best.weights, np.array([0.0, 1e9, 0.0])])[None]
    runs = xr.Dataset({"boosts": (("replication", "time", "arm"), boosts)})
    optimal, alone = shortfall(bandit, runs)[0]
    assert optimal == pytest.approx(0.0, abs=1e-12)
    # Arm 2 (as printed) is the best private arm; arm 3, unboosted, then has no pulls: Γ is 0.
    assert alone == pytest.approx(best.gamma, rel=1e-9)
