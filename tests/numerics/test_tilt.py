"""The tilt agrees with bisection in 60 digits, which shares neither code nor method with it."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feint
from feint.numerics._jit import kernel
from feint.numerics.tilt_kernel import policy_kl

DIGITS = 50


def normalised(log_pi):
    total = mp.log(sum(mp.exp(x) for x in log_pi))
    return [x - total for x in log_pi]


def kl(q, log_pi):
    return sum(x * (mp.log(x) - y) for x, y in zip(q, log_pi, strict=True) if x > 0)


def best(log_pi, losses, epsilon):
    """Return the best distribution, by bisection of λ; losses are relative to the best value."""
    top = [mp.exp(x) if loss == 0 else mp.mpf(0) for x, loss in zip(log_pi, losses, strict=True)]
    if -mp.log(sum(top)) <= epsilon:
        return [x / sum(top) for x in top]

    def at(rate):
        logs = normalised([x - rate * loss for x, loss in zip(log_pi, losses, strict=True)])
        return [mp.exp(x) for x in logs]

    low = high = mp.mpf(1) / max(losses)
    while kl(at(high), log_pi) < epsilon:
        high *= 16
    while kl(at(low), log_pi) > epsilon:
        low /= 16
    for _ in range(100):
        middle = mp.sqrt(low * high)
        low, high = (middle, high) if kl(at(middle), log_pi) < epsilon else (low, middle)
    return at(low)


def check(q, log_pi, values, epsilon):
    """Check that q is inside the ball, and its gain at most 3e-13 + 1e-15/√ε of itself below the best."""
    with mp.workdps(DIGITS):
        arms = [a for a, x in enumerate(log_pi) if x > -mp.inf]
        assert all(q[a] == 0 for a in range(len(q)) if a not in arms)
        prior = normalised([mp.mpf(log_pi[a]) for a in arms])
        worth = [mp.mpf(float(values[a])) for a in arms]
        losses = [max(worth) - x for x in worth]
        found = [mp.mpf(float(q[a])) for a in arms]
        found = [x / sum(found) for x in found]
        assert kl(found, prior) <= epsilon
        if max(losses) == 0:
            return
        kept = [
            sum(x * y for x, y in zip(p, losses, strict=True)) for p in (found, best(prior, losses, mp.mpf(epsilon)))
        ]
        gain = sum(mp.exp(x) * y for x, y in zip(prior, losses, strict=True)) - kept[1]
        assert kept[0] - kept[1] + mp.mpf("1e-40") * gain >= 0
        assert kept[0] - kept[1] <= (3e-13 + 1e-15 / math.sqrt(epsilon)) * gain


def logarithms(pi):
    with mp.workdps(DIGITS):
        return [mp.log(mp.mpf(float(p))) if p > 0 else -mp.inf for p in pi]


VALUES = {
    "spread": [0.3, -1.2, 0.9, 0.1],
    "ties": [1.0, 0.0, 1.0, 0.0],
    "all but equal": [1.0, 1.0 + 1e-12, 1.0 - 1e-12, 0.0],
    "1e12 apart": [1e12, 1.0, 0.0, 1e12 + 1.0],
    "of both kinds": [1e-12, 0.0, -1e12, 2e-12],
    "tiny": [1e-90, 3e-90, 0.0, 2e-90],
}
REFERENCES = {
    "even": [0.25, 0.25, 0.25, 0.25],
    "calm": [0.9, 0.05, 0.03, 0.02],
    "deep": [1.0, 1e-300, 1e-150, 1e-20],
    "deep, best likely": [1e-300, 1e-10, 1e-290, 1.0],
    "without an arm": [0.6, 0.4, 0.0, 0.0],
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("pi", REFERENCES)
def test_inside_the_ball_and_no_better_one(pi, values):
    for epsilon in (1e-8, 0.1, 40.0, 600.0):
        q = feint.tilt(REFERENCES[pi], VALUES[values], epsilon)
        check(q, logarithms(REFERENCES[pi]), VALUES[values], epsilon)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_anywhere(seed):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.choice([2, 3, 5, 12]))
    pi = 10 ** -rng.uniform(0, rng.choice([1, 30, 300]), n_arms)
    pi /= pi.sum()
    values = rng.normal(size=n_arms) * 10 ** rng.uniform(-6, 6, n_arms)
    epsilon = float(10 ** rng.uniform(-10, 2.8))
    check(feint.tilt(pi, values, epsilon), logarithms(pi), values, epsilon)


@pytest.mark.parametrize(
    "log_pi", [[0.0, -1e5], [math.log(0.5), math.log(0.5), -1e5], [-1e8, -1e3, 0.0], [-1e5, -9.9e4, 0.0]]
)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 30.0])
def test_through_logarithms(log_pi, epsilon):
    for values in (np.arange(len(log_pi)), -np.arange(len(log_pi)) * 1.5):
        check(feint.tilt(None, values, epsilon, log_pi=log_pi), log_pi, values, epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.1, 1.0, math.inf])
@pytest.mark.parametrize("arm", range(4))
def test_an_indicator_is_a_boost(arm, epsilon):
    for pi in ([0.83, 0.09, 0.03, 0.05], [0.25] * 4, [0.5, 0.5 - 1e-9, 1e-9 - 1e-12, 1e-12]):
        tilted, boosted = feint.tilt(pi, np.eye(4)[arm], epsilon), feint.boost(pi, arm, epsilon)
        assert tilted == pytest.approx(boosted, rel=2e-12, abs=0)
    deep = feint.tilt(None, [0.0, 1.0], epsilon, log_pi=[0.0, -1e4])
    assert deep[1] == pytest.approx(feint.boost_probability(None, epsilon, log_p=-1e4), rel=1e-12, abs=0)


def test_many_arms_against_a_general_solver():
    """A thousand arms: q must be an exponential tilt, spend ε, and beat what is one step of λ away."""
    rng = np.random.default_rng(0)
    pi, values = rng.dirichlet(np.ones(1000)), rng.normal(size=1000)
    q = feint.tilt(pi, values, 0.3)
    slope, level = np.polyfit(values, np.log(q / pi), 1)
    assert np.log(q / pi) == pytest.approx(slope * values + level, abs=1e-10)
    assert math.fsum(q * np.log(q / pi)) == pytest.approx(0.3, rel=1e-11)
    assert slope > 0


def test_units_shifts_and_shapes():
    rng = np.random.default_rng(1)
    pi, values = rng.dirichlet(np.ones(5), (3, 1)), rng.normal(size=(4, 5))
    q = feint.tilt(pi, values, 0.2)
    assert q.shape == (3, 4, 5)
    assert feint.tilt(pi, 1e9 * values, 0.2) == pytest.approx(q, rel=1e-11)
    assert feint.tilt(pi, values + 1.0, 0.2) == pytest.approx(q, rel=1e-11)
    each = feint.tilt(pi[0, 0], values[0], [[0.1], [0.2]])
    assert each.shape == (2, 1, 5)
    assert (each[1, 0] == q[0, 0]).all()
    many = feint.tilt(np.repeat(pi[0], 5000, 0), values[0], 0.2)  # threads change nothing
    assert (many == q[0, 0]).all()


def test_limits():
    pi = [0.5, 0.3, 0.2]
    assert (feint.tilt(pi, [1, 2, 3], 0.0) == pi).all()
    assert (feint.tilt(pi, [7, 7, 7], 0.4) == pi).all()
    assert feint.tilt(pi, [1, 1, 0], math.inf) == pytest.approx([0.625, 0.375, 0.0], rel=1e-15)
    assert (feint.tilt(pi, [3, 1, 2], 0.7) == [1, 0, 0]).all()  # −log 0.5 = 0.693
    assert feint.tilt(pi, [3, 1, 2], 0.69)[0] < 1


@kernel
def _policy_kl(q, pi, log_pi):
    return policy_kl(q, pi, log_pi)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.1, 3.0])
def test_what_a_tilt_spends(epsilon):
    rng = np.random.default_rng(2)
    for _ in range(20):
        pi = rng.dirichlet(np.full(4, 0.3)) + 1e-30
        pi /= pi.sum()
        q = feint.tilt(pi, rng.normal(size=4), epsilon)
        with mp.workdps(DIGITS):
            # of numbers that sum to 1 up to rounding only: as they stand
            exact = sum(
                mp.mpf(float(x)) * (mp.log(mp.mpf(float(x))) - mp.log(mp.mpf(float(y))))
                - mp.mpf(float(x))
                + mp.mpf(float(y))
                for x, y in zip(q, pi, strict=True)
                if x > 0
            ) + sum(mp.mpf(float(y)) for x, y in zip(q, pi, strict=True) if x == 0)
        assert _policy_kl(q, pi, np.log(pi)) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([0.5, 0.6], [1, 2], 0.1), "pi sums to 1.1"),
        (([0.5, 0.5], [1, 2, 3], 0.1), "give each arm a value"),
        (([0.5, 0.5], [1, math.inf], 0.1), "values reach inf"),
        (([0.5, 0.5], [1, 2], -0.1), "epsilon is -0.1"),
        (([1.0], [1], 0.1), "at least 2 arms"),
        ((None, [1, 2], 0.1), "exactly one of pi and log_pi"),
    ],
)
def test_bad_input_is_explained(arguments, says):
    with pytest.raises(ValueError, match=says):
        feint.tilt(*arguments)


def test_bad_logarithms_are_explained():
    with pytest.raises(ValueError, match="exp"):
        feint.tilt(None, [1, 2], 0.1, log_pi=[0.0, 0.0])
