"""A deceiver who earns: an independent agent makes the same runs; its budget, gain and observer are checked."""

import math

import mpmath as mp
import numpy as np
import pytest

import feint
from cases import PAPER
from feint.agent.public_log import RewardStream


class PlainEarn:
    """`Earn` for normal rewards with σ = 1 in NumPy, with NumPy's own Philox."""

    def values(self, view, uniforms):
        key = [int(u * 2**53) for u in uniforms[:2]]
        values = []
        for arm in range(view.pulls.size):
            # NumPy counts up before it generates.
            counter = [arm - 1, 0, 0, 0] if arm else [2**64 - 1] * 4
            first, second = ((int(w) >> 11) + 0.5 for w in np.random.Philox(counter=counter, key=key).random_raw(2))
            normal = math.sqrt(-2 * math.log(first / 2**53)) * math.cos(2 * math.pi * second / 2**53)
            values.append(view.private_means[arm] + normal / math.sqrt(view.pulls[arm]))
        return np.array(values)


class Returns:
    def __init__(self, value):
        self.value = value

    def values(self, view, uniforms):
        return self.value


def trajectories(*args, **kwargs):
    return feint.simulate(*args, **{"epsilon": 0.1, "horizon": 400, "replications": 2, "seed": 3, **kwargs})


def same(first, second):
    return all((first[name] == second[name]).all() for name in ("pulls", "boosts", "recommendation"))


def test_an_independent_copy_in_plain_python_gives_the_same_runs():
    ours, own = trajectories(PAPER, feint.Earn(), observe=True), trajectories(PAPER, PlainEarn(), observe=True)
    assert same(ours, own)
    assert ours.private_gain.values == pytest.approx(own.private_gain.values, abs=0)
    assert ours.kl_spent.values == pytest.approx(own.kl_spent.values, rel=1e-9)


def test_method_makes_no_difference():
    assert same(trajectories(PAPER, feint.Earn()), trajectories(PAPER, feint.Earn(), method="eager"))


def test_the_event_driven_method_is_refused():
    with pytest.raises(ValueError, match=r'method="event" does not go with the explorer Earn'):
        trajectories(PAPER, feint.Earn(), method="event")


@pytest.mark.parametrize("epsilon", [0.02, 1.0])
def test_every_step_is_the_best_within_the_budget_and_the_observer_counts_it(epsilon):
    """An agent gets the simulator's rewards: each policy is a tilt that spends ε, and the sums are the observer's."""
    horizon = 120
    runs = trajectories(PAPER, feint.Earn(), epsilon=epsilon, horizon=horizon, observe=True, replications=1)
    agent, source = feint.Agent(4, feint.Earn(), epsilon=epsilon, seed=3), RewardStream(PAPER, 3, 0)
    spent = mp.mpf(0)
    ratio = 0.0
    for t in range(horizon):
        arm = agent.pull()
        if t >= 4:
            q, pi = agent.probabilities(), agent.reference_probabilities()
            divergence = sum(mp.mpf(x) * mp.log(mp.mpf(x) / mp.mpf(y)) for x, y in zip(q, pi, strict=True) if x > 0)
            assert divergence <= epsilon * (1 + 1e-11)  # π sums to 1 up to 1e-12
            if (q > 0).all():
                assert divergence >= epsilon * (1 - 1e-11)
            assert agent.boosted_arm == (q / pi).argmax()
            spent += divergence
            ratio += math.log(q[arm] / pi[arm])
        agent.update(arm, *source.rewards(t, arm))
    final = runs.isel(time=-1, replication=0)
    assert (agent.pulls == final.pulls.values).all()
    assert float(final.kl_spent) == pytest.approx(float(spent), rel=1e-9)
    assert float(final.log_likelihood_ratio) == pytest.approx(ratio, rel=1e-9)
    assert math.isnan(final.log_floor_ratio)


def test_who_knows_the_values_knows_the_policy():
    runs = trajectories(PAPER, feint.FixedTilting(PAPER.private), observe=True)
    assert runs.log_floor_ratio.values == pytest.approx(runs.log_likelihood_ratio.values, rel=1e-9, abs=1e-12)
    assert (runs.kl_spent <= 0.1 * (runs.time - 4) * (1 + 1e-11)).all()


