"""What the event method (`event`) knows between two events: a region that lasts, and how likely an event is in it."""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.agent.step import update, view_of
from feint.budgets import epsilon_at
from feint.explorers.base import UNDECIDED, Range, fill_least_shares
from feint.explorers.bounded_draws import LOG_HIGH, LOG_LOW
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, fill_region, slack
from feint.numerics._jit import part
from feint.numerics.sequence import DrawSequence, sequence
from feint.simulation.engine.record import Run
from feint.simulation.engine.region import (
    CUT_DOMINANT,
    CUT_EPSILON,
    PI_LOW,
    WIDEST,
    Region,
    bound_private_in_region,
    bound_reference_in_region,
    choose_max_pulls,
    set_cuts,
    sure_by_bounds,
)
from feint.simulation.engine.walk import Bridges, bridges

CALM = 0.15  # enter a region only where events are rarer than this: otherwise it would not last
_SPAN = 4.0  # radius of a region, in standard deviations of the move of D's mean until the next pull of another arm
_LASTING = 6.0  # how long a region may last, in expected steps until that pull
ROUNDING = 1e-12  # relative rounding of w⁻
_NARROWER = 0.25  # factor on the radius where the region must decide whether to stop, and does not
_NARROWEST = 0.06
_EXACT_STEPS = 16  # exact steps to make where no region will do

# Entries of `now`, what else is known between two events: two flags; the probability of an event; silent steps whose
# boosts have not been counted; an estimate of the steps between pulls of other arms; exact steps to make before trying
# a region.
INSIDE, IS_CALM, RATE, SILENT, BETWEEN, WAIT = 0, 1, 2, 3, 4, 5


class Events(NamedTuple):
    """What the method knows between two events; owned by the caller."""

    draws: DrawSequence
    ahead: Bridges
    least: FloatArray  # (K,) w⁻
    ceilings: FloatArray  # (K,) c
    shares: FloatArray  # (K,) scratch
    now: FloatArray  # (6,)


def events(n_arms: int) -> Events:
    """Allocate the events of `n_arms` arms."""
    return Events(sequence(), bridges(), np.empty(n_arms), np.empty(n_arms), np.empty(n_arms), np.zeros(6))


@part
def enter_region(run: Run, region: Region, events: Events, t: int, dominant: int) -> None:
    """Build a region about the present posteriors of D, find how likely an event is in it, and enter if it pays."""
    known, problem, now = run.known, run.problem, events.now
    pulls = known.pulls[dominant]
    radius = min(WIDEST, _SPAN * math.sqrt(now[BETWEEN] / pulls))
    max_pulls = min(1 + int(_LASTING * now[BETWEEN]), choose_max_pulls(pulls, radius))
    update(known, dominant)
    while True:
        box = region.private_box
        fill_region(known.private.family, known.private, dominant, radius, max_pulls, box, region.extremes)
        if problem.uses_posterior or run.delta > 0.0:
            bound_private_in_region(known.private, dominant, region)
        if run.delta == 0.0 or radius < _NARROWEST or sure_by_bounds(region.private, run.delta) != UNDECIDED:
            break
        radius *= _NARROWER
    if problem.uses_posterior:
        within = Range(
            dominant, box[MEAN_LOW], box[MEAN_HIGH], int(box[MOST]), region.logs[LOG_LOW], region.logs[LOG_HIGH]
        )
        fill_least_shares(problem.explorer, view_of(known, run.space.explorer, t), within, events.least)
    fill_region(known.public.family, known.public, dominant, radius, max_pulls, region.public_box, region.extremes)
    bound_reference_in_region(known.public, dominant, region)
    _set_rate(run, region, events, dominant, epsilon_at(problem.budget, t + 1))
    now[INSIDE] = 1.0
    now[SILENT] = 0.0
    too_short = min(region.public_box[MOST], region.private_box[MOST]) <= pulls
    undecided = run.delta > 0.0 and sure_by_bounds(region.private, run.delta) == UNDECIDED
    if now[RATE] > CALM or too_short or undecided:
        now[INSIDE] = 0.0
        now[WAIT] = _EXACT_STEPS


@part
def _set_rate(run: Run, region: Region, events: Events, dominant: int, epsilon: float) -> None:
    """Compute c and the probability of an event. The cut of D is largest without any budget, the cuts of the others
    with the largest budget.
    """
    wide = slack(run.known.public.family)
    c, least, now = events.ceilings, events.least, events.now
    highest = 0.0
    for b in range(c.size):
        if b == dominant:
            c[b] = (1.0 - region.reference[PI_LOW, b]) * (1.0 + wide) + wide
            region.cuts[CUT_EPSILON, b] = -1.0
        else:
            set_cuts(region, wide, b, dominant, epsilon)
            c[b] = region.cuts[CUT_DOMINANT, b]
        c[b] = min(1.0, c[b])
        highest = max(highest, c[b])
    if not run.problem.uses_posterior:
        now[RATE] = highest
        now[BETWEEN] = 1.0 / max(highest, 1e-300)
        return
    sure = 0.0
    pulled = 0.0
    for b in range(c.size):
        least[b] *= 1.0 - ROUNDING
        sure += least[b]
        pulled += least[b] * c[b]
    undecided = max(1.0 - sure, ROUNDING)
    now[RATE] = min(1.0, pulled + undecided)
    now[BETWEEN] = 1.0 / max(pulled + undecided * highest, 1e-300)
