"""Γ and w* for goals other than the best arm agree with closed forms, each other and another optimiser."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import feint
from cases import PAPER
from feint.theory.instance import public_divergences

FIVE = feint.Bandit([0.9, 0.5, 0.1, 0.4, 0.2], [0.3, 0.8, 0.5, 0.1, 0.45])
FOUR = feint.Bandit([0.9, 0.2, 0.5, 0.0], [0.3, 0.9, 0.6, 0.1])
PAIRS = [
    (feint.Gaussian(), feint.Gaussian(2.0)),
    (feint.Bernoulli(), feint.Bernoulli()),
    (feint.Poisson(), feint.Exponential()),
    (feint.Exponential(), feint.Poisson()),
    (feint.Gaussian(), feint.Bernoulli()),
]
MEANS = [0.85, 0.4, 0.1, 0.65, 0.3], [0.35, 0.8, 0.55, 0.15, 0.6]


@pytest.mark.parametrize(
    ("bandit", "goal", "gamma", "weights"),
    [  # computed in a prototype that iterates the rule of Algorithm 1 with fluid pulls
        (PAPER, feint.TopArms(2), 0.016431, [0, 0.0011, 0.9719, 0.0270]),
        (FIVE, feint.TopArms(2), 0.0011794, [0, 0, 0.5222, 0, 0.4778]),
        (PAPER, feint.AboveThreshold(0.25), 0.035918, [0, 0.0297, 0.9174, 0.0528]),
    ],
)
def test_values(bandit, goal, gamma, weights):
    best = feint.optimal_boosting(bandit, goal=goal)
    assert best.gamma == pytest.approx(gamma, rel=5e-5)
    assert best.weights == pytest.approx(weights, abs=1.1e-4)
    assert best.gamma == pytest.approx(feint.gamma(bandit, best.weights, goal=goal), rel=1e-12)


@pytest.mark.parametrize("families", PAIRS)
@pytest.mark.parametrize("goal", [feint.TopArms(1), feint.TopArms(2), feint.TopArms(4), feint.AboveThreshold(0.5)])
def test_certificates(families, goal):
    best = feint.optimal_boosting(feint.Bandit(*MEANS, family=families), goal=goal)
    assert -1e-14 <= best.gap / best.gamma <= 1e-10
    assert best.weights.sum() == pytest.approx(1)
    assert best.weights[0] == 0  # the best public arm


@pytest.mark.parametrize("families", PAIRS)
def test_the_top_arm_is_the_best_arm(families):
    bandit = feint.Bandit(*MEANS, family=families)
    best, top = feint.optimal_boosting(bandit), feint.optimal_boosting(bandit, goal=feint.TopArms(1))
    assert top.gamma == pytest.approx(best.gamma, rel=1e-10)
    assert top.weights == pytest.approx(best.weights, abs=1e-5)
    shares = [0.1, 0.3, 0.2, 0.25, 0.15]
    assert feint.gamma(bandit, shares, goal=feint.TopArms(1)) == pytest.approx(feint.gamma(bandit, shares), rel=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_mirrored_means_swap_the_top_and_the_rest(m):
    public, private = MEANS
    for family, mirrored in ((feint.Gaussian(), [-x for x in private]), (feint.Bernoulli(), [1 - x for x in private])):
        one = feint.optimal_boosting(feint.Bandit(public, private, family=family), goal=feint.TopArms(m))
        other = feint.optimal_boosting(feint.Bandit(public, mirrored, family=family), goal=feint.TopArms(5 - m))
        assert one.gamma == pytest.approx(other.gamma, rel=1e-10)


@pytest.mark.parametrize("families", PAIRS)
def test_thresholds_have_a_closed_form(families):
    """w_a ∝ d_a/D(θ_a, c)² and 1/Γ*² = Σ d_a/(2·D²), over all arms but i*."""
    bandit, c = feint.Bandit(*MEANS, family=families), 0.5
    cost = public_divergences(bandit)[1:]
    own = families[1].divergence(np.array(bandit.private)[1:], c)
    best = feint.optimal_boosting(bandit, goal=feint.AboveThreshold(c))
    assert best.gamma == pytest.approx((cost / (2 * own**2)).sum() ** -0.5, rel=1e-11)
    assert best.weights[1:] == pytest.approx(cost / own**2 / (cost / own**2).sum(), rel=1e-9)


def test_no_other_optimiser_finds_more():
    """The other optimiser is SLSQP from ten places, on evidence that is written out for normal rewards."""
    bandit, random = FOUR, np.random.default_rng(0)
    cost, means = public_divergences(bandit), np.array(bandit.private)
    top, rest = [1, 2], [0, 3]

    def evidence(logits):
        shares = np.append(0.0, np.exp(logits - logits.max()))
        pulls = np.sqrt(2 * shares / shares.sum() / np.where(cost > 0, cost, 1.0))
        found = []
        for i in top:
            for j in rest:
                inverse = 1 / pulls[i] + (0.0 if j == 0 else 1 / pulls[j])
                found.append((means[i] - means[j]) ** 2 / (2 * inverse))
        return np.array(found)

    best = feint.optimal_boosting(bandit, goal=feint.TopArms(2))
    found = 0.0
    for _ in range(10):
        start = np.append(random.normal(size=3), 0.0)
        limits = {"type": "ineq", "fun": lambda x: 100 * (evidence(x[:3]) - x[3])}
        answer = minimize(lambda x: -100 * x[3], start, constraints=limits, method="SLSQP", options={"maxiter": 400})
        found = max(found, float(evidence(answer.x[:3]).min()))
    assert best.gamma * 0.98 < found <= best.gamma * (1 + 1e-9)


def test_the_rule_of_algorithm_1_reaches_the_optimum():
    """Boost the weakest pair, i with the share N_i·D_i/E, at the true means; N_a = √(2·B_a/d_a) follows its boosts."""
    bandit = FOUR
    goal, cost, means = feint.TopArms(2), public_divergences(bandit), np.array(bandit.private)
    boosts = np.array([0.0, 1.0, 1.0, 1.0])
    divergence = feint.Gaussian().divergence
    for _ in range(30_000):
        pulls = np.append(1e12, np.sqrt(2 * boosts[1:] / cost[1:]))
        rows = goal.doubts(pulls, means, divergence)
        weakest = rows[rows.sum(1).argmin()]
        boosts[1:] += weakest[1:] / weakest[1:].sum()
    assert boosts / boosts.sum() == pytest.approx(feint.optimal_boosting(bandit, goal=goal).weights, abs=2e-3)


CLICKS = feint.Bandit([0.5, 0.2], [0.1, 0.3], family=feint.Bernoulli())


@pytest.mark.parametrize(
    "ask",
    [
        lambda bandit, goal: feint.gamma(bandit, np.full(bandit.n_arms, 1 / bandit.n_arms), goal=goal),
        lambda bandit, goal: feint.optimal_boosting(bandit, goal=goal),
        lambda bandit, goal: feint.plan(bandit, 0.1, 0.1, goal=goal),
        lambda bandit, goal: feint.simulate(bandit, goal=goal, epsilon=0.1, horizon=10, delta=0.1),
        lambda bandit, goal: feint.Agent(bandit.n_arms, goal=goal, epsilon=0.1, family=bandit.families),
    ],
    ids=["gamma", "optimal_boosting", "plan", "simulate", "Agent"],
)
@pytest.mark.parametrize(
    ("bandit", "goal", "words"),
    [
        (PAPER, feint.TopArms(4), "top 4 of 4 arms"),
        (PAPER, feint.TopArms(9), "top 9 of 4 arms"),
        (PAPER, feint.TopArms, "with its parentheses"),
        (PAPER, "top-arms:2", "goal is 'top-arms:2'; give one of feint.goals"),
        (PAPER, None, "goal is None; give one of feint.goals"),
        (CLICKS, feint.AboveThreshold(1.5), r"threshold 1\.5 is not a possible mean of Bernoulli"),
        (CLICKS, feint.AboveThreshold(0), "threshold 0 is not a possible mean of Bernoulli"),
    ],
    ids=["all arms", "more arms", "a class", "a name", "none", "beyond the means", "at their edge"],
)
def test_every_door_refuses_a_goal_that_does_not_fit(ask, bandit, goal, words):
    with pytest.raises(ValueError, match=words):
        ask(bandit, goal)


def test_evidence_beyond_float64_is_refused():
    with pytest.raises(ValueError, match="leave float64's range"):
        feint.optimal_boosting(PAPER, goal=feint.AboveThreshold(1e300))


def test_what_is_refused():
    with pytest.raises(ValueError, match="tie for place 2"):
        feint.gamma(feint.Bandit([1, 0, 0.5], [0.5, 1.0, 0.5]), [0, 0.5, 0.5], goal=feint.TopArms(2))
    with pytest.raises(ValueError, match=r"equals the threshold 0\.5"):
        feint.optimal_boosting(PAPER, goal=feint.AboveThreshold(0.5))
    with pytest.raises(ValueError, match="whole number of arms"):
        feint.TopArms(0)
    with pytest.raises(ValueError, match="without any limit"):
        feint.plan(PAPER, math.inf, 0.1, goal=feint.TopArms(2))
