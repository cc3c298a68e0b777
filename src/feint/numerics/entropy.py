"""φ(u) = (1 + u)·log(1 + u) − u, from which all divergences are made, without cancellation where u is small."""

import math

from feint.numerics._jit import shared_inlined

_SERIES_BELOW = 0.2
_EVEN = tuple(1.0 / (k * (k - 1)) for k in range(24, 1, -2))
_ODD = tuple(1.0 / (k * (k - 1)) for k in range(23, 2, -2))


@shared_inlined
def phi_of(u: float, log1p_u: float) -> float:
    """Return φ(u) = Σ_{k≥2} (−u)^k/(k(k − 1)) to 3e-15 relative, given log(1 + u)."""
    if abs(u) > _SERIES_BELOW:
        return (1.0 + u) * log1p_u - u
    square = u * u
    even = 0.0
    for k in range(len(_EVEN)):
        even = even * square + _EVEN[k]
    odd = 0.0
    for k in range(len(_ODD)):
        odd = odd * square + _ODD[k]
    return (even - odd * u) * square


@shared_inlined
def phi(u: float) -> float:
    """Return φ(u) for u ≥ −1."""
    return phi_of(u, math.log1p(u)) if u > -1.0 else 1.0
