"""Top-Two Transportation Cost, the cheaper alternative that Appendix C of the paper names (T3C, Shang et al. 2020)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from feint.explorers.base import UNDECIDED, FloatArray, View, register
from feint.explorers.draws import draw_leader, select
from feint.numerics._jit import inlined


@register
@dataclass(frozen=True)
class TopTwoTransport:
    """As `TopTwo`, but the challenger is the arm with the smallest transportation cost from the leader.

    W(l, c) = max(0, μ̂_l − μ̂_c)²/(1/N_l + 1/N_c), Shang et al. (2020), Eq. 5, up to the factor 1/(2σ²); the first of
    equals. It needs no challenger probabilities.
    """

    KIND: ClassVar[int] = 1
    USES_POSTERIOR: ClassVar[bool] = True

    def parameters(self, n_arms: int) -> FloatArray:
        """None."""
        return np.empty(0)


@inlined
def choose(parameters: FloatArray, view: View, bounds: FloatArray, uniforms: tuple[float, float, float, float]) -> int:
    """See `base`."""
    leader = draw_leader(bounds, uniforms[0])
    if leader == UNDECIDED:
        return UNDECIDED
    challenger = -1
    cheapest = math.inf
    for a in range(view.pulls.size):
        if a != leader:
            ahead = max(0.0, view.private_means[leader] - view.private_means[a])
            cost = ahead * ahead / (1.0 / view.pulls[leader] + 1.0 / view.pulls[a])
            if cost < cheapest:
                cheapest = cost
                challenger = a
    return select(view.pulls, leader, challenger, uniforms[2])
