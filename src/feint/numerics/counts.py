r"""Binomial, Poisson and hypergeometric numbers of any size, from a `DrawSequence`.

They are drawn by the ratio of uniforms: with k₀ the mode, X = ⌊μ + ½ + h·(V − ½)/U⌋ is accepted if U² ≤ p(X)/p(k₀),
where the width h = 2√(2/e)·√(σ² + ½) + 3 − 2√(3/e) covers the whole law for each of the three (Stadlober 1989, 1990).
So one algorithm serves three laws, with about 1.5 trials. NumPy's generators cannot be given our draws.

**Digits.** log p is made of deviances M·φ((k − M)/M) and Stirling's remainders (Loader 2000), never of differences of
log Γ, which for 10¹² trials would leave two digits. p is right to 1e-12 for up to 10¹⁵ trials. Since U is at least
2⁻⁵⁴, numbers with p/p(k₀) below e⁻⁷⁴ are never drawn.
"""

import math
from typing import Any, NamedTuple

from feint.numerics._jit import by_type, inlined, part, parts
from feint.numerics.entropy import phi
from feint.numerics.logit_beta import stirling_remainder
from feint.numerics.sequence import DrawSequence, next_uniform

_LOG_2PI = math.log(2.0 * math.pi)
_SLOPE, _OFFSET = 2.0 * math.sqrt(2.0 / math.e), 3.0 - 2.0 * math.sqrt(3.0 / math.e)


@by_type
def log_weight(law: Any, k: float) -> float:
    """Return log p(k) up to a constant, −∞ outside the support."""
    raise NotImplementedError


@part
def _log_binomial(n: float, p: float, k: float) -> float:
    if k < 0.0 or k > n:
        return -math.inf
    if k == 0.0:
        return n * math.log1p(-p) if n > 0.0 else 0.0
    if k == n:
        return n * math.log(p)
    hits, misses = n * p, n * (1.0 - p)
    deviance = hits * phi((k - hits) / hits) + misses * phi((hits - k) / misses)
    remainder = stirling_remainder(n) - stirling_remainder(k) - stirling_remainder(n - k)
    return remainder - deviance + 0.5 * (math.log(n / k / (n - k)) - _LOG_2PI)


@inlined
def _binomial_weight(law: "BinomialLaw", k: float) -> float:
    return _log_binomial(law.n, law.p, k)


@inlined
def _hypergeometric_weight(law: "HypergeometricLaw", k: float) -> float:
    p = law.hits / law.n
    return _log_binomial(law.drawn, p, k) + _log_binomial(law.n - law.drawn, p, law.hits - k)


@inlined
def _poisson_weight(law: "PoissonLaw", k: float) -> float:
    if k < 0.0:
        return -math.inf
    if k == 0.0:
        return -law.mean
    deviance = law.mean * phi((k - law.mean) / law.mean)
    return -deviance - stirling_remainder(k) - 0.5 * (math.log(k) + _LOG_2PI)


@parts(log_weight=_binomial_weight)
class BinomialLaw(NamedTuple):
    """The number of hits in n trials of probability p, 0 < p < 1."""

    n: float
    p: float


@parts(log_weight=_hypergeometric_weight)
class HypergeometricLaw(NamedTuple):
    """The number of hits among the first `drawn` of n places, `hits` of which are hits, 0 < hits < n."""

    n: float
    hits: float
    drawn: float


@parts(log_weight=_poisson_weight)
class PoissonLaw(NamedTuple):
    """The number of events where `mean` > 0 are expected."""

    mean: float


@part
def _draw_by_rejection(law: Any, mode: float, mean: float, variance: float, draws: DrawSequence) -> float:
    log_p = log_weight(law, mode)
    width = _SLOPE * math.sqrt(variance + 0.5) + _OFFSET
    while True:
        u = next_uniform(draws)
        k = float(math.floor(mean + 0.5 + width * (next_uniform(draws) - 0.5) / u))
        if 2.0 * math.log(u) <= log_weight(law, k) - log_p:
            return k


@part
def draw_binomial(n: float, p: float, draws: DrawSequence) -> float:
    """Draw the number of hits in n trials of probability p."""
    if n <= 0.0 or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return n
    if n == 1.0:
        return 1.0 if next_uniform(draws) < p else 0.0
    return _draw_by_rejection(BinomialLaw(n, p), float(math.floor((n + 1.0) * p)), n * p, n * p * (1.0 - p), draws)


@part
def draw_hypergeometric(n: float, hits: float, drawn: float, draws: DrawSequence) -> float:
    """Draw the number of hits among the first `drawn` of n places, `hits` of which are hits."""
    if hits <= 0.0 or drawn <= 0.0:
        return 0.0
    if hits >= n:
        return drawn
    if drawn >= n:
        return hits
    mode = float(math.floor((drawn + 1.0) * (hits + 1.0) / (n + 2.0)))
    mean = drawn * (hits / n)
    variance = mean * (1.0 - hits / n) * ((n - drawn) / (n - 1.0))
    return _draw_by_rejection(HypergeometricLaw(n, hits, drawn), mode, mean, variance, draws)


@part
def draw_poisson_number(mean: float, draws: DrawSequence) -> float:
    """Draw the number of events where `mean` are expected."""
    return _draw_by_rejection(PoissonLaw(mean), float(math.floor(mean)), mean, mean, draws) if mean > 0.0 else 0.0
