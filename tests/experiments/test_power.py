"""The best test there is: known answers; and the claims of `power` on planted data."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import feint
from feint.experiments import power
from feint.experiments.findings import LEVEL
from feint.experiments.power import best_interval, claims, neyman_pearson

ALPHA = 0.05


class TestNeymanPearson:
    @pytest.mark.parametrize("total", [0.01, 0.1, 1.0, 3.0])
    def test_shifted_normals(self, total):
        """log dQ/dP of N(√2B, 1) against N(0, 1) is N(B, 2B) under Q; the best test has power Φ(√2B − z)."""
        n = 200_000
        log_ratios = stats.norm.ppf((np.arange(n) + 0.5) / n, total, math.sqrt(2 * total))
        found = neyman_pearson(log_ratios, ALPHA).mean()
        exact = stats.norm.cdf(math.sqrt(2 * total) - stats.norm.isf(ALPHA))
        assert found == pytest.approx(exact, abs=1e-4)
        assert found < feint.boost_probability(ALPHA, total)

    def test_a_boosted_event_reaches_the_bound(self):
        """An event lifted from α to 4α: the test is the event, and no test has more power at that divergence."""
        log_ratios = np.log(np.repeat([0.2 / 0.05, 0.8 / 0.95], [200, 800]))
        divergence = log_ratios.mean()
        found = neyman_pearson(log_ratios, ALPHA).mean()
        assert found == pytest.approx(0.2, rel=1e-12)
        assert found == pytest.approx(float(feint.boost_probability(ALPHA, divergence)), rel=1e-9)

    def test_a_size_between_atoms_is_drawn_at_random(self):
        """At half the size, half the event's power; and an agent that never deviates is caught with probability α."""
        log_ratios = np.log(np.repeat([0.2 / 0.05, 0.8 / 0.95], [200, 800]))
        assert neyman_pearson(log_ratios, ALPHA / 2).mean() == pytest.approx(0.1, rel=1e-12)
        assert neyman_pearson(np.zeros(100), ALPHA).mean() == pytest.approx(ALPHA, rel=1e-12)

    def test_runs_that_cannot_be_innocent(self):
        assert (neyman_pearson(np.full(50, 40.0), ALPHA) == 1).all()

    def test_the_bound_is_rejected_at_most_at_the_level_where_it_is_reached(self):
        """The hardest case, power = bound: about 2 of 2,000 at LEVEL, and 5 sds more; a tenth more power is seen."""
        rng = np.random.default_rng(0)
        rejected = 0
        for _ in range(2_000):
            caught = rng.random(400) < 0.2
            log_ratios = np.where(caught, math.log(0.2 / 0.05), math.log(0.8 / 0.95))
            rejected += best_interval(neyman_pearson(log_ratios, ALPHA), 2 * LEVEL)[1] > 0.2
        assert rejected <= 2_000 * LEVEL + 5 * math.sqrt(2_000 * LEVEL)
        caught = rng.random(2_000) < 0.3
        log_ratios = np.where(caught, math.log(0.3 / 0.05), math.log(0.7 / 0.95))
        assert best_interval(neyman_pearson(log_ratios, ALPHA), LEVEL)[1] > 0.2


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
    """Shifted normals; the observer has 60 % of the power that the bound allows, the floor 80 %."""
    rng = np.random.default_rng(0)
    runs, spent = 8_000, np.array([0.1, 1.0])
    bounds = feint.boost_probability(ALPHA, spent)[:, None]
    return xr.Dataset(
        {
            "p_value": (("total", "sample"), np.where(rng.random((2, runs)) < 0.6 * bounds, 0.01, 1)),
            "log_ratio": (("total", "sample"), rng.normal(spent, np.sqrt(2 * spent), (runs, 2)).T),
            "floor": (("total", "sample"), np.where(rng.random((2, runs)) < 0.8 * bounds, 50.0, math.nan)),
            "spent": ("total", spent),
        },
        coords={"total": spent},
        attrs={"alpha": ALPHA},
    )


def named(data, verdict):
    return {claim.name for claim in claims(data, {}) if claim.verdict == verdict}


class TestPlanted:
    def test_all_are_shown_where_all_are_true(self, truth):
        assert named(truth, "shown") == {claim.name for claim in claims(truth, {})}

    def test_few_runs_refute_nothing_that_is_true(self, truth):
        few = truth.isel(sample=slice(60))
        assert named(few, "refuted") == set()
        assert named(few, "undecided")

    def test_power_above_the_bound(self, truth):
        truth["p_value"][1, :5_200] = 0.04  # 65 % and more, and the bound is 56 %
        assert named(truth, "refuted") == {"the observer does not beat the bound"}

    def test_best_power_above_the_bound(self, truth):
        """Shifted normals have 41 % at B = 1, the bound allows 33 % at 0.4."""
        truth["spent"][1] = 0.4
        truth["p_value"][1] = np.where(np.arange(8_000) < 2_000, 0.01, 1)
        names = ("does not beat the bound", "has the power of shifted normals")
        assert named(truth, "refuted") == {f"one who knows all {name}" for name in names}

    def test_power_below(self, truth):
        none = truth.assign(p_value=truth.p_value * 0 + 1)
        assert named(none, "refuted") == {"the observer has half of the floor's power"}
        low = truth.assign(log_ratio=truth.log_ratio * 0.7)
        assert named(low, "refuted") == {"one who knows all has the power of shifted normals"}
