"""Draws of uniform, normal, Gamma and Beta variables for every arm in a step, from two of the step's uniforms.

The two uniforms are the key of a separate Philox stream, whose counter is (arm, which of the arm's variables, attempt).
So an explorer that needs many draws per step does not use up other draws, and the same step gives the same draws.
"""

import math

import numpy as np

from feint.numerics._jit import part, shared_inlined
from feint.numerics.streams import Word, normal_pair, philox, uniform

_ATTEMPTS = 64  # each fails with a probability below 0.05
_TWO_TO_53 = 2.0**53
_ZERO = np.uint64(0)


@shared_inlined
def as_key(u: float) -> Word:
    """Return the 53 bits of a uniform."""
    return np.uint64(u * _TWO_TO_53)


@part
def draw_uniform(arm: int, first: Word, second: Word) -> float:
    """Draw a uniform in (0, 1)."""
    return uniform(philox(np.uint64(arm), _ZERO, _ZERO, _ZERO, first, second)[0])


@part
def draw_normal(arm: int, first: Word, second: Word) -> float:
    """Draw a standard normal."""
    a, b, _, _ = philox(np.uint64(arm), _ZERO, _ZERO, _ZERO, first, second)
    return normal_pair(a, b)[0]


@part
def draw_gamma(shape: float, arm: int, which: int, first: Word, second: Word) -> float:
    """Draw from Gamma(shape, 1) by Marsaglia & Tsang (2000): a cube of a normal, accepted by a ratio of densities."""
    raised = shape if shape >= 1.0 else shape + 1.0
    d = raised - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for attempt in range(_ATTEMPTS):
        words = philox(np.uint64(arm), np.uint64(which), np.uint64(attempt), _ZERO, first, second)
        x = normal_pair(words[0], words[1])[0]
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if math.log(uniform(words[2])) < 0.5 * x * x + d * (1.0 - v + 3.0 * math.log(root)):
                # For a shape below 1, a draw of shape + 1 times U^(1/shape).
                return d * v if shape >= 1.0 else d * v * uniform(words[3]) ** (1.0 / shape)
    return d


@part
def draw_beta(alpha: float, beta: float, arm: int, first: Word, second: Word) -> float:
    """Draw from Beta(α, β), by two Gammas."""
    x = draw_gamma(alpha, arm, 0, first, second)
    return x / (x + draw_gamma(beta, arm, 1, first, second))
