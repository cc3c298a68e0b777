"""Replications moved forward exactly where bounds do not decide, and by the bounds of a region where they do.

It reads the same draws of the same stream as the eager method and takes the same decisions. While no arm but the most
pulled one, D, is pulled and D stays inside the region, a step needs the region's bounds only; where they do not decide,
it evaluates the undecided exactly, by the very functions that the eager method calls. An observer needs the reference's
probabilities at every step, so with one only the private side is lazy; so it is with a reference that has no bounds.
"""

from feint.budgets import epsilon_at
from feint.engine.record import Run, record, sure_exactly
from feint.engine.region import Region, draw_in_region, enter, is_inside, sure_by_bounds
from feint.engine.rewards import BLOCK, draw_block, initial_round, reward_pull
from feint.engine.watch import begin, observing, see
from feint.explorers.base import UNDECIDED, choose
from feint.families.base import slack
from feint.numerics._jit import inlined, kernel, part
from feint.step import choose_exactly, draw_arm, most_pulled, set_policy, update, update_means, view_of

_CALM = 0.85  # build a region only where D is pulled with more than this probability: else it would not last


@inlined
def _is_sure(run: Run, region: Region, dominant: int, inside: bool) -> bool:
    sure = sure_by_bounds(region.private, run.delta) if inside else UNDECIDED
    if sure == UNDECIDED:
        update(run.known, dominant)
        return sure_exactly(run)
    return sure == 1


@part
def _advance(
    run: Run, region: Region, follows_posterior: bool, r: int, t: int, row: int, t_end: int
) -> tuple[int, int]:
    """See `advance_lazily`. D's posterior waits until something is evaluated: `update` before everything exact."""
    problem, known, s, uniforms = run.problem, run.known, run.space, run.rewards.uniforms
    if t == 0:
        begin(run.watch, r)
        initial_round(run.rewards, known, r)
        t = known.pulls.size
    dominant = most_pulled(known.pulls)
    wide = slack(known.public.family)
    bounds_reference = follows_posterior and not observing(run.watch)
    bounds_private = problem.uses_posterior or run.delta > 0.0
    block = t - BLOCK  # the first step whose draws have been made
    inside = False
    calm = False
    while True:
        if calm and not inside:
            update(known, dominant)
            enter(region, known, dominant, bounds_private, bounds_reference)
            inside = True

        stopped = run.delta > 0.0 and _is_sure(run, region, dominant, inside)
        if stopped or (row < run.records.checkpoints.size and run.records.checkpoints[row] == t):
            update(known, dominant)
            row = record(run, r, t, row, stopped)
        if stopped or t >= t_end:
            update(known, dominant)
            return t, row

        i = t - block
        if i == BLOCK:
            draw_block(run.rewards, r, t)
            block = t
            i = 0
        drawn = (uniforms[0, i], uniforms[1, i], uniforms[2, i])
        boosted = UNDECIDED
        if not problem.uses_posterior or (inside and bounds_private):
            boosted = choose(problem.explorer, view_of(known, s.explorer, t), region.private, drawn)
        if boosted == UNDECIDED:
            update(known, dominant)
            boosted = choose_exactly(problem, known, s, t, drawn)

        pulled = UNDECIDED
        if inside and bounds_reference:
            epsilon = epsilon_at(problem.budget, t + 1)
            pulled = draw_in_region(region, wide, boosted, dominant, epsilon, uniforms[3, i])
        if pulled == UNDECIDED:
            update(known, dominant)
            set_policy(problem, known, s, t, boosted)
            pulled = draw_arm(s.policy, boosted, dominant, uniforms[3, i])
            calm = s.policy[dominant] > _CALM
            see(run.watch, r, problem, known, s, boosted, pulled, t + 1)

        known.boosts[boosted] += 1
        reward_pull(run.rewards, known, pulled, i)
        t += 1
        if pulled != dominant:
            update(known, pulled)
            update(known, dominant)
            inside = False
            if known.pulls[pulled] > known.pulls[dominant] or (
                known.pulls[pulled] == known.pulls[dominant] and pulled < dominant
            ):
                dominant = pulled
        else:
            update_means(known, dominant)
            inside = inside and is_inside(region, known, dominant)


@kernel
def advance_lazily(
    run: Run, region: Region, follows_posterior: bool, first: int, last: int, t: int, row: int, t_end: int
) -> tuple[int, int]:
    """As `eager.advance_plainly`; `follows_posterior` says that the reference's probabilities have bounds."""
    reached, next_row = t, row
    for r in range(first, last):
        reached, next_row = _advance(run, region, follows_posterior, r, t, row, t_end)
    return reached, next_row
