r"""Log density and log cdf of Student's t, accurate for 1 to 1e10 degrees of freedom and in both tails.

For z < 0 let x = ν/(ν + z²), a = ν/2 and b = ½. Then F(z) = ½·I_x(a, b) = ½·\|z\|·f(z)/C with the even part of the
continued fraction of DLMF 8.17.22 (Didonato & Morris 1992, eq. 9),

    C = b₀ + a₁/(b₁ + a₂/(b₂ + …)),    a_m = (a+m−1)(a+b+m−1)·m(b−m)·x²/(a+2m−1)²,
    b_m = m + m(b−m)·x/(a+2m−1) + (a+m)(ay − bx + 1 + m(1+y))/(a+2m+1),    y = 1 − x = z²/(ν+z²),

in which nothing cancels, however large ν is: for ν → ∞ it becomes that of Γ(½, z²/2). scipy's betainc(a, b, x), in
contrast, loses eight digits at ν = 1e8, where x is almost 1, and underflows in the far tail.
"""

import numpy as np
from scipy import special

from feint._types import FloatArray
from feint.numerics.normal import HALF_LOG_2PI

_TAIL = -2.0  # where the continued fraction takes over
_STEPS, _ROUGH_STEPS = 40, 3  # errors at z = −2: 1e-15 for every ν, and 1 %
_SERIES_FROM = 12.0  # from this ν/2 on, the asymptotic series below has 16 digits


def log_peak(dofs: FloatArray) -> FloatArray:
    """Return log f(0) = log Γ((ν+1)/2)/Γ(ν/2) − ½·log(πν), by a series where log-gamma functions would cancel."""
    half = dofs / 2
    near = np.minimum(half, _SERIES_FROM)
    exact = special.gammaln(near + 0.5) - special.gammaln(near) - 0.5 * np.log(near)
    w = 1 / np.maximum(half, _SERIES_FROM)
    v = w * w
    # log Γ(x+½)/Γ(x) − ½·log x, in w = 1/x: the difference of Stirling's series at x + ½ and x.
    series = -w * (1 / 8 - v * (1 / 192 - v * (1 / 640 - v * (17 / 14336 - v * (31 / 18432 - v * 691 / 180224)))))
    result: FloatArray = np.where(half < _SERIES_FROM, exact, series) - HALF_LOG_2PI
    return result


def log_density(z: FloatArray, dofs: FloatArray, peak: FloatArray) -> FloatArray:
    """Return log f(z), with `peak` from `log_peak`."""
    result: FloatArray = peak - (0.5 * dofs + 0.5) * np.log1p(z * z / dofs)
    return result


def log_cdf(z: FloatArray, dofs: FloatArray, peak: FloatArray) -> FloatArray:
    """Return log F(z) to 1e-14·max(1, |log F|)."""
    tail = np.abs(z) > -_TAIL
    square = np.where(tail, 1.0, z * z)
    centre = 0.5 * special.betainc(0.5, 0.5 * dofs, square / (dofs + square))
    result: FloatArray = np.log(0.5 + np.copysign(centre, z))
    far, nu = np.abs(z[tail]), dofs[tail]
    lower = log_density(far, nu, peak[tail]) + np.log(_mills(far, nu, _STEPS))
    result[tail] = np.where(z[tail] < 0, lower, np.log1p(-np.exp(lower)))
    return result


def rough_log_cdf(z: FloatArray, dofs: FloatArray, density: FloatArray) -> FloatArray:
    """Return log F(z) to about 0.01, given the log density; in the centre by Wallace's normal approximation (1959)."""
    away = np.abs(z)
    tail = away > -_TAIL
    deviate = np.sqrt(dofs * np.log1p(z * z / dofs)) * ((8 * dofs + 1) / (8 * dofs + 3))
    result: FloatArray = special.log_ndtr(np.where(tail, 0.0, np.copysign(deviate, z)))
    lower = density[tail] + np.log(_mills(away[tail], dofs[tail], _ROUGH_STEPS))
    result[tail] = np.where(z[tail] < 0, lower, np.log1p(-np.exp(lower)))
    return result


def _mills(z: FloatArray, dofs: FloatArray, steps: int) -> FloatArray:
    """Return F(−z)/f(z) for z ≥ 2."""
    a = 0.5 * dofs
    x, y = dofs / (dofs + z * z), z * z / (dofs + z * z)
    start = a * y - 0.5 * x + 1

    def level(m: int) -> FloatArray:
        first = m + m * (0.5 - m) * x / (a + (2 * m - 1)) if m else 0.0
        return first + (a + m) * (start + m * (1 + y)) / (a + (2 * m + 1))

    fraction = level(steps)
    for m in range(steps, 0, -1):
        partial = (a + (m - 1)) * (a + (m - 0.5)) * (m * (0.5 - m)) * (x / (a + (2 * m - 1))) ** 2
        fraction = level(m - 1) + partial / fraction
    return 0.5 * z / fraction
