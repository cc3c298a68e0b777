"""Two Beta posteriors that learn reward by reward agree with rational arithmetic and the integral."""

import numpy as np
import pytest

from beta_oracle import exact_best_arm
from feint.numerics import beta_best_arm_probabilities
from feint.numerics.beta_pairs import BetaPairs


def walk(rng, rows, means, share, prior=(1.0, 1.0)):
    """Return α and β before each of these pulls, (rows, 2); the share `share` of the pulls is of arm 1."""
    arms = (rng.random(rows) < share).astype(int)
    wins = rng.random(rows) < np.array(means)[arms]
    steps = np.zeros((2, rows, 2))
    steps[0, np.flatnonzero(wins), arms[wins]] = 1.0
    steps[1, np.flatnonzero(~wins), arms[~wins]] = 1.0
    before = steps.cumsum(axis=1) - steps
    return prior[0] + before[0], prior[1] + before[1]


def test_against_rational_arithmetic():
    rng = np.random.default_rng(1)
    alphas, betas = walk(rng, 60, (0.7, 0.2), 0.4)
    found = BetaPairs().log_probabilities(np.zeros(60, dtype=np.int64), alphas, betas)
    for i in range(60):
        parameters = [(int(alphas[i, a]), int(betas[i, a])) for a in range(2)]
        expected = np.array([float(p) for p in exact_best_arm(parameters)])
        assert np.exp(found[i]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("means", "share", "prior"),
    [((0.3, 0.32), 0.5, (1.0, 1.0)), ((0.5, 0.05), 0.1, (1.0, 1.0)), ((0.999, 0.9), 0.01, (0.5, 2.5))],
)
def test_against_the_integral(means, share, prior):
    """Long walks reach probabilities of e^−900, where only logarithms are kept."""
    alphas, betas = walk(np.random.default_rng(2), 4_000, means, share, prior)
    if means[1] == 0.05:
        alphas, betas = alphas * 8.0, betas * 8.0  # steps of 8 rewards
    agents = np.zeros(4_000, dtype=np.int64)
    found = BetaPairs().log_probabilities(agents, alphas, betas)
    expected = beta_best_arm_probabilities(alphas, betas, log=True)
    assert found == pytest.approx(expected, rel=2e-12, abs=1e-300)


def test_agents_pieces_and_states_do_not_matter():
    """The rows of several agents mixed, cut into pieces and saved in between, give the same bits as one by one."""
    rng = np.random.default_rng(3)
    walks = [walk(rng, 300, (0.4, 0.5), 0.5) for _ in range(20)]
    alone = [BetaPairs().log_probabilities(np.zeros(300, dtype=np.int64), *each) for each in walks]
    agents = rng.permutation(np.repeat(np.arange(20), 300))
    places = [np.flatnonzero(agents == g) for g in range(20)]
    alphas, betas, expected = np.empty((3, agents.size, 2))
    for place, (alpha, beta), log_p in zip(places, walks, alone, strict=True):
        alphas[place], betas[place], expected[place] = alpha, beta, log_p
    found, pairs = [], BetaPairs()
    for start in range(0, agents.size, 701):
        rows = slice(start, start + 701)
        found.append(pairs.log_probabilities(agents[rows], alphas[rows], betas[rows]))
        again = BetaPairs()
        again.recall(pairs.state())
        pairs = again
    assert (np.concatenate(found) == expected).all()


def test_rewards_that_fade_or_are_taken_back_are_integrated():
    alphas = np.array([[3.0, 2.0], [2.5, 2.0], [2.0, 1.0], [200.0, 90.0]])
    betas = np.array([[2.0, 4.0], [1.5, 4.0], [1.0, 1.0], [100.0, 150.0]])
    found = BetaPairs().log_probabilities(np.zeros(4, dtype=np.int64), alphas, betas)
    assert found == pytest.approx(beta_best_arm_probabilities(alphas, betas, log=True), rel=1e-13)
