r"""P(arm is the largest) for independent normals to about 1 %, in a tenth of the time, and compiled in half a second.

Arm a is the largest if all differences D_j = X_a − X_j are above 0. Sequential conditioning (Mendell & Elston 1974)
takes the differences one after another, those to the largest means first. Each is normal with mean d and variance v,
and above 0 with probability Φ(z), z = d/√v. Given that it is above 0, the others have, with λ = φ(z)/Φ(z) and c their
covariance with it,

    d_k ← d_k + (c/√v)·λ,        v_k ← v_k − (c²/v)·λ(λ + z),        c_kl ← c_kl − (c²/v)·λ(λ + z),

after which they are treated as normal again. All covariances start as σ_a² and so stay equal, and K numbers suffice.
The first factor, which has nearly all of a deep tail, is exact; for two arms the whole is exact. For learning agents, P
is off by 0.2 % in the median and by 1.5 % at the 99th percentile; for tied means and sds that differ by a factor of
100, by 1.5 and 8 % (`tests/numerics/test_best_arm_quick.py`).
"""

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import inlined, kernel, part
from feint.numerics.normal import SQRT_2PI, exp_nonpositive, log_positive, scaled_tail

_SATURATED = 8.2  # 1 − Φ(8.2) = 1.2e-16


def quick_log_best(means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return log P(arm is the largest), (K, R) from (K, R), with arms along the first axis."""
    found, order, scratch = np.empty(means.shape), np.empty(means.shape, dtype=np.int64), np.empty((4, *means.shape))
    _fill(means, variances, order, scratch, found)
    return found


@kernel
def _fill(means: FloatArray, variances: FloatArray, order: IntArray, scratch: FloatArray, found: FloatArray) -> None:
    sorted_means, sorted_variances, log_p, moments = scratch[0], scratch[1], scratch[2], scratch[3]
    sort_arms(means, variances, order, sorted_means, sorted_variances)
    for a in range(means.shape[0]):
        condition_arm(a, sorted_means, sorted_variances, moments, log_p)
    normalise_sorted(log_p, moments[0], order, found)


@part
def sort_arms(
    means: FloatArray, variances: FloatArray, order: IntArray, sorted_means: FloatArray, sorted_variances: FloatArray
) -> None:
    """Sort by insertion, largest means first; for a few arms per column NumPy's sort takes four times as long."""
    for i in range(means.shape[1]):
        for a in range(means.shape[0]):
            place = a
            while place > 0 and sorted_means[place - 1, i] < means[a, i]:
                sorted_means[place, i] = sorted_means[place - 1, i]
                order[place, i] = order[place - 1, i]
                place -= 1
            sorted_means[place, i] = means[a, i]
            order[place, i] = a
        for a in range(means.shape[0]):
            sorted_variances[a, i] = variances[order[a, i], i]


@inlined
def _log_phi(z: float) -> tuple[float, float]:
    """Return log Φ(z) and φ(z)/Φ(z), without a branch."""
    tail = scaled_tail(abs(z))
    square = -0.5 * z * z
    density = exp_nonpositive(square)
    phi = tail if z < 0.0 else 1.0 - density * tail
    return log_positive(phi) + (square if z < 0.0 else 0.0), (1.0 if z < 0.0 else density) / (SQRT_2PI * phi)


@part
def condition_arm(a: int, means: FloatArray, variances: FloatArray, scratch: FloatArray, log_p: FloatArray) -> None:
    """Add up log Φ of every difference to arm a. Arms are in the order of their means, so the innermost loop is over
    rows and vectorises. Two rows of `scratch` hold what d has gained, and v and c have lost, by the conditions so far.
    """
    for i in range(means.shape[1]):
        scratch[0, i] = 0.0
        scratch[1, i] = 0.0
        log_p[a, i] = 0.0
    for j in range(means.shape[0]):
        if j != a:
            for i in range(means.shape[1]):
                root = np.sqrt(variances[a, i] + variances[j, i] - scratch[1, i])
                z = min((means[a, i] - means[j, i] + scratch[0, i]) / root, _SATURATED)
                log_phi, hazard = _log_phi(z)
                slope = (variances[a, i] - scratch[1, i]) / root
                log_p[a, i] += log_phi
                scratch[0, i] += slope * hazard
                scratch[1, i] += slope * slope * hazard * (hazard + z)


@part
def normalise_sorted(log_p: FloatArray, totals: FloatArray, order: IntArray, found: FloatArray) -> None:
    """Normalise to a sum of 1 and put the arms back into their own order."""
    for i in range(totals.size):
        totals[i] = 0.0
    for a in range(log_p.shape[0]):
        for i in range(totals.size):
            totals[i] += exp_nonpositive(log_p[a, i])
    for i in range(totals.size):
        totals[i] = log_positive(totals[i])
    for a in range(log_p.shape[0]):
        for i in range(totals.size):
            found[order[a, i], i] = log_p[a, i] - totals[i]
