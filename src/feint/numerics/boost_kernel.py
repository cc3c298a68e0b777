r"""q*(p), the largest q with KL(Ber(q) ‖ Ber(p)) ≤ ε (the paper's Lemma 1), to the last digits and never too large.

With δ = q − p, r = 1 − p and φ(u) = (1 + u)·log(1 + u) − u,

    KL = p·φ(δ/p) + r·φ(−δ/r),        KL′ = log(1 + δ/p) − log(1 − δ/r),

two non-negative terms, without cancellation if φ has none (near 0 it is a series). From the paper's underestimate
q-hat, Halley's method takes 2 or 3 steps. Where q* lies in the upper half of [p, 1] the slope grows without bound, and
the same equation is solved in η = 1 − q instead,

    η·(log(r/η) − log p) − (1 − η)·log(1 − η) = −log p − ε,

which is concave in η, by Newton's method from below. Below p = 1e-290, p enters only as log p.

The relative error of δ (or η) is a few 1e-15. The result is moved towards p by 2e-14 of it and down by one float, so in
exact arithmetic it is never above q* and within 1e-13·q* of it. Bisection, the paper's suggestion, needs 50 steps for
that; this takes 3 to 6.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import fma, inlined, part
from feint.numerics.entropy import phi_of

_TINY_P = 1e-290
_NO_BUDGET = 1e-280  # ε below this is taken as 0
_INWARD = 1.0 - 2e-14
_ONE_FLOAT_DOWN = 1.0 - 2.0**-52
_STEPS = 40  # a bound that is never reached: at most 7 were seen
_CLOSE_HALLEY = 1e-5
_CLOSE = 1e-8  # relative step after which Newton's method, doubling its digits, has converged


@inlined
def _kl_and_slope(delta: float, p: float) -> tuple[float, float]:
    """Return KL(Ber(p + δ) ‖ Ber(p)) and its derivative in δ, for 0 < p < 1 and 0 ≤ δ ≤ 1 − p."""
    r = 1.0 - p
    up = math.log1p(delta / p)
    down = math.log1p(-delta / r)
    return p * phi_of(delta / p, up) + r * phi_of(-delta / r, down), up - down


@part
def _log_not_below(p: float, epsilon: float) -> bool:
    """Return whether −log p ≤ ε in exact arithmetic, for 0 < p < 1."""
    if p > 0.99:
        x = 1.0 - p  # exact, and so is ε − x where it matters: −log p = x + x²/2 + x³/3 + …
        series = 0.0
        for k in range(12, 1, -1):
            series = (series + 1.0 / k) * x
        return epsilon - x >= series * x
    surprise = -math.log(p)
    if abs(surprise - epsilon) > 4e-16 * epsilon:
        return surprise <= epsilon
    # Equal up to rounding: compare p·exp(ε) with 1 in twice the precision, with exp by squaring a short series.
    high, low = _exp_twice(epsilon)
    product = p * high
    error = fma(p, high, -product) + p * low
    return (product - 1.0) + error >= 0.0


@part
def _exp_twice(x: float) -> tuple[float, float]:
    """Return exp(x) as an unevaluated sum of two floats, to 1e-28 relative: Taylor at x/2¹², then 12 squarings."""
    y = x / 4096.0
    high, low = 1.0, 0.0
    for k in range(30, 0, -1):
        # (high, low) ← 1 + (high, low)·y/k
        product = high * y
        error = fma(high, y, -product) + low * y
        quotient = product / k
        error = (fma(-quotient, float(k), product) + error) / k
        high = 1.0 + quotient
        low = (1.0 - high + quotient) + error
    for _ in range(12):
        product = high * high
        low = fma(high, high, -product) + 2.0 * high * low
        high = product + low
        low = (product - high) + low
    return high, low


@part
def _lambert_of_exp(y: float) -> float:
    """Return roughly W(exp(y)), the root w of w + log w = y, by two Newton steps: a starting point."""
    w = y - math.log(y) if y > 2.0 else math.exp(y) / (1.0 + math.exp(y))
    for _ in range(2):
        w *= (1.0 + y - math.log(w)) / (1.0 + w)
    return w


@part
def _complement(log_p: float, r: float, epsilon: float) -> float:
    """Return η = 1 − q* where it is the smaller part, for −log p > ε."""
    surprise = -log_p
    gap = surprise - epsilon
    # For η = gap/D the left side is at most η·D, so the start is below the root.
    d = surprise + 1.0 + max(0.0, math.log(r / gap))
    eta = gap / (d + 2.0 * math.log1p(d))
    for _ in range(_STEPS):
        log_rest = math.log1p(-eta)
        value = eta * (math.log(r / eta) + surprise) - (1.0 - eta) * log_rest
        step = (gap - value) / (math.log(r / eta) + surprise + log_rest)
        eta += step
        if step < _CLOSE * eta:
            break
    return eta


@part
def _boost_excess(p: float, log_p: float, epsilon: float) -> float:
    """Return δ = q* − p where q* lies in the lower half of [p, 1]."""
    r = 1.0 - p
    highest = 0.5 * r
    # The paper's q-hat (Appendix C.2) is below q*, so one Newton step lands above it.
    lambert = epsilon / _lambert_of_exp(math.log(epsilon) - log_p)
    delta = min(highest, max(lambert - p, math.sqrt(epsilon * p * r)))
    for _ in range(_STEPS):
        kl, slope = _kl_and_slope(delta, p)
        step = (kl - epsilon) / slope
        # Halley's method: KL″ = 1/(q(1 − q)) costs nothing, and triples the digits at each step.
        step /= 1.0 - 0.5 * step / (slope * (p + delta) * (r - delta))
        delta = min(delta - step, highest)
        if abs(step) < _CLOSE_HALLEY * delta:
            break
    return delta


@part
def _tiny(log_p: float, epsilon: float) -> float:
    """Return q* if it is at most ½ and p is below 1e-290, where KL = q(log q − log p) + (1 − q)·log(1 − q)."""
    q = min(0.5, epsilon / _lambert_of_exp(math.log(epsilon) - log_p))
    for _ in range(_STEPS):
        log_rest = math.log1p(-q)
        slope = math.log(q) - log_p - log_rest
        step = (q * (math.log(q) - log_p) + (1.0 - q) * log_rest - epsilon) / slope
        q = min(q - step, 0.5)
        if abs(step) < _CLOSE * q:
            break
    return q


@part
def bernoulli_kl(q: float, p: float, log_p: float) -> float:
    """Return KL(Ber(q) ‖ Ber(p)) for q ≥ p, as a boost spends it; `log_p` is used where p is too small for float64."""
    if q <= p:
        return 0.0
    if q == 1.0:
        return -log_p
    if p < _TINY_P:
        return q * (math.log(q) - log_p) + (1.0 - q) * math.log1p(-q)
    return _kl_and_slope(q - p, p)[0]


@part
def boost_scalar(p: float, log_p: float, epsilon: float, exact_log: bool) -> float:
    """Return q*(p). If `exact_log`, log_p is the given number and p its rounded exponential; otherwise the reverse."""
    if epsilon < _NO_BUDGET or p == 1.0:
        return p
    if epsilon == math.inf:
        return 1.0
    if log_p == -math.inf:
        return 0.0
    if (-log_p <= epsilon) if exact_log else _log_not_below(p, epsilon):
        return 1.0
    r = 1.0 - p
    if p < _TINY_P:
        if 0.5 * (math.log(0.5) - log_p) + 0.5 * math.log(0.5) >= epsilon:
            return _tiny(log_p, epsilon) * _INWARD * _ONE_FLOAT_DOWN
    elif _kl_and_slope(0.5 * r, p)[0] >= epsilon:
        return max(p, (p + _boost_excess(p, log_p, epsilon) * _INWARD) * _ONE_FLOAT_DOWN)
    # Near −log p = ε the gap loses all its digits, but η is then below 1e-15: stay at least one float below 1.
    eta = _complement(log_p, r, epsilon) if -log_p > epsilon else 0.0
    return max(p, (1.0 - eta / _INWARD) * _ONE_FLOAT_DOWN)


@part
def boost_policy(pi: FloatArray, log_pi: FloatArray, boosted: int, epsilon: float, policy: FloatArray) -> None:
    """Fill `policy` by Definition 1: `boosted` gets q*, and the others keep their proportions."""
    q = boost_scalar(pi[boosted], log_pi[boosted], epsilon, True)
    rest = 0.0
    for a in range(policy.size):
        if a != boosted:
            rest += pi[a]
    scale = (1.0 - q) / rest if rest > 0.0 else 0.0
    for a in range(policy.size):
        policy[a] = pi[a] * scale
    policy[boosted] = q
