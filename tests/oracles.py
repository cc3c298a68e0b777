"""High-precision oracles. They share no code and no method with the package."""

from collections.abc import Sequence

import mpmath as mp

DIGITS = 40


def log_best_arm(groups: Sequence[tuple[float, float, int]]) -> list[mp.mpf]:
    """Return log P(an arm of the group is the largest) per group; a group is (mean, sd, number of identical arms).

    40-digit Gauss–Legendre quadrature of φ_a·Φ_a^(n_a − 1)·∏ Φ_j^(n_j) between the points where it is e^−95 of its
    peak, cut at the features of every arm. Identical arms cost nothing, so K = 1000 is as cheap as K = 2.
    """
    with mp.workdps(DIGITS):
        exact = [(mp.mpf(m), mp.mpf(s), n) for m, s, n in groups]
        return [_log_integral(exact, a) for a in range(len(exact))]


def _log_integral(groups: list[tuple[mp.mpf, mp.mpf, int]], arm: int) -> mp.mpf:
    mean, sd, _ = groups[arm]

    def log_integrand(x: mp.mpf) -> mp.mpf:
        total = -(((x - mean) / sd) ** 2) / 2 - mp.log(sd * mp.sqrt(2 * mp.pi))
        for j, (m, s, n) in enumerate(groups):
            count = n - 1 if j == arm else n
            if count:
                total += count * mp.log(mp.erfc((m - x) / (s * mp.sqrt(2))) / 2)
        return total

    sharpest = min(s for _, s, _ in groups)
    low = min(m - 12 * s for m, s, _ in groups)
    high = max(m + 12 * s for m, s, _ in groups)
    shrink = (mp.sqrt(5) - 1) / 2
    while high - low > sharpest / 1000:  # golden section: the integrand is log-concave
        left, right = high - shrink * (high - low), low + shrink * (high - low)
        if log_integrand(left) < log_integrand(right):
            low = left
        else:
            high = right
    peak = (low + high) / 2
    top = log_integrand(peak)

    def end(sign: int) -> mp.mpf:
        reach = sharpest / 1000
        while log_integrand(peak + sign * reach) > top - 95:
            reach *= 2
        inside = reach / 2
        for _ in range(6):
            middle = (inside + reach) / 2
            if log_integrand(peak + sign * middle) > top - 95:
                inside = middle
            else:
                reach = middle
        return peak + sign * reach

    start, stop = end(-1), end(1)
    cuts = {start, stop, peak} | {start + (stop - start) * k / 8 for k in range(1, 8)}
    cuts |= {m + k * s for m, s, _ in groups for k in (-9, -5, -2, 0, 2, 5, 9) if start < m + k * s < stop}
    # In units of the width: mpmath's error estimate is absolute.
    width = stop - start
    points = [(x - start) / width for x in sorted(cuts)]
    value = mp.quadgl(lambda y: mp.exp(log_integrand(start + y * width) - top), points, maxdegree=8)
    return mp.log(value * width) + top


def bernoulli_kl(q: mp.mpf, log_p: mp.mpf) -> mp.mpf:
    """Return KL(Ber(q) ‖ Ber(p)) from log p; call it with a precision that resolves the answer."""
    left = q * (mp.log(q) - log_p) if q > 0 else mp.mpf(0)
    right = (1 - q) * (mp.log(1 - q) - mp.log(-mp.expm1(log_p))) if q < 1 else mp.mpf(0)
    return left + right


def log_orthant_by_angle(h: float, k: float, r: float, sign: int, digits: int = 140) -> mp.mpf:
    """Return log P(X > h, Y > k) of standard normals with correlation sign·√(1 − r²).

    Drezner and Genz's integral Φ(−h)Φ(−k) + ∫_0^asin ρ exp(−(h² + k² − 2hk·sin θ)/(2cos²θ)) dθ/2π, with so many digits
    that its cancellation does not matter.
    """
    with mp.workdps(digits):
        h, k, r = mp.mpf(h), mp.mpf(k), mp.mpf(r)
        last = sign * mp.acos(r)

        def density(angle: mp.mpf) -> mp.mpf:
            return mp.exp(-(h * h + k * k - 2 * h * k * mp.sin(angle)) / (2 * mp.cos(angle) ** 2))

        ends = [last * (1 - mp.mpf(2) ** -j) for j in range(0, 24, 3)] + [last]
        both = mp.quad(density, ends, maxdegree=8) / (2 * mp.pi)
        return mp.log(mp.ncdf(-h) * mp.ncdf(-k) + both)
