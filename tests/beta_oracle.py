"""High-precision oracles for best-arm probabilities of Beta variables. They share no code with the package.

`log_beta_best_arm` integrates the definition, with distribution functions from power series or from contour integrals
of Γ functions; `log_exceeds` is one such contour integral and never sees a density; `exact_best_arm` integrates
polynomials in rational numbers.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import comb

import mpmath as mp
from mpmath.calculus.quadrature import GaussLegendre

DIGITS = 30
_NATS = 60  # what is left out is below e^−60 = 1e-26 of the peak
_SEARCH_ONLY = 1500  # nats: only the search for the peak goes further, and there the density replaces the tail
Group = tuple[mp.mpf, mp.mpf, int]


def exact_best_arm(parameters: Sequence[tuple[int, int]]) -> list[Fraction]:
    """Return P(arm is the largest) for whole α and β: density and distribution functions are polynomials in x."""
    densities = []
    for alpha, beta in parameters:
        scale = alpha * comb(alpha + beta - 1, alpha)  # 1/B(α, β)
        densities.append([0] * (alpha - 1) + [Fraction(scale * (-1) ** k * comb(beta - 1, k)) for k in range(beta)])
    results = []
    for arm, density in enumerate(densities):
        product = density
        for j, other in enumerate(densities):
            if j != arm:
                product = _times(product, [Fraction(0)] + [Fraction(c) / (k + 1) for k, c in enumerate(other)])
        results.append(sum((Fraction(c) / (k + 1) for k, c in enumerate(product)), Fraction(0)))
    return results


def _times(first: list[Fraction], second: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        if x:
            for k, y in enumerate(second):
                result[i + k] += x * y
    return result


def log_exceeds(alpha: float, beta: float, other_alpha: float, other_beta: float) -> mp.mpf:
    """Return log P(X > X′) for X ~ Beta(α, β) and X′ ~ Beta(α′, β′), however small.

    The difference D of their log-odds has E e^(sD) = Γ(α + s)Γ(β − s)Γ(α′ − s)Γ(β′ + s)/(Γ(α)Γ(β)Γ(α′)Γ(β′)), and
    P(D > 0) = ∫ E e^(sD)/s ds/2πi over any vertical line between 0 and min(β, α′).
    """
    with mp.workdps(DIGITS + 10):
        line = _Line((mp.mpf(alpha), mp.mpf(other_beta)), (mp.mpf(beta), mp.mpf(other_alpha)), mp.mpf(0))
        return line.log_exceedance(mp.mpf(0))


class _Line:
    """Compute P(D > y) for D with E e^(sD) ∝ ∏Γ(u + s)·∏Γ(v − s), by the trapezoidal rule on one line.

    The line goes through the saddle point for y = `near`, where the rule converges exponentially; the Γ functions on it
    serve every y not far from there.
    """

    def __init__(self, up: Sequence[mp.mpf], down: Sequence[mp.mpf], near: mp.mpf) -> None:
        constant = sum(mp.loggamma(z) for z in (*up, *down))

        def exponent(s: mp.mpc) -> mp.mpc:
            return sum(mp.loggamma(u + s) for u in up) + sum(mp.loggamma(v - s) for v in down) - constant - mp.log(s)

        low, high = mp.mpf(0), min(down)
        pole = high
        for _ in range(40):
            s = (low + high) / 2
            slope = sum(mp.digamma(u + s) for u in up) - sum(mp.digamma(v - s) for v in down) - 1 / s - near
            low, high = (s, high) if slope < 0 else (low, s)
        self.saddle = s = high
        curvature = sum(mp.psi(1, u + s) for u in up) + sum(mp.psi(1, v - s) for v in down) + 1 / s**2
        nats = 2.5 * mp.mp.dps
        self.step = 2 * mp.pi * min(min(s, pole - s) / nats, 1 / mp.sqrt(2 * nats * curvature))
        self.top = exponent(s).real
        self.terms = [mp.mpf(1) / 2]
        while abs(self.terms[-1]) > mp.mpf(10) ** (-mp.mp.dps):
            self.terms.append(mp.exp(exponent(mp.mpc(s, len(self.terms) * self.step)) - self.top))

    def log_exceedance(self, y: mp.mpf) -> mp.mpf:
        turn = mp.expj(-self.step * y)
        total = mp.mpc(0)
        for term in reversed(self.terms):
            total = total * turn + term
        return mp.log(total.real * self.step / mp.pi) + self.top - self.saddle * y


def log_beta_best_arm(groups: Sequence[tuple[float, float, int]]) -> list[mp.mpf]:
    """Return log P(an arm of the group is the largest) per group; a group is (α, β, number of identical arms).

    Quadrature of f_a·F_a^(n_a − 1)·∏ F_j^(n_j) over the log-odds, cut where any arm has a feature.
    """
    with mp.workdps(DIGITS):
        exact = [(mp.mpf(a), mp.mpf(b), n) for a, b, n in groups]
        return [_log_integral(exact, arm) for arm in range(len(exact))]


@cache
def _log_beta_function(a: mp.mpf, b: mp.mpf, digits: int) -> mp.mpf:
    with mp.workdps(digits + 15):
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def _log_density(a: mp.mpf, b: mp.mpf, y: mp.mpf) -> mp.mpf:
    """Return the log density of the log-odds: x^α·(1 − x)^β/B(α, β)."""
    return -a * mp.log1p(mp.exp(-y)) - b * mp.log1p(mp.exp(y)) - _log_beta_function(a, b, mp.mp.dps)


def _log_cdf(a: mp.mpf, b: mp.mpf, y: mp.mpf) -> mp.mpf:
    """Return the log of the regularised incomplete Beta function at x = 1/(1 + e^−y)."""
    x, w = 1 / (1 + mp.exp(-y)), 1 / (1 + mp.exp(y))
    log_density = _log_density(a, b, y)
    slope = a * w - b * x
    if log_density < -_SEARCH_ONLY:
        return log_density if slope > 0 else mp.mpf(0)
    if slope < 0 and log_density - mp.log(-slope) < -2.5 * DIGITS:
        return mp.mpf(0)
    if a * b / (a + b) > 200:
        if slope > 0:
            return _log_tail(b, a, -y)
        return mp.log1p(-mp.exp(_log_tail(a, b, y)))
    if x < 0.1 or (a <= b and x < 0.9):
        return log_density + mp.log(_series(a, b, x))
    with mp.extradps(10 + 10 * int(max(0, -log_density) / 20)):  # 1 − upper tail, however close to 0
        return mp.log1p(-mp.exp(_log_density(a, b, y)) * _series(b, a, 1 / (1 + mp.exp(y))))


def _log_tail(a: mp.mpf, b: mp.mpf, y: mp.mpf) -> mp.mpf:
    """Return log P(Y > y) for y right of the mode, by the line for the nearest multiple of 4 standard deviations."""
    sd = mp.sqrt((a + b) / (a * b))
    nearest = max(1, int(mp.nint((y - mp.log(a / b)) / sd / 4)))
    return _line(a, b, nearest).log_exceedance(y)


@cache
def _line(a: mp.mpf, b: mp.mpf, quarter: int) -> _Line:
    with mp.extradps(15):
        return _Line((a,), (b,), mp.log(a / b) + 4 * quarter * mp.sqrt((a + b) / (a * b)))


def _series(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> mp.mpf:
    """Return the incomplete Beta integral over x^a·(1 − x)^b.

    It is ∑ (a + b)…(a + b + n − 1)/(a…(a + n))·xⁿ, with positive terms only.
    """
    bits = mp.mp.prec + 20
    one = 1 << bits  # fixed point: ten times faster than mpf
    step = int(mp.ldexp(x, bits))
    numerator, denominator = int(mp.ldexp((a + b) * x, bits)), int(mp.ldexp(a + 1, bits))
    term = total = one
    while term << mp.mp.prec > total or numerator > denominator:
        term = term * numerator // denominator
        total += term
        numerator += step
        denominator += one
    return mp.ldexp(total, -bits) / a


@cache
def _rule() -> list[tuple[mp.mpf, mp.mpf]]:
    return GaussLegendre(mp.mp).calc_nodes(4, mp.mp.prec)  # 24 nodes and weights


def _log_integral(groups: list[Group], arm: int) -> mp.mpf:
    alpha, beta, _ = groups[arm]

    def log_integrand(y: mp.mpf) -> mp.mpf:
        total = _log_density(alpha, beta, y)
        for j, (a, b, n) in enumerate(groups):
            count = n - 1 if j == arm else n
            if count:
                total += count * _log_cdf(a, b, y)
        return total

    modes = [mp.log(a / b) for a, b, _ in groups]
    sds = [mp.sqrt((a + b) / (a * b)) for a, b, _ in groups]
    sharpest = min(sds)
    peak = _highest(log_integrand, min(modes) - 3 * max(sds), max(modes) + 3 * max(sds), sharpest / 4)
    top = log_integrand(peak)
    if top < _NATS - _SEARCH_ONLY:
        raise ValueError(f"log p is near {mp.nstr(top, 5)}; this oracle ends at {_NATS - _SEARCH_ONLY}.")

    def end(sign: int) -> mp.mpf:
        reach = sharpest
        while log_integrand(peak + sign * reach) > top - _NATS:
            reach *= 2
        inside = reach / 2
        for _ in range(4):
            middle = (inside + reach) / 2
            if log_integrand(peak + sign * middle) > top - _NATS:
                inside = middle
            else:
                reach = middle
        return peak + sign * reach

    start, stop = end(-1), end(1)
    cuts = {start, stop} | {start + (stop - start) * mp.mpf(k) / 10 for k in range(1, 10)}
    for mode, sd in zip(modes, sds, strict=True):
        cuts |= {mode + k * sd for k in (-9, -6, -3, 0, 3, 6, 9) if start < mode + k * sd < stop}
    cuts |= {mp.mpf(k) for k in range(-40, 41, 2) if start < k < stop}  # g has poles at distance π
    total = mp.mpf(0)
    for low, high in pairwise(sorted(cuts)):
        half = (high - low) / 2
        total += half * sum(w * mp.exp(log_integrand(low + half * (1 + u)) - top) for u, w in _rule())
    return mp.log(total) + top


def _highest(function: Callable[[mp.mpf], mp.mpf], low: mp.mpf, high: mp.mpf, tolerance: mp.mpf) -> mp.mpf:
    """Find the peak of a log-concave function by golden section."""
    shrink = (mp.sqrt(5) - 1) / 2
    left, right = high - shrink * (high - low), low + shrink * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > tolerance:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + shrink * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - shrink * (high - low)
            at_left = function(left)
    return (low + high) / 2
