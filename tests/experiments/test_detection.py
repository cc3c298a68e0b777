"""The claims of `detection` on planted data: all shown where all are true, and each refuted where it is not."""

import math

import numpy as np
import pytest
import xarray as xr

from feint.experiments.detection import claims

ALPHA = 0.05
BOUND = "nobody is caught sooner than the bound allows"
FLOOR = "the observer's time ÷ the floor's, at worst"


@pytest.fixture
def truth():
    """Made-up data for which every claim is true, with the scatter of real runs."""
    rng = np.random.default_rng(0)
    epsilons, deltas, runs = np.array([0.01, 0.1, 1.0]), np.array([0.05, 0.01]), 900
    unit = math.log(1 / ALPHA) / epsilons[None, :, None]
    scatter = rng.lognormal(0, 0.3, (2, 3, runs))
    detected = 2 * unit * scatter
    identified = 20 * unit[..., None] * rng.lognormal(0, 0.3, (2, 3, 2, runs))
    planned = np.tile(20 * unit[..., None], (2, 1, 1, 2))[:, :, 0]
    return xr.Dataset(
        {
            "identified": (("instance", "epsilon", "delta", "replication"), identified),
            "right": (("instance", "epsilon", "delta", "replication"), np.ones(identified.shape, np.int8)),
            "planned": (("instance", "epsilon", "delta"), planned),
            "detected": (("instance", "epsilon", "run"), detected),
            "floor": (("instance", "epsilon", "run"), 1.4 * unit * scatter),
            "watched": ("epsilon", [runs] * 3),
        },
        coords={"epsilon": epsilons, "delta": deltas},
        attrs={"alpha": ALPHA, "n_arms": 4},
    )


def named(data, verdict):
    return {claim.name for claim in claims(data, {}) if claim.verdict == verdict}


POWERS = {f"power of ε in time to detection, best arms {which}" for which in ("differ", "agree")}


def floor(data):
    return next(claim for claim in claims(data, {}) if claim.name == FLOOR)


def powers(data):
    return [claim for claim in claims(data, {}) if claim.name in POWERS]


def test_all_are_shown_where_all_are_true(truth):
    assert named(truth, "shown") == {claim.name for claim in claims(truth, {})} - POWERS - {FLOOR}
    assert named(truth, "measured") == POWERS | {FLOOR}
    assert all(claim.low < -1 < claim.high < claim.low + 0.1 for claim in powers(truth))


def test_few_runs_refute_nothing_that_is_true(truth):
    few = truth.isel(run=slice(12), replication=slice(12)).assign(watched=("epsilon", [12] * 3))
    assert named(few, "refuted") == set()
    assert named(few, "undecided")


def test_identified_first(truth):
    truth["identified"][1, 0, 1] = truth.detected[1, 0].values * np.where(np.arange(900) < 600, 0.5, 2.0)
    truth["planned"][1, 0, 1] /= 20
    assert named(truth, "refuted") == {"caught before sure at δ = 0.01, best arms agree"}


def test_never_detected_is_detected_later(truth):
    truth["detected"][0, 1, :600] = math.nan
    assert "caught before sure at δ = 0.05, best arms differ" in named(truth, "refuted")
    assert floor(truth).low == math.inf


def test_runs_that_were_not_made_do_not_count(truth):
    """There are only 300 runs at one ε and 400 at one δ, and NaN beyond them does not mean "never"."""
    whole = {claim.name: claim.verdict for claim in claims(truth, {})}
    truth["watched"][0] = 300
    truth["detected"][:, 0, 300:] = truth["floor"][:, 0, 300:] = math.nan
    truth["identified"][:, :, 0, 400:] = math.nan
    truth["right"][:, :, 0, 400:] = -1
    assert {claim.name: claim.verdict for claim in claims(truth, {})} == whole
    shares = [claim for claim in claims(truth, {}) if claim.name == "wrong at δ = 0.05 with probability δ at most"]
    assert "2,400 runs" in shares[0].quantity


def test_other_power_of_epsilon(truth):
    truth["detected"] = truth.detected * (truth.epsilon / 0.1) ** 0.3
    assert all(claim.low < -0.7 < claim.high < claim.low + 0.1 for claim in powers(truth))


def test_the_power_of_epsilon_does_not_ask_when_slow_runs_would_be_detected(truth):
    """At the smallest ε a fifth is never detected, but only the longest 37 % of times stay above the median."""
    slowest = np.argsort(truth.detected.values[:, 0])[:, -180:]
    before = [(claim.measured, claim.low, claim.high) for claim in powers(truth)]
    for instance in (0, 1):
        truth["detected"][instance, 0, slowest[instance]] = math.nan
    assert [(claim.measured, claim.low, claim.high) for claim in powers(truth)] == before


def test_detected_too_soon_or_late(truth):
    assert named(truth.assign(detected=truth.detected / 10), "refuted") == {BOUND}
    assert (floor(truth).low, floor(truth).high) == pytest.approx((2 / 1.4, 2 / 1.4))  # of every run
    truth["detected"][1, 2] *= 1.6
    assert (floor(truth).low, floor(truth).high) == pytest.approx((3.2 / 1.4, 3.2 / 1.4))
    assert named(truth, "refuted") == set()


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_planner_off(truth, factor):
    truth["planned"][:, :, 0] *= factor
    assert named(truth, "refuted") == {"planned median at δ = 0.05 is within 25 %"}


def test_wrong_too_often(truth):
    truth["right"][0, 2, 1, :120] = 0
    assert named(truth, "refuted") == {"wrong at δ = 0.01 with probability δ at most"}
