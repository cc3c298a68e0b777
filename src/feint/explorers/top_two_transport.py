"""Top-Two Transportation Cost, the cheaper alternative that Appendix C of the paper names (T3C, Shang et al. 2020)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.explorers.base import UNDECIDED, Range, Uniforms, View
from feint.explorers.bounded_draws import bound_selection, draw_leader, select
from feint.explorers.weakest import WeakestKernel
from feint.families.base import divergence_to
from feint.numerics._jit import inlined, part, parts

_ROUNDING = 1e-10  # a generous bound on the relative rounding of a cost


@inlined
def _transport(view: View, leader: int, a: int) -> float:
    """Return min_x N_l·D(μ̂_l, x) + N_a·D(μ̂_a, x) over x ≤ μ̂_l, or 0 if a is ahead."""
    ahead = view.private_means[leader] - view.private_means[a]
    if ahead <= 0.0:
        return 0.0
    share = view.pulls[a] / (view.pulls[leader] + view.pulls[a])
    family = view.private_family
    down = divergence_to(family, view.private_means[leader], -share * ahead)
    up = divergence_to(family, view.private_means[a], (1.0 - share) * ahead)
    return view.pulls[leader] * down + view.pulls[a] * up


@inlined
def _choose(settings: "TopTwoTransportKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    leader = draw_leader(bounds, uniforms[0])
    if leader == UNDECIDED:
        return UNDECIDED
    return select(view, leader, _challenger(view, leader), uniforms[2])


@inlined
def _challenger(view: View, leader: int) -> int:
    challenger = -1
    cheapest = math.inf
    for a in range(view.pulls.size):
        if a != leader:
            cost = _transport(view, leader, a)
            if cost < cheapest:
                cheapest = cost
                challenger = a
    return challenger


@part
def _fill_shares(settings: "TopTwoTransportKernel", view: View, log_best: FloatArray, shares: FloatArray) -> None:
    for a in range(shares.size):
        shares[a] = 0.0
    for leader in range(shares.size):
        challenger = _challenger(view, leader)
        selected = view.pulls[challenger] / (view.pulls[challenger] + view.pulls[leader])
        shares[leader] += math.exp(log_best[leader]) * selected
        shares[challenger] += math.exp(log_best[leader]) * (1.0 - selected)


@part
def _fill_least_shares(settings: "TopTwoTransportKernel", view: View, within: Range, least: FloatArray) -> None:
    """Add up lower bounds of P(leader)·P(selected), where the challenger is the same in the whole range.

    A cost grows with both arms' pulls and with the leader's mean, and falls with the challenger's.
    """
    arm = within.arm
    mean, pulls = view.private_means[arm], view.pulls[arm]
    for a in range(least.size):
        least[a] = 0.0
    for leader in range(least.size):
        cheap_end, dear_end = within.mean_high, within.mean_low
        if leader == arm:
            cheap_end, dear_end = dear_end, cheap_end
        view.private_means[arm], view.pulls[arm] = dear_end, within.most
        challenger = _challenger(view, leader)
        dearest = _transport(view, leader, challenger)
        view.private_means[arm], view.pulls[arm] = cheap_end, pulls
        certain = True
        for a in range(least.size):
            if a not in (leader, challenger):
                certain = certain and dearest < _transport(view, leader, a) * (1.0 - _ROUNDING)
        view.private_means[arm] = mean
        if certain:
            selected, not_selected = bound_selection(view, within, leader, challenger)
            least[leader] += math.exp(within.log_low[leader]) * selected
            least[challenger] += math.exp(within.log_low[leader]) * not_selected


@parts(uses_posterior=True, choose=_choose, fill_shares=_fill_shares, fill_least_shares=_fill_least_shares)
class TopTwoTransportKernel(NamedTuple):
    """`TopTwoTransport` for kernels."""


@dataclass(frozen=True)
class TopTwoTransport:
    """An explorer like `TopTwo` whose challenger is the arm with the smallest transportation cost from the leader.

    The cost is W(l, c) = min_x N_l·D(μ̂_l, x) + N_c·D(μ̂_c, x) with D the private divergence, and 0 where c is ahead; for
    normal rewards max(0, μ̂_l − μ̂_c)²/(2σ²(1/N_l + 1/N_c)) (Shang et al. 2020, Eq. 5). If costs tie, it takes the
    first arm. It needs no probabilities of challengers. For a goal other than `BestArm`, it takes the pair of arms (or
    the arm) with the least evidence that the answer is right.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = feint.simulate(bandit, feint.TopTwoTransport(), epsilon=0.1, horizon=300, replications=2)
    >>> runs.explorer.item()
    'TopTwoTransport()'
    """

    name: ClassVar[str] = "top-two-transport"

    def kernel(self, n_arms: int) -> "TopTwoTransportKernel":
        """Return empty settings."""
        return TopTwoTransportKernel()

    def for_goal(self, goal: Any) -> WeakestKernel:
        """Return the settings for a goal other than the best arm."""
        return WeakestKernel(goal, False)
