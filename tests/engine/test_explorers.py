"""Test every explorer for what all promise, and each one for what it promises besides."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import feint
import slow_agent
from cases import PAPER
from feint.agent.step import space
from feint.explorers import base
from feint.explorers.base import BOUND_ROWS, P_HIGH, P_LOW, SCRATCH_ROWS, UNDECIDED, View
from feint.explorers.bounded_draws import EXACT, NO_ARM, fill_cuts, fill_exact_bounds
from feint.families.base import belief
from feint.kernels import kernel
from feint.numerics import RandomStream
from feint.registry import config_of, from_config, registered
from feint.theory.maximin_kernel import SCRATCH_ROWS as MAXIMIN_ROWS
from feint.theory.maximin_kernel import optimal_weights

EXPLORERS = {
    "TopTwo": feint.TopTwo(),
    "TopTwoTransport": feint.TopTwoTransport(),
    "Tracking": feint.Tracking(),
    "RoundRobin": feint.RoundRobin([2, 0]),
    "FixedBoosting": feint.FixedBoosting([0.5, 0.0, 0.25, 0.25]),
    "FixedTilting": feint.FixedTilting([0.5, 0.0, -1.0, 0.2]),
    "Earn": feint.Earn(),
}


def make_view(pulls, boosts, public, private):
    unit = feint.Gaussian(1.0).kernel()
    scratch = np.empty((SCRATCH_ROWS, len(pulls)))
    learnt = belief(feint.Gaussian(1.0), (0.0, 0.0), pulls)
    learnt.means[:] = private
    learnt.posterior[:] = private, 1 / np.sqrt(pulls)
    return View(int(pulls.sum()), pulls, boosts, public, private, unit, unit, scratch, learnt)


def view_of(rng, n_arms=4):
    pulls = rng.integers(1, 400, n_arms)
    return make_view(pulls, rng.integers(0, 100, n_arms), rng.normal(0, 0.5, n_arms), rng.normal(0, 0.5, n_arms))


def exact_bounds(view):
    s = space(view.pulls.size)
    s.logs[EXACT] = feint.best_arm_probabilities(view.private_means, 1 / np.sqrt(view.pulls), log=True)
    fill_exact_bounds(s.logs, s.bounds)
    return s.bounds


@kernel
def _choose(settings, view, bounds, uniforms):
    return base.choose(settings, view, bounds, uniforms)


def choose(explorer, view, bounds, uniforms):
    return _choose(explorer.kernel(view.pulls.size), view, bounds, tuple(uniforms[:3]))


def fill_weights(public, private, weights, sigma=1.0):
    unit = feint.Gaussian(sigma).kernel()
    return optimal_weights(unit, unit, public, private, weights, np.empty((MAXIMIN_ROWS, len(weights))))


def test_every_explorer_is_tested_here():
    assert set(EXPLORERS) == {cls.__name__ for cls in registered("explorer").values()}


@pytest.mark.parametrize("name", EXPLORERS)
class TestConformance:
    def test_decides_with_exact_probabilities_and_repeats_itself(self, name):
        rng = np.random.default_rng(1)
        for uniforms in RandomStream(0).uniforms(range(300)):
            view = view_of(rng)
            bounds = exact_bounds(view)
            arms = {choose(EXPLORERS[name], view, bounds, uniforms) for _ in range(3)}
            assert len(arms) == 1
            assert arms <= set(range(4))

    def test_what_bounds_decide_holds_for_every_probability_inside_them(self, name):
        rng = np.random.default_rng(2)
        undecided = 0
        for uniforms in RandomStream(1).uniforms(range(400)):
            view = view_of(rng)
            exact = exact_bounds(view)
            width = 10 ** rng.uniform(-3, -0.5)
            loose = np.empty((BOUND_ROWS, 4))
            loose[P_LOW], loose[P_HIGH] = exact[P_LOW] * (1 - width), exact[P_HIGH] * (1 + width)
            fill_cuts(loose[P_LOW], loose[P_HIGH], loose[base.CUT_LOW], loose[base.CUT_HIGH], NO_ARM)
            top = int(exact[P_LOW].argmax())
            fill_cuts(loose[P_LOW], loose[P_HIGH], loose[base.REST_LOW], loose[base.REST_HIGH], top)
            decided = choose(EXPLORERS[name], view, loose, uniforms)
            undecided += decided == UNDECIDED
            assert decided in (UNDECIDED, choose(EXPLORERS[name], view, exact, uniforms))
        assert undecided < 200  # bounds within a third decide more often than not

    def test_description_makes_it_again(self, name):
        described = json.loads(json.dumps(config_of(EXPLORERS[name], "explorer")))
        assert from_config(described, "explorer") == EXPLORERS[name]

    def test_simulates_from_two_arms_to_many(self, name):
        for n_arms in (2, 3, 12):
            explorer = EXPLORERS[name]
            if name == "RoundRobin":
                explorer = feint.RoundRobin([1, 0])
            elif name == "FixedBoosting":
                explorer = feint.FixedBoosting(np.full(n_arms, 1 / n_arms))
            elif name == "FixedTilting":
                explorer = feint.FixedTilting(np.arange(n_arms))
            private = np.linspace(0, 1, n_arms)
            runs = feint.simulate(feint.Bandit(-private, private), explorer, epsilon=0.2, horizon=400, replications=4)
            assert (runs.pulls.sum("arm") == runs.time).all()
            assert (runs.boosts.sum("arm") == runs.time - n_arms).all()
            assert (runs.log_error < 0).all()


def test_top_two_boosts_with_the_probabilities_of_algorithm_1():
    """Chi-square test at 1e-6 against P(boost a), which is written out from independent posterior probabilities."""
    pulls = np.array([60, 25, 10, 15])
    means = np.array([0.2, 0.5, 0.35, 0.4])
    p = slow_agent.best_arm(means[None], 1 / np.sqrt(pulls)[None])[0]
    expected = np.zeros(4)
    for leader in range(4):
        for challenger in range(4):
            if leader != challenger:
                both = p[leader] * p[challenger] / (1 - p[leader])
                share = pulls[challenger] / (pulls[challenger] + pulls[leader])
                expected[leader] += both * share
                expected[challenger] += both * (1 - share)
    view = make_view(pulls, np.zeros(4, dtype=np.int64), np.zeros(4), means)
    bounds = exact_bounds(view)
    draws = [choose(feint.TopTwo(), view, bounds, u) for u in RandomStream(4).uniforms(range(20_000))]
    counts = np.bincount(draws, minlength=4)
    assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-6


def test_challengers_are_drawn_where_the_leader_is_all_but_certain():
    """log p of the challengers near −2000: their ratios are still right, here 1 by symmetry."""
    view = make_view(np.array([1000, 4000, 1000]), np.zeros(3, dtype=np.int64), np.zeros(3), np.array([0.0, 2.5, 0.0]))
    bounds = exact_bounds(view)
    assert bounds[P_LOW, 0] == 0  # underflows
    draws = [choose(feint.TopTwo(), view, bounds, u) for u in RandomStream(5).uniforms(range(4000))]
    counts = np.bincount(draws, minlength=3)
    assert stats.binomtest(int(counts[0]), int(counts[0] + counts[2]), 0.5).pvalue > 1e-6
    assert stats.binomtest(int(counts[1]), 4000, 1000 / 5000).pvalue > 1e-6


def test_transport_challenger_has_the_smallest_cost():
    rng = np.random.default_rng(3)
    for uniforms in RandomStream(2).uniforms(range(200)):
        view = view_of(rng)
        p = slow_agent.best_arm(view.private_means[None], 1 / np.sqrt(view.pulls)[None])[0]
        leader = int((uniforms[0] >= p.cumsum()).sum())
        ahead = np.maximum(0, view.private_means[leader] - view.private_means)
        cost = ahead**2 / (1 / view.pulls + 1 / view.pulls[leader])
        cost[leader] = math.inf
        challenger = int(cost.argmin())
        share = view.pulls[challenger] / (view.pulls[challenger] + view.pulls[leader])
        expected = leader if uniforms[2] < share else challenger
        assert choose(feint.TopTwoTransport(), view, exact_bounds(view), uniforms) == expected


def test_tracking_follows_the_optimal_proportions():
    public, private = np.array(PAPER.public), np.array(PAPER.private)
    weights = np.empty(4)
    fill_weights(public, private, weights)
    runs = feint.simulate(feint.Bandit(public, private), feint.Tracking(), epsilon=1.0, horizon=100_000, replications=8)
    share = runs.boosts.isel(time=-1).mean("replication") / 100_000
    # The estimates of w* still fluctuate at this horizon; forced exploration takes √T of each arm.
    assert np.abs(share.values - weights).max() < 0.06


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_optimal_proportions_do_not_depend_on_the_unit(unit):
    for private in ([0.2, 0.5, 0.1, 0.0], [0.7, 0.5, 0.1, 0.0]):
        weights, scaled = np.empty(4), np.empty(4)
        public = np.array(PAPER.public)
        case = fill_weights(public, np.array(private), weights)
        assert fill_weights(public * unit, np.array(private) * unit, scaled, unit) == case
        assert scaled == pytest.approx(weights, rel=1e-12)


def test_fixed_boosting_keeps_its_shares():
    weights = np.array([0.0, 0.7, 0.2, 0.1])
    runs = feint.simulate(
        PAPER,
        feint.FixedBoosting(weights),
        epsilon=0.1,
        horizon=1000,
        replications=2,
        checkpoints=range(4, 1001),
    )
    made = runs.time.values - 4
    assert np.abs(runs.boosts.values - made[:, None] * weights).max() <= 4
    assert (runs.boosts.isel(arm=0) == 0).all()


def test_round_robin_takes_turns():
    runs = feint.simulate(
        feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1]),
        feint.RoundRobin([2, 0, 1]),
        epsilon=0.1,
        horizon=12,
        replications=1,
        checkpoints=range(3, 13),
    )
    boosted = runs.boosts.diff("time").argmax("arm").values[0]
    assert boosted.tolist() == [2, 0, 1] * 3


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: feint.RoundRobin([]), "list of arm numbers"),
        (lambda: feint.RoundRobin([-1]), "list of arm numbers"),
        (lambda: feint.RoundRobin([0.5]), "list of arm numbers"),
        (lambda: feint.RoundRobin([[1], [2, 3]]), "list of arm numbers"),
        (lambda: feint.FixedBoosting([[1], [2, 3]]), "real numbers"),
        (lambda: feint.RoundRobin([4]).kernel(4), "boosts arm 4"),
        (lambda: feint.FixedBoosting([0.5, 0.4]), "summing to 1"),
        (lambda: feint.FixedBoosting([1.5, -0.5]), "summing to 1"),
        (lambda: feint.FixedBoosting([0.5, 0.5]).kernel(3), "2 weights for 3 arms"),
        (lambda: base.explorer_settings("TopTwo", 4), "with its parentheses"),
        (lambda: base.explorer_settings(feint.TopTwo, 4), "with its parentheses"),
        (lambda: from_config({"kind": "Nonsense"}, "explorer"), "known are"),
    ],
)
def test_bad_settings_are_explained(call, says):
    with pytest.raises(ValueError, match=says):
        call()
