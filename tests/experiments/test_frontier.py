"""The statistics of `frontier`: known answers, levels, and planted violations that must be reported."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import feint
from feint.experiments import frontier
from feint.experiments.claims import LEVEL, not_above
from feint.experiments.frontier_claims import claims, gained
from feint.experiments.frontier_statistics import (
    bootstrap,
    median_not_above,
    median_not_below,
    neyman_pearson,
    normal_within,
    share_not_above,
)
from feint.intervals import median_interval

ALPHA = 0.05


class TestNeymanPearson:
    @pytest.mark.parametrize("total", [0.01, 0.1, 1.0, 3.0])
    def test_shifted_normals(self, total):
        """log dQ/dP of N(√2B, 1) against N(0, 1) is N(B, 2B) under Q; the best test has power Φ(√2B − z)."""
        n = 200_000
        log_ratios = stats.norm.ppf((np.arange(n) + 0.5) / n, total, math.sqrt(2 * total))
        power = neyman_pearson(log_ratios, ALPHA).mean()
        exact = stats.norm.cdf(math.sqrt(2 * total) - stats.norm.isf(ALPHA))
        assert power == pytest.approx(exact, abs=1e-4)
        assert power < feint.boost_probability(ALPHA, total)

    def test_a_boosted_event_reaches_the_bound(self):
        """An event lifted from α to 4α: the test is the event, and no test has more power at that divergence."""
        log_ratios = np.log(np.repeat([0.2 / 0.05, 0.8 / 0.95], [200, 800]))
        divergence = log_ratios.mean()
        power = neyman_pearson(log_ratios, ALPHA).mean()
        assert power == pytest.approx(0.2, rel=1e-12)
        assert power == pytest.approx(float(feint.boost_probability(ALPHA, divergence)), rel=1e-9)

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
            rejected += not not_above(neyman_pearson(log_ratios, ALPHA), 0.2)
        assert rejected <= 2_000 * LEVEL + 5 * math.sqrt(2_000 * LEVEL)
        caught = rng.random(2_000) < 0.3
        log_ratios = np.where(caught, math.log(0.3 / 0.05), math.log(0.7 / 0.95))
        assert not not_above(neyman_pearson(log_ratios, ALPHA), 0.2)


def test_likelihood_ratios_of_the_simulation_weigh_to_one():
    """E_Q[dP/dQ] = 1 and E_Q[log dQ/dP] = B, what importance weighting and the bound rest on; 5 sds."""
    bandit = feint.Bandit(frontier.SETTINGS["public"], frontier.SETTINGS["private"][0])
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


class TestMedians:
    @pytest.mark.parametrize("n", [6, 20, 110, 111])
    def test_interval_covers_and_is_the_shortest(self, n):
        """Ranks k and n + 1 − k cover the median with probability P(k ≤ Bin(n, ½) ≤ n − k)."""
        median, low, high = median_interval(np.arange(n, 0, -1.0))
        assert median == (n + 1) / 2
        assert high == n + 1 - low

        def coverage(k):
            return stats.binom.cdf(n - k, n, 0.5) - stats.binom.cdf(k - 1, n, 0.5)

        assert coverage(low) >= 0.95 > coverage(low + 1)

    def test_never_is_later_than_every_time(self):
        times = np.array([3.0, math.nan, 1.0, 2.0, math.nan, 4.0, 5.0, 6.0])
        assert median_interval(times) == (4.5, 1.0, math.inf)
        assert median_interval(np.array([1.0, math.nan, math.nan]))[0] == math.inf
        assert median_interval(np.ones(3)) == (1.0, -math.inf, math.inf)

    def test_sign_tests_reject_where_the_binomial_does(self):
        n = 100
        fewest = int(stats.binom.isf(LEVEL / 7, n, 0.5)) + 1  # P(Bin ≥ fewest) ≤ LEVEL/7 < P(Bin ≥ fewest − 1)
        for early in (fewest - 1, fewest):
            times = np.repeat([1.0, 3.0], [early, n - early])
            assert median_not_below(times, 2.0, 7) == (early < fewest)
            never = np.repeat([math.nan, 1.0], [early, n - early])
            assert median_not_above(never, 2.0, 7) == (early < fewest)
        assert share_not_above(n, n, 1.0, 1)

    def test_bootstrap_has_the_error_of_a_median(self):
        """√(π/2n) for normals: 0.0627 at n = 400; and the fit of a power law is exact."""
        rng = np.random.default_rng(0)
        value, error = bootstrap(lambda medians: medians, rng.normal(size=(20, 400)))
        assert error.mean() == pytest.approx(math.sqrt(math.pi / 800), rel=0.1)
        assert (np.abs(value) < 5 * error).all()
        assert normal_within(1.3, 0.1, -1.0, 1.0)
        assert not normal_within(1.34, 0.1, -1.0, 1.0)  # z = 3.29 at 0.1 %


def test_schedules_add_up_to_the_same_total():
    for total in (1.0, 1e4):
        spread = frontier.schedules(frontier.SETTINGS, total)
        for budget in spread:
            assert budget.sum_to(4, 100_000) == pytest.approx(total, rel=1e-10)
        shares = [budget.sum_to(4, 10_000) / total for budget in spread]
        assert shares[0] < 0.11 < 0.3 < shares[1] < shares[2] < 1 == pytest.approx(shares[3])


@pytest.fixture
def truth():
    """Made-up data for which every claim is true, with the scatter of real runs."""
    rng = np.random.default_rng(0)
    epsilons, deltas, runs = np.array([0.01, 0.1, 1.0]), np.array([0.05, 0.01]), 200
    unit = math.log(1 / ALPHA) / epsilons[None, :, None]
    detected = 2 * unit * rng.lognormal(0, 0.5, (2, 3, runs))
    identified = 20 * unit[..., None] * rng.lognormal(0, 0.5, (2, 3, 2, runs))
    own = rng.poisson(40, runs)
    totals, rate = np.array([100.0, 1000.0]), 10 / 3
    spent = np.tile(totals, (4, 1))
    pulls = own + rng.poisson(rate * np.sqrt(spent)[..., None], (4, 2, runs))
    power_spent = np.array([0.1, 1.0])
    bounds = feint.boost_probability(ALPHA, power_spent)
    # Of shifted normals; and the observer has 60 % of the power that the bound allows.
    log_ratio = rng.normal(power_spent, np.sqrt(2 * power_spent), (2000, 2)).T
    return xr.Dataset(
        {
            "identified": (("instance", "epsilon", "delta", "replication"), identified),
            "right": (("instance", "epsilon", "delta", "replication"), np.ones(identified.shape, np.int8)),
            "planned": (("instance", "epsilon", "delta"), np.tile(20 * unit[..., None], (2, 1, 1, 2))[:, :, 0]),
            "detected": (("instance", "epsilon", "run"), detected),
            "floor": (("instance", "epsilon", "run"), 1.4 * unit * rng.lognormal(0, 0.5, (2, 3, runs))),
            "identify_horizon": ("epsilon", 1e4 / epsilons),
            "detect_horizon": ("epsilon", 20 / epsilons),
            "pulls": (("schedule", "total", "seed"), pulls),
            "own_pulls": ("seed", own),
            "spent": (("schedule", "total"), spent),
            "fluid": (("schedule", "total"), 40 + rate * np.sqrt(spent)),
            "exponent": ("schedule", [0.0, 0.5, 0.9, 0.0]),
            "until": ("schedule", [1.0, 1.0, 1.0, 0.1]),
            "p_value": (("power_total", "sample"), np.where(rng.random((2, 2000)) < 0.6 * bounds[:, None], 0.01, 1)),
            "log_ratio": (("power_total", "sample"), log_ratio),
            "power_floor": (
                ("power_total", "sample"),
                np.where(rng.random((2, 2000)) < 0.8 * bounds[:, None], 50.0, math.nan),
            ),
            "power_spent": ("power_total", power_spent),
        },
        coords={"epsilon": epsilons, "delta": deltas, "total": totals, "power_total": power_spent},
        attrs={"alpha": ALPHA, "n_arms": 4, "first_order_rate": rate, "own_fluid": 40.0, "pulls_horizon": 10_000},
    )


def failing(data):
    return {claim.name for claim in claims(data, {"compared": ((100.0,), (1000.0,))}) if not claim.holds}


class TestPlantedViolations:
    """A claim table that cannot fail is worth nothing."""

    def test_all_hold_where_all_are_true(self, truth):
        assert failing(truth) == set()

    def test_identified_first(self, truth):
        truth["identified"][1, 0, 1] = truth.detected[1, 0].values * np.where(np.arange(200) < 140, 0.5, 2.0)
        truth["planned"][1, 0, 1] /= 20
        assert failing(truth) == {"detected before it is sure at δ = 0.01, best arms agree"}

    def test_never_detected_is_detected_later(self, truth):
        truth["detected"][0, 1, :140] = math.nan
        assert {"detected before it is sure at δ = 0.05, best arms differ"} < failing(truth)

    def test_other_power_of_epsilon(self, truth):
        truth["detected"] = truth.detected * (truth.epsilon / 0.1) ** 0.3
        names = {f"the time to detection is proportional to 1/ε, best arms {which}" for which in ("differ", "agree")}
        assert names <= failing(truth)

    def test_detected_too_soon_or_late(self, truth):
        assert failing(truth.assign(detected=truth.detected / 10)) == {
            "nobody is detected sooner than the bound allows"
        }
        slow = truth.assign(detected=truth.detected * 2, identified=truth.identified * 2, planned=truth.planned * 2)
        assert failing(slow) == {"the observer needs at most twice the time of one who knows the private posterior"}

    @pytest.mark.parametrize("factor", [0.7, 1.4])
    def test_planner_off(self, truth, factor):
        truth["planned"][:, :, 0] *= factor
        assert failing(truth) == {"the planner's median at δ = 0.05 is within 25 %"}

    def test_wrong_too_often(self, truth):
        truth["right"][0, 2, 1, :10] = 0
        assert failing(truth) == {"an arm identified at δ is wrong with probability δ at most"}

    def test_schedules_that_differ(self, truth):
        truth["pulls"][1, 0] = truth.own_pulls + (truth.pulls[1, 0] - truth.own_pulls) * 0.7
        assert failing(truth) == {
            "schedules gain the same pulls at B = 100",
            "the fluid prediction of pulls is within 5 %",
        }

    def test_off_the_first_order_curve(self, truth):
        truth["pulls"] = (truth.pulls - truth.own_pulls) * 1.3 + truth.own_pulls
        truth["fluid"] = 40 + 1.3 * (truth.fluid - 40)
        names = ("constant ε", "ε ∝ t^−0.5", "ε ∝ t^−0.9", "first 10 % of steps")
        assert failing(truth) == {f"{name} gains (2σ/Δ)√B" for name in names}
        # The curve is that of the KL that was spent, not of the one on offer.
        truth["spent"] = truth.spent * 1.3**2
        assert failing(truth) == set()
        assert gained(truth).mean() == pytest.approx(1.0, abs=0.02)

    def test_power_above_the_bound(self, truth):
        truth["p_value"][1, :1300] = 0.04  # 65 %, and the bound is 56 %
        assert failing(truth) == {"the observer does not beat the bound"}

    def test_best_power_above_the_bound(self, truth):
        """Shifted normals have 41 % at B = 1, the bound allows 33 % at 0.4."""
        truth["power_spent"][1] = 0.4
        truth["p_value"][1] = np.where(np.arange(2000) < 400, 0.01, 1)
        names = ("does not beat the bound", "has the power of shifted normals")
        assert failing(truth) == {f"an observer who knows everything {name}" for name in names}

    def test_power_below(self, truth):
        assert failing(truth.assign(p_value=truth.p_value * 0 + 1)) == {
            "the observer has half of the power of one who knows the private posterior"
        }
        assert failing(truth.assign(log_ratio=truth.log_ratio * 0.7)) == {
            "an observer who knows everything has the power of shifted normals"
        }
