r"""P(arm is the largest) for independent normals to about 1 %, many rows at once in NumPy: nothing is compiled.

Arm a is the largest if all differences D_j = X_a − X_j are above 0. Sequential conditioning (Mendell & Elston 1974):
the differences are taken one after the other, the least likely first; each, normal with mean d and variance v, is
above 0 with probability Φ(z), z = d/√v, and given that the others have, with λ = φ(z)/Φ(z) and c their covariance with it,

    d_k ← d_k + (c/√v)·λ,        v_k ← v_k − (c²/v)·λ(λ + z),        c_kl ← c_kl − (c²/v)·λ(λ + z),

after which they are taken for normal again. All covariances start as σ_a², so that they stay equal and K numbers are
all there is. The first factor, which holds nearly all of a deep tail, is exact; so is the whole for two arms. Rows of
agents that learn are off by 0.2 % in the median and 1.5 % at 99 %; four means that tie with sds apart by a factor of 100
by up to 16 % (`tests/numerics/test_best_arm_quick.py`).
"""

import math

import numpy as np

from feint.numerics._validate import FloatArray

_ROOT_HALF = math.sqrt(0.5)
_TWICE_PEAK = math.sqrt(2.0 / math.pi)
_SATURATED = 8.2  # 1 − Φ(8.2) = 1.2e-16


def quick_log_best(means: FloatArray, variances: FloatArray) -> FloatArray:
    """log P(arm is the largest), (K, R) from (K, R): arms along the first axis."""
    from scipy.special import erfcx  # here, so that what does not need SciPy starts without it

    n = means.shape[0]
    order = np.argsort(-means, axis=0)
    means, variances = np.take_along_axis(means, order, 0), np.take_along_axis(variances, order, 0)
    others = np.array([[b for b in range(n) if b != a] for a in range(n)]).T  # (K − 1, K)
    ahead = means - means[others]
    spread = variances + variances[others]
    log_p = np.zeros(means.shape)
    common = variances
    shift, drop = 0.0, 0.0
    for d, v in zip(ahead, spread, strict=True):
        left = v - drop
        root = np.sqrt(left)
        z = np.minimum((d + shift) / root, _SATURATED)
        scaled = erfcx(-_ROOT_HALF * z)  # 2·Φ(z)·exp(z²/2)
        log_p += np.log(0.5 * scaled) - 0.5 * z * z
        hazard = _TWICE_PEAK / scaled
        slope = (common - drop) / root
        shift = shift + slope * hazard
        drop = drop + slope * slope * hazard * (hazard + z)
    log_p -= np.log(np.exp(log_p).sum(0))
    found = np.empty(log_p.shape)
    np.put_along_axis(found, order, log_p, 0)
    return found
