"""Algorithm 1 of the paper: top-two sampling with information-directed selection (You et al. 2023)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.explorers.base import UNDECIDED, Range, Uniforms, View
from feint.explorers.bounded_draws import bound_selection, draw_challenger, draw_leader, evidence, select
from feint.explorers.weakest import WeakestKernel
from feint.numerics._jit import inlined, part, parts
from feint.numerics.best_arm_rows import log_rest

_UNLIKELY = -30.0  # leaders below this log probability do not enter the lower bounds


@inlined
def _choose(settings: "TopTwoKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    leader = draw_leader(bounds, uniforms[0])
    if leader == UNDECIDED:
        return UNDECIDED
    challenger = draw_challenger(bounds, view.scratch, uniforms[1], leader)
    if challenger == UNDECIDED:
        return UNDECIDED
    return select(view, leader, challenger, uniforms[2])


@part
def _fill_shares(settings: "TopTwoKernel", view: View, log_best: FloatArray, shares: FloatArray) -> None:
    for a in range(shares.size):
        shares[a] = 0.0
    for leader in range(shares.size):
        others = log_rest(log_best, leader)
        for challenger in range(shares.size):
            if challenger != leader:
                drawn = math.exp(log_best[leader] + log_best[challenger] - others)
                selected = evidence(view, challenger) / (evidence(view, challenger) + evidence(view, leader))
                shares[leader] += drawn * selected
                shares[challenger] += drawn * (1.0 - selected)


@part
def _fill_least_shares(settings: "TopTwoKernel", view: View, within: Range, least: FloatArray) -> None:
    """Add up lower bounds of P(leader)·P(challenger | leader)·P(selected)."""
    for a in range(least.size):
        least[a] = 0.0
    for leader in range(least.size):
        if within.log_low[leader] < _UNLIKELY:
            continue
        scale = -math.inf
        for a in range(least.size):
            if a != leader:
                scale = max(scale, within.log_high[a])
        others = 0.0
        for a in range(least.size):
            if a != leader:
                others += math.exp(within.log_high[a] - scale)
        for challenger in range(least.size):
            if challenger != leader:
                low = math.exp(within.log_low[challenger] - scale)
                rest = max(0.0, others - math.exp(within.log_high[challenger] - scale))
                drawn = math.exp(within.log_low[leader]) * low / (low + rest)
                selected, not_selected = bound_selection(view, within, leader, challenger)
                least[leader] += drawn * selected
                least[challenger] += drawn * not_selected


@parts(uses_posterior=True, choose=_choose, fill_shares=_fill_shares, fill_least_shares=_fill_least_shares)
class TopTwoKernel(NamedTuple):
    """`TopTwo` for kernels."""


@dataclass(frozen=True)
class TopTwo:
    """An explorer that boosts the leader with probability N_c/(N_c + N_l), otherwise the challenger (Algorithm 1, 3–6).

    Leader and challenger are drawn from the exact posterior probabilities, because rejection sampling of the challenger
    would never end once the agent is sure. For a goal other than `BestArm`, it draws a pair of arms (or an arm) roughly
    in proportion to the probability that it makes the answer wrong. The pair shares the boosts as it shares evidence.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = feint.simulate(bandit, feint.TopTwo(), epsilon=0.1, horizon=300, replications=2)
    >>> runs.explorer.item()
    'TopTwo()'
    """

    name: ClassVar[str] = "top-two"

    def kernel(self, n_arms: int) -> "TopTwoKernel":
        """Return empty settings."""
        return TopTwoKernel()

    def for_goal(self, goal: Any) -> WeakestKernel:
        """Return the settings for a goal other than the best arm."""
        return WeakestKernel(goal, True)
