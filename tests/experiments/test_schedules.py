"""Test the claims of `schedules` on planted data, and its schedules."""

import numpy as np
import pytest
import xarray as xr

from feint.experiments import schedules
from feint.experiments.schedules import claims, gained

SETTINGS = {"compared": ((100.0,), (1000.0,))}


def test_schedules_add_up_to_the_same_total():
    for total in (1.0, 1e4):
        spread = schedules.schedules(schedules.SETTINGS, total)
        for budget in spread:
            assert budget.sum_to(4, 100_000) == pytest.approx(total, rel=1e-10)
        shares = [budget.sum_to(4, 10_000) / total for budget in spread]
        assert shares[0] < 0.11 < 0.3 < shares[1] < shares[2] < 1 == pytest.approx(shares[3])


@pytest.fixture
def truth():
    """Made-up data for which every claim is true, with scatter that is not normal."""
    rng = np.random.default_rng(0)
    runs, totals, rate = 600, np.array([100.0, 1000.0]), 10 / 3
    own = rng.poisson(40, runs)
    offer = np.tile(totals, (4, 1))
    pulls = own + rng.poisson(rate * np.sqrt(offer)[..., None], (4, 2, runs))
    return xr.Dataset(
        {
            "pulls": (("schedule", "total", "seed"), pulls.astype(float)),
            "own_pulls": ("seed", own),
            "runs": ("total", [runs, runs]),
            "fluid": (("schedule", "total"), 40 + rate * np.sqrt(offer)),
            "exponent": ("schedule", [0.0, 0.5, 0.9, 0.0]),
            "until": ("schedule", [1.0, 1.0, 1.0, 0.1]),
        },
        coords={"total": totals},
        attrs={"first_order_rate": rate, "own_fluid": 40.0, "horizon": 10_000},
    )


def named(data, verdict):
    return {claim.name for claim in claims(data, SETTINGS) if claim.verdict == verdict}


def test_all_are_shown_where_all_are_true(truth):
    assert named(truth, "shown") == {claim.name for claim in claims(truth, SETTINGS)}


def test_few_runs_refute_nothing_that_is_true(truth):
    few = truth.isel(seed=slice(20)).assign(runs=("total", [20, 20]))
    assert named(few, "refuted") == set()
    assert named(few, "undecided")


def test_schedules_that_differ(truth):
    truth["pulls"][1, 0] = truth.own_pulls + (truth.pulls[1, 0] - truth.own_pulls) * 0.7
    names = {"schedules gain the same at B = 100", "the fluid prediction of pulls is within 5 %"}
    assert named(truth, "refuted") == names


def test_off_the_first_order_curve(truth):
    truth["pulls"] = (truth.pulls - truth.own_pulls) * 1.3 + truth.own_pulls
    truth["fluid"] = 40 + 1.3 * (truth.fluid - 40)
    names = ("constant ε", "ε ∝ t^−0.5", "ε ∝ t^−0.9", "first 10 % of steps")
    assert named(truth, "refuted") == {f"{name} gains (2σ/Δ)√B" for name in names}
    assert gained(truth).mean() == pytest.approx(1.3, abs=0.02)


def test_schedules_are_compared_seed_by_seed(truth):
    """Scatter that all schedules of a seed share does not hide a difference of 8 % of the curve."""
    shared = np.random.default_rng(1).normal(0, 60, truth.sizes["seed"])
    truth["pulls"] = truth.pulls + shared
    truth["pulls"][3, 0] = truth.pulls[3, 0] - 0.12 * 10 / 3 * 10
    assert "schedules gain the same at B = 100" in named(truth, "refuted")


def test_runs_that_were_not_made_do_not_count(truth):
    whole = {claim.name: claim.verdict for claim in claims(truth, SETTINGS)}
    truth["runs"][0] = 560
    truth["pulls"][:, 0, 560:] = np.nan
    assert {claim.name: claim.verdict for claim in claims(truth, SETTINGS)} == whole
