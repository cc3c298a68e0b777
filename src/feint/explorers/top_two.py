"""Algorithm 1 of the paper: top-two sampling with information-directed selection (You et al. 2023)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from feint.explorers.base import UNDECIDED, Uniforms, View
from feint.explorers.draws import draw_challenger, draw_leader, log_rest, select
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import FloatArray


@inlined
def _choose(settings: "TopTwoKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    leader = draw_leader(bounds, uniforms[0])
    if leader == UNDECIDED:
        return UNDECIDED
    challenger = draw_challenger(bounds, view.scratch, uniforms[1], leader)
    if challenger == UNDECIDED:
        return UNDECIDED
    return select(view.pulls, leader, challenger, uniforms[2])


@part
def _fill_shares(settings: "TopTwoKernel", view: View, log_best: FloatArray, shares: FloatArray) -> None:
    for a in range(shares.size):
        shares[a] = 0.0
    for leader in range(shares.size):
        others = log_rest(log_best, leader)
        for challenger in range(shares.size):
            if challenger != leader:
                drawn = math.exp(log_best[leader] + log_best[challenger] - others)
                selected = view.pulls[challenger] / (view.pulls[challenger] + view.pulls[leader])
                shares[leader] += drawn * selected
                shares[challenger] += drawn * (1.0 - selected)


@parts(uses_posterior=True, choose=_choose, fill_shares=_fill_shares)
class TopTwoKernel(NamedTuple):
    """`TopTwo` for kernels."""


@dataclass(frozen=True)
class TopTwo:
    """Boost the leader with probability N_c/(N_c + N_l), else the challenger (Algorithm 1, lines 3–6).

    Leader and challenger are drawn from the exact posterior probabilities; rejection sampling of the challenger would
    never end once the agent is sure.
    """

    def kernel(self, n_arms: int) -> "TopTwoKernel":
        """It has no settings."""
        return TopTwoKernel()
