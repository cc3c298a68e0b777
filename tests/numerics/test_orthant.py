"""The orthant probability of two correlated normals agrees with mpmath, also in the tails and at |ρ| near 1."""

import mpmath
import numpy as np
import pytest

from feint.numerics.orthant import log_orthant
from oracles import log_orthant_by_angle

# (h, k, r, sign of ρ); probabilities down to 1e-90.
CASES = [
    (0.3, -0.7, 0.8, 1), (0.3, -0.7, 0.8, -1), (-2.0, -1.5, 0.3, 1), (-2.0, -1.5, 0.3, -1), (4.0, 5.0, 0.9, -1),
    (4.0, 5.0, 0.1, 1), (-0.1, -0.1, 0.01, -1), (2.0, -1.9999, 1e-4, -1), (0.0, 0.0, 1e-7, -1), (1.0, 1.0, 1e-7, 1),
    (12.0, 2.0, 0.5, 1), (8.0, 1.0, 0.5, -1), (-8.0, 20.0, 0.6, 1), (-8.0, 20.0, 0.6, -1), (9.0, 9.0, 0.999999, 1),
    (0.5, 0.2, 1.0 - 1e-12, -1), (-3.865, 20.825, 1e-3, 1), (2.35, -4.02, 2.7e-6, -1),
]  # fmt: skip


@pytest.mark.parametrize(("h", "k", "r", "sign"), CASES)
def test_against_mpmath(h, k, r, sign):
    rho = sign * np.sqrt((1 - r) * (1 + r))
    found = log_orthant(*(np.array([value]) for value in (h, k, rho, r)))[0]
    expected = float(log_orthant_by_angle(h, k, r, sign, 140 if max(h, k) > 5 else 50))
    assert abs(found - expected) < 1e-11 * max(1.0, abs(expected))


def test_arcsine_law_and_symmetry():
    """P(X > 0, Y > 0) = ¼ + asin(ρ)/2π; the order of the two does not matter."""
    rho = np.array([-0.99, -0.5, -1e-3, 0.0, 1e-16, 0.3, 0.999])
    r = np.sqrt((1 - rho) * (1 + rho))
    zero = np.zeros(rho.size)
    np.testing.assert_allclose(np.exp(log_orthant(zero, zero, rho, r)), 0.25 + np.arcsin(rho) / (2 * np.pi), rtol=1e-13)
    h, k = np.random.default_rng(0).normal(0, 4, (2, rho.size))
    np.testing.assert_allclose(log_orthant(h, k, rho, r), log_orthant(k, h, rho, r), rtol=1e-12)


def test_one_direction():
    """With |ρ| = 1 there is one normal: it exceeds the larger threshold, or lies between the two."""
    h, k = np.array([1.0, 1.0, 1.0, 30.0]), np.array([-2.0, 2.0, -1.0, -31.0])
    one, zero = np.ones(4), np.zeros(4)
    ndtr = np.vectorize(lambda x: float(mpmath.ncdf(x)))
    np.testing.assert_allclose(np.exp(log_orthant(h, k, one, zero)), ndtr(-np.maximum(h, k)), rtol=1e-13)
    with mpmath.workdps(400):
        last = float(mpmath.log(mpmath.ncdf(-30) - mpmath.ncdf(-31)))
    expected = [np.log(ndtr(2.0) - ndtr(1.0)), -np.inf, -np.inf, last]
    np.testing.assert_allclose(log_orthant(h, k, -one, zero), expected, rtol=1e-13)
