"""The power of the best test is compared with known answers, and the claims of `power` are tested on planted data."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import feint
from feint.experiments import power
from feint.experiments.findings import LEVEL
from feint.experiments.power import best_interval, best_power, claims

ALPHA = 0.05


class TestNeymanPearson:
    @pytest.mark.parametrize("total", [0.01, 0.1, 1.0, 3.0])
    def test_shifted_normals(self, total):
        """log dQ/dP of N(√2B, 1) against N(0, 1) is N(B, 2B) under Q; the best test has power Φ(√2B − z)."""
        n = 200_000
        log_ratios = stats.norm.ppf((np.arange(n) + 0.5) / n, total, math.sqrt(2 * total))
        found = best_power(log_ratios, ALPHA)
        exact = stats.norm.cdf(math.sqrt(2 * total) - stats.norm.isf(ALPHA))
        assert found == pytest.approx(exact, abs=1e-4)
        assert found < feint.boost_probability(ALPHA, total)

    def test_a_boosted_event_reaches_the_bound(self):
        """An event is lifted from α to 4α: the event is the test, and no test has more power at that divergence."""
        log_ratios = np.log(np.repeat([0.2 / 0.05, 0.8 / 0.95], [200, 800]))
        divergence = log_ratios.mean()
        found = best_power(log_ratios, ALPHA)
        assert found == pytest.approx(0.2, rel=1e-12)
        assert found == pytest.approx(float(feint.boost_probability(ALPHA, divergence)), rel=1e-9)

    def test_a_size_between_atoms_is_drawn_at_random(self):
        """At half the size the power is half; and an agent that never deviates is caught with probability α."""
        log_ratios = np.log(np.repeat([0.2 / 0.05, 0.8 / 0.95], [200, 800]))
        assert best_power(log_ratios, ALPHA / 2) == pytest.approx(0.1, rel=1e-12)
        assert best_power(np.zeros(100), ALPHA) == pytest.approx(ALPHA, rel=1e-12)

    def test_runs_that_cannot_be_innocent(self):
        assert best_power(np.full(50, 40.0), ALPHA) == 1

    @pytest.mark.parametrize(("n", "trials"), [(40, 60), (400, 40)])
    def test_the_interval_holds_for_an_event(self, n, trials):
        """An event is lifted from 0.05 to 0.2, which is the bound itself; the level is 5 % within 4 sds."""
        rng, level = np.random.default_rng(0), 0.05
        divergence = 0.2 * math.log(4) + 0.8 * math.log(0.8 / 0.95)
        missed = 0
        for _ in range(trials):
            log_ratios = np.where(rng.random(n) < 0.2, math.log(0.2 / 0.05), math.log(0.8 / 0.95))
            _, low, high = best_interval(log_ratios, ALPHA, divergence, level)
            missed += not low <= 0.2 <= high
        assert missed <= trials * level + 4 * math.sqrt(trials * level)

    @pytest.mark.slow
    @pytest.mark.parametrize("total", [0.01, 0.3, 3.0])
    def test_the_interval_holds_for_skewed_ratios(self, total):
        """For waiting times with rates 1 and r, log dQ/dP is skewed and bounded on one side; the best test is T ≥ t."""
        rng, level, trials = np.random.default_rng(0), 0.05, 400
        rate = 1 / (1 + math.sqrt(2 * total))
        power = ALPHA**rate  # P(T ≥ t) = e^−t = α under P, e^−rt under Q
        for n in (30, 1_000):
            times = rng.exponential(1 / rate, (trials, n))
            found = [best_interval(math.log(rate) + (1 - rate) * row, ALPHA, total, level) for row in times]
            missed = sum(not low <= power <= high for _, low, high in found)
            assert missed <= trials * level + 4 * math.sqrt(trials * level)

    def test_the_interval_narrows_around_the_power_of_shifted_normals(self):
        """At n = 60,000 the interval is within ± 4 % of the power, though the threshold is not known."""
        total = 0.3
        log_ratios = np.random.default_rng(0).normal(total, math.sqrt(2 * total), 60_000)
        value, low, high = best_interval(log_ratios, ALPHA, total, LEVEL / 7)
        exact = stats.norm.cdf(math.sqrt(2 * total) - stats.norm.isf(ALPHA))
        assert 0.955 * exact < low < exact < high < 1.045 * exact
        assert low <= value <= high

    def test_the_interval_holds_where_the_threshold_is_looked_for_in_the_wrong_place(self):
        """If the divergence is taken to be a tenth or ten times what it is, the interval is wide but not wrong."""
        log_ratios = np.random.default_rng(0).normal(0.3, math.sqrt(0.6), 20_000)
        exact = stats.norm.cdf(math.sqrt(0.6) - stats.norm.isf(ALPHA))
        for total in (0.03, 3.0):
            _, low, high = best_interval(log_ratios, ALPHA, total, LEVEL)
            assert low < exact < high


def test_likelihood_ratios_of_the_simulation_weigh_to_one():
    """E_Q[dP/dQ] = 1 and E_Q[log dQ/dP] = B, what importance weighting and the bound rest on; 5 sds."""
    bandit = feint.Bandit(power.SETTINGS["public"], power.SETTINGS["private"])
    runs = feint.simulate(
        bandit, epsilon=feint.TotalBudget(0.5, 100), horizon=100, replications=2_000, observe=True, checkpoints=[100]
    )
    log_ratios = runs.log_likelihood_ratio.values[:, -1]
    for values, mean in (
        (np.exp(-log_ratios), 1.0),
        (log_ratios, float(runs.kl_spent.mean())),
        # Without the step's draws the agent's law is another, and its ratio smaller on average.
        (np.exp(-runs.log_floor_ratio.values[:, -1]), 1.0),
    ):
        assert abs(values.mean() - mean) < 5 * values.std() / math.sqrt(values.size)
    assert runs.log_floor_ratio.values[:, -1].mean() < 0.7 * log_ratios.mean()


@pytest.fixture
def truth():
    """Return shifted normals; the observer has 60 % of the power that the bound allows, the floor 80 %."""
    rng = np.random.default_rng(0)
    runs, offer = 20_000, np.array([0.1, 1.0])
    bounds = feint.boost_probability(ALPHA, offer)[:, None]
    return xr.Dataset(
        {
            "p_value": (("total", "sample"), np.where(rng.random((2, runs)) < 0.6 * bounds, 0.01, 1)),
            "log_ratio": (("total", "sample"), rng.normal(offer, np.sqrt(2 * offer), (runs, 2)).T),
            "floor": (("total", "sample"), np.where(rng.random((2, runs)) < 0.8 * bounds, 50.0, math.nan)),
            "offer": ("total", offer),
            "runs": ("total", [runs, runs]),
        },
        coords={"total": offer},
        attrs={"alpha": ALPHA},
    )


def named(data, verdict):
    return {claim.name for claim in claims(data, {}) if claim.verdict == verdict}


class TestPlanted:
    def test_all_are_shown_where_all_are_true(self, truth):
        assert named(truth, "shown") == {claim.name for claim in claims(truth, {})}

    def test_few_runs_refute_nothing_that_is_true(self, truth):
        few = truth.isel(sample=slice(60)).assign(runs=("total", [60, 60]))
        assert named(few, "refuted") == set()
        assert named(few, "undecided")

    def test_power_above_the_bound(self, truth):
        truth["p_value"][1, :13_000] = 0.04  # 65 % and more, and the bound is 56 %
        assert named(truth, "refuted") == {"the observer does not beat the bound"}

    def test_best_power_above_the_bound(self, truth):
        """Shifted normals have a power of 41 % at B = 1, but the bound allows only 33 % at B = 0.4."""
        truth["offer"][1] = 0.4
        truth["p_value"][1] = np.where(np.arange(20_000) < 5_000, 0.01, 1)
        names = ("does not beat the bound", "has the power of shifted normals")
        assert named(truth, "refuted") == {f"one who knows all {name}" for name in names}

    def test_power_below(self, truth):
        none = truth.assign(p_value=truth.p_value * 0 + 1)
        assert named(none, "refuted") == {"the observer has half of the floor's power"}
        low = truth.assign(log_ratio=truth.log_ratio * 0.7)
        assert named(low, "refuted") == {"one who knows all has the power of shifted normals"}

    def test_runs_that_were_not_made_do_not_count(self, truth):
        """The second total has 15,000 runs; the places beyond them are not runs that were never caught."""
        truth["runs"][1] = 15_000
        for name in ("p_value", "log_ratio", "floor"):
            truth[name][1, 15_000:] = math.nan
        assert named(truth, "shown") == {claim.name for claim in claims(truth, {})}

    def test_half_of_the_floor_is_compared_run_by_run(self, truth):
        """Where the same runs are caught, a difference of 1.5 points is seen; two separate shares would hide it."""
        floor = np.arange(20_000) < 8_000
        truth["floor"][1] = np.where(floor, 50.0, math.nan)
        truth["p_value"][1] = np.where(np.arange(20_000) < 3_700, 0.01, 1.0)
        assert "the observer has half of the floor's power" in named(truth, "refuted")
