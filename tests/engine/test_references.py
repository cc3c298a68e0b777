"""The observer's belief behind ObservedUCB, tested by simulating that very observer."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import feint
from feint.references import Clipped
from feint.registry import config_of, from_config


def test_moments_of_the_belief_about_the_agents_means():
    """In worlds from a flat prior, given the observer's mean, the agent's has that mean and variance 2σ²/N.

    The prior is uniform on ±50 and worlds are kept where the observer's mean lies well inside, so it is flat there.
    """
    rng = np.random.default_rng(0)
    sigma, pulls, worlds = 1.3, 7, 400_000
    truth = rng.uniform(-50, 50, worlds)
    agent = truth + sigma * rng.standard_normal((pulls, worlds)).mean(0)
    observer = truth + sigma * rng.standard_normal((pulls, worlds)).mean(0)
    kept = np.abs(observer) < 45
    difference = (agent - observer)[kept]
    variance = 2 * sigma**2 / pulls
    n = difference.size
    assert abs(difference.mean()) < 4.9 * math.sqrt(variance / n)  # 1e-6
    assert abs(difference.var() / variance - 1) < 4.9 * math.sqrt(2 / n)
    assert stats.kstest(difference / math.sqrt(variance), "norm").pvalue > 1e-6
    assert abs(np.corrcoef(difference, observer[kept])[0, 1]) < 4.9 / math.sqrt(n)
    bonus, spread, _ = feint.ObservedUCB(exploration=3.0).kernel(feint.Gaussian(sigma), 2)
    assert spread**2 * sigma**2 / pulls == pytest.approx(variance)
    assert bonus == pytest.approx(math.sqrt(3.0))


def test_expected_choices_are_those_of_ucb_in_the_observers_worlds():
    """P(UCB pulls a | what the observer saw), by drawing agents from the observer's worlds; chi-square at 1e-6."""
    agent = feint.Agent(3, feint.RoundRobin([0, 1]), feint.ObservedUCB(), epsilon=0.0, sigma=0.7)
    rewards = np.random.default_rng(1).normal([0.3, 0.0, 0.1], 0.7, (40, 3))
    for row in rewards:
        arm = agent.pull()
        agent.update(arm, row[arm], 0.0)
    t, pulls = agent.time, agent.pulls
    observed = np.array(agent.state()["public_sums"]) / pulls
    rng = np.random.default_rng(2)
    n = 200_000
    truth = observed + 0.7 / np.sqrt(pulls) * rng.standard_normal((n, 3))
    agents_mean = truth + 0.7 / np.sqrt(pulls) * rng.standard_normal((n, 3))
    choice = (agents_mean + 0.7 * np.sqrt(2 * math.log(t) / pulls)).argmax(1)
    counts = np.bincount(choice, minlength=3)
    expected = agent.reference_probabilities()
    assert stats.chisquare(counts, n * expected / expected.sum()).pvalue > 1e-6
    assert agent.probabilities() == pytest.approx(expected, rel=1e-12)  # ε = 0: no deviation


def test_thompson_sampling_expects_the_posterior_probabilities():
    agent = feint.Agent(3, epsilon=0.1, sigma=2.0)
    for t, reward in enumerate([0.5, -0.2, 1.0, 0.3, 0.1]):
        agent.update(t if t < 3 else agent.pull(), reward, 0.0)
    sums = np.array(agent.state()["public_sums"])
    expected = feint.best_arm_probabilities(sums / agent.pulls, 2.0 / np.sqrt(agent.pulls))
    assert agent.reference_probabilities() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "reference",
    [
        feint.ThompsonSampling(),
        feint.ThompsonSampling((1.0, 2.0)),
        feint.ObservedUCB(0.5),
        feint.Softmax(0.3),
        feint.EpsilonGreedy(0.1),
        feint.Split([0.25, 0.75]),
        Clipped(feint.ThompsonSampling((1.0, 2.0)), 0.05),
    ],
)
def test_description_makes_it_again(reference):
    described = json.loads(json.dumps(config_of(reference, "reference")))
    assert from_config(described, "reference") == reference


def test_a_part_that_holds_a_users_own_is_handed_in_again_whole():
    class Mine:
        pass

    clipped = Clipped(Mine(), 0.05)
    described = json.loads(json.dumps(config_of(clipped, "reference")))
    assert from_config(described, "reference", clipped) is clipped
    with pytest.raises(ValueError, match=r"reference=Clipped\(…\)"):
        from_config(described, "reference")


@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan, "two", True, 1e300, 10**400])
def test_bad_settings_are_explained(value):
    with pytest.raises(ValueError, match="finite number"):
        feint.ObservedUCB(value)
    with pytest.raises(ValueError, match="with its parentheses"):
        feint.Observer(2, "UCB")
    with pytest.raises(ValueError, match="known"):
        from_config({"kind": "UCB"}, "reference")


class TestClosedForms:
    """Compare references that have closed forms with NumPy, through the live agent without a budget."""

    def expected_of(self, reference):
        agent = feint.Agent(3, reference=reference, epsilon=0.0)
        rng = np.random.default_rng(3)
        for _ in range(25):
            agent.update(agent.pull(), rng.normal(), 0.0)
        means = np.array(agent.state()["public_sums"]) / agent.pulls
        return agent.reference_probabilities(), means

    def test_softmax(self):
        pi, means = self.expected_of(feint.Softmax(0.3))
        weights = np.exp(means / 0.3)
        assert pi == pytest.approx(weights / weights.sum(), rel=1e-12)

    def test_epsilon_greedy(self):
        pi, means = self.expected_of(feint.EpsilonGreedy(0.3))
        assert pi == pytest.approx(0.1 + 0.7 * (means == means.max()), rel=1e-12)

    def test_split(self):
        pi, _ = self.expected_of(feint.Split([0.2, 0.5, 0.3]))
        assert pi == pytest.approx([0.2, 0.5, 0.3], rel=1e-12)

    def test_pulls_are_drawn_with_them(self):
        """Chi-square at 1e-6: an honest agent behind a split pulls in its shares after the initial round."""
        runs = feint.simulate(
            feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1]),
            reference=feint.Split([0.2, 0.5, 0.3]),
            epsilon=0.0,
            horizon=4003,
            replications=1,
            method="eager",
        )
        counts = runs.pulls.values[0, -1] - 1
        assert stats.chisquare(counts, 4000 * np.array([0.2, 0.5, 0.3])).pvalue > 1e-6

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: feint.Softmax(0.0),
            lambda: feint.Softmax(math.inf),
            lambda: feint.EpsilonGreedy(0.0),
            lambda: feint.EpsilonGreedy(1.5),
            lambda: feint.Split([0.5, 0.6]),
            lambda: feint.Split([1.0, 0.0]),
            lambda: feint.Agent(3, reference=feint.Split([0.5, 0.5]), epsilon=0.1),
        ],
    )
    def test_wrong_settings_are_refused(self, wrong):
        with pytest.raises(ValueError, match=r"\w"):
            wrong()
