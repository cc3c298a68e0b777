"""The normal tail and the exponential agree with mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest

from feint.numerics import normal
from feint.numerics._jit import kernel


@kernel
def apply_tail(x, out):
    for i in range(x.size):
        out[i] = normal.scaled_tail(x[i])


@kernel
def apply_exp(x, out):
    for i in range(x.size):
        out[i] = normal.exp_nonpositive(x[i])


@kernel
def apply_hazard(x, out):
    for i in range(x.size):
        out[i] = normal.reverse_hazard(x[i])


def worst_relative_error(apply, points, truth):
    out = np.empty(points.size)
    apply(points, out)
    with mp.workdps(40):
        return max(abs(mp.mpf(value) / truth(mp.mpf(x)) - 1) for x, value in zip(points, out, strict=True))


def scaled_tail(y):
    if y > 1e4:  # asymptotic series; the 8th term is below 1e-60
        series = sum((-1) ** k * mp.fac2(2 * k - 1) / y ** (2 * k) for k in range(8))
        return series / (y * mp.sqrt(2 * mp.pi))
    return mp.erfc(y / mp.sqrt(2)) / 2 * mp.exp(y * y / 2)


def test_tail_is_exact_over_the_half_line():
    points = np.concatenate([np.linspace(0, 40, 1500), np.logspace(1.6, 150, 200)])
    assert worst_relative_error(apply_tail, points, scaled_tail) < 8e-16


def test_exponential_is_exact():
    points = np.concatenate([np.linspace(-708, 0, 3000), -np.logspace(-18, 0, 100), [0.0]])
    assert worst_relative_error(apply_exp, points, mp.exp) < 4e-16


def test_exponential_stops_at_its_floor():
    out = np.empty(3)
    apply_exp(np.array([-708.0, -1e5, -math.inf]), out)
    assert (out == out[0]).all()
    assert out[0] == pytest.approx(math.exp(-708.0))


@pytest.mark.parametrize("z", [-1e8, -40.0, -8.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 5.0, 8.0, 37.0])
def test_reverse_hazard(z):
    def truth(x):
        density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
        return 1 / (scaled_tail(-x) * mp.sqrt(2 * mp.pi)) if x < 0 else density / mp.ncdf(x)

    # exp(−z²/2) inherits z²/2 times the rounding of z²
    assert worst_relative_error(apply_hazard, np.array([z]), truth) < 1e-15 * max(1.0, min(z * z / 2, 700))


def test_coefficients_are_the_stated_interpolation():
    """Repeat the construction: Chebyshev interpolation of (1 + 2x)·erfcx(x) in t, as powers of t."""
    with mp.workdps(60):
        n = len(normal._MILLS)

        def function(t):
            x = mp.mpf("3.75") * (1 + t) / (1 - t)
            return (1 + 2 * x) * 2 * scaled_tail(x * mp.sqrt(2))

        angles = [mp.pi * (2 * j + 1) / (2 * n) for j in range(n)]
        values = [function(mp.cos(angle)) for angle in angles]
        chebyshev = [mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) * 2 / n for k in range(n)]
        chebyshev[0] /= 2
        power = [mp.mpf(0)] * n
        before, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
        for k in range(n):
            basis = before
            for i, coefficient in enumerate(basis):
                power[i] += chebyshev[k] * coefficient
            following = [mp.mpf(0)] + [2 * c for c in current]
            for i, coefficient in enumerate(before):
                following[i] -= coefficient
            before, current = current, following
        assert [float(c) for c in power] == pytest.approx(list(normal._MILLS), rel=1e-15, abs=1e-25)
