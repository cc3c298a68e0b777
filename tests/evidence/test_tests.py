"""Test every e-process for validity, and each one against its formula in 40 digits."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slow_observer
from feint.evidence import (
    BoostMixture,
    Calibration,
    PropensityMixture,
    PropensitySerialMixture,
    SerialMixture,
)
from feint.evidence.fixed_share import SHARE
from feint.numerics import boost

STAKES = {0.001: 0.3, 0.016: 1.5, 0.12: 2.3, 1.0: 1.9}
TILTS = {0.003: 2, 0.01: 8, 0.03: 30, 0.06: 30, 0.12: 15, 0.3: 7, 1.0: 5, 3.0: 3}
LAMBDAS = [0.9 * (1e-4 / 0.9) ** (k / 15) for k in range(16)]

TESTS = {
    "mixture": BoostMixture,
    "mixture, other settings": lambda n: BoostMixture(n, epsilons=[0.07, 2.5], share=0.5),
    "propensity": PropensityMixture,
    "calibration": Calibration,
    "serial": SerialMixture,
    "serial, propensities": PropensitySerialMixture,
}


def random_log_pi(rng, rows, n_arms):
    """Return log π of rows from nearly even to nearly sure."""
    logs = rng.normal(size=(rows, n_arms)) * rng.exponential(8, size=(rows, 1))
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    leader = logs.argmax(1)
    others = np.exp(logs)
    others[np.arange(rows), leader] = 0.0
    logs[np.arange(rows), leader] = np.log1p(-others.sum(1))
    return logs


def draw(rng, log_pi):
    return (rng.random((len(log_pi), 1)) > np.exp(log_pi).cumsum(1)).sum(1).clip(max=log_pi.shape[1] - 1)


def seen_by(test, arms, log_pi):
    """Return what a test gets from rows with the probabilities of all arms."""
    return log_pi if test.NEEDS_ALL_ARMS else log_pi[np.arange(len(arms)), arms]


@pytest.fixture(params=TESTS)
def make(request):
    return TESTS[request.param]


@pytest.mark.parametrize("n_arms", [2, 4, 9])
def test_the_next_step_is_fair_whatever_happened(make, n_arms):
    """Σ_a π(a)·E(after a)/E(before) = 1: with Ville's inequality this is all that validity needs."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        log_pi = random_log_pi(rng, 31, n_arms)
        arms = rng.integers(0, n_arms, 31)
        before = make(n_arms)
        before.extend(arms[:-1], seen_by(before, arms[:-1], log_pi[:-1]))
        ratios = next_ratios(before, log_pi[-1:])
        assert np.exp(log_pi[-1]) @ ratios == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("kind", [BoostMixture, PropensityMixture, Calibration, SerialMixture, PropensitySerialMixture])
@pytest.mark.parametrize("n_arms", [2, 4, 9])
def test_within_is_fair_for_the_worst_of_the_set(kind, n_arms):
    """The largest Σ p(a)·ratio over |p(a) − π(a)| ≤ w·π(a): the most likely arms of the bet take all they may."""
    rng = np.random.default_rng(6)
    sharp = 0.0
    for _ in range(20):
        share = rng.choice([0.01, 0.2, 0.7])
        log_pi = random_log_pi(rng, 31, n_arms)
        arms = rng.integers(0, n_arms, 31)
        before = kind(n_arms, within=share)
        before.extend(arms[:-1], seen_by(before, arms[:-1], log_pi[:-1]))
        ratios, pi = next_ratios(before, log_pi[-1:]), np.exp(log_pi[-1])
        worst, left = (1 - share) * pi, share
        for a in np.argsort(-ratios):
            worst[a] += min(left, 2 * share * pi[a])
            left -= min(left, 2 * share * pi[a])
        assert worst @ ratios <= 1 + 1e-11
        sharp = max(sharp, worst @ ratios)
    assert sharp > 0.9  # a test that never bets would be fair too


def next_ratios(before, log_pi):
    """Return E after a pull of each arm, divided by E before it."""
    found = []
    for a in range(log_pi.shape[1]):
        after = type(before).from_state(before.state())
        found.append(math.exp(float(after.extend([a], seen_by(after, [a], log_pi))[0]) - before.log_e_value))
    return np.array(found)


