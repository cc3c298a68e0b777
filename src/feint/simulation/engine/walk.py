r"""Make many pulls of one arm at once, up to the first that leaves the region.

While only D is pulled, its two sums of rewards are random walks with known steps. (Where private rewards are not all
seen, the second walk makes a step per seen one, between lines of its own: `feedback.base`.) The region is left when a
sum passes one of its two lines, mean = MEAN_LOW or MEAN_HIGH, straight in the number of pulls. To make n pulls, draw
both sums at the end. If the bridges between the known ends pass any of the four lines with probability at most e⁻⁴⁵
in all (`families.base.nats_to_cross`), assume that they do not; this is the only approximation here. Otherwise draw the
middle of the bridges and look at the left half, then at the right half, down to single pulls, which are inside or not.
So the very pull of the first exit is found. What was drawn beyond it is forgotten: the walks have no memory of it.

A bridge whose certificate fails is refined, never drawn again: throwing away those that might have crossed would favour
those that wander less.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.agent.step import Known, update_means
from feint.families.base import MEAN_HIGH, MEAN_LOW, draw_part, draw_sum, nats_to_cross
from feint.feedback.base import (
    count_seen,
    draw_learnt,
    draw_seen,
    draw_seen_part,
    inner_lines,
    is_between,
    learnt_sum,
    set_learnt,
)
from feint.numerics._jit import inlined, part
from feint.numerics.sequence import DrawSequence
from feint.simulation.engine.region import Region, is_inside
from feint.simulation.engine.rewards import Rewards

_NATS = 45.0 + math.log(4.0)  # required of each of the four lines
_DEPTH = 64  # enough for all halvings of 2⁵³ pulls, and some to spare


class Bridges(NamedTuple):
    """The points ahead that have been drawn, nearest last; owned by the caller."""

    pulls: IntArray  # (n,)
    public: FloatArray  # (n,) sums
    private: FloatArray  # (n,)
    seen: IntArray  # (n,) private rewards


def bridges() -> Bridges:
    """Allocate space for the points ahead."""
    pulls, seen = np.empty((2, _DEPTH), dtype=np.int64)
    return Bridges(pulls, np.empty(_DEPTH), np.empty(_DEPTH), seen)


@inlined
def _stays(family: Any, lines: tuple[float, float], pulls: int, here: float, n: int, there: float) -> bool:
    """Return whether a sum that goes from `here` after `pulls` to `there` in n more surely stays between its lines."""
    low, high = lines
    up, down = high * pulls - here, here - low * pulls
    if n == 0:
        return up >= 0.0 and down >= 0.0
    up_then, down_then = high * (pulls + n) - there, there - low * (pulls + n)
    if up <= 0.0 or down <= 0.0 or up_then <= 0.0 or down_then <= 0.0:
        return False
    return (
        nats_to_cross(family, there - here, n, up, up_then) >= _NATS
        and nats_to_cross(family, there - here, n, down, down_then) >= _NATS
    )


@part
def pull_many(
    rewards: Rewards, known: Known, region: Region, arm: int, n: int, ahead: Bridges, draws: DrawSequence
) -> bool:
    """Pull `arm` n times, or until the region is left; return whether it was. The arm's means are updated, but not
    its posteriors.
    """
    public, private = known.public, known.private
    if n == 0:
        return False
    top = 0
    box = region.public_box
    lines, private_lines = (box[MEAN_LOW], box[MEAN_HIGH]), inner_lines(private.family, box, region.private_box)
    ahead.pulls[0] = known.pulls[arm] + n
    ahead.public[0] = public.sums[arm] + draw_sum(public.family, rewards.public[arm], n, draws)
    more = draw_seen(private.family, n, draws)
    ahead.seen[0] = count_seen(private.family, private, arm) + more
    learnt = draw_learnt(private.family, rewards.public[arm], rewards.private[arm], more, draws)
    ahead.private[0] = learnt_sum(private.family, private, arm) + learnt
    while top >= 0:
        pulls = known.pulls[arm]
        steps = ahead.pulls[top] - pulls
        seen, here = count_seen(private.family, private, arm), learnt_sum(private.family, private, arm)
        more = ahead.seen[top] - seen
        if steps == 1 or (
            _stays(public.family, lines, pulls, public.sums[arm], steps, ahead.public[top])
            and _stays(private.family, private_lines, seen, here, more, ahead.private[top])
        ):
            known.pulls[arm] = ahead.pulls[top]
            public.sums[arm] = ahead.public[top]
            set_learnt(private.family, private, arm, ahead.seen[top], ahead.private[top])
            top -= 1
            if steps == 1:
                update_means(known, arm)
                between = is_between(private.family, private, arm, private_lines)
                if not (between and is_inside(region, known, arm)):
                    return True
            continue
        first = steps // 2
        total, private_total = ahead.public[top] - public.sums[arm], ahead.private[top] - here
        first_seen = draw_seen_part(private.family, more, steps, first, draws)
        top += 1
        ahead.pulls[top] = pulls + first
        ahead.public[top] = public.sums[arm] + draw_part(public.family, total, steps, first, draws)
        ahead.seen[top] = seen + first_seen
        ahead.private[top] = here + draw_part(private.family, private_total, more, first_seen, draws)
    update_means(known, arm)
    return False
