"""Lazy and eager trajectories are the same, bit for bit, for any split of replications and any number of threads."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feint
from cases import PAPER, first_is_quick
from feint.agent.step import space
from feint.explorers.base import CUT_HIGH, CUT_LOW, P_HIGH, P_LOW, REST_HIGH, REST_LOW
from feint.explorers.bounded_draws import EXACT, LOG_HIGH, LOG_LOW, fill_all_cuts, fill_exact_bounds
from feint.families.base import MOST, belief, fill_log_best, fill_region, set_posterior
from feint.numerics.best_arm_rows import complete_logs
from feint.simulation.engine import region as regions_of

MEANS = st.floats(-1, 1).map(lambda x: round(x, 3))
EXPLORERS = ["top-two", "transport", "tracking", "round-robin", "fixed"]
BUDGETS = st.one_of(
    st.floats(-6, 1).map(lambda x: 10**x),
    st.sampled_from([0.0, math.inf, feint.PowerLaw(1.0, 0.5), feint.PowerLaw(0.3, 1.0), feint.TotalBudget(1.0, 300)]),
    st.sampled_from([feint.TotalBudget(30.0, 350), feint.PowerLaw(0.2 * 200.0**6, 6.0)]),
)


def make_explorer(name, n_arms):
    return {
        "top-two": feint.TopTwo(),
        "transport": feint.TopTwoTransport(),
        "tracking": feint.Tracking(),
        "round-robin": feint.RoundRobin(range(1, n_arms)),
        "fixed": feint.FixedBoosting(np.full(n_arms, 1 / n_arms)),
    }[name]


def same(first, second):
    return all(first[name].equals(second[name]) for name in first.data_vars)


@pytest.mark.parametrize("name", first_is_quick(EXPLORERS))
@settings(max_examples=60)
@given(st.data(), st.integers(2, 6), BUDGETS, st.integers(0, 2**63), st.booleans(), st.booleans())
def test_lazy_equals_eager(name, data, n_arms, epsilon, seed, observed, stop):
    public = data.draw(st.lists(MEANS, min_size=n_arms, max_size=n_arms))
    private = data.draw(st.lists(MEANS, min_size=n_arms, max_size=n_arms, unique=True))
    settings_ = {
        "explorer": make_explorer(name, n_arms),
        "reference": feint.ObservedUCB() if observed else feint.ThompsonSampling(),
        "epsilon": epsilon,
        "horizon": 700,
        "replications": 3,
        "seed": seed,
        "checkpoints": range(n_arms, 701),
        "delta": 0.02 if stop else None,
    }
    bandit = feint.Bandit(public, private, sigma=data.draw(st.sampled_from([0.1, 1.0, 3.0])))
    runs = [feint.simulate(bandit, method=method, **settings_) for method in ("lazy", "eager")]
    assert same(*runs)


FAMILIES = {
    "bernoulli": feint.Bernoulli(),
    "poisson": feint.Poisson(),
    "exponential": feint.Exponential(),
    "clicks and revenue": (feint.Bernoulli(), feint.Gaussian(2.0)),
    "two noises": (feint.Gaussian(0.5), feint.Gaussian(2.0)),
}


@pytest.mark.parametrize("name", first_is_quick(list(FAMILIES)))
@pytest.mark.parametrize("prior", [None, (2.0, 3.0)], ids=["usual prior", "a prior"])
def test_lazy_equals_eager_for_every_family(name, prior):
    """Instances include means near the ends of the range and near ties."""
    reference = feint.ThompsonSampling(prior)
    for public, private in (([0.6, 0.3, 0.1], [0.2, 0.5, 0.1]), ([0.98, 0.97, 0.9], [0.01, 0.02, 0.015])):
        bandit = feint.Bandit(public, private, family=FAMILIES[name])
        runs = [
            feint.simulate(
                bandit, reference=reference, epsilon=0.2, horizon=2500, replications=8, delta=1e-9, method=method
            )
            for method in ("lazy", "eager")
        ]
        assert same(*runs)


@pytest.mark.parametrize(("epsilon", "horizon"), [(0.1, 30_000), (1e-3, 30_000), (math.inf, 5_000), (1.0, 10_000)])
def test_lazy_equals_eager_over_long_runs(epsilon, horizon):
    bandit = PAPER
    runs = [
        feint.simulate(bandit, epsilon=epsilon, horizon=horizon, replications=6, method=method)
        for method in ("lazy", "eager")
    ]
    assert same(*runs)


CLOSE = {
    "gaps of 0.02": np.array([0.5, 0.48, 0.46, 0.44]),
    "four equal": np.full(4, 0.5),
    "ten, gaps of 0.05": 0.6 - 0.05 * np.arange(10),
    "sixteen equal, the most that have tangents": np.full(16, 0.5),
    "seventeen equal": np.full(17, 0.5),
}


@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.parametrize("delta", [None, 1e-30], ids=["", "until sure"])
def test_lazy_equals_eager_where_public_means_lie_close(name, delta):
    """All arms are pulled often, and the private posterior becomes as sure as e^−50."""
    private = np.random.default_rng(1).permutation(np.linspace(-0.2, 0.5, CLOSE[name].size))
    runs = [
        feint.simulate(
            feint.Bandit(CLOSE[name], private),
            epsilon=0.1,
            horizon=12_000 // CLOSE[name].size,
            replications=3,
            checkpoints=range(CLOSE[name].size, 12_000 // CLOSE[name].size),
            delta=delta,
            method=method,
        )
        for method in ("lazy", "eager")
    ]
    assert same(*runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSE)
def test_lazy_equals_eager_over_long_runs_where_public_means_lie_close(name):
    private = np.random.default_rng(2).permutation(np.linspace(-0.2, 0.5, CLOSE[name].size))
    bandit = feint.Bandit(CLOSE[name], private)
    for epsilon in (0.01, 0.5):
        runs = [
            feint.simulate(bandit, epsilon=epsilon, horizon=600_000 // CLOSE[name].size, replications=4, method=method)
            for method in ("lazy", "eager")
        ]
        assert same(*runs)


@pytest.mark.parametrize(
    ("public", "private", "explorer", "epsilon"),
    [
        ([0.6, 0.3], [0.5, 0.2], feint.FixedBoosting([1.0, 0.0]), feint.TotalBudget(20.0, 400)),
        ([0.6, 0.3], [0.5, 0.2], feint.TopTwo(), feint.TotalBudget(50.0, 500)),
        ([0.35, 0.2], [0.5, 0.2], feint.FixedBoosting([1.0, 0.0]), feint.PowerLaw(0.2 * 200.0**6, 6.0)),
    ],
)
def test_lazy_equals_eager_where_a_falling_budget_boosts_the_most_pulled_arm(public, private, explorer, epsilon):
    """The share left to the other arms then grows while the budget falls."""
    bandit = feint.Bandit(public, private)
    runs = [
        feint.simulate(
            bandit, explorer, epsilon=epsilon, horizon=800, replications=200, checkpoints=range(2, 801), method=method
        )
        for method in ("lazy", "eager")
    ]
    assert same(*runs)


def test_lazy_equals_eager_where_challengers_are_e1500_times_less_likely():
    """Bounds are then wider than a float64 resolves; sums behind a cut must not cancel."""
    bandit = feint.Bandit([0.0, 0.0, 0.0], [0.0, 1.0, -1.0], sigma=0.1)
    runs = [
        feint.simulate(bandit, epsilon=1.0, horizon=700, replications=20, checkpoints=range(3, 701), method=method)
        for method in ("lazy", "eager")
    ]
    assert same(*runs)


@pytest.mark.slow
@pytest.mark.parametrize("n_arms", [2, 4, 10, 30])
@pytest.mark.parametrize("name", ["top-two", "transport", "fixed"])
def test_lazy_equals_eager_over_very_long_runs(n_arms, name):
    rng = np.random.default_rng(n_arms)
    bandit = feint.Bandit(rng.normal(0, 0.4, n_arms), rng.normal(0, 0.4, n_arms))
    for epsilon in (0.03, 0.3):
        runs = [
            feint.simulate(
                bandit,
                make_explorer(name, n_arms),
                epsilon=epsilon,
                horizon=1_000_000 // n_arms,
                replications=4,
                method=method,
            )
            for method in ("lazy", "eager")
        ]
        assert same(*runs)


@pytest.mark.parametrize("method", ["lazy", "eager"])
def test_threads_and_splits_change_nothing(method, monkeypatch):
    bandit = PAPER
    arguments = {"epsilon": 0.1, "horizon": 1_500, "seed": 3, "delta": 0.01, "method": method}
    runs = {}
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("FEINT_THREADS", threads)
        runs[threads] = feint.simulate(bandit, replications=20, **arguments)
    assert same(runs["1"], runs["2"])
    assert same(runs["1"], runs["7"])
    few = feint.simulate(bandit, replications=5, **arguments)
    assert same(few, runs["1"].isel(replication=slice(0, 5)))


@st.composite
def regions(draw):
    """Draw a posterior, one arm of which moves inside a region as the engine builds it (or one four times wider)."""
    family = draw(st.sampled_from([feint.Gaussian(1.0), feint.Bernoulli(), feint.Poisson(), feint.Exponential()]))
    n_arms = draw(st.integers(2, 5))
    prior = draw(st.sampled_from([None, (0.7, 1.5)]))
    pulls = np.array([int(10 ** draw(st.floats(0, 5))) for _ in range(n_arms)])
    low, high = (-2.0, 2.0) if isinstance(family, feint.Gaussian) else (0.002, 0.998)
    means = np.array(draw(st.lists(st.floats(low, high), min_size=n_arms, max_size=n_arms)))
    return family, prior, means, pulls, draw(st.floats(0.0, 2.0))


def exact(known):
    """Return (bounds, π, log π) of a belief, with both bounds equal."""
    s = space(known.pulls.size)
    fill_log_best(known.family, known.posterior, known.ws, s.logs[EXACT])
    s.log_pi[:] = s.logs[EXACT]
    fill_exact_bounds(s.logs, s.bounds)
    complete_logs(s.log_pi, s.pi)
    return s


@pytest.mark.slow
@settings(max_examples=400)
@given(regions(), st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=3, max_size=3))
def test_bounds_hold_everywhere_in_the_region(region, places):
    family, prior, means, pulls, radius = region
    known = belief(family, family.prior(prior), pulls)
    known.means[:], known.sums[:] = means, means * pulls
    for a in range(pulls.size):
        set_posterior(known.family, known, a)
    dominant = int(np.argmax(pulls))
    r = regions_of.region(pulls.size)
    max_pulls = regions_of.choose_max_pulls(int(pulls[dominant]), radius)
    fill_region(known.family, known, dominant, radius, max_pulls, r.private_box, r.extremes)
    regions_of.bound_private_in_region(known, dominant, r)
    fill_all_cuts(r.private, r.logs, r.logs[LOG_LOW], r.logs[LOG_HIGH])
    regions_of.bound_reference_in_region(known, dominant, r)
    low, high, most = r.private_box
    least, greatest = family.mean_range
    assert low <= means[dominant] <= high
    assert most >= pulls[dominant]
    before = int(pulls[dominant])
    for where, when in [*places, (-1, 0), (1, 0), (-1, 1), (1, 1)]:
        mean = np.clip(low + (high - low) * (where + 1) / 2, max(least, -1e300), min(greatest, 1e300))
        pulls[dominant] = before + int(when * (r.private_box[MOST] - before))
        known.sums[dominant] = mean * pulls[dominant]
        set_posterior(known.family, known, dominant)
        s = exact(known)
        pairs = ((P_LOW, P_HIGH), (CUT_LOW, CUT_HIGH))
        if s.bounds[REST_LOW].argmin() == r.private[REST_LOW].argmin():
            pairs += ((REST_LOW, REST_HIGH),)
        for bottom, top in pairs:
            assert (r.private[bottom] <= s.bounds[bottom]).all()
            assert (s.bounds[bottom] <= r.private[top]).all()
        for bottom, top, found in (
            (regions_of.PI_LOW, regions_of.PI_HIGH, s.pi),
            (regions_of.LOG_PI_LOW, regions_of.LOG_PI_HIGH, s.log_pi),
        ):
            assert (r.reference[bottom] <= found).all()
            assert (found <= r.reference[top]).all()
