"""The constant of the √T law: its certificate, a general solver, and the fluid limit of tilting."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import feint
from feint import Bandit, optimal_earning
from feint.theory.maximin import public_divergences

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


def fluid_gain(bandit, epsilon, times):
    """dN/dt = tilt(π(N), private means) at the true public means: what tilting by known means does, without chance."""
    from scipy.integrate import solve_ivp

    family, public, private = bandit.families[0], np.array(bandit.public), np.array(bandit.private)

    def slope(log_t, pulls):
        pulls = np.maximum(pulls, 1.0)
        log_pi = family.log_probabilities(*family.posterior(family.prior(None), pulls, pulls * public))
        return math.exp(log_t) * feint.tilt(None, private, epsilon, log_pi=log_pi - np.log(np.exp(log_pi).sum()))

    points = np.log(times)
    solved = solve_ivp(
        slope, (math.log(bandit.n_arms), points[-1]), np.ones(bandit.n_arms), "LSODA", points, rtol=1e-6, atol=1e-6
    )
    return solved.y.T @ (private - private[bandit.best_public]), solved.y.T


@pytest.mark.parametrize(
    "bandit",
    [
        Bandit([1.0, 0.2, 0.0, 0.4], [0.2, 0.6, 0.8, 0.0]),
        Bandit([0.7, 0.3, 0.5], [0.2, 0.6, 0.4], family=(feint.Bernoulli(), feint.Gaussian(1.0))),
        Bandit([3.0, 1.0, 2.0], [0.2, 0.9, 0.4], family=(feint.Poisson(), feint.Gaussian(1.0))),
        Bandit([3.0, 1.0, 0.5], [0.2, 0.9, 0.4], family=(feint.Exponential(), feint.Gaussian(1.0))),
    ],
    ids=["Gaussian", "Bernoulli", "Poisson", "Exponential"],
)
def test_tilting_by_known_means_reaches_it(bandit):
    """As a slope in √(εT) over two decades, 1e8 to 1e10; what is left is of order log T/√(εT)."""
    gains, pulls = fluid_gain(bandit, 0.1, np.array([1e8, 1e10]))
    best = optimal_earning(bandit)
    growth = math.sqrt(0.1) * (1e5 - 1e4)
    assert (gains[1] - gains[0]) / growth == pytest.approx(best.gain, rel=2e-3)
    earns = best.pulls > 0
    assert (pulls[1] - pulls[0])[earns] / growth == pytest.approx(best.pulls[earns], rel=5e-3)
