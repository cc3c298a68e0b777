"""Bets on replays are an e-process, by enumeration, and follow the formulas of the docstring."""

import itertools
import math

import numpy as np
import pytest

from feint.evidence import replays
from feint.evidence.replays import Replays


def log_laws(n_arms, length, zeros, seed=3):
    """Return {past: log π (K,)}: log π before every pull depends on all pulls before it."""
    rng = np.random.default_rng(seed)
    found = {}
    for t in range(length):
        for past in itertools.product(range(n_arms), repeat=t):
            law = rng.dirichlet(np.full(n_arms, 0.5))
            if zeros and t % 2:
                law[rng.integers(n_arms)] = 0.0
            with np.errstate(divide="ignore"):
                found[past] = np.log(law / law.sum())
    return found


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("n_arms", "length"), [(2, 7), (3, 5)])
def test_every_step_has_mean_one(n_arms, length, zeros):
    """Given any past, the mean of E over the next pull is E (at most E where an arm cannot be pulled)."""
    laws = log_laws(n_arms, length, zeros)

    def log_e(pulls):
        test = Replays(n_arms)
        test.extend(np.array(pulls, dtype=np.int64), np.array([laws[pulls[:t]] for t in range(len(pulls))]))
        return test.log_e_value

    for past, law in laws.items():
        if any(np.isneginf(laws[past[:t]][arm]) for t, arm in enumerate(past)):
            continue
        before = log_e(past) if past else 0.0
        possible = np.flatnonzero(~np.isneginf(law))
        after = sum(math.exp(law[a] + log_e((*past, a))) for a in possible)
        if zeros:
            assert after <= math.exp(before) * (1 + 1e-12)
        else:
            assert after == pytest.approx(math.exp(before), rel=1e-12)


def plain(arms, pi):
    """Return log E after the last row, computed bet by bet."""
    kinds = [[], []]
    for lag in replays._LAGS:
        for tilt in (0.5, 2.0, 4.0):
            gain = 1.0
            for t in range(int(lag), len(arms)):
                b = arms[t - lag]
                gain *= math.exp(tilt * (arms[t] == b)) / (1 + pi[t][b] * (math.exp(tilt) - 1))
            kinds[0].append(gain)
    for lag in (1, 2, 3, 4):
        for q in (0.1, 0.5, 0.9):
            gain = 1.0
            for t in range(lag, len(arms)):
                gain *= 1 - q + q * pi[t - lag][arms[t]] / pi[t][arms[t]]
            kinds[1].append(gain)
    return math.log((np.mean(kinds[0]) + np.mean(kinds[1])) / 2)


@pytest.mark.parametrize("pieces", [(270,), (1, 99, 0, 170)])
def test_the_formulas(pieces):
    rng = np.random.default_rng(5)
    pi = rng.dirichlet([2.0, 1.0, 0.7], 270)
    arms = np.array([rng.choice(3, p=law) for law in pi])
    test, log_e = Replays(3), []
    for start, size in zip(np.cumsum((0, *pieces)), pieces, strict=False):
        log_e += test.extend(arms[start : start + size], np.log(pi[start : start + size])).tolist()
    assert len(log_e) == 270
    for t in (1, 5, 77, 270):
        assert log_e[t - 1] == pytest.approx(plain(arms[:t], pi[:t]), abs=1e-9)
    assert test.log_e_value == pytest.approx(log_e[-1], abs=1e-12)


def test_a_period_beyond_what_was_kept_counts_from_its_first_repeat():
    """The window is as long as the longest lag."""
    rng = np.random.default_rng(6)
    arms = np.tile(rng.integers(2, size=10_000), 2)[:10_060]
    test = Replays(2)
    for start in range(0, arms.size, 2_500):
        piece = arms[start : start + 2_500]
        before = test.log_e_value
        test.extend(piece, np.log(np.full((piece.size, 2), 0.5)))
    assert test.log_e_value > before + 10
    assert test.likeliest.lag == 10_000


def test_what_stands_out_is_named():
    rng = np.random.default_rng(7)
    halves = np.log(np.full((400, 2), 0.5))
    repeated = Replays(2)
    repeated.extend(np.tile(rng.integers(2, size=40), 10), halves)
    assert repeated.likeliest[:2] == ("repeats", 40)
    late = Replays(3)
    pi = rng.dirichlet([1.0, 1.0, 1.0], 400)
    late.extend(np.array([rng.choice(3, p=pi[max(t - 2, 0)]) for t in range(400)]), np.log(pi))
    assert late.likeliest[:2] == ("old", 2)
    always = Replays(2)
    always.extend(np.ones(400, dtype=np.int64), halves)  # repeats at every lag, with one more at lag 1 than at lag 2
    assert always.log_e_value > 10
    assert 0 < always.likeliest.log_gain <= math.log(2)


def test_huge_ratios_are_finite():
    test = Replays(2)
    log_pi = np.array([[-1e-300, -800.0], [-800.0, -1e-300]] * 3)
    assert np.isfinite(test.extend(np.array([1, 0] * 3), log_pi)).all()
