"""The arms' intervals count pulls of probability 0: leaving them out because of the outcome would bias them."""

import numpy as np
import pytest
from scipy import optimize, stats

import feint
from feint.evidence import Calibration

CLAIMED, TRUTH = np.array([0.5, 0.5, 0.0]), np.array([0.4, 0.4, 0.2])
LAMBDAS = np.geomspace(0.9, 1e-4, 16)  # of the mixture in `evidence/calibration.py`


def plain_interval(drawn, claimed, alpha, n_arms):
    """Return D ± u(V) of one arm, with u as SciPy's root of mean_k exp(λ_k·u − ψ(λ_k)·V) = 2K/α."""
    surprise = drawn - claimed
    spent = (-np.log1p(-LAMBDAS) - LAMBDAS) * (surprise**2).sum()
    radius = optimize.brentq(
        lambda u: np.logaddexp.reduce(LAMBDAS * u - spent) - np.log(16 * 2 * n_arms / alpha), 0.0, 1e5, xtol=1e-12
    )
    return surprise.sum() - radius, surprise.sum() + radius


def audit(arms, **options):
    return feint.audit(arms, probabilities=np.tile(CLAIMED, (arms.size, 1)), explain=False, **options)


def test_against_a_plain_computation():
    arms = np.random.default_rng(1).choice(3, 2_000, p=TRUTH)
    report = audit(arms)
    for a, arm in enumerate(report.arms):
        low, high = plain_interval(arms == a, CLAIMED[a], 0.19 * 0.05, 3)
        assert (arm.observed, arm.expected) == ((arms == a).sum(), pytest.approx(2_000 * CLAIMED[a]))
        assert (arm.low, arm.high) == pytest.approx((low, high), rel=1e-9)
        assert arm.low < 2_000 * (TRUTH[a] - CLAIMED[a]) < arm.high
    assert report.arms[2].departs
    assert (report.rejected_at, report.log_e_value) == (np.flatnonzero(arms == 2)[0] + 1, np.inf)


def test_coverage():
    """At α = 0.5 intervals miss with probability 0.1 at most; this test fails wrongly with probability 1e-6 at most."""
    rng = np.random.default_rng(2)
    misses = 0
    for _ in range(200):
        report = audit(rng.choice(3, 300, p=TRUTH), alpha=0.5)
        truth = 300 * (TRUTH - CLAIMED)
        misses += any(not arm.low <= truth[a] <= arm.high for a, arm in enumerate(report.arms))
    assert misses <= stats.binom.isf(1e-6, 200, 0.1)


def test_the_claim_within_a_share_allows_as_much_in_these_rows():
    log_pi = np.log([[0.9, 0.1, 1e-300], [0.7, 0.3, 1e-300]])
    tested, refuted = Calibration(3, within=0.2), Calibration(3, within=0.2)
    tested.extend([2, 2], log_pi)
    refuted.refute(np.array([2, 2]), np.where(log_pi < -600, -np.inf, log_pi))
    assert refuted.excess == pytest.approx(tested.excess)
    assert refuted.allowed == pytest.approx(tested.allowed, abs=1e-200)
    assert np.ravel(refuted.confidence_sequence(0.05)) == pytest.approx(np.ravel(tested.confidence_sequence(0.05)))
    assert refuted.log_e_value == 0.0
