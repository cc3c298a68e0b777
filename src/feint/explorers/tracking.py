"""Tracking of the optimal proportions: the approach that the paper's Section 5 describes before Algorithm 1."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from feint.explorers.base import FloatArray, View, register
from feint.numerics._jit import inlined
from feint.theory.maximin_kernel import optimal_weights


@register
@dataclass(frozen=True)
class Tracking:
    """Solve the maximin problem with the current estimates and boost the arm furthest behind its share.

    D-tracking after Garivier & Kaufmann (2016), with boosts B_a in the place of pulls: after s boosts, if some arm has
    B_a < √s − K/2, boost the least boosted (forced exploration, without which a wrong estimate could starve an arm for
    good); else boost argmax_a (s + 1)·ŵ_a − B_a. Ties go to the first arm.
    """

    KIND: ClassVar[int] = 2
    USES_POSTERIOR: ClassVar[bool] = False

    def parameters(self, n_arms: int) -> FloatArray:
        """None."""
        return np.empty(0)


@inlined
def choose(parameters: FloatArray, view: View, bounds: FloatArray, uniforms: tuple[float, float, float, float]) -> int:
    """See `base`."""
    n = view.boosts.size
    made = 0
    least = 0
    for a in range(n):
        made += view.boosts[a]
        if view.boosts[a] < view.boosts[least]:
            least = a
    if view.boosts[least] < math.sqrt(made) - 0.5 * n:
        return least
    weights = view.scratch[2]
    optimal_weights(view.public_means, view.private_means, weights, view.scratch)
    chosen = 0
    for a in range(1, n):
        if (made + 1) * weights[a] - view.boosts[a] > (made + 1) * weights[chosen] - view.boosts[chosen]:
            chosen = a
    return chosen
