"""Γ where private rewards are seldom or never seen agrees with its formula, written out, and beats other shares."""

import math

import mpmath
import numpy as np
import pytest

import feint
from cases import PAPER
from feint.theory import saturated_log_error
from feint.theory.limits import evidence_by_arm

BANDITS = {
    "seldom": feint.Bandit(PAPER.public, PAPER.private, sigma=0.7, feedback=feint.Sometimes(0.2, 0.8)),
    "two noises": feint.Bandit(
        PAPER.public, PAPER.private, family=(feint.Gaussian(0.5), feint.Gaussian(2)), feedback=feint.Sometimes(0.2)
    ),
    "linked": feint.Bandit(PAPER.public, feedback=feint.Linked([0] * 4, [-1] * 4)),
    "unlike": feint.Bandit(
        PAPER.public,
        family=(feint.Gaussian(0.5), feint.Gaussian(2)),
        feedback=feint.Linked([0.5, 0, 0, 0], [-1, 2, -0.5, 1]),
    ),
    "the best of both": feint.Bandit(PAPER.public, feedback=feint.Linked([0] * 4, [1, 3, 0.5, 1])),
}


def exponent(bandit, w):
    """Return Γ(w), the least Δ²/2(v_1/N_1 + v_a/N_a) with N = √(2w/d), N = ∞ for the best public arm."""
    feedback, (sigma_x, sigma_y) = bandit.feedback, (family.sigma for family in bandit.families)
    if isinstance(feedback, feint.Sometimes):
        s, rho = feedback.share, feedback.correlation
        variances = np.full(4, sigma_y**2 * ((1 - rho**2) / s + rho**2))
    else:
        variances = (np.array(feedback.slopes) * sigma_x) ** 2
    d = (max(bandit.public) - np.array(bandit.public)) ** 2 / (2 * sigma_x**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_pull = variances / np.sqrt(2 * np.asarray(w) / d)
    per_pull[np.argmax(bandit.public)] = 0.0
    best = int(np.argmax(bandit.private))
    gaps = max(bandit.private) - np.array(bandit.private)
    return min(gaps[a] ** 2 / (2 * (per_pull[best] + per_pull[a])) for a in range(4) if a != best)


@pytest.mark.parametrize("name", BANDITS)
def test_gamma_is_its_formula_and_nothing_exceeds_the_optimum(name):
    bandit, rng = BANDITS[name], np.random.default_rng(1)
    best = feint.optimal_boosting(bandit)
    assert abs(best.gap) <= 1e-10 * best.gamma
    assert exponent(bandit, best.weights) == pytest.approx(best.gamma, rel=1e-12)
    around = np.concatenate([rng.dirichlet(np.ones(4), 3000), rng.dirichlet(1 + 1e4 * best.weights, 3000)])
    values = np.array([exponent(bandit, w) for w in around])
    assert values.max() <= best.gamma * (1 + 1e-12)
    assert values.max() >= 0.97 * best.gamma  # the optimum is not beyond what allocations near it reach
    for w in around[:20]:
        assert feint.gamma(bandit, w) == pytest.approx(exponent(bandit, w), rel=1e-12)


def test_a_common_kappa_scales_gamma_and_leaves_the_shares():
    plain = feint.Bandit(PAPER.public, PAPER.private)
    for feedback in (feint.Sometimes(0.2, 0.8), feint.Sometimes(0.2), feint.Sometimes(1, 0.3)):
        seen = feint.Bandit(PAPER.public, PAPER.private, feedback=feedback)
        kappa = feedback.share / (1 - (1 - feedback.share) * feedback.correlation**2)
        assert feint.optimal_boosting(seen).gamma == pytest.approx(
            kappa * feint.optimal_boosting(plain).gamma, rel=1e-12
        )
        np.testing.assert_allclose(
            feint.optimal_boosting(seen).weights, feint.optimal_boosting(plain).weights, rtol=1e-9
        )
        assert feint.optimal_allocation(seen).gamma == pytest.approx(
            kappa * feint.optimal_allocation(plain).gamma, rel=1e-12
        )
        pulls = [900, 40, 30, 30]
        np.testing.assert_allclose(
            evidence_by_arm(seen, np.array(pulls)), kappa * evidence_by_arm(plain, np.array(pulls)), rtol=1e-12
        )


def test_the_error_with_a_spread_has_a_limit():
    """The limit is compared with the integral of the best arm's complement, by mpmath."""
    link = feint.Linked([0] * 4, [-1] * 4, 0.3)
    bandit = feint.Bandit(PAPER.public, PAPER.private, feedback=link)
    means = [-mean for mean in PAPER.public]

    def of_best(arm):
        def density(x):
            others = [mpmath.ncdf((x - m) / 0.3) for a, m in enumerate(means) if a != arm]
            return mpmath.npdf(x, means[arm], 0.3) * mpmath.fprod(others)

        return mpmath.quad(density, [-4, -1, 0, 1, 3])

    best = int(np.argmax(PAPER.private))
    assert saturated_log_error(bandit) == pytest.approx(float(mpmath.log(1 - of_best(best))), rel=1e-10)
    assert math.exp(saturated_log_error(bandit)) > 0.5  # its private means are not on the line


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (feint.optimal_boosting, "does not tend to 0"),
        (lambda bandit: feint.gamma(bandit, [0, 0.4, 0.3, 0.3]), "does not tend to 0"),
        (lambda bandit: feint.plan(bandit, 0.1, 0.01), "does not tend to 0"),
        (lambda bandit: feint.error_exponent(bandit, [9, 9, 9, 9]), "does not tend to 0"),
        (saturated_log_error, "give the instance its private means"),
        (feint.optimal_earning, "leave the feedback out"),
    ],
)
def test_what_has_no_answer_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask(feint.Bandit(PAPER.public, feedback=feint.Linked([0] * 4, [-1] * 4, 0.3)))
    with pytest.raises(ValueError, match="tends to 0"):
        saturated_log_error(BANDITS["linked"])
    hardly = feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Sometimes(1e-320))
    with pytest.raises(ValueError, match="the theory needs numbers from 1e-150 to 1e"):
        feint.optimal_boosting(hardly)
    with pytest.raises(ValueError, match="not worth the same"):
        feint.optimal_allocation(BANDITS["unlike"])
