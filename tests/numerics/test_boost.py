"""q*, q-hat and the boosted distribution agree with mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import feint
from feint.numerics import boost_kernel
from oracles import bernoulli_kl

DIGITS = 80  # KL at ε = 1e-15 and p = 1 − 1e-15 is a difference of numbers 1e30 times larger

NEAR_ONE = [1 - 1e-3, 1 - 1e-6, 1 - 1e-10, 1 - 1e-13, 1 - 1e-15, 1 - 2.0**-52, 1 - 2.0**-53]
PROBABILITIES = [1e-308, 1e-290, 1e-200, 1e-30, 1e-16, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, *NEAR_ONE]
EPSILONS = [1e-15, 1e-13, 1e-10, 1e-6, 1e-3, 0.01, 0.1, 0.6, math.log(2), 1, 5, 50, 300, 690, 700]
LOG_PROBABILITIES = [-1e-12, -0.1, -1, -5, -50, -500, -667.7, -667.8, -700, -745, -1e3, -1e5, -1e10, -1e100, -1e250]


def check(q, log_p, epsilon):
    """Check that q is never above the root of KL = ε, at most 1e-13·q below it, and 1 exactly when −log p ≤ ε."""
    with mp.workdps(DIGITS):
        if -log_p <= epsilon:
            assert q == 1
        else:
            assert q < 1
            assert bernoulli_kl(mp.mpf(q), log_p) <= epsilon
            above = mp.mpf(q) * (1 + mp.mpf("1e-13"))
            assert above >= 1 or bernoulli_kl(above, log_p) >= epsilon


def around(boundary):
    """Return budgets at the very edge of where q becomes 1."""
    edge = [boundary, math.nextafter(boundary, 0), math.nextafter(boundary, math.inf)]
    return [e for e in (*edge, boundary * (1 - 1e-8), boundary * (1 + 1e-8)) if 1e-15 <= e <= 750]


@pytest.mark.parametrize("p", PROBABILITIES)
def test_boost_probability_is_exact(p):
    for epsilon in EPSILONS + around(-math.log(p)):
        with mp.workdps(DIGITS):
            check(feint.boost_probability(p, epsilon), mp.log(mp.mpf(p)), mp.mpf(epsilon))


@pytest.mark.parametrize("log_p", LOG_PROBABILITIES)
def test_boost_probability_is_exact_through_logarithms(log_p):
    for epsilon in EPSILONS + around(-log_p):
        with mp.workdps(DIGITS):
            check(feint.boost_probability(None, epsilon, log_p=log_p), mp.mpf(log_p), mp.mpf(epsilon))


@given(st.floats(-300, 0), st.floats(-15, 2.8))
def test_boost_probability_is_exact_everywhere(log10_p, log10_epsilon):
    p, epsilon = 10**log10_p, 10**log10_epsilon
    with mp.workdps(DIGITS):
        check(feint.boost_probability(p, epsilon), mp.log(mp.mpf(p)), mp.mpf(epsilon))


def test_limits():
    p = np.array([0.0, 1e-308, 1e-9, 0.2, 1.0])
    assert (feint.boost_probability(p, 0.0) == p).all()
    assert (feint.boost_probability(p, math.inf) == 1).all()
    assert feint.boost_probability(0.0, 5.0) == 0
    assert feint.boost_probability(None, 1e-300, log_p=-1e300) == 0  # as ε = 0, below 1e-280
    assert feint.boost_probability(1.0, 1e-15) == 1
    assert feint.boost_probability(None, 5.0, log_p=-math.inf) == 0
    assert feint.boost_probability([[0.1], [0.2]], [0.1, 0.2, 0.3]).shape == (2, 3)


def test_a_handful_of_newton_steps(monkeypatch):
    """Seven steps give the same as the forty that the loops allow; the kernels run as Python with seven."""
    log_p = [float(x) for x in -np.logspace(-9, 5, 60)]
    full = [[feint.boost_probability(None, e, log_p=x) for x in log_p] for e in EPSILONS]
    monkeypatch.setattr(boost_kernel, "_STEPS", 7)
    for name in ("_boost_excess", "_complement", "_tiny"):
        monkeypatch.setattr(boost_kernel, name, getattr(boost_kernel, name).py_func)
    again = [[boost_kernel.boost_scalar.py_func(math.exp(x), x, e, True) for x in log_p] for e in EPSILONS]
    assert np.array(again) == pytest.approx(np.array(full), rel=1e-14)


@given(st.floats(-307, 0), st.floats(-14, 2.5))
def test_approximation_never_exceeds_the_exact_boost(log10_p, log10_epsilon):
    p, epsilon = 10**log10_p, 10**log10_epsilon
    q_hat = feint.boost_probability_approx(p, epsilon)
    assert p <= q_hat <= feint.boost_probability(p, epsilon) * (1 + 2e-13)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0])
def test_approximation_becomes_exact_as_p_falls(epsilon):
    """Lemma 1: q-hat/q* and log(ε/p)/(ε/q*) tend to 1, the second from above like log L/L."""
    log_p = -np.logspace(1, 9, 9)
    q = feint.boost_probability(None, epsilon, log_p=log_p)
    lemma = (np.log(epsilon) - log_p) * q / epsilon
    assert (np.diff(np.abs(lemma - 1)[2:]) < 0).all()
    assert abs(lemma[-1] - 1) < 1e-7
    p = np.logspace(-300, -20, 8)
    ratio = feint.boost_probability_approx(p, epsilon) / feint.boost_probability(p, epsilon)
    assert (np.diff(ratio) < 0).all()
    assert 0.99 < ratio[0] <= 1


def test_approximation_known_shares():
    """At ε = 0.1 and p from 0.1 to 1e-6, q-hat reaches about 70 to 90 % of q* and spends 40 to 90 %."""
    p = np.logspace(-6, -1, 20)
    q_hat = np.asarray(feint.boost_probability_approx(p, 0.1))
    share = q_hat / feint.boost_probability(p, 0.1)
    assert 0.65 < share.min() < 0.75
    assert 0.88 < share.max() < 0.92
    spent = [float(bernoulli_kl(mp.mpf(q), mp.log(x))) / 0.1 for q, x in zip(q_hat, p, strict=True)]
    assert 0.35 < min(spent) < 0.5
    assert 0.85 < max(spent) < 0.95
    assert feint.boost_probability_approx(1e-308, 700.0) == pytest.approx(700 / 706.45, rel=1e-2)
    assert feint.boost_probability_approx(0.99, 10.0) == 1
    assert (feint.boost_probability_approx([0.0, 0.5], 0.0) == [0.0, 0.5]).all()
    assert (feint.boost_probability_approx([0.0, 0.5], math.inf) == 1).all()


def exact_kl(q, p):
    with mp.workdps(50):
        q = [mp.mpf(x) for x in q]
        p = [mp.mpf(x) for x in p]
        q_sum, p_sum = mp.fsum(q), mp.fsum(p)
        return mp.fsum(a / q_sum * mp.log((a / q_sum) / (b / p_sum)) for a, b in zip(q, p, strict=True) if a > 0)


@given(st.lists(st.floats(1e-9, 1), min_size=2, max_size=8), st.data(), st.floats(-14, 1.5))
def test_boosted_distribution_stays_in_the_ball(weights, data, log10_epsilon):
    pi = np.array(weights) / np.sum(weights)
    arm = data.draw(st.integers(0, len(pi) - 1))
    epsilon = 10**log10_epsilon
    boosted = feint.boost(pi, arm, epsilon)
    others = np.arange(len(pi)) != arm
    assert boosted.sum() == pytest.approx(1, abs=1e-14)
    assert boosted[arm] == pytest.approx(feint.boost_probability(pi[arm], epsilon), rel=1e-7)
    assert exact_kl(boosted, pi) <= epsilon
    if boosted[arm] < 1:
        share = boosted[others] / pi[others]
        assert np.abs(share / share[0] - 1).max() < 1e-14
        assert exact_kl(boosted, pi) >= epsilon * (1 - 1e-6) or epsilon < 1e-10


def test_boost_of_special_distributions():
    assert (feint.boost([0.0, 0.5, 0.5], 0, 1.0) == [0.0, 0.5, 0.5]).all()
    assert (feint.boost([1.0, 0.0], 0, 1.0) == [1.0, 0.0]).all()
    assert (feint.boost([0.25, 0.75], 0, math.inf) == [1.0, 0.0]).all()
    assert (feint.boost([0.25, 0.75], 0, 0.0) == [0.25, 0.75]).all()
    batch = feint.boost([[0.25, 0.75], [0.5, 0.5]], 1, 0.1)
    assert (batch[1] == feint.boost([0.5, 0.5], 1, 0.1)).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: feint.boost_probability(1.1, 0.1), "between 0 and 1"),
        (lambda: feint.boost_probability(-0.1, 0.1), "between 0 and 1"),
        (lambda: feint.boost_probability(math.nan, 0.1), "NaN"),
        (lambda: feint.boost_probability(0.1, -0.1), "0 or more"),
        (lambda: feint.boost_probability(0.1, math.nan), "NaN"),
        (lambda: feint.boost_probability([0.1, 0.2], [0.1, 0.2, 0.3]), "do not broadcast"),
        (lambda: feint.boost_probability(None, 0.1), "exactly one of p and log_p"),
        (lambda: feint.boost_probability(0.1, 0.1, log_p=-1.0), "exactly one of p and log_p"),
        (lambda: feint.boost_probability(None, 0.1, log_p=0.5), "at most 0"),
        (lambda: feint.boost_probability("half", 0.1), "real numbers"),
        (lambda: feint.boost_probability_approx(2.0, 0.1), "between 0 and 1"),
        (lambda: feint.boost_probability_approx(0.5, -1), "0 or more"),
        (lambda: feint.boost([0.5, 0.5], 2, 0.1), "from 0 to 1"),
        (lambda: feint.boost([0.5, 0.5], -1, 0.1), "from 0 to 1"),
        (lambda: feint.boost([0.5, 0.5], 0.5, 0.1), "whole number"),
        (lambda: feint.boost([0.5, 0.4], 0, 0.1), "sums to 0.9"),
        (lambda: feint.boost([1.0], 0, 0.1), "at least 2"),
        (lambda: feint.boost([0.5, 0.5], 0, -1), "0 or more"),
        (lambda: feint.boost([0.5, 0.5], 0, [0.1, 0.2]), "one budget"),
        (lambda: feint.boost([1.5, -0.5], 0, 0.1), "between 0 and 1"),
    ],
)
def test_bad_input_is_explained(call, says):
    with pytest.raises(ValueError, match=says):
        call()
