"""The normal tail and the exponential, without branches so that loops over quadrature nodes vectorise.

No library offers these inside a compiled loop: calls to libm's `exp` or `erfc` stop LLVM from vectorising, and
SciPy's `erfcx` cannot be inlined. Both are within 6e-16 of the true value (tests/numerics/test_normal.py).
"""

import math

from feint.numerics._jit import bits_float, float_bits, fma, inlined

SQRT_2PI = math.sqrt(2.0 * math.pi)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

# (1 + 2x)·erfcx(x), x = |z|/√2, is smooth in t = (x − 3.75)/(x + 3.75) over the whole half-line: 24 Chebyshev
# interpolation points leave 5e-17. The coefficients below are its powers of t, computed with 60 digits by the
# construction that tests/numerics/test_normal.py repeats.
_MILLS = (
    1.2375126308378275,
    -0.14024059858554702,
    0.003585415485479575,
    0.08227673849014977,
    -0.10880393014246645,
    0.09230432116025894,
    -0.05869339857631061,
    0.028362277420377335,
    -0.00974657968596217,
    0.001755625843431864,
    0.000293714390578856,
    -0.00029015404203352704,
    5.164649341002877e-05,
    2.2384138525656757e-05,
    -1.1437980374495534e-05,
    -9.733875167494142e-07,
    1.7419011945194367e-06,
    -5.741076073013916e-08,
    -2.4851108650210706e-07,
    2.3398534313040898e-08,
    3.195398612057818e-08,
    -3.798189797736207e-09,
    -2.618520156503145e-09,
    3.2052623379289157e-10,
)
_MILLS_CENTRE = 3.75 * math.sqrt(2.0)
_TWO_SQRT2 = 2.0 * math.sqrt(2.0)

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 to 33 bits, so that n·_LN2_HIGH is exact (fdlibm's split)
_LN2_LOW = 1.90821492927058770002e-10  # ln 2 − _LN2_HIGH
_ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest integer in the low bits
EXP_FLOOR = -708.0  # exp below this leaves the normal range
_LITTLE = -600.0
_ARTANH = tuple(2.0 / (2 * k + 1) for k in range(1, 10))
_EXP = tuple(1.0 / math.factorial(k) for k in range(14))  # Taylor series on |r| ≤ ln2/2: the error is 4e-18


@inlined
def exp_nonpositive(x: float) -> float:
    """Return exp(x) for x ≤ 0, but exp(−708) for anything below −708."""
    x = EXP_FLOOR if x < EXP_FLOOR else x
    shifted = fma(x, _LOG2_E, _ROUND)
    n = shifted - _ROUND
    r = fma(-n, _LN2_LOW, fma(-n, _LN2_HIGH, x))
    r2 = r * r
    r4 = r2 * r2
    # Four-term blocks instead of Horner's rule make the chain of dependent operations a third as long.
    a = fma(fma(_EXP[5], r, _EXP[4]), r2, fma(_EXP[3], r, _EXP[2]))
    b = fma(fma(_EXP[9], r, _EXP[8]), r2, fma(_EXP[7], r, _EXP[6]))
    c = fma(fma(_EXP[13], r, _EXP[12]), r2, fma(_EXP[11], r, _EXP[10]))
    series = fma(fma(fma(c, r4, b), r4, a), r2, r) + 1.0
    return series * bits_float((float_bits(shifted) << 52) + 0x3FF0000000000000)


@inlined
def exp_or_little(x: float) -> float:
    """Return exp(x) for x ≤ 0, but exp(−600) for anything below −600. That is negligible beside 1, and its products do
    not become subnormal, which would take fifty times as long.
    """
    return exp_nonpositive(x if x > _LITTLE else _LITTLE)


@inlined
def exp_and_complement(log_p: float) -> tuple[float, float]:
    """Return p and 1 − p; the latter keeps its digits where p is near 1."""
    p = math.exp(log_p)
    return p, 1.0 - p if p < 0.5 else -math.expm1(log_p)


@inlined
def log_positive(x: float) -> float:
    """Return log(x) for a normal x > 0, to 4e-16 relative away from x = 1 and 2e-16 absolute near it.

    x = 2ⁿ·m with m in [√½, √2): log m = 2·artanh(s), s = (m − 1)/(m + 1), |s| ≤ 0.172, by its series to 1e-17.
    """
    bits = float_bits(x) + 0x95F619980C433  # carry into the exponent where the fraction is above √2
    n = (bits >> 52) - 1023
    m = bits_float((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD)
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    s4 = s2 * s2
    a = fma(s4, fma(s4, fma(s4, fma(s4, _ARTANH[8], _ARTANH[6]), _ARTANH[4]), _ARTANH[2]), _ARTANH[0])
    b = fma(s4, fma(s4, fma(s4, _ARTANH[7], _ARTANH[5]), _ARTANH[3]), _ARTANH[1])
    series = fma(s * s2, fma(s2, b, a), n * _LN2_LOW)
    return fma(float(n), _LN2_HIGH, fma(2.0, s, series))


@inlined
def _quintic(a: float, b: float, c: float, d: float, e: float, f: float, x: float) -> float:
    """Return a + b·x + c·x² + d·x³ + e·x⁴ + f·x⁵."""
    return fma(fma(fma(fma(fma(f, x, e), x, d), x, c), x, b), x, a)


@inlined
def scaled_tail(y: float) -> float:
    """Return Φ(−y)·exp(y²/2) = erfcx(y/√2)/2 for y ≥ 0: the normal tail without its exponential (Mills' ratio/√2π)."""
    denominator = 2.0 + _TWO_SQRT2 * y
    inverse = 1.0 / ((y + _MILLS_CENTRE) * denominator)
    t = (y - _MILLS_CENTRE) * denominator * inverse
    t2 = t * t
    t4 = t2 * t2
    a = _quintic(_MILLS[0], _MILLS[4], _MILLS[8], _MILLS[12], _MILLS[16], _MILLS[20], t4)
    b = _quintic(_MILLS[1], _MILLS[5], _MILLS[9], _MILLS[13], _MILLS[17], _MILLS[21], t4)
    c = _quintic(_MILLS[2], _MILLS[6], _MILLS[10], _MILLS[14], _MILLS[18], _MILLS[22], t4)
    d = _quintic(_MILLS[3], _MILLS[7], _MILLS[11], _MILLS[15], _MILLS[19], _MILLS[23], t4)
    return fma(fma(d, t, c), t2, fma(b, t, a)) * ((y + _MILLS_CENTRE) * inverse)


@inlined
def reverse_hazard(z: float) -> float:
    """Return φ(z)/Φ(z), the derivative of log Φ, which falls from |z| at −∞ to 0 at +∞."""
    tail = scaled_tail(abs(z))
    if z < 0.0:
        return 1.0 / (SQRT_2PI * tail)
    density = exp_nonpositive(-0.5 * z * z)
    return density / (SQRT_2PI * (1.0 - density * tail))
