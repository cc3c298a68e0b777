r"""The best q for given values inside a KL ball: q_a = π_a·e^{λv_a}/Z with KL(q ‖ π) = ε, and never above ε.

By the variational formula of KL, Σ q·v − KL(q ‖ π)/λ is largest at that q for every λ > 0. So this q is the best one
for the budget that it spends, and one equation in λ remains. KL grows with λ, at the rate λ·Var_q(v), from 0 to −log
π(best arms).

**Where digits are lost**, and what is done about it. The gain is concave in the budget and 0 without one, so missing
the budget by a share s loses at most the share s of the gain: only the relative error of KL matters. Rounding a
difference of values changes q to the best one for the rounded values, and so changes the gain only in the second order.

- λ·Σ q·v − log Z cancels where q is near π. With L_a = log(q_a/π_a), KL = Σ π_a·φ(e^{L_a} − 1) has no negative term.
- L_a = λ(v_a − v_r) − log Z_r cancels unless arm r carries mass. r is the largest of q: then Var_q ≥ q_r·E_q(v − v_r)²
  bounds the loss by the number of arms. An error of log Z alone is common to all L and enters only times KL.
- Z_r − 1 = Σ π_a·(e^{λ(v_a − v_r)} − 1) where q is near π; where q_r > 2·π_r that cancels, and Z_r is summed directly.
- In deep tails log π_a + λ·y_a cancels, and q changes by λ·y times the rounding of λ. The sum is one fused operation,
  and λ is kept as two floats.
- Sums over many arms are compensated.

The relative error of KL is a few 1e-15. If π is given instead of log π, the relative error of q is up to 8e-14 at
π = 1e-300, from the rounding of log π. So the target for KL is 2.5e-13 below ε, relatively, and lower by what rounding
the K probabilities themselves can add, u·√Var_q(L), a few 1e-16·√ε where ε is small; for ε below 1e-5 this is the
larger part.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import fma, inlined, part
from feint.numerics.entropy import phi_of

_NO_BUDGET = 1e-280  # ε below this is taken as 0
_INWARD = 2.5e-13  # share of ε that is held back
_ROUNDED = 8e-16  # share of √ε that is held back, for the rounding of the probabilities
_CLOSE = 4e-14  # relative distance from the goal at which a λ is accepted
_TIE = 1e-250  # relative to the largest difference of values: smaller differences count as 0
_BEYOND = 800.0  # nats beyond which nothing is left of an arm
_STEPS = 200  # an upper bound; about 6 on average
_NEAR = 0.2  # |L| below which φ is a series


@inlined
def _product(high: float, low: float, y: float) -> float:
    return high * y + low * y


@part
def _heaviest_arm(log_pi: FloatArray, values: FloatArray, scale: float, top: int, high: float, low: float) -> int:
    """Return r, the first arm with the largest log π + λ·v."""
    chosen = top
    most = log_pi[top]
    for a in range(values.size):
        if log_pi[a] > -math.inf:
            y = (values[a] - values[top]) * scale
            weight = fma(high, y, log_pi[a]) + low * y
            if weight > most:
                most = weight
                chosen = a
    return chosen


@part
def _log_normaliser(
    pi: FloatArray, log_pi: FloatArray, values: FloatArray, scale: float, r: int, high: float, low: float
) -> float:
    """Return log Z_r for λ = high + low."""
    change, lost = 0.0, 0.0
    for a in range(values.size):
        if a != r and log_pi[a] > -math.inf:
            y = (values[a] - values[r]) * scale
            x = _product(high, low, y)
            if abs(x) < 1.0:
                term = pi[a] * math.expm1(x)
            else:
                term = math.exp(fma(high, y, log_pi[a]) + low * y) - pi[a]
            change, lost = _add(change, lost, term)
    if change + lost > -0.5:
        return math.log1p(change + lost)
    others, lost = 0.0, 0.0
    for a in range(values.size):
        if a != r and log_pi[a] > -math.inf:
            y = (values[a] - values[r]) * scale
            others, lost = _add(others, lost, math.exp(fma(high, y, log_pi[a]) + low * y - log_pi[r]))
    return log_pi[r] + math.log1p(others + lost)


@inlined
def _add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Return total + term, and the rounding errors of all such sums so far (Neumaier)."""
    new = total + term
    if abs(total) >= abs(term):
        return new, lost + ((total - new) + term)
    return new, lost + ((term - new) + total)


