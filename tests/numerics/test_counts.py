"""Draws one after the other: exponentials and normals have their laws, and counts have SciPy's probabilities."""

import numpy as np
import pytest
from scipy import stats

from feint.numerics._jit import kernel
from feint.numerics.counts import draw_binomial, draw_hypergeometric, draw_poisson_number
from feint.numerics.sequence import next_exponential, next_normal, next_uniform, sequence, start_sequence
from feint.numerics.streams import philox, uniform

FALSE_FAILURES = 1e-6  # of each test below, were the draws perfect


def begin(seed, replication=0):
    draws = sequence()
    start_sequence(draws, np.uint64(seed), np.uint64(replication))
    return draws


def many(draw, seed, n, *parameters):
    """Return n draws; this is compiled, so that a million take no time."""

    @kernel
    def fill(draws, parameters, out):
        for i in range(out.size):
            out[i] = draw(*parameters, draws)

    out = np.empty(n)
    fill(begin(seed), parameters, out)
    return out


def agrees(drawn, law):
    """Compare counts with a law of SciPy by Pearson's test, in cells with at least ten expected."""
    spread = 4 * law.std() + 1
    cells = np.unique(np.linspace(max(0, law.mean() - spread), law.mean() + spread, 60).round())
    expected = np.diff(np.r_[0.0, law.cdf(cells), 1.0]) * drawn.size
    observed, _ = np.histogram(drawn, np.r_[-np.inf, cells + 0.5, np.inf])
    keep = expected >= 10
    rest = observed[~keep].sum(), expected[~keep].sum()
    observed, expected = np.r_[observed[keep], rest[0]], np.r_[expected[keep], rest[1]]
    ok = expected > 0
    statistic = ((observed - expected)[ok] ** 2 / expected[ok]).sum()
    return stats.chi2.sf(statistic, max(1, ok.sum() - 1)) > FALSE_FAILURES and observed[~ok].sum() == 0


@pytest.mark.parametrize(
    ("n", "p"), [(2, 0.3), (7, 0.001), (30, 0.5), (1000, 0.37), (10**6, 1e-5), (10**9, 0.9), (10**12, 0.37)]
)
def test_binomial(n, p):
    assert agrees(many(draw_binomial, 1, 200_000, float(n), p), stats.binom(n, p))


@pytest.mark.parametrize("mean", [1e-3, 0.5, 1.0, 7.3, 450.0, 1e7, 3e11])
def test_poisson(mean):
    assert agrees(many(draw_poisson_number, 2, 200_000, mean), stats.poisson(mean))


@pytest.mark.parametrize(
    ("n", "hits", "drawn"), [(5, 2, 1), (9, 4, 5), (100, 3, 50), (1000, 700, 500), (10**6, 10, 5 * 10**5)]
)
def test_hypergeometric(n, hits, drawn):
    found = many(draw_hypergeometric, 3, 200_000, float(n), float(hits), float(drawn))
    assert agrees(found, stats.hypergeom(n, hits, drawn))


def test_ends_of_the_range():
    draws = begin(0)
    assert draw_binomial(5.0, 0.0, draws) == 0
    assert draw_binomial(5.0, 1.0, draws) == 5
    assert draw_hypergeometric(5.0, 5.0, 2.0, draws) == 2
    assert draw_hypergeometric(5.0, 2.0, 5.0, draws) == 2
    assert draw_poisson_number(0.0, draws) == 0


def test_exponentials_and_normals():
    """Kolmogorov's test is used, also on draws beyond 2⁻¹⁰, where an exponential starts anew."""
    drawn = many(next_exponential, 4, 2_000_000)
    assert stats.kstest(drawn, "expon").pvalue > FALSE_FAILURES
    tail = drawn[drawn > 10 * np.log(2)] - 10 * np.log(2)
    assert stats.kstest(tail, "expon").pvalue > FALSE_FAILURES
    normals = many(next_normal, 5, 2_000_000)
    assert stats.kstest(normals, "norm").pvalue > FALSE_FAILURES
    independent = np.random.default_rng(6).normal(size=(2, 10**6)).prod(0)
    assert stats.ks_2samp(normals[::2] * normals[1::2], independent).pvalue > FALSE_FAILURES


def test_words_are_philox_in_order():
    draws = begin(11, 5)
    seen = [next_uniform(draws) for _ in range(8)]
    zero, layout = np.uint64(0), np.uint64(3)
    words = [philox(np.uint64(i), layout, zero, zero, np.uint64(11), np.uint64(5)) for i in range(2)]
    assert seen == [uniform(np.uint64(word)) for block in words for word in block]
