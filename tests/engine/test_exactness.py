"""The engine against an independent, simple, slow implementation, and the KL constraint step by step."""

import math

import numpy as np
import pytest

import feint
import slow_agent
from cases import PAPER, first_is_quick
from feint.numerics import RandomStream

INSTANCES = {
    2: ([0.5, 0.2], [0.1, 0.4]),
    3: ([0.6, 0.3, 0.1], [0.2, 0.5, 0.3]),
    4: (PAPER.public, PAPER.private),
    8: ([0.6, 0.3, 0.0, 0.2, 0.1, 0.5, 0.4, -0.2], [0.2, 0.6, 0.1, 0.0, 0.3, -0.1, 0.2, 0.1]),
}


def compare(n_arms, epsilon, horizon, replications, explorer="top-two"):
    """Check that mean pulls, boosts and log error agree within 4 standard errors; each fails wrongly with 6e-5."""
    public, private = INSTANCES[n_arms]
    ours = feint.simulate(
        feint.Bandit(public, private),
        feint.TopTwo() if explorer == "top-two" else feint.RoundRobin(range(1, n_arms)),
        epsilon=epsilon,
        horizon=horizon,
        replications=10 * replications,
        checkpoints=[horizon],
        seed=n_arms,
    ).isel(time=0)
    theirs = slow_agent.run(public, private, epsilon, horizon, replications, n_arms, explorer)
    for a, b in zip((ours.pulls.values, ours.boosts.values, ours.log_error.values), theirs, strict=True):
        difference = a.mean(0) - b.mean(0)
        error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
        assert (np.abs(difference) <= 4 * error + 1e-12).all(), (a.mean(0), b.mean(0), error)


@pytest.mark.parametrize("n_arms", first_is_quick([4, 2, 3, 8]))
def test_distribution_agrees_with_the_slow_agent(n_arms):
    compare(n_arms, epsilon=0.1, horizon=60, replications=300)


def test_distribution_agrees_for_a_fixed_explorer():
    compare(3, epsilon=0.5, horizon=60, replications=300, explorer="round-robin")


@pytest.mark.slow
@pytest.mark.parametrize("n_arms", INSTANCES)
@pytest.mark.parametrize("epsilon", [0.02, 1.0])
def test_distribution_agrees_with_the_slow_agent_for_longer(n_arms, epsilon):
    compare(n_arms, epsilon, horizon=250, replications=600)


EXPLORERS = [feint.TopTwo(), feint.TopTwoTransport(), feint.Tracking(), feint.RoundRobin([1, 2])]
BUDGETS = [1e-4, 0.1, 2.0, feint.PowerLaw(1.0, 0.5), feint.TotalBudget(2.0, 100)]


@pytest.mark.parametrize("explorer", EXPLORERS)
@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("reference", [feint.ThompsonSampling(), feint.ObservedUCB()])
def test_every_step_stays_within_the_budget(explorer, epsilon, reference):
    """KL(policy ‖ reference) ≤ ε_t, with the reference's probabilities from the slow agent's quadrature."""
    public, private = INSTANCES[3]
    agent = feint.Agent(3, explorer, reference, epsilon=epsilon, seed=5)
    noise = RandomStream(99).normals(range(150))
    sums, spent = np.zeros(3), 0.0
    for t in range(150):
        if t >= 3:
            sds = 1 / np.sqrt(agent.pulls)
            means = sums / agent.pulls
            if isinstance(reference, feint.ObservedUCB):
                means = means + np.sqrt(2 * math.log(t)) * sds
                sds = math.sqrt(2) * sds
            pi = slow_agent.best_arm(means[None], sds[None])[0]
            policy = agent.probabilities()
            kept = policy > 0
            divergence = float((policy[kept] * np.log(policy[kept] / pi[kept])).sum())
            allowed = epsilon if isinstance(epsilon, float) else epsilon.at(t + 1)
            # The oracle's own rounding is 1e-14 per probability.
            assert divergence <= allowed * (1 + 1e-12) + 1e-13
            assert policy.sum() == pytest.approx(1, abs=1e-13)
            if 0 < policy[agent.boosted_arm] < 1:
                assert divergence >= allowed * (1 - 1e-9) - 1e-12  # nothing is wasted
            spent += divergence
        arm = agent.pull()
        reward = public[arm] + noise[t, 0]
        agent.update(arm, reward, private[arm] + noise[t, 1])
        sums[arm] += reward
    assert spent > 0
