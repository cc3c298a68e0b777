"""Log-odds of a Beta variable: density and tail to full precision for parameters of any size.

Y = log(X/(1 − X)) with X ~ Beta(α, β), N = α + β, σ(y) = 1/(1 + e^−y) and mode m = log(α/β) has the density

    g(y) = σ(y)^α·σ(−y)^β/B(α, β) = g(m)·exp(−N·Q_m(y − m)),    Q_c(t) = log(1 + σ(c)·(e^t − 1)) − σ(c)·t,

log-concave and analytic on the whole line for all α, β > 0. Q_c ≥ 0 is the cumulant function of a centred
Bernoulli(σ(c)) variable. About any point c the same function serves with a slope, s(y) = (log g)′ = α·σ(−y) − β·σ(y):

    log g(c + t) = log g(c) + s(c)·t − N·Q_c(t).

**Digits.** log B is −1.4e8 for α = β = 1e8, so it is known to 3e-8 at best; here nothing of size N cancels. Stirling's
formula for each Γ leaves g(m) = √(αβ/(2πN))·exp(r(N) − r(α) − r(β)) with remainders r(z) = 1/(12z) − … Only the last
bit of σ(c) is lost: it changes log g by 1e-16·N·σ(c)·σ(−c)·t, about 1e-16·√N for each standard deviation of t.

**Tail.** G(y) = P(Y ≤ y) = g·R. Mills' ratio R increases and is at most 1/s. Far enough left of the mode its continued
fraction (DiDonato and Morris, ACM TOMS 708, 1992, Eq. 9) gives R to 3e-14 in a few levels.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import inlined, part
from feint.numerics.normal import HALF_LOG_2PI

NARROW = 0.15  # |t| up to which Q comes from its Taylor series, because its first-order terms would cancel
SERIES = 13  # powers of t in the series: the next is below 1e-14 of N·Q for t within ±2 standard deviations
# The fraction is used where the mean of Beta(α + 1, β + 1) lies at least this many standard deviations to the right.
# Then 25 levels suffice for α = β = 1e8, 10 for 30, and 8 for 1.
_FRACTION_DISTANCE = 4.0
_LEVELS = 88.0  # times standard deviations per distance, plus 3: an upper bound on the levels
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@part
def stirling_remainder(z: float) -> float:
    """Return r(z) = log Γ(z) − (z − ½)·log z + z − ½·log 2π."""
    if z < 10.0:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - HALF_LOG_2PI
    inverse = 1.0 / z
    square = inverse * inverse
    total = 0.0
    for k in range(len(_STIRLING) - 1, -1, -1):
        total = total * square + _STIRLING[k]
    return total * inverse


@part
def peak_density(alpha: float, beta: float) -> float:
    """Return g(m), the largest value of the density."""
    n = alpha + beta
    correction = stirling_remainder(n) - stirling_remainder(alpha) - stirling_remainder(beta)
    return math.sqrt(alpha / n * beta / (2.0 * math.pi)) * math.exp(correction)


@inlined
def both_odds(y: float) -> tuple[float, float]:
    """Return σ(y) and σ(−y)."""
    e = math.exp(-abs(y))
    small = e / (1.0 + e)
    large = 1.0 / (1.0 + e)
    return (large, small) if y > 0.0 else (small, large)


@part
def cumulant_coefficients(p: float, q: float, out: FloatArray) -> None:
    """Fill in coefficients of tᵏ in Q, k = 2 … SERIES, from δ = Q′ = σ(c + t) − σ(c), with δ′ = (p + δ)·(q − δ)."""
    out[1] = p * q
    for k in range(1, SERIES - 1):
        total = (q - p) * out[k]
        for i in range(1, k):
            total -= out[i] * out[k - i]
        out[k + 1] = total / (k + 1)
    for k in range(SERIES - 1, 0, -1):
        out[k + 1] = out[k] / (k + 1)


@inlined
def cumulant_series(t: float, coefficients: FloatArray) -> float:
    """Return Q(t) for |t| ≤ NARROW."""
    total = 0.0
    for k in range(SERIES, 1, -1):
        total = total * t + coefficients[k]
    return total * t * t


@part
def fall_and_slope(alpha: float, beta: float, mode: float, y: float, coefficients: FloatArray) -> tuple[float, float]:
    """Return log g(m) − log g(y), and s(y).

    The expansion is about y, not about m: its value at m, where its slope is 0, is not affected by the rounding of m.
    """
    p, q = both_odds(y)
    n = alpha + beta
    slope = alpha * q - beta * p
    t = mode - y
    if abs(t) <= NARROW:
        cumulant_coefficients(p, q, coefficients)
        return slope * t - n * cumulant_series(t, coefficients), slope
    # From the side where σ ≤ ½ (Q is the same), 1 + σ·(e^t − 1) loses no digits; for large t, σ·e^t = (1 − σ)·e^±m.
    sign = -1.0 if y > 0.0 else 1.0
    small = min(p, q)
    change = small * math.expm1(sign * t) if sign * t < 30.0 else max(p, q) * math.exp(sign * mode) - small
    return slope * t - n * (math.log1p(change) - small * sign * t), slope


@part
def _edges(alpha: float, beta: float, distance: float) -> tuple[float, float]:
    """Return the y for which the mean of Beta(α, β) is `distance` sds √(N·σ(y)·σ(−y)) to the right, and to the left.

    They are the roots of (α − N·x)² = d²·N·x·(1 − x) for x = σ(y), as products that cannot cancel.
    """
    n = alpha + beta
    square = distance * distance
    root = distance * math.sqrt(square + 4.0 * alpha * (beta / n))
    scale = 4.0 * (1.0 + square / n) / ((2.0 * alpha + square + root) * (2.0 * beta + square + root))
    return math.log(scale * alpha * alpha), -math.log(scale * beta * beta)


@part
def fraction_edges(alpha: float, beta: float) -> tuple[float, float]:
    """Return the log-odds left and right of which the continued fraction gives the lower and the upper tail."""
    return _edges(alpha + 1.0, beta + 1.0, _FRACTION_DISTANCE)


@part
def _levels(alpha: float, beta: float, x: float, w: float) -> int:
    """Return the levels that leave an error of 3e-14 of R at x = 1 − w, left of the edge, and anywhere left of x."""
    a = alpha + 1.0
    b = beta + 1.0
    far = _LEVELS * math.sqrt((a + b) * x * w) / (a * w - b * x)
    return 3 + int(min(far, 3.0 + 2.0 * math.sqrt(a * b / (a + b))))


@inlined
def _fraction_level(alpha: float, beta: float, k: int) -> tuple[float, float, float]:
    """Return for level k the numerator over x², and the factors of x and of s + 1 + k·(2 − x) in the denominator."""
    even = alpha + 2 * k - 1
    below = k * (beta - k) / even
    return (alpha + k - 1) * (alpha + beta + k - 1) / even * below, below, (alpha + k) / (alpha + 2 * k + 1)


@part
def mills_ratio(alpha: float, beta: float, x: float, w: float) -> float:
    """Return R = G/g where σ(y) = x = 1 − w, left of the edge."""
    slope = alpha * w - beta * x
    rest = 0.0
    for k in range(_levels(alpha, beta, x, w), 0, -1):
        numerator, below, share = _fraction_level(alpha, beta, k)
        rest = numerator * x * x / (k + below * x + share * (slope + 1.0 + k * (1.0 + w)) + rest)
    return 1.0 / (alpha / (alpha + 1.0) * (slope + 1.0) + rest)


@part
def mills_ratios(alpha: float, beta: float, odds: FloatArray, out: FloatArray, row: int) -> None:
    """Fill out[row] with R at each x = odds[0] = 1 − odds[1], ascending; the inner loop vectorises."""
    size = odds.shape[1]
    for i in range(size):
        out[row, i] = 0.0
    for k in range(_levels(alpha, beta, odds[0, size - 1], odds[1, size - 1]), 0, -1):
        numerator, below, share = _fraction_level(alpha, beta, k)
        constant = k + share * (1.0 + k)
        x_factor = below - share * beta
        w_factor = share * (alpha + k)
        for i in range(size):
            x = odds[0, i]
            out[row, i] = numerator * x * x / (constant + x_factor * x + w_factor * odds[1, i] + out[row, i])
    share = alpha / (alpha + 1.0)
    for i in range(size):
        out[row, i] = 1.0 / (share * (alpha * odds[1, i] - beta * odds[0, i] + 1.0) + out[row, i])


@part
def lower_quantile(alpha: float, beta: float, nats: float, coefficients: FloatArray) -> float:
    """Return a log-odds y with G(y) < e^−nats, but not far below.

    Newton's method for N·Q_m(y − m) = nats: Q is convex, so every step ends left of the root, and g(m) < s there.
    """
    mode = math.log(alpha / beta)
    y, _ = _edges(alpha, beta, math.sqrt(2.0 * nats))
    for _ in range(20):
        fall, slope = fall_and_slope(alpha, beta, mode, y, coefficients)
        if nats <= fall < nats + 1.0:
            break
        y -= (nats - fall) / slope
    return y
