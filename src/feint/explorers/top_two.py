"""Algorithm 1 of the paper: top-two sampling with information-directed selection (You et al. 2023)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from feint.explorers.base import UNDECIDED, FloatArray, View, register
from feint.explorers.draws import draw_challenger, draw_leader, select
from feint.numerics._jit import inlined


@register
@dataclass(frozen=True)
class TopTwo:
    """Boost the leader with probability N_c/(N_c + N_l), else the challenger (Algorithm 1, lines 3–6).

    Leader and challenger are drawn from the exact posterior probabilities; rejection sampling of the challenger would
    never end once the agent is sure.
    """

    KIND: ClassVar[int] = 0
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
    challenger = draw_challenger(bounds, view.scratch, uniforms[1], leader)
    if challenger == UNDECIDED:
        return UNDECIDED
    return select(view.pulls, leader, challenger, uniforms[2])
