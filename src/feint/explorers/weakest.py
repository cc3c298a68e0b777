"""Algorithm 1 for goals other than the best arm: boost where the answer is weakest (`goals.base`).

`TopTwo` and `TopTwoTransport` use these settings for such a goal. They read only pulls and private means, not the
posterior, so a step needs no integral.
"""

from typing import Any, NamedTuple

from feint._types import FloatArray
from feint.explorers.base import Uniforms, View
from feint.explorers.bounded_draws import evidence
from feint.goals.base import fill_boost_shares
from feint.numerics._jit import parts, shared


@shared
def _share(settings: "WeakestKernel", view: View, shares: FloatArray) -> None:
    """Fill in the probability that each arm is boosted, from its pulls and what they are worth (`feedback`)."""
    pulls = view.scratch[1]
    for a in range(shares.size):
        pulls[a] = evidence(view, a)
    fill_boost_shares(settings.goal, view.private_family, pulls, view.private_means, settings.sampled, shares)


@shared
def _choose(settings: "WeakestKernel", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    shares = view.scratch[0]
    _share(settings, view, shares)
    chosen = 0
    below = 0.0
    for a in range(shares.size):
        if shares[a] > 0.0:
            chosen = a
            below += shares[a]
            if uniforms[0] < below:
                break
    return chosen


@shared
def _fill_shares(settings: "WeakestKernel", view: View, log_best: FloatArray, shares: FloatArray) -> None:
    _share(settings, view, shares)


@shared
def _fill_known_shares(settings: "WeakestKernel", view: View, boosted: int, shares: FloatArray) -> None:
    _share(settings, view, shares)


@parts(uses_posterior=False, choose=_choose, fill_shares=_fill_shares, fill_known_shares=_fill_known_shares)
class WeakestKernel(NamedTuple):
    """`TopTwo` (sampled) or `TopTwoTransport` for kernels, with the settings of a goal."""

    goal: Any
    sampled: bool
