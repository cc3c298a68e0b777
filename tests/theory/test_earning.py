"""The constant of the √T law: its certificate, a general solver, and what tilting reaches in the fluid limit."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import feint
from feint import Bandit, optimal_earning
from feint.theory.instance import public_divergences

PAIRS = [
    feint.Gaussian(1.3),
    feint.Bernoulli(),
    feint.Poisson(),
    feint.Exponential(),
    (feint.Exponential(), feint.Gaussian(0.5)),
]


def random_bandit(rng, family, n_arms):
    low, high = (0.05, 0.95)
    return Bandit(*(rng.uniform(low, high, n_arms) for _ in range(2)), family=family)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("family", PAIRS, ids=str)
def test_a_general_solver_finds_the_same(family, seed):
    rng = np.random.default_rng(seed)
    bandit = random_bandit(rng, family, int(rng.integers(2, 7)))
    best = optimal_earning(bandit)
    advantage = np.array(bandit.private) - bandit.private[bandit.best_public]
    cost = public_divergences(bandit)
    others = np.arange(bandit.n_arms) != bandit.best_public
    scale = 1 / np.sqrt(cost[others])
    found = minimize(
        lambda x: -(advantage[others] * scale) @ x,
        np.full(others.sum(), 0.1),
        jac=lambda x: -advantage[others] * scale,
        bounds=[(0, None)] * others.sum(),
        constraints={"type": "ineq", "fun": lambda x: 1 - 0.5 * x @ x, "jac": lambda x: -x},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert -found.fun == pytest.approx(best.gain, rel=1e-6, abs=1e-9)
    assert best.pulls[others] == pytest.approx(found.x * scale, rel=1e-3, abs=1e-4 * max(1.0, best.pulls.max()))
    assert abs(best.gap) <= 1e-14 * max(best.gain, 1e-300)
    if best.gain:
        assert best.weights.sum() == pytest.approx(1, rel=1e-14)
        assert 0.5 * cost @ best.pulls**2 == pytest.approx(1, rel=1e-12)
        assert advantage @ best.pulls == pytest.approx(best.gain, rel=1e-13)
    assert best.regret == max(bandit.private) - bandit.private[bandit.best_public]


def test_nothing_to_earn_and_ties():
    best = optimal_earning(Bandit([1.0, 0.5, 0.0], [3.0, 1.0, 2.0]))
    assert (best.gain, best.regret, best.gap) == (0, 0, 0)
    assert not best.weights.any()
    with pytest.raises(ValueError, match="tie for the best public"):
        optimal_earning(Bandit([1.0, 1.0], [0.0, 1.0]))
    with pytest.raises(ValueError, match="float64's range"):
        optimal_earning(Bandit([1e-200, 0.0], [0.0, 1.0]))


def fluid(bandit, values, epsilon, times):
    """Return pulls (n, K) by dN/dt = tilt(π(N), values) at the true public means, which leaves out chance."""
    family, public = bandit.families[0], np.array(bandit.public)

    def log_pi(pulls):
        logs = family.log_probabilities(*family.posterior(family.prior(None), pulls, pulls * public))
        return logs - np.log(np.exp(logs).sum())

    def slope(log_t, pulls):
        return math.exp(log_t) * feint.tilt(None, values, epsilon, log_pi=log_pi(np.maximum(pulls, 1.0)))

    points = np.log(times)
    start = math.log(bandit.n_arms), points[-1]
    solved = solve_ivp(slope, start, np.ones(bandit.n_arms), "LSODA", points, rtol=1e-4, atol=1e-2)
    return solved.y.T, np.exp(log_pi(solved.y[:, -1]))


CASES = {
    "Gaussian": Bandit([1.0, 0.2, 0.0, 0.4], [0.2, 0.6, 0.8, 0.0]),
    "Bernoulli": Bandit([0.7, 0.3, 0.5, 0.4], [0.2, 0.6, 0.4, 0.0], family=(feint.Bernoulli(), feint.Gaussian(1.0))),
    "Poisson": Bandit([3.0, 1.0, 2.0], [0.2, 0.9, 0.4], family=(feint.Poisson(), feint.Gaussian(1.0))),
    "Exponential": Bandit([3.0, 1.0, 0.5], [0.2, 0.9, 0.1], family=(feint.Exponential(), feint.Gaussian(1.0))),
}
TIMES, GROWTH = np.array([1e6, 1e8]), math.sqrt(0.1) * (1e4 - 1e3)


@pytest.mark.parametrize("name", CASES)
def test_tilting_towards_what_is_better_reaches_it(name):
    """It is reached as a slope in √(εT) over two decades; what is left is of order log T/√(εT)."""
    bandit = CASES[name]
    private = np.array(bandit.private)
    base = private[bandit.best_public]
    pulls, _ = fluid(bandit, np.maximum(private, base), 0.1, TIMES)
    best = optimal_earning(bandit)
    assert np.diff(pulls @ (private - base)) / GROWTH == pytest.approx(best.gain, rel=5e-3)
    earns = best.pulls > 0
    assert np.diff(pulls, axis=0)[0, earns] / GROWTH == pytest.approx(best.pulls[earns], rel=1e-2)


@pytest.mark.parametrize("name", ["Gaussian", "Bernoulli"])
def test_pressing_down_what_is_worse_is_a_tax_for_good(name):
    """Tilting by the private means stops pulling a worse arm; holding it down then costs −log(1 − π) per step."""
    bandit = CASES[name]
    private = np.array(bandit.private)
    pulls, pi = fluid(bandit, private, 0.1, TIMES)
    worse = private < private[bandit.best_public]
    left = 1 + math.log1p(-pi[worse].sum()) / 0.1
    assert left < 0.97
    found = float(np.diff(pulls @ (private - private[bandit.best_public]))[0]) / GROWTH
    assert found == pytest.approx(optimal_earning(bandit).gain * math.sqrt(left), rel=5e-3)
