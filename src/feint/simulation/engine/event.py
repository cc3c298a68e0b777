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

import numpy as np

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
from feint.explorers.base import UNDECIDED, choose, fill_shares, pass_boosts
from feint.explorers.bounded_draws import EXACT
from feint.families.base import MOST, draw_sum, slack
from feint.feedback.base import count_seen, draw_learnt, draw_seen, learnt_sum, set_learnt
from feint.numerics._jit import inlined, kernel, part
from feint.numerics.counts import draw_binomial
from feint.numerics.sequence import next_gap, next_uniform, start_sequence
from feint.simulation.engine.event_region import (
    BETWEEN,
    CALM,
    INSIDE,
    IS_CALM,
    RATE,
    ROUNDING,
    SILENT,
    WAIT,
    Events,
    enter_region,
)
from feint.simulation.engine.record import Run, fill_private_logs, record, sure_exactly
from feint.simulation.engine.region import (
    Region,
    draw_in_region,
    is_inside,
    sure_by_bounds,
)
from feint.simulation.engine.rewards import initial_round
from feint.simulation.engine.walk import pull_many

_FIRST_BETWEEN = 20.0  # steps between pulls of other arms than D, before anything is known about them


@part
def _count_silent(run: Run, events: Events) -> None:
    """Draw and count the boosts of the silent steps."""
    left = 0.0
    steps = events.now[SILENT]
    weights = events.shares
    for b in range(weights.size):
        weights[b] = events.least[b] * (1.0 - events.ceilings[b])
        left += weights[b]
    for b in range(weights.size):
        last = weights[b] >= left * (1.0 - ROUNDING)  # nothing but rounding is left for the others
        made = steps if last else draw_binomial(steps, weights[b] / left, events.draws)
        run.known.boosts[b] += int(made)
        steps -= made
        left -= weights[b]
        if last or steps == 0.0:
            break
    events.now[SILENT] = 0.0


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
        return choose(run.problem.explorer, view, run.space.bounds, (0.5, 0.5, 0.5)), u * events.now[RATE]
    v = u * events.now[RATE]
    for b in range(events.least.size):
        weight = events.least[b] * events.ceilings[b]
        if v < weight:
            return b, v / events.least[b]
        v -= weight
    return _draw_unsure(run, events, t, dominant), next_uniform(events.draws)


@inlined
def _make_pull(run: Run, events: Events, boosted: int, pulled: int) -> None:
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
    events.now[IS_CALM] = 1.0 if run.space.policy[dominant] > 1.0 - CALM else 0.0
    return draw_arm(run.space.policy, boosted, dominant, u)


@part
def _step_exactly(run: Run, events: Events, t: int, dominant: int) -> int:
    """Make one step as the eager method does; return the pulled arm."""
    draws = events.draws
    update(run.known, dominant)
    uniforms = (next_uniform(draws), next_uniform(draws), next_uniform(draws))
    boosted = choose_exactly(run.problem, run.known, run.space, t, uniforms)
    pulled = _decide_exactly(run, events, t, dominant, boosted, next_uniform(draws))
    _make_pull(run, events, boosted, pulled)
    events.now[WAIT] = max(0.0, events.now[WAIT] - 1.0)
    return pulled


@part
def _to_event(run: Run, region: Region, events: Events, t: int, cap: int, dominant: int) -> tuple[int, bool]:
    """Make silent steps, at most `cap`, to the next event or the exit; return (the time, whether there is an event)."""
    known, now = run.known, events.now
    before = known.pulls[dominant]
    room = int(min(region.public_box[MOST], region.private_box[MOST])) - before
    gap = next_gap(events.draws, now[RATE])
    n = min(cap, room)
    happens = gap < n
    if happens:
        n = int(gap)
    if pull_many(run.rewards, known, region, dominant, n, events.ahead, events.draws):
        now[INSIDE] = 0.0
        happens = False
    elif n == room:
        now[INSIDE] = 0.0
    made = known.pulls[dominant] - before
    if run.problem.uses_posterior:
        now[SILENT] += made
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
    _make_pull(run, events, boosted, pulled)
    if pulled != dominant or not is_inside(region, known, dominant):
        now[INSIDE] = 0.0
    return pulled


@part
def _advance(
    run: Run, region: Region, events: Events, r: int, t: int, row: int, t_end: int, most_events: int
) -> tuple[int, int]:
    """Advance one replication. D's posteriors are not kept up to date: `update` comes before every exact evaluation."""
    known, now, checkpoints = run.known, events.now, run.records.checkpoints
    if t == 0:
        start_sequence(events.draws, run.rewards.seed, np.uint64(run.rewards.first + r))
        initial_round(run.rewards, known, r)
        t = known.pulls.size
        now[:] = 0.0
        now[BETWEEN] = _FIRST_BETWEEN
    dominant = most_pulled(known.pulls)
    made = 0
    while True:
        if now[INSIDE] == 0.0:
            if now[SILENT] > 0.0:
                _count_silent(run, events)
            if now[IS_CALM] == 1.0 and now[WAIT] == 0.0:
                enter_region(run, region, events, t, dominant)
        stopped = False
        if run.delta > 0.0:
            if now[INSIDE] == 1.0:
                stopped = sure_by_bounds(region.private, run.delta) == 1
            else:
                update(known, dominant)
                stopped = sure_exactly(run)
        if stopped or (row < checkpoints.size and checkpoints[row] == t):
            if now[SILENT] > 0.0:
                _count_silent(run, events)
            update(known, dominant)
            row = record(run, r, t, row, stopped)
        if stopped or t >= t_end or made == most_events:
            return t, row

        made += 1
        pulled = dominant
        if now[INSIDE] == 1.0:
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
