"""Draws keyed by two uniforms have the laws they claim, by Kolmogorov's test (false failures below 1e-6 each)."""

import numpy as np
import pytest
from scipy import stats

from feint.numerics import RandomStream, posterior_draws
from feint.numerics._jit import kernel

N = 20_000
ALPHA = 1e-6


@kernel
def _fill(kind, first, second, uniforms, out):
    for i in range(out.shape[0]):
        keys = posterior_draws.as_key(uniforms[i, 0]), posterior_draws.as_key(uniforms[i, 1])
        for arm in range(out.shape[1]):
            if kind == 0:
                out[i, arm] = posterior_draws.draw_normal(arm, keys[0], keys[1])
            elif kind == 1:
                out[i, arm] = posterior_draws.draw_gamma(first, arm, 0, keys[0], keys[1])
            else:
                out[i, arm] = posterior_draws.draw_beta(first, second, arm, keys[0], keys[1])


def draws(kind, first=0.0, second=0.0, seed=5):
    out = np.empty((N, 2))
    _fill(kind, first, second, RandomStream(seed).uniforms(range(N)), out)
    return out


LAWS = [
    (0, 0.0, 0.0, stats.norm()),
    (1, 0.5, 0.0, stats.gamma(0.5)),
    (1, 1.0, 0.0, stats.gamma(1.0)),
    (1, 7.3, 0.0, stats.gamma(7.3)),
    (1, 1e6, 0.0, stats.gamma(1e6)),
    (2, 1.0, 1.0, stats.uniform()),
    (2, 3.0, 40.0, stats.beta(3.0, 40.0)),
    (2, 2000.0, 1000.0, stats.beta(2000.0, 1000.0)),
]


@pytest.mark.parametrize(("kind", "first", "second", "law"), LAWS)
def test_law_and_independence_of_arms(kind, first, second, law):
    found = draws(kind, first, second)
    for arm in range(2):
        assert stats.kstest(found[:, arm], law.cdf).pvalue > ALPHA
    assert stats.spearmanr(found[:, 0], found[:, 1]).pvalue > ALPHA
    assert stats.spearmanr(found[:-1, 0], found[1:, 0]).pvalue > ALPHA  # nor do steps depend on each other


def test_a_wrong_law_is_noticed():
    assert stats.kstest(draws(1, 7.3)[:, 0], stats.gamma(7.0).cdf).pvalue < ALPHA