def test_pieces_and_saved_states_change_nothing(make):
    rng = np.random.default_rng(2)
    log_pi = random_log_pi(rng, 500, 4)
    arms = draw(rng, log_pi)
    whole = make(4)
    expected = whole.extend(arms, seen_by(whole, arms, log_pi))
    test, found = make(4), []
    for start, stop in [(0, 1), (1, 100), (100, 100), (100, 499), (499, 500)]:
        test = type(test).from_state(json.loads(json.dumps(test.state())))
        found.append(test.extend(arms[start:stop], seen_by(test, arms, log_pi)[start:stop]))
    assert (np.concatenate(found) == expected).all()
    assert test.tested == 500
    assert test.log_e_value == expected[-1]
    assert test.highest_log_e_value == max(0.0, expected.max())
    assert test.p_value == math.exp(-max(0.0, expected.max()))
    one = make(4)
    row = seen_by(one, arms, log_pi)[0]
    assert one.update(int(arms[0]), np.atleast_1d(row)) == expected[0]


def test_impossible_pulls_are_finite_evidence(make):
    """Pulls of an arm with log π = −10⁵ and below, a thousand times over, neither overflow nor become NaN."""
    test = make(3)
    log_pi = np.tile([-1e-300, -1e5, math.log(1e-300)], (1000, 1))
    arms = np.ones(1000, dtype=int)
    log_e = test.extend(arms, seen_by(test, arms, log_pi))
    assert np.isfinite(log_e).all()
    assert (np.diff(log_e) > 0).all()


@pytest.mark.slow
def test_null_runs_rarely_alarm(make):
    """At most α of 4,000 runs raise an alarm at any of 200 steps, by the exact binomial at 1e-6."""
    from scipy import stats

    rng = np.random.default_rng(3)
    runs, highest = 4_000, []
    for _ in range(runs):
        test = make(4)
        log_pi = random_log_pi(rng, 200, 4)
        arms = draw(rng, log_pi)
        test.extend(arms, seen_by(test, arms, log_pi))
        highest.append(test.highest_log_e_value)
    for alpha in (0.05, 0.01):
        alarms = (np.array(highest) >= math.log(1 / alpha)).sum()
        assert alarms <= stats.binom.ppf(1 - 1e-6, runs, alpha)


@pytest.mark.parametrize(
    ("arms", "log_pi", "says"),
    [
        ([4], np.log(np.full((1, 4), 0.25)), "from 0 to 3"),
        ([-1], np.log(np.full((1, 4), 0.25)), "from 0 to 3"),
        ([0.5], np.log(np.full((1, 4), 0.25)), "whole numbers"),
        ([0, 1], np.log(np.full((1, 4), 0.25)), "shape"),
        ([0], np.full((1, 4), 0.25), "at most 0"),
        ([0], np.full((1, 4), math.nan), "NaN"),
        ([0], np.array([[-math.inf, 0.0, -math.inf, -math.inf]]), "probability 0"),
    ],
)
def test_wrong_rows_are_refused(make, arms, log_pi, says):
    test = make(4)
    if not test.NEEDS_ALL_ARMS:
        log_pi = log_pi[:, 0]
    with pytest.raises(ValueError, match=says):
        test.extend(arms, log_pi)
    assert test.tested == 0
    assert test.log_e_value == 0.0


def test_probabilities_must_sum_to_one():
    for kind in (BoostMixture, Calibration):
        with pytest.raises(ValueError, match=r"sum to 0\.99"):
            kind(2).extend([0], np.log([[0.5, 0.49]]))


def test_wrong_settings_are_refused():
    for wrong in ({"epsilons": []}, {"epsilons": [0.0]}, {"epsilons": [math.inf]}, {"epsilons": [0.1, 0.1]}):
        with pytest.raises(ValueError, match="epsilons is"):
            BoostMixture(4, **wrong)
    for share in (0, 5e-324, 1.5, math.nan, "x"):
        with pytest.raises(ValueError, match="share must be"):
            BoostMixture(4, share=share)
    with pytest.raises(ValueError, match="2 or more"):
        Calibration(1)


