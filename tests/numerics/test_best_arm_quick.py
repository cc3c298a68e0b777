"""Quick best-arm probabilities are close to the exact ones."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from cases import PAPER
from feint.numerics import best_arm_probabilities
from feint.numerics.best_arm_quick import quick_log_best

MEANS = np.array(PAPER.public)


def rows(means, pulls, n=2000, seed=0):
    """Return sample means (K, n) after about this many pulls, and their variances."""
    rng = np.random.default_rng(seed)
    pulls = np.asarray(pulls, dtype=float)[:, None] * np.exp(rng.uniform(-0.5, 0.5, (len(pulls), n)))
    return np.asarray(means)[:, None] + rng.normal(size=pulls.shape) / np.sqrt(pulls), 1.0 / pulls


def off(means, variances):
    exact = best_arm_probabilities(means.T, np.sqrt(variances.T), log=True).T
    return np.quantile(abs(quick_log_best(means, variances) - exact), (0.5, 0.99))


def test_two_arms_are_exact():
    means, variances = rows([3.0, 0.0], [40.0, 3.0])
    z = (means[0] - means[1]) / np.sqrt(variances.sum(0))
    found = quick_log_best(means, variances)
    np.testing.assert_allclose(found[1], log_ndtr(-z), rtol=1e-12)
    np.testing.assert_allclose(found[0], log_ndtr(np.minimum(z, 8.2)), atol=1e-15)


@pytest.mark.parametrize("pulls", [(3, 3, 3, 3), (1000, 50, 30, 30), (20000, 200, 90, 90)])
def test_what_agents_meet(pulls):
    """For the paper's public means errors are 0.2 % in the median and 1.5 % at 99 %; half as much more is allowed."""
    median, most = off(*rows(MEANS, pulls))
    assert median < 0.003
    assert most < 0.02


def test_hard_rows():
    """For tied means and sds that differ by up to 100, errors are 1.5 % in the median and 8 % at 99 %."""
    rng = np.random.default_rng(1)
    pulls = np.exp(rng.uniform(0.0, np.log(1e4), (4, 2000)))
    median, most = off(rng.normal(size=pulls.shape) / np.sqrt(pulls), 1.0 / pulls)
    assert median < 0.02
    assert most < 0.1


def test_deep_tails_and_order():
    """The second arm is 40 standard deviations behind; probabilities sum to 1, and follow their arms."""
    means, variances = np.array([[2.0], [0.0], [1.9], [-1.0]]), np.array([[1e-4], [1 / 400], [1e-2], [1.0]])
    found = quick_log_best(means, variances)
    exact = best_arm_probabilities(means.T, np.sqrt(variances.T), log=True).T
    assert exact[1] < -700
    np.testing.assert_allclose(found, exact, rtol=0.03)
    assert np.exp(found).sum() == pytest.approx(1.0, rel=1e-12)
    order = [2, 0, 3, 1]
    np.testing.assert_array_equal(quick_log_best(means[order], variances[order]), found[order])