def test_tilting_by_an_indicator_is_boosting():
    tilted = trajectories(PAPER, feint.FixedTilting([0, 0, 1, 0]), horizon=2000)
    assert same(tilted, trajectories(PAPER, feint.RoundRobin([2]), horizon=2000))


def test_gain_is_over_the_same_run_without_a_budget():
    runs = trajectories(PAPER, feint.Earn(), horizon=1000)
    honest = trajectories(PAPER, feint.RoundRobin([0]), epsilon=0.0, horizon=1000)
    expected = ((runs.pulls - honest.pulls) * runs.private_mean).sum("arm")
    assert runs.private_gain.values == pytest.approx(expected.values, abs=1e-9)
    assert "private_gain" not in honest
    nothing = trajectories(PAPER, feint.Earn(), epsilon=0.0, horizon=1000)
    assert float(abs(nothing.private_gain).max()) < 1000  # another order of the same draws, no more
    stopped = trajectories(PAPER, feint.Earn(), epsilon=1.0, horizon=1000, delta=0.2, replications=8)
    after = stopped.time > stopped.stopping_time
    assert after.any()
    assert (np.isnan(stopped.private_gain) == after).all()


FAMILIES = [
    feint.Bandit([0.6, 0.3, 0.4], [0.2, 0.7, 0.1], family=feint.Bernoulli()),
    feint.Bandit([3.0, 1.5, 2.0], [1.0, 2.5, 0.5], family=feint.Poisson()),
    feint.Bandit([3.0, 1.0, 1.5], [1.0, 3.0, 0.5], family=(feint.Gaussian(1.0), feint.Exponential())),
]


@pytest.mark.slow
@pytest.mark.parametrize("bandit", FAMILIES, ids=["Bernoulli", "Poisson", "Gaussian, Exponential"])
def test_every_family_earns(bandit):
    """The gain is at least two standard errors above 0, and at most 1.5 times what the constant allows."""
    runs = feint.simulate(bandit, feint.Earn(), epsilon=0.2, horizon=4000, replications=60, seed=1, checkpoints=[4000])
    gain = np.median(runs.private_gain.values)
    limit = feint.optimal_earning(bandit).gain * math.sqrt(0.2 * 4000)
    assert 0.6 * limit < gain < 1.5 * limit


class TestPlain:
    def test_a_family_of_ones_own_says_how_to_draw(self):
        class Coin:
            mean_range, rewards = (0.0, 1.0), "0 or 1"

            def accepts(self, rewards):
                return (rewards == 0) | (rewards == 1)

            def draw(self, mean, uniform):
                return float(uniform < mean)

            def log_best(self, pulls, sums):
                return feint.beta_best_arm_probabilities(1 + sums, 1 + pulls - sums, log=True)

        class Drawn(Coin):
            def draw_mean(self, pulls, total, uniform):
                from scipy import stats

                return stats.beta.ppf(uniform, 1 + total, 1 + pulls - total)

        means = [0.7, 0.3], [0.2, 0.6]
        with pytest.raises(ValueError, match=r"give Coin a method draw_mean"):
            trajectories(feint.Bandit(*means, family=Coin()), feint.Earn(), horizon=20)
        runs = trajectories(feint.Bandit(*means, family=Drawn()), feint.Earn(), horizon=40)
        assert (runs.pulls.sum("arm") == runs.time).all()

    @pytest.mark.parametrize("value", [[1.0, 2.0], None, [1, 2, 3, math.nan], [1, 2, 3, math.inf], "abcd"])
    def test_values_that_are_none_are_named_with_class_and_step(self, value):
        with pytest.raises(ValueError, match=r"Returns.values returned .* at step 5; it must be 4 finite numbers"):
            trajectories(PAPER, Returns(value))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: feint.FixedTilting([1, math.inf]), "one finite number"),
        (lambda: trajectories(PAPER, feint.FixedTilting([1, 2])), "2 values for 4 arms"),
    ],
)
def test_bad_settings_are_explained(call, says):
    with pytest.raises(ValueError, match=says):
        call()
