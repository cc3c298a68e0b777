"""The claims about Figure 3 on planted data: each is shown where it is true and refuted where its opposite is."""

import math

import numpy as np
import pytest
import xarray as xr

from feint.experiments.figure3 import SETTINGS, claims

MORE = "arm 2 is pulled more under asymmetry"
EARLY, LATE = (f"arm 3 is pulled less than arm 4, {when}" for when in ("early", "in the long run"))
CLOSER = "arms 3 and 4 come closer"


def planted(more=1.0, early=0.5, late=0.05):
    """Proportions whose log ratios have these medians: of arm 2 between cases, and of arms 4 and 3 over time. Seeds
    scatter by a factor of e, the same for both cases.
    """
    times = np.unique(np.geomspace(100, SETTINGS["horizon"], 40).astype(np.int64))
    rng = np.random.default_rng(0)
    seeds = rng.normal(0, 1, (1_000, 1))
    scatter = rng.normal(0, 0.3, (4, 1_000, times.size))
    falls = np.log(times / SETTINGS["early"]) / math.log(SETTINGS["horizon"] / SETTINGS["early"])
    parts = {}
    for case, runs, shift in (("symmetric", 100, 0.0), ("asymmetric", 1_000, more)):
        logs = np.full((4, 1_000, times.size), -6.0)
        logs[0] = -0.1
        logs[1] = -5 + shift + seeds + scatter[0 if case == "symmetric" else 1]
        if case == "asymmetric":
            logs[2] = -6 + scatter[2]
            logs[3] = logs[2] + early + (late - early) * falls + scatter[3]
        parts[case] = (f"{case}_run", "time", "arm"), np.exp(logs[:, :runs]).transpose(1, 2, 0)
    return xr.Dataset(parts, coords={"time": times})


def found(data):
    return {claim.name: claim for claim in claims(data, SETTINGS)}


def test_all_are_shown_where_all_are_true():
    verdicts = {name: claim.verdict for name, claim in found(planted()).items()}
    assert verdicts == dict.fromkeys((MORE, EARLY, LATE, CLOSER), "shown")


@pytest.mark.parametrize(
    ("changes", "refuted"),
    [
        ({"more": -1.0}, {MORE}),
        ({"early": -0.5, "late": -0.6}, {EARLY, LATE}),
        ({"late": -0.2}, {LATE}),
        ({"early": 0.1, "late": 0.5}, {CLOSER}),
    ],
)
def test_the_opposite_is_refuted(changes, refuted):
    assert {name for name, claim in found(planted(**changes)).items() if claim.verdict == "refuted"} == refuted


def test_numbers_are_the_planted_medians():
    """Within 0.1, which is 10 standard errors of the medians of 1,000 seeds and 3 of those of 100."""
    claims_ = found(planted(more=0.7, early=0.4, late=0.1))
    for name, value in ((MORE, 0.7), (EARLY, 0.4), (LATE, 0.1), (CLOSER, 0.3)):
        assert claims_[name].measured == pytest.approx(value, abs=0.1)
        assert claims_[name].low < value < claims_[name].high
    assert "100 seeds" in claims_[MORE].quantity
    assert "1,000 seeds" in claims_[EARLY].quantity
