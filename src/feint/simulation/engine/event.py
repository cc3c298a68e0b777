r"""The event method: move replications from event to event, equal in law to the other methods, at a cost like √T.

Inside a region (`region`) of the most pulled arm D nearly every step pulls D, whatever arm is boosted. Let

    w_b⁻   be a lower bound on the probability that arm b is boosted (`explorers.base.fill_least_shares`), and
    c_b    an upper bound on the probability that an arm other than D is pulled if b is boosted,

both valid anywhere in the region while the budget does not grow. A step is *silent* with probability Σ w_b⁻·(1 − c_b):
b is boosted by the sure part of the draw, and D is pulled. Silent steps are independent of each other and of the
rewards. So the number of them before the next *event* is geometric, D's pulls in between are made at once (`walk`), and
the boosts of the arms are multinomial. An event is one of two things. It is a sure boost of b with u < c_b; the
region's bounds, or an exact evaluation, then decide which arm is pulled. Or it is a boost that is not sure, with
probability η = 1 − Σ w_b⁻; it is drawn from the exact shares at its own step, less what was sure. An explorer whose
boosts are a fixed sequence works the same way, with c = max c_b and its own boosts.

After an event or an exit from the region everything starts anew: only the state after a step is kept, and what is
thrown away lies in the future. Where no region promises to last, steps are exact, as in the eager method.

**What is not exact.** A bridge that leaves the region with a probability of at most e⁻⁴⁵ is taken not to (`walk`).
Bounds are wider than the rounding of all that they are compared with, as in the lazy method; w⁻ is lowered by 1e-12 for
its own rounding. Nothing else is truncated, and no tail of a draw is cut (`sequence`, `counts`).
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.agent.step import (
    choose_exactly,
    draw_arm,
    most_pulled,
    set_policy,
    still_most_pulled,
    update,
    view_of,
)
from feint.budgets import epsilon_at
from feint.explorers.base import UNDECIDED, Range, choose, fill_least_shares, fill_shares, pass_boosts
from feint.explorers.bounded_draws import EXACT, LOG_HIGH, LOG_LOW
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, draw_sum, fill_region, slack
from feint.feedback.base import count_seen, draw_learnt, draw_seen, learnt_sum, set_learnt
from feint.numerics._jit import inlined, kernel, part
from feint.numerics.counts import draw_binomial
from feint.numerics.sequence import DrawSequence, next_gap, next_uniform, sequence, start_sequence
from feint.simulation.engine.record import Run, fill_private_logs, record, sure_exactly
from feint.simulation.engine.region import (
    CUT_DOMINANT,
    CUT_EPSILON,
    PI_LOW,
    WIDEST,
    Region,
    bound_private_in_region,
    bound_reference_in_region,
    choose_max_pulls,
    draw_in_region,
    is_inside,
    set_cuts,
    sure_by_bounds,
)
from feint.simulation.engine.rewards import initial_round
from feint.simulation.engine.walk import Bridges, bridges, pull_many

_CALM = 0.15  # enter a region only where events are rarer than this: otherwise it would not last
_SPAN = 4.0  # of a region, in standard deviations of the move of D's mean until the next pull of another arm
_LASTING = 6.0  # how long a region may last, in expected steps until that pull
_FIRST_BETWEEN = 20.0  # steps until that pull, before anything is known about them
_ROUNDING = 1e-12  # of w⁻
_NARROWER = 0.25  # factor on the radius where the region must decide whether to stop, and does not
_NARROWEST = 0.06
_EXACT_STEPS = 16  # to make where no region will do

# Entries of `now`, what else is known between two events: two flags; the probability of an event; silent steps whose
# boosts have not been counted; steps between pulls of other arms, about; exact steps to make before a region is tried.
_INSIDE, _IS_CALM, _RATE, _SILENT, _BETWEEN, _WAIT = 0, 1, 2, 3, 4, 5


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
def _enter(run: Run, region: Region, events: Events, t: int, dominant: int) -> None:
    """Build a region about the present posteriors of D, find how likely an event is in it, and enter if it pays."""
    known, problem, now = run.known, run.problem, events.now
    pulls = known.pulls[dominant]
    radius = min(WIDEST, _SPAN * math.sqrt(now[_BETWEEN] / pulls))
    max_pulls = min(1 + int(_LASTING * now[_BETWEEN]), choose_max_pulls(pulls, radius))
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
    now[_INSIDE] = 1.0
    now[_SILENT] = 0.0
    too_short = min(region.public_box[MOST], region.private_box[MOST]) <= pulls
    undecided = run.delta > 0.0 and sure_by_bounds(region.private, run.delta) == UNDECIDED
    if now[_RATE] > _CALM or too_short or undecided:
        now[_INSIDE] = 0.0
        now[_WAIT] = _EXACT_STEPS


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
        now[_RATE] = highest
        now[_BETWEEN] = 1.0 / max(highest, 1e-300)
        return
    sure = 0.0
    pulled = 0.0
    for b in range(c.size):
        least[b] *= 1.0 - _ROUNDING
        sure += least[b]
        pulled += least[b] * c[b]
    undecided = max(1.0 - sure, _ROUNDING)
    now[_RATE] = min(1.0, pulled + undecided)
    now[_BETWEEN] = 1.0 / max(pulled + undecided * highest, 1e-300)


@part
def _count_silent(run: Run, events: Events) -> None:
    """Draw and count the boosts of the silent steps."""
    left = 0.0
    steps = events.now[_SILENT]
    weights = events.shares
    for b in range(weights.size):
        weights[b] = events.least[b] * (1.0 - events.ceilings[b])
        left += weights[b]
    for b in range(weights.size):
        last = weights[b] >= left * (1.0 - _ROUNDING)  # nothing but rounding is left for the others
        made = steps if last else draw_binomial(steps, weights[b] / left, events.draws)
        run.known.boosts[b] += int(made)
        steps -= made
        left -= weights[b]
        if last or steps == 0.0:
            break
    events.now[_SILENT] = 0.0


@part
def _draw_unsure(run: Run, events: Events, t: int, dominant: int) -> int:
    """Draw the arm to boost from the exact shares, less what was sure."""
    update(run.known, dominant)
    fill_private_logs(run)
    shares, least = events.shares, events.least
    fill_shares(run.problem.explorer, view_of(run.known, run.space.explorer, t), run.space.logs[EXACT], shares)
    total = 0.0
    for b in range(shares.size):
        shares[b] = max(0.0, shares[b] - least[b])
        total += shares[b]
    v = next_uniform(events.draws) * total
    boosted = 0
    for b in range(shares.size):
        if shares[b] > 0.0:
            boosted = b
            if v < shares[b]:
                break
            v -= shares[b]
    return boosted


@part
def _draw_event(run: Run, events: Events, t: int, dominant: int) -> tuple[int, float]:
    """Draw an event: return (the boosted arm, the uniform number that decides which arm is pulled)."""
    u = next_uniform(events.draws)
    if not run.problem.uses_posterior:
        view = view_of(run.known, run.space.explorer, t)
        return choose(run.problem.explorer, view, run.space.bounds, (0.5, 0.5, 0.5)), u * events.now[_RATE]
    v = u * events.now[_RATE]
    for b in range(events.least.size):
        weight = events.least[b] * events.ceilings[b]
        if v < weight:
            return b, v / events.least[b]
        v -= weight
    return _draw_unsure(run, events, t, dominant), next_uniform(events.draws)


@inlined
def _pull(run: Run, events: Events, boosted: int, pulled: int) -> None:
    known, rewards, draws = run.known, run.rewards, events.draws
    known.boosts[boosted] += 1
    public, private = known.public, known.private
    public.sums[pulled] += draw_sum(public.family, rewards.public[pulled], 1, draws)
    seen, before = count_seen(private.family, private, pulled), learnt_sum(private.family, private, pulled)
    more = draw_seen(private.family, 1, draws)
    learnt = draw_learnt(private.family, rewards.public[pulled], rewards.private[pulled], more, draws)
    known.pulls[pulled] += 1
    set_learnt(private.family, private, pulled, seen + more, before + learnt)
    update(known, pulled)


@inlined
def _decide_exactly(run: Run, events: Events, t: int, dominant: int, boosted: int, u: float) -> int:
    """Return the arm whose interval contains u, by an exact evaluation."""
    update(run.known, dominant)
    set_policy(run.problem, run.known, run.space, t, boosted)
    events.now[_IS_CALM] = 1.0 if run.space.policy[dominant] > 1.0 - _CALM else 0.0
    return draw_arm(run.space.policy, boosted, dominant, u)


@part
def _step_exactly(run: Run, events: Events, t: int, dominant: int) -> int:
    """Make one step as the eager method does; return the pulled arm."""
    draws = events.draws
    update(run.known, dominant)
    uniforms = (next_uniform(draws), next_uniform(draws), next_uniform(draws))
    boosted = choose_exactly(run.problem, run.known, run.space, t, uniforms)
    pulled = _decide_exactly(run, events, t, dominant, boosted, next_uniform(draws))
    _pull(run, events, boosted, pulled)
    events.now[_WAIT] = max(0.0, events.now[_WAIT] - 1.0)
    return pulled


@part
def _to_event(run: Run, region: Region, events: Events, t: int, cap: int, dominant: int) -> tuple[int, bool]:
    """Make silent steps, at most `cap`, to the next event or the exit; return (the time, whether there is an event)."""
    known, now = run.known, events.now
    before = known.pulls[dominant]
    room = int(min(region.public_box[MOST], region.private_box[MOST])) - before
    gap = next_gap(events.draws, now[_RATE])
    n = min(cap, room)
    happens = gap < n
    if happens:
        n = int(gap)
    if pull_many(run.rewards, known, region, dominant, n, events.ahead, events.draws):
        now[_INSIDE] = 0.0
        happens = False
    elif n == room:
        now[_INSIDE] = 0.0
    made = known.pulls[dominant] - before
    if run.problem.uses_posterior:
        now[_SILENT] += made
    else:
        pass_boosts(run.problem.explorer, known.boosts, made)
    return t + made, happens


@part
def _happen(run: Run, region: Region, events: Events, t: int, dominant: int) -> int:
    """Make the step of an event; return the pulled arm."""
    known, now = run.known, events.now
    boosted, u = _draw_event(run, events, t, dominant)
    epsilon = epsilon_at(run.problem.budget, t + 1)
    pulled = draw_in_region(region, slack(known.public.family), boosted, dominant, epsilon, u)
    if pulled == UNDECIDED:
        pulled = _decide_exactly(run, events, t, dominant, boosted, u)
    _pull(run, events, boosted, pulled)
    if pulled != dominant or not is_inside(region, known, dominant):
        now[_INSIDE] = 0.0
    return pulled


@part
def _advance(
    run: Run, region: Region, events: Events, r: int, t: int, row: int, t_end: int, most_events: int
) -> tuple[int, int]:
    """See `advance_by_events`. D's posteriors are not kept up to date: `update` comes before every exact evaluation."""
    known, now, checkpoints = run.known, events.now, run.records.checkpoints
    if t == 0:
        start_sequence(events.draws, run.rewards.seed, np.uint64(run.rewards.first + r))
        initial_round(run.rewards, known, r)
        t = known.pulls.size
        now[:] = 0.0
        now[_BETWEEN] = _FIRST_BETWEEN
    dominant = most_pulled(known.pulls)
    made = 0
    while True:
        if now[_INSIDE] == 0.0:
            if now[_SILENT] > 0.0:
                _count_silent(run, events)
            if now[_IS_CALM] == 1.0 and now[_WAIT] == 0.0:
                _enter(run, region, events, t, dominant)
        stopped = False
        if run.delta > 0.0:
            if now[_INSIDE] == 1.0:
                stopped = sure_by_bounds(region.private, run.delta) == 1
            else:
                update(known, dominant)
                stopped = sure_exactly(run)
        if stopped or (row < checkpoints.size and checkpoints[row] == t):
            if now[_SILENT] > 0.0:
                _count_silent(run, events)
            update(known, dominant)
            row = record(run, r, t, row, stopped)
        if stopped or t >= t_end or made == most_events:
            return t, row

        made += 1
        pulled = dominant
        if now[_INSIDE] == 1.0:
            cap = (checkpoints[row] if row < checkpoints.size else t_end) - t
            t, happens = _to_event(run, region, events, t, cap, dominant)
            if happens:
                pulled = _happen(run, region, events, t, dominant)
                t += 1
        else:
            pulled = _step_exactly(run, events, t, dominant)
            t += 1
        dominant = still_most_pulled(known.pulls, dominant, pulled)


# The start and the end of a stretch are plain numbers, as in the other methods; a struct would be compiled for this one
# call.
@kernel
def advance_by_events(
    run: Run, region: Region, events: Events, first: int, last: int, t: int, row: int, t_end: int, most_events: int
) -> tuple[int, int]:
    """Advance like `eager.advance_plainly`, but return after `most_events` events of a single replication.

    Where that happens does not matter, since `events` and `region` keep all that is known between two events.
    """
    reached, next_row = t, row
    for r in range(first, last):
        reached, next_row = _advance(run, region, events, r, t, row, t_end, most_events)
    return reached, next_row
