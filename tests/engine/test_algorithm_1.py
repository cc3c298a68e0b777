"""docs/algorithm_1.py, which shares no step with the engine, pulls the engine's arms with the engine's draws."""

import inspect
import math

import numpy as np
import pytest

import algorithm_1 as module
import feint
from algorithm_1 import algorithm_1
from cases import PAPER, first_is_quick
from feint.numerics import RandomStream

SEED = 5
ASYMMETRIC = feint.Bandit([0.6, 0.5, 0.0, 0.3], [0.2, 0.5, 0.0, 0.0])
NOISY = feint.Bandit([0.8, 0.3, 0.6], [0.1, 0.35, 0.2], sigma=0.7)


def plain(bandit, epsilon, delta, horizon, replication):
    stream = RandomStream(SEED, replication)
    return algorithm_1(bandit, epsilon, delta, stream.uniforms(range(horizon)), stream.normals(range(horizon)))


def simulated(bandit, epsilon, horizon, replications, method, **options):
    times = range(bandit.n_arms, horizon + 1)
    settings = {"horizon": horizon, "replications": replications, "checkpoints": times, "seed": SEED}
    return feint.simulate(bandit, epsilon=epsilon, method=method, **settings, **options)


@pytest.mark.parametrize("method", first_is_quick(["eager", "lazy"]))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, math.inf])
@pytest.mark.parametrize("bandit", [PAPER, ASYMMETRIC, NOISY], ids=["paper", "asymmetric", "noisy"])
def test_trajectories_are_the_simulators_step_by_step(bandit, epsilon, method):
    horizon, replications = 400, 3
    runs = simulated(bandit, epsilon, horizon, replications, method)
    for replication in range(replications):
        arms, best = plain(bandit, epsilon, 0.0, horizon, replication)
        counts = np.eye(bandit.n_arms, dtype=int)[arms].cumsum(0)[bandit.n_arms - 1 :]
        np.testing.assert_array_equal(runs.pulls.values[replication], counts)
        assert best == runs.recommendation.values[replication, -1]


def test_it_stops_where_the_simulator_stops():
    """Test lines 11 and 12 on the runs that stop within the horizon."""
    delta, horizon, replications = 0.05, 1_500, 8
    runs = simulated(PAPER, 1.0, horizon, replications, "eager", delta=delta)
    stopped = runs.stopping_time.values
    assert np.isfinite(stopped).sum() >= 3
    for replication in range(replications):
        arms, best = plain(PAPER, 1.0, delta, horizon, replication)
        assert len(arms) == (stopped[replication] if np.isfinite(stopped[replication]) else horizon)
        assert best == runs.recommendation.values[replication, -1]


def test_trajectories_are_the_live_agents():
    horizon, replication = 300, 1
    stream = RandomStream(SEED, replication)
    arms, _ = plain(PAPER, 0.1, 0.0, horizon, replication)
    agent = feint.Agent(4, epsilon=0.1, seed=SEED, replication=replication)
    for t, (arm, noise) in enumerate(zip(arms, stream.normals(range(horizon)), strict=True)):
        assert agent.pull() == arm, t
        agent.update(arm, PAPER.public[arm] + noise[0], PAPER.private[arm] + noise[1])


def test_it_is_short_enough_to_hold_beside_the_page():
    code = [line for line in inspect.getsource(module).splitlines() if line.strip()]
    assert len(code) <= 40
