"""A policy that draws what it says, two that do not, and a test of each for pytest."""

import numpy as np
import pytest

import feint

BANDIT = feint.Bandit([0.7, 0.5, 0.3], [0.0, 1.0, 2.0], family=(feint.Bernoulli(), feint.Gaussian()))


class Shop:
    """A policy that draws its arms by a softmax of their mean rewards, and says so."""

    def __init__(self):
        self.rng = np.random.default_rng(7)
        self.pulls, self.wins = np.ones(3), np.ones(3)

    def probabilities(self):
        scores = self.wins / self.pulls / 0.08
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    def pull(self):
        return self.rng.choice(3, p=self.probabilities())

    def update(self, arm, reward):
        self.pulls[arm] += 1
        self.wins[arm] += reward


class Rounded(Shop):
    """The same policy, which says its probabilities with two digits only."""

    def probabilities(self):
        return np.round(super().probabilities(), 2)

    def pull(self):
        return self.rng.choice(3, p=super().probabilities())


class Reseeded(Shop):
    """The same policy, which repeats its random numbers every 100 steps."""

    def pull(self):
        if self.pulls.sum() % 100 == 3:
            self.rng = np.random.default_rng(7)
        return super().pull()


def test_the_shop_draws_what_it_logs():
    report = feint.check_policy(Shop, BANDIT, steps=20_000, precision=0.05)
    assert not report.rejected, report


@pytest.mark.parametrize("bug", [Rounded, Reseeded])
def test_the_check_finds_bugs(bug):
    assert feint.check_policy(bug, BANDIT, steps=20_000).rejected
