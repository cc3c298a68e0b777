"""The theory for every family: optima by a second method, rates and exponents by simulation."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import feint
from cases import FAMILIES, instance
from feint.theory import optimal_allocation, optimal_boosting, predicted_pulls
from feint.theory.maximin import _gap, _Terms


def evidence(family, first, second, n_first, n_second):
    """Return min_x N_1·D(μ_1, x) + N_a·D(μ_a, x) by minimising over x."""
    low, high = second, first
    found = optimize.minimize_scalar(
        lambda x: n_first * float(family.divergence(first, x)) + n_second * float(family.divergence(second, x)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return found.fun


def slow_gamma(bandit, weights):
    """Return Γ(w) from its definition in docs/theory.md, with one minimisation per arm."""
    public, private = bandit.families
    best, star = bandit.best_private, bandit.best_public
    cost = [float(public.divergence(mean, max(bandit.public))) for mean in bandit.public]
    pulls = [math.inf if a == star else math.sqrt(2 * weights[a] / cost[a]) for a in range(bandit.n_arms)]
    values = []
    for a in range(bandit.n_arms):
        if a == best:
            continue
        if best == star:
            values.append(pulls[a] * float(private.divergence(bandit.private[a], bandit.private[best])))
        elif a == star:
            values.append(pulls[best] * float(private.divergence(bandit.private[best], bandit.private[a])))
        else:
            values.append(evidence(private, bandit.private[best], bandit.private[a], pulls[best], pulls[a]))
    return min(values)


def random_bandits(name, n):
    rng = np.random.default_rng(sum(map(ord, name)))
    for _ in range(n):
        k = int(rng.integers(2, 6))
        yield feint.Bandit(rng.uniform(0.05, 0.95, k), rng.uniform(0.05, 0.95, k), family=FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
class TestMaximin:
    def test_gamma_is_its_definition(self, name):
        rng = np.random.default_rng(0)
        for bandit in random_bandits(name, 8):
            weights = rng.dirichlet(np.ones(bandit.n_arms))
            assert feint.gamma(bandit, weights) == pytest.approx(slow_gamma(bandit, weights), rel=1e-9)

    def test_optimum_has_a_certificate_and_nothing_near_is_better(self, name):
        """gap ≤ 1e-10·Γ* proves the optimum; 40 moves of the weights, checked by the slow Γ, find nothing better."""
        rng = np.random.default_rng(1)
        for i, bandit in enumerate(random_bandits(name, 30)):
            best = optimal_boosting(bandit)
            assert abs(best.gap) <= 1e-10 * best.gamma
            assert best.weights[bandit.best_public] == 0.0
            assert best.weights.sum() == pytest.approx(1.0, rel=1e-12)
            if i < 2:
                assert slow_gamma(bandit, best.weights) == pytest.approx(best.gamma, rel=1e-9)
                for _ in range(40):
                    moved = best.weights * np.exp(10 ** rng.uniform(-4, -0.5) * rng.normal(size=bandit.n_arms))
                    assert slow_gamma(bandit, moved / moved.sum()) <= best.gamma * (1 + 1e-9)

    def test_classical_allocation_has_a_certificate(self, name):
        for bandit in random_bandits(name, 20):
            best = optimal_allocation(bandit)
            assert abs(best.gap) <= 1e-10 * best.gamma
            first, private = bandit.best_private, bandit.families[1]
            values = [
                evidence(private, bandit.private[first], bandit.private[a], best.weights[first], best.weights[a])
                for a in range(bandit.n_arms)
                if a != first
            ]
            assert min(values) == pytest.approx(best.gamma, rel=1e-8)


def test_the_certificate_can_fail():
    terms = _Terms(np.array([1, 2]), np.array([1.0, 1.5]), np.array([0.5, 1.0]), np.array([0.5, 0.2]))
    assert _gap(1.0, np.array([1.0, 1.0]), terms, 0.5) > 0.01


def test_gaussian_closed_forms():
    """Two equal rivals, from Appendix B by hand: with c = d_a/d_1 the common ratio solves 2·c²·r³ = 1 (gaps in σ)."""
    bandit = feint.Bandit([1.0, 0.5, 0.2, 0.2], [0.0, 1.0, 0.3, 0.3])
    c = (0.8 / 0.5) ** 2
    r = (2 * c) ** (-1 / 3)
    w_1 = 1 / (1 + 2 * r * r * c)
    found = optimal_boosting(bandit)
    assert found.weights == pytest.approx([0, w_1, (1 - w_1) / 2, (1 - w_1) / 2], rel=1e-12)
    n_1 = 2 * math.sqrt(w_1) / 0.5
    assert found.gamma == pytest.approx(n_1 * r / (1 + r) * 0.49 / 2, rel=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson", "exponential"])
def test_second_order_meets_the_fluid_solution(name):
    """They agree within 0.5 % at 10⁵ and 0.05 % at 10⁶, which is what the next order leaves."""
    weights = np.array([0, 1, 1, 1]) / 3
    for t, tolerance in ((1e5, 5e-3), (1e6, 5e-4)):
        fluid = predicted_pulls(instance(name), weights, 0.1, [t])[0, 1:]
        second = predicted_pulls(instance(name), weights, 0.1, [t], order="second")[0, 1:]
        assert second == pytest.approx(fluid, rel=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_simulated_pulls_are_the_fluid_ones(name):
    """At T = 10⁵, boosts shared evenly: the median of 300 runs, whose 1 − 1e-6 interval by order statistics must lie
    within 5 % of the fluid prediction."""
    bandit, weights, n = instance(name), [0, 1 / 3, 1 / 3, 1 / 3], 300
    runs = feint.simulate(
        bandit,
        feint.FixedBoosting(weights),
        epsilon=0.1,
        horizon=100_000,
        replications=n,
        seed=1,
        checkpoints=[100_000],
    )
    predicted = predicted_pulls(bandit, weights, 0.1, [100_000.0])[0]
    low = int(stats.binom.ppf(5e-7, n, 0.5))
    for a in (1, 2, 3):
        pulls = np.sort(runs.pulls.values[:, 0, a])
        assert pulls[low] <= predicted[a] * 1.05
        assert pulls[n - 1 - low] >= predicted[a] * 0.95
        assert abs(np.median(pulls) / predicted[a] - 1) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_the_error_exponent_is_a_slope(name):
    """log error against Γ(w)·√(εt) at the pulls of the fluid law falls with slope −1: from 10⁵ to 3·10⁶ steps the slope
    of the mean over 60 runs lies within 15 % of it (the sum of pulls converges slowly; five standard errors are
    less)."""
    bandit = instance(name)
    best = optimal_boosting(bandit)
    times = [100_000, 300_000, 1_000_000, 3_000_000]
    runs = feint.simulate(
        bandit,
        feint.FixedBoosting(best.weights),
        epsilon=0.1,
        horizon=times[-1],
        replications=60,
        seed=2,
        checkpoints=times,
    )
    pulls = predicted_pulls(bandit, best.weights, 0.1, [float(t) for t in times])
    exponent = []
    for row in pulls:
        first = bandit.best_private
        others = [a for a in range(4) if a != first]
        private = bandit.families[1]
        exponent.append(
            min(evidence(private, bandit.private[first], bandit.private[a], row[first], row[a]) for a in others)
        )
    slope = np.polyfit(exponent, runs.log_error.mean("replication").values, 1)[0]
    error = float(runs.log_error.isel(time=-1).std("replication")) / math.sqrt(60) / (exponent[-1] - exponent[0])
    assert 5 * error < 0.15
    assert slope == pytest.approx(-1.0, abs=0.15)