@part
def _tilted(log_pi_a: float, pi_a: float, y: float, log_z: float, high: float, low: float) -> tuple[float, float]:
    """Return (q_a, L_a)."""
    raised = _product(high, low, y) - log_z
    if abs(raised) < 1.0:
        return pi_a * math.exp(raised), raised
    return math.exp(fma(high, y, log_pi_a) + low * y - log_z), raised


@part
def _kl_and_variance(
    pi: FloatArray, log_pi: FloatArray, values: FloatArray, scale: float, r: int, log_z: float, high: float, low: float
) -> tuple[float, float]:
    """Return KL(q ‖ π) for λ = high + low, and the variance of the scaled values under q."""
    kl, lost = 0.0, 0.0
    mean, square = 0.0, 0.0
    for a in range(values.size):
        if log_pi[a] > -math.inf:
            y = (values[a] - values[r]) * scale
            q, raised = _tilted(log_pi[a], pi[a], y, log_z, high, low)
            if abs(raised) < _NEAR:
                term = pi[a] * phi_of(math.expm1(raised), raised)
            else:
                term = q * (raised - 1.0) + pi[a] if q > 0.0 else pi[a]
            kl, lost = _add(kl, lost, term)
            mean += q * y
            square += q * y * y
    return kl + lost, max(0.0, square - mean * mean)


@part
def _log_of_best(pi: FloatArray, log_pi: FloatArray, values: FloatArray, scale: float, top: int) -> float:
    """Return log π(the best arms)."""
    total, rest = 0.0, 0.0
    for a in range(values.size):
        if log_pi[a] > -math.inf:
            if (values[top] - values[a]) * scale < _TIE:
                total += math.exp(log_pi[a] - log_pi[top])
            else:
                rest += pi[a]
    return math.log1p(-rest) if rest < 0.5 else log_pi[top] + math.log(total)


@part
def _guess(
    pi: FloatArray, log_pi: FloatArray, values: FloatArray, scale: float, epsilon: float, longest: float
) -> float:
    """Return a first λ: √(2ε/Var) for small tilts, and less if an arm in the tail rises first, as in a boost of it."""
    mode = 0
    for a in range(values.size):
        if log_pi[a] > log_pi[mode]:
            mode = a
    mean, square = 0.0, 0.0
    found = longest
    for a in range(values.size):
        if log_pi[a] > -math.inf:
            y = (values[a] - values[mode]) * scale
            mean += pi[a] * y
            square += pi[a] * y * y
            ahead = math.log(epsilon) - log_pi[a]
            if y > 0.0 and ahead > 1.0:
                found = min(found, max(1.0, ahead - math.log(ahead)) / y)
    variance = square - mean * mean
    return min(found, math.sqrt(2.0 * epsilon / variance)) if variance > 0.0 else found


