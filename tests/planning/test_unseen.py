"""Test the total of `plan_unseen`, the best way to spend it, and what it reaches."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import spence
from typer.testing import CliRunner

import feint
from cases import PAPER
from feint.bandit import Bandit
from feint.budgets import Constant, RisingBudget
from feint.cli import app
from feint.planning import plan_unseen

PAIR = Bandit([1.0, 0.0], [0.0, 0.5])
INSTANCES = {
    "paper": PAPER,
    "two normal arms": PAIR,
    "same best arm": Bandit([1.0, 0.5, 0.0], [1.0, 0.3, 0.4]),
    "clicks": Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.3], family=feint.Bernoulli()),
    "counts": Bandit([2.0, 1.0, 0.5], [1.0, 2.0, 1.5], family=feint.Poisson()),
    "clicks and revenue": Bandit([0.5, 0.2, 0.3], [1.0, 2.0, 0.0], family=(feint.Bernoulli(), feint.Gaussian(2.0))),
}


def best_gain(spent: float) -> float:
    """d·gain of the best way to spend a total B on one arm, from d·B = `spent`: the formulas of "When" in `unseen`."""

    def missing(x: float) -> float:
        # ∫₀^x (y/(1 − e^−y) − 1) dy = x²/2 − x + ∫₀^x y/(e^y − 1) dy, the last by spence: Li₂(1 − e^−x).
        area = 0.25 * x * x if x < 1e-4 else 0.5 * x * x - x + float(spence(math.exp(-x)))
        return area - spent

    end = float(brentq(missing, 0.0, 3.0 + 4.0 * math.sqrt(spent), xtol=1e-300, rtol=1e-14))
    return math.log(math.expm1(end) / end) if end < 700.0 else end - math.log(end)


def test_total_and_promise():
    """KL(Ber(½) ‖ Ber(0.05)) = ½·log(10) + ½·log(0.5/0.95), and q* takes it back to ½."""
    found = plan_unseen(PAIR, 0.5, 0.05, 5000)
    assert found.total == pytest.approx(0.5 * math.log(10.0) + 0.5 * math.log(0.5 / 0.95), rel=1e-14)
    assert feint.boost_probability(0.05, found.total) == pytest.approx(0.5, rel=1e-9)
    assert found.budget.sum_to(0, 5000) == pytest.approx(found.total, rel=1e-12)
    assert found.pulls.sum() == pytest.approx(5000, rel=1e-9)
    assert found.gained[1] > 0 > found.gained[0]
    assert found.error < found.own_error + 3 * found.standard_error
    assert found.informed_power < 0.5


def test_rising_gains_more_than_even():
    """By the fluid equations, on all but the largest totals; and no way gains more than the variational optimum."""
    found = plan_unseen(PAIR, 0.5, 0.05, 10**6)
    rising, even = (found.ways[f"w*, {when}"][0] for when in ("rising", "even"))
    assert even < rising


def test_the_variational_optimum_in_another_way():
    """One arm, d = 1, from u = e^n = 1 at t = 0: the best constant extra rate against a grid of power-law schedules."""
    horizon, total = 1e4, 0.8

    def gain_of(power):
        """d·(N − N_ref) of ε_t ∝ t^power, λ·log(λ/π) − λ + π = ε solved at each of many steps."""
        times = np.concatenate([[0.0], np.geomspace(1e-3, horizon, 6000)])
        n = 0.0
        for start, end in pairwise(times):
            middle, pi = 0.5 * (start + end), math.exp(-n)
            epsilon = total * (power + 1) / horizon * (middle / horizon) ** power
            x = brentq(lambda x: (1 + x) * math.log1p(x) - x - epsilon / pi, 0.0, 1e6)  # noqa: B023 - used at once
            n += math.log1p(pi * (1 + x) * (end - start)) if x < 1e-3 else pi * (1 + x) * (end - start)
        return n - math.log1p(horizon)

    best = best_gain(total)
    gains = [gain_of(power) for power in (0.0, 1.0, 2.0)]
    assert max(gains) <= best * 1.01
    assert gains[1] == max(gains)
    assert gains[1] > 0.97 * best


def test_limits_of_the_optimum():
    """The gain is √(d·B) for small totals and √(2d·B) for large ones, to first order."""
    assert best_gain(1e-8) == pytest.approx(1e-4, rel=1e-3)
    assert best_gain(1e8) == pytest.approx(math.sqrt(2e8), rel=2e-3)
    # B·d = ∫₀^X (x/(1 − e^−x) − 1) dx by quadrature, at X = 1.
    area, _ = quad(lambda x: x / -math.expm1(-x) - 1.0, 0.0, 1.0)
    assert best_gain(area) == pytest.approx(math.log(math.e - 1.0), rel=1e-9)


def test_rising_budget():
    budget = RisingBudget(2.0, 10)
    assert sum(budget.at(t) for t in range(1, 12)) == pytest.approx(2.0, rel=1e-14)
    assert budget.sum_to(2, 7) == pytest.approx(sum(budget.at(t) for t in range(3, 8)), rel=1e-14)
    assert (budget.at(11), budget.sum_to(10, 20), budget.sum_to(4, 4)) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="0 or more"):
        RisingBudget(-1.0, 10)
    with pytest.raises(ValueError, match="whole number of pulls"):
        RisingBudget(1.0, 0)


def test_bad_input_is_explained():
    with pytest.raises(ValueError, match="more than alpha"):
        plan_unseen(PAIR, 0.05, 0.05, 1000)
    with pytest.raises(ValueError, match="strictly between"):
        plan_unseen(PAIR, 1.0, 0.05, 1000)
    for horizon in (2, 10.5):
        with pytest.raises(ValueError, match="whole number of pulls"):
            plan_unseen(PAIR, 0.5, 0.05, horizon)


def test_command():
    command = ["plan", "--public", "1,0", "--private", "0,0.5", "--unseen", "0.5", "--horizon", "5000"]
    answer = plan_unseen(PAIR, 0.5, 0.05, 5000)
    fields = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert (fields["total"], fields["error"]) == (answer.total, answer.error)
    assert fields["budget"]["kind"] == type(answer.budget).name
    table = CliRunner().invoke(app, command)
    assert f"{answer.error:.4g}" in table.output
    assert "error without any boost" in table.output


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTANCES)
def test_against_simulation(name):
    """Pulls of every arm, the error and the reference's own within 15 %, and the best informed test within its promise:
    each with 4 standard errors of the simulation on top (6e-5 per comparison).
    """
    bandit, horizon, n, alpha = INSTANCES[name], 3000, 800, 0.05
    found = plan_unseen(bandit, 0.5, alpha, horizon)
    for explorer, epsilon, error, pulls in (
        (found.explorer, found.budget, found.error, found.pulls),
        (feint.TopTwo(), Constant(0.0), found.own_error, None),
    ):
        runs = feint.simulate(
            bandit, explorer, epsilon=epsilon, horizon=horizon, replications=n, checkpoints=[horizon], seed=29,
            observe=pulls is not None,
        )  # fmt: skip
        errors = np.exp(runs.log_error.values[:, 0])
        slack = 4 * math.hypot(errors.std() / math.sqrt(n), found.standard_error)
        assert abs(error - errors.mean()) < 0.15 * errors.mean() + slack
        if pulls is not None:
            made = runs.pulls.values[:, 0]
            assert (
                abs(pulls - made.mean(0)) < 0.15 * made.mean(0) + 4 * made.std(0) * math.sqrt(1 / n + 1 / 2000)
            ).all()
            ratios = np.sort(runs.log_likelihood_ratio.values[:, 0])[::-1]
            power = float(np.searchsorted(np.cumsum(np.exp(-ratios)) / n, alpha)) / n
            assert power < 0.5 + 4 * math.sqrt(0.25 / n)