@given(key=st.sampled_from(["tested", "log_e_value", "weights", "invested", "share", "epsilons", "n_arms", "kind"]))
def test_damaged_states_are_refused(key):
    test = BoostMixture(3)
    test.extend([0, 1], np.log(np.full((2, 3), 1 / 3)))
    for wrong in (None, "x", [[1.0]], math.nan, *([-1.5] if key != "log_e_value" else [])):
        with pytest.raises(ValueError, match=r"\w"):
            BoostMixture.from_state({**test.state(), key: wrong})
    state = test.state()
    del state[key]
    with pytest.raises(ValueError, match=r"\w"):
        BoostMixture.from_state(state)


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 10**6), n_arms=st.integers(2, 4), within=st.sampled_from([0.0, 0.01, 0.4]))
def test_mixture_against_40_digits(seed, n_arms, within):
    rng = np.random.default_rng(seed)
    log_pi = random_log_pi(rng, 12, n_arms)
    arms = rng.integers(0, n_arms, 12)
    expected = slow_observer.boost_mixture(arms, log_pi, STAKES, SHARE, within)
    assert BoostMixture(n_arms, within=within).extend(arms, log_pi) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), n_arms=st.integers(2, 4), within=st.sampled_from([0.0, 0.01, 0.4]))
def test_calibration_against_40_digits(seed, n_arms, within):
    rng = np.random.default_rng(seed)
    log_pi = random_log_pi(rng, 30, n_arms)
    arms = rng.integers(0, n_arms, 30)
    expected = slow_observer.calibration(arms, log_pi, TILTS, LAMBDAS, within)
    test = Calibration(n_arms, within=within)
    assert test.extend(arms, log_pi) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    pi = np.exp(log_pi)
    hits = np.eye(n_arms)[arms]
    assert test.observed == pytest.approx(hits.sum(0))
    assert test.excess == pytest.approx((hits - pi).sum(0), abs=1e-12)
    assert test.allowed == pytest.approx(within * np.minimum(pi, 1 - pi).sum(0))


def test_propensity_ratio_by_hand():
    """After one pull, with c = ½/log₂ 3 held back, E is c + (1 − c) times the mean over λ of (1 − λ) + λ/(K·π)."""
    mixed, held = np.array([0.001, 0.004, 0.016, 0.064, 0.256]), 0.5 / math.log2(3)
    expected = np.log(held + (1 - held) * ((1 - mixed) + mixed / (4 * 0.02)).mean())
    assert PropensityMixture(4).update(2, [math.log(0.02)]) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("kind", [BoostMixture, PropensityMixture])
def test_a_long_honest_past_does_not_hide_a_boost(kind):
    """After 10⁵ honest pulls a boost by ε = 0.1 of one arm in four is seen within 600 pulls, in each of 5 runs."""
    rng = np.random.default_rng(9)
    for _ in range(5):
        test = kind(4)
        log_pi = np.tile(np.log([0.9, 0.06, 0.03, 0.01]), (10**5, 1))
        arms = draw(rng, log_pi)
        test.extend(arms, seen_by(test, arms, log_pi))
        log_pi = log_pi[:600]
        arms = draw(rng, np.log(boost(np.exp(log_pi), 2, 0.1)))
        test.extend(arms, seen_by(test, arms, log_pi))
        assert test.log_e_value > math.log(20)


def test_states_with_impossible_weights_are_refused():
    state = BoostMixture(2).state()
    for weights in (100.0, 0.0, -1.0):
        with pytest.raises(ValueError, match="not probabilities"):
            BoostMixture.from_state({**state, "weights": [[weights, 0.5, 0.0, 0.0]] * 4})


def test_mixture_names_the_boosted_arm_and_the_budget():
    rng = np.random.default_rng(5)
    log_pi = np.tile(np.log([0.9, 0.06, 0.03, 0.01]), (3_000, 1))
    test = BoostMixture(4)
    test.extend(draw(rng, np.log(boost(np.exp(log_pi), 2, 0.03))), log_pi)
    assert test.likeliest == (2, 0.016)  # the grid's nearest


@pytest.mark.parametrize("within", [0.0, 0.2])
@pytest.mark.parametrize("claim", [[math.log(0.7), math.log(0.3), -math.inf], [-1e-300, -400.0, -690.0]])
def test_boosts_of_a_claim_that_repeats_itself_equal_those_pull_by_pull(claim, within):
    """This also holds if an arm has probability 0, or one so small that ratios leave float64's range."""
    arms = np.random.default_rng(3).integers(2, size=40)
    whole, single = (BoostMixture(3, within=within) for _ in range(2))
    found = whole.extend(arms, np.tile(claim, (arms.size, 1)))
    assert found.tolist() == [single.update(arm, claim) for arm in arms]
    assert whole.state() == single.state()