@part
def _solve_tilt(
    pi: FloatArray, log_pi: FloatArray, values: FloatArray, scale: float, top: int, goal: float, longest: float
) -> tuple[float, float]:
    """Return λ, as the sum of two floats, with KL = goal to within `_CLOSE`; failing that, the largest λ found below.

    It uses Newton's method on log KL inside a bracket. Near 0 KL ∝ λ², so a step multiplies λ; in the tails log KL is
    nearly linear, so a step is added to λ.
    """
    below, above = 0.0, longest
    high, low = _guess(pi, log_pi, values, scale, goal, longest), 0.0
    for _ in range(_STEPS):
        r = _heaviest_arm(log_pi, values, scale, top, high, low)
        log_z = _log_normaliser(pi, log_pi, values, scale, r, high, low)
        kl, variance = _kl_and_variance(pi, log_pi, values, scale, r, log_z, high, low)
        off = (kl - goal) / goal
        if abs(off) <= _CLOSE:
            return high, low
        if off < 0.0:
            below = max(below, high)
        else:
            above = min(above, high)
        steepness = high * high * variance / kl if kl > 0.0 else 0.0
        step = -math.log1p(off) / steepness if kl > 0.0 and steepness > 0.0 else math.inf
        if abs(step) < 1e-6:
            low += high * step
            total = high + low
            low -= total - high
            high = total
            if below <= high <= above:
                continue
        following = high * (math.exp(step) if steepness < 3.0 and step < 1.0 else 1.0 + step)
        if not below < following < above:
            following = math.sqrt(below) * math.sqrt(above) if below > 0.0 else above / 16.0
        if following == high or not below < following < above:
            break
        high, low = following, 0.0
    return below, 0.0


@part
def tilt_policy(pi: FloatArray, log_pi: FloatArray, values: FloatArray, epsilon: float, policy: FloatArray) -> None:
    """Fill `policy` with the best q. π sums to 1, and `log_pi` is used where π is too small for float64."""
    top, worst = -1, -1
    for a in range(values.size):
        policy[a] = pi[a]
        if log_pi[a] > -math.inf:
            if top < 0 or values[a] > values[top]:
                top = a
            if worst < 0 or values[a] < values[worst]:
                worst = a
    scale = 1.0 / (values[top] - values[worst]) if values[top] > values[worst] else 0.0
    goal = epsilon * (1.0 - _INWARD) - _ROUNDED * math.sqrt(epsilon) if epsilon < math.inf else math.inf
    if scale == 0.0 or goal < _NO_BUDGET:
        return
    if -_log_of_best(pi, log_pi, values, scale, top) <= goal:
        _keep_best(log_pi, values, scale, top, policy)
        return
    shortest, deepest = 1.0, 0.0
    for a in range(values.size):
        if log_pi[a] > -math.inf:
            behind = (values[top] - values[a]) * scale
            if behind >= _TIE:
                shortest = min(shortest, behind)
            deepest = max(deepest, -log_pi[a])
    high, low = _solve_tilt(pi, log_pi, values, scale, top, goal, (deepest + _BEYOND) / shortest)
    r = _heaviest_arm(log_pi, values, scale, top, high, low)
    log_z = _log_normaliser(pi, log_pi, values, scale, r, high, low)
    for a in range(values.size):
        if log_pi[a] > -math.inf:
            policy[a] = _tilted(log_pi[a], pi[a], (values[a] - values[r]) * scale, log_z, high, low)[0]


@part
def _keep_best(log_pi: FloatArray, values: FloatArray, scale: float, top: int, policy: FloatArray) -> None:
    """Put all probability on the best arms, in the proportions of π."""
    total = 0.0
    for a in range(values.size):
        best = log_pi[a] > -math.inf and (values[top] - values[a]) * scale < _TIE
        policy[a] = math.exp(log_pi[a] - log_pi[top]) if best else 0.0
        total += policy[a]
    for a in range(values.size):
        policy[a] /= total


@part
def policy_kl(policy: FloatArray, pi: FloatArray, log_pi: FloatArray) -> float:
    """Return KL(q ‖ π) of two distributions, as a tilt spends it."""
    kl = 0.0
    for a in range(pi.size):
        if policy[a] > 0.0:
            raised = math.log(policy[a]) - log_pi[a]
            if abs(raised) < _NEAR:
                change = (policy[a] - pi[a]) / pi[a]
                kl += pi[a] * phi_of(change, math.log1p(change))
            else:
                kl += policy[a] * (raised - 1.0) + pi[a]
        else:
            kl += pi[a]
    return kl
