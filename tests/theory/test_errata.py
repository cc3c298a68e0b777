"""Errata that a number decides: what is printed is false, and what docs/errata.md says instead is right."""

import itertools
import math

import numpy as np
from scipy import stats

import feint
from feint.experiments import reference_table
from feint.support.intervals import share_interval


def test_largest_errors_of_gauss_hermite():
    """15.4, 61.9 and 63.9 % at the three states; exact values are checked elsewhere against 40-digit integration."""
    table = reference_table.run()
    off = np.abs(table.gauss_hermite.sel(nodes=32) / table.exact - 1).values
    assert np.abs(off.max(1) - [0.154, 0.619, 0.639]).max() < 5e-4
    assert off.argmax(1).tolist() == [2, 2, 3]


def test_lock_in_after_any_number_of_pulls():
    """28 to 30 % of runs stop pulling the best public arm, more than the 22 % that one bad first reward explains."""
    runs = feint.simulate(
        feint.Bandit([0.5, 0.0], [0.0, 1.0]),
        feint.RoundRobin([1]),
        epsilon=0.5,
        horizon=2_000,
        replications=1_500,
        checkpoints=[1_000, 2_000],
    )
    middle, end = runs.pulls.values[:, :, 0].T
    _, low, high = share_interval(int((middle == end).sum()), end.size, 1e-4)
    assert 0.225 < low < 0.28
    assert 0.30 < high < 0.36


def test_lemma_4_lacks_a_constant():
    h = np.array([0.5, 1.0, 2.0, 5.0])
    tail = stats.norm.sf(h)
    printed = h / (h**2 + 1) * np.exp(-(h**2) / 2)
    assert printed[1] > 0.30 > 0.16 > tail[1]
    assert (printed / math.sqrt(2 * math.pi) <= tail).all()
    assert (tail <= np.exp(-(h**2) / 2) / h).all()


def test_lemma_3_misquotes_the_lower_tail():
    """For one geometric variable p*·μ = 1."""
    p = 1e-3
    for factor in (10.0, 50.0):
        chance = stats.geom.cdf(1 / p / factor, p)
        assert chance > math.exp(-(factor - 1 - math.log(factor)))
        assert chance <= math.exp(-(1 / factor - 1 + math.log(factor)))


def test_lemma_2_is_off_by_one():
    """Four trials with success probability c/(M + M_0) are enumerated."""
    c, offset, trials = 0.5, 1.0, 4
    chances = {}
    for outcome in itertools.product((0, 1), repeat=trials):
        chance, made = 1.0, 0
        for z in outcome:
            success = c / (made + offset)
            chance *= success if z else 1 - success
            made += z
        chances[outcome] = chance
    assert math.isclose(sum(chances.values()), 1.0)

    def probability(event):
        return sum(chance for outcome, chance in chances.items() if event(np.cumsum(outcome)))

    for h, t in itertools.product((1, 2), (1, 2, 3)):
        later = probability(lambda made, h=h, t=t: not (made[:t] >= h).any())  # T_h > t
        assert math.isclose(later, probability(lambda made, h=h, t=t: made[t - 1] < h))
        not_before = probability(lambda made, h=h, t=t: not (made[: t - 1] >= h).any())  # T_h ≥ t
        at_most = probability(lambda made, h=h, t=t: made[t - 1] <= h)
        assert not_before <= at_most + 1e-12
        if t > h:
            assert not_before < at_most - 0.01