class TestConfidenceSequence:
    @pytest.mark.slow
    @pytest.mark.parametrize("drift", [0.0, 0.4])
    def test_covers_the_true_departure_at_all_times(self, drift):
        """p is π bent towards arm 0 by a share that changes; there are 500 runs of 300 steps, read 10 times each."""
        from scipy import stats

        rng = np.random.default_rng(6)
        runs, missed = 500, 0
        for _ in range(runs):
            log_pi = random_log_pi(rng, 300, 3)
            pi = np.exp(log_pi)
            share = drift * (rng.random((300, 1)) < 0.5)
            p = (1 - share) * pi + share * np.eye(3)[0]
            arms = draw(rng, np.log(p))
            truth = (p - pi).cumsum(0)
            test = Calibration(3)
            outside = False
            for end in range(30, 301, 30):
                test.extend(arms[end - 30 : end], log_pi[end - 30 : end])
                low, high = test.confidence_sequence(0.1)
                outside |= bool(((truth[end - 1] < low) | (truth[end - 1] > high)).any())
            missed += outside
        assert missed <= stats.binom.ppf(1 - 1e-6, runs, 0.1)

    def test_every_step_is_a_supermartingale(self):
        """The test rests on one inequality: E exp(±λξ − ψ(λ)ξ²) ≤ exp(±λ(p − π)) for ξ = X − π and all p and π."""
        p, pi = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
        for size in LAMBDAS:
            psi = -math.log1p(-size) - size
            for x in (size, -size):
                mean = p * np.exp(x * (1 - pi) - psi * (1 - pi) ** 2) + (1 - p) * np.exp(-x * pi - psi * pi**2)
                assert (mean <= np.exp(x * (p - pi)) * (1 + 1e-14)).all()

    def test_is_narrow_enough_to_be_useful(self):
        """After 10⁴ fair coins its half-width is less than twice 2.24·√V, what one fixed time would allow for two sides
        and two arms at five per cent."""
        rng = np.random.default_rng(7)
        test = Calibration(2)
        test.extend(rng.integers(0, 2, 10_000), np.full((10_000, 2), math.log(0.5)))
        low, high = test.confidence_sequence(0.05)
        assert (high - low)[0] / 2 < 2 * 2.24 * math.sqrt(2_500)
        assert (high - low)[0] / 2 > 2.24 * math.sqrt(2_500)

    def test_radius_solves_its_equation(self):
        import mpmath as mp

        test = Calibration(2)
        test.extend([0] * 50, np.tile(np.log([0.7, 0.3]), (50, 1)))
        low, high = test.confidence_sequence(0.05)
        radius, variance = mp.mpf(float((high - low)[0])) / 2, mp.mpf(50) * mp.mpf("0.09")
        lambdas = [mp.mpf("0.9") * (mp.mpf("1e-4") / mp.mpf("0.9")) ** (mp.mpf(k) / 15) for k in range(16)]
        mean = sum(mp.exp(x * radius + (mp.log(1 - x) + x) * variance) for x in lambdas) / 16
        assert float(mean) == pytest.approx(2 * 2 / 0.05, rel=1e-7)

    def test_refuses_levels_that_are_none(self):
        for alpha in (0, 1, -0.1, math.nan, "x"):
            with pytest.raises(ValueError, match="strictly between"):
                Calibration(2).confidence_sequence(alpha)


@pytest.mark.slow
def test_ten_million_updates_do_not_underflow():
    """First the claim is true and E falls towards 0; then an arm is boosted and E must rise at once."""
    rng = np.random.default_rng(8)
    test = BoostMixture(4)
    log_pi = np.tile(np.log([0.97, 0.01, 0.015, 0.005]), (10**6, 1))
    for _ in range(10):
        log_e = test.extend(draw(rng, log_pi), log_pi)
        assert np.isfinite(log_e).all()
    # What is held back, ½/log₂(10⁷) = 0.022, is left. Of it 1.3e-10 are released at each pull, so that about 26 nats
    # must be won before E reaches 20; with ε = 0.1 per step, and an arm to be found, 1,000 pulls are enough.
    assert log_e[-1] == pytest.approx(math.log(0.5 / math.log2(10**7 + 2)), abs=0.2)
    bent = np.log(boost(np.exp(log_pi[:1_000]), 2, 0.1))
    test.extend(draw(rng, bent), log_pi[:1_000])
    assert test.log_e_value > math.log(20)
