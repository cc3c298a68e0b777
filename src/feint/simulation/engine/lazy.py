"""The lazy method: move replications forward by bounds where they decide, and exactly where they do not.

It reads the same draws of the same stream as the eager method and takes the same decisions. A step first asks a region
(`region`), which costs one comparison per step while only the most pulled arm, D, is pulled and D stays inside. Then it
asks tangents (`comparison`), where the family has them; they hold wherever the arms have moved. What both leave
undecided is evaluated exactly, with the same bits as in the eager method, and becomes the tangents' next centre. An
observer needs the reference's probabilities at every step, so with an observer only the private side is lazy. The same
holds for a reference that has no bounds.
"""

from typing import NamedTuple

from feint.agent.step import draw_arm, most_pulled, set_policy, still_most_pulled, view_of
from feint.budgets import epsilon_at
from feint.explorers.base import UNDECIDED, Uniforms, choose
from feint.explorers.bounded_draws import EXACT, fill_exact_bounds
from feint.families.base import slack
from feint.numerics._jit import inlined, kernel, part
from feint.numerics.best_arm_rows import complete_logs
from feint.numerics.boost_kernel import boost_policy
from feint.simulation.engine.comparison import (
    Comparison,
    bound_private_by_tangents,
    bound_reference_by_tangents,
    compares,
    comparison,
    defer_update,
    draw_by_bounds,
    draw_inside,
    enter_by_tangents,
    evaluate,
    flush_update,
    forget_centres,
    update_and_displace,
)
from feint.simulation.engine.record import Run, has_bounds, record, sure_by_logs, sure_exactly
from feint.simulation.engine.region import PI_LOW, Region, build_region, is_inside, region, sure_by_bounds
from feint.simulation.engine.rewards import BLOCK, draw_block, initial_round, reward_pull
from feint.simulation.engine.watch import begin, observing, see

# Build a region only where D is pulled with more than this probability: otherwise it would not last.
_CALM = 0.85
_CALM_WITH_TANGENTS = 0.75  # lower, since a region then takes no evaluation


class Lazy(NamedTuple):
    """The space of the lazy method, owned by the caller."""

    region: Region
    comparison: Comparison


def lazy(n_arms: int) -> Lazy:
    """Allocate the space of the lazy method for `n_arms` arms."""
    return Lazy(region(n_arms), comparison(n_arms))


@part
def _is_sure(run: Run, space: Lazy, dominant: int, inside: bool) -> bool:
    c, private = space.comparison, run.known.private
    if not has_bounds(run.records):
        flush_update(run.known, c, dominant)
        return sure_exactly(run)
    sure = sure_by_bounds(space.region.private, run.delta) if inside else UNDECIDED
    if sure == UNDECIDED:
        flush_update(run.known, c, dominant)
        if bound_private_by_tangents(private, c):
            sure = sure_by_bounds(c.bounds, run.delta)
    if sure == UNDECIDED:
        evaluate(private, c.private, run.space.logs[EXACT])
        return sure_by_logs(run)
    return sure == 1


@inlined
def _choose(run: Run, c: Comparison, dominant: int, t: int, uniforms: Uniforms) -> int:
    """Return the arm to boost where no region decides: by tangents, otherwise exactly."""
    problem, private, s = run.problem, run.known.private, run.space
    view = view_of(run.known, s.explorer, t)
    flush_update(run.known, c, dominant)
    if bound_private_by_tangents(private, c):
        boosted = choose(problem.explorer, view, c.bounds, uniforms)
        if boosted != UNDECIDED:
            return boosted
    evaluate(private, c.private, s.logs[EXACT])
    fill_exact_bounds(s.logs, s.bounds)
    return choose(problem.explorer, view, s.bounds, uniforms)


@inlined
def _draw_arm(run: Run, space: Lazy, dominant: int, t: int, boosted: int, u: float) -> int:
    """Return the arm to pull where no region decides; leave a lower bound of D's probability in `c.reference`."""
    problem, public, s, c = run.problem, run.known.public, run.space, space.comparison
    epsilon = epsilon_at(problem.budget, t + 1)
    flush_update(run.known, c, dominant)
    if bound_reference_by_tangents(public, c):
        pulled = draw_by_bounds(c.reference, c.boosts, boosted, dominant, epsilon, u)
        if pulled != UNDECIDED:
            return pulled
    evaluate(public, c.public, s.log_pi)
    complete_logs(s.log_pi, s.pi)
    boost_policy(s.pi, s.log_pi, boosted, epsilon, s.policy)
    c.reference[PI_LOW, dominant] = s.policy[dominant]
    return draw_arm(s.policy, boosted, dominant, u)


@part
def _advance(run: Run, space: Lazy, follows_posterior: bool, r: int, t: int, row: int, t_end: int) -> tuple[int, int]:
    """Advance one replication. D's posteriors wait until something reads them; `flush_update` comes before that."""
    problem, known, s, uniforms = run.problem, run.known, run.space, run.rewards.uniforms
    region, c = space.region, space.comparison
    if t == 0:
        begin(run.watch, r)
        initial_round(run.rewards, known, r)
        t = known.pulls.size
    forget_centres(c)
    dominant = most_pulled(known.pulls)
    wide = slack(known.public.family)
    bounds_reference = follows_posterior and not observing(run.watch)
    bounds_private = problem.uses_posterior or (run.delta > 0.0 and has_bounds(run.records))
    with_tangents = compares(known)
    calm_enough = _CALM_WITH_TANGENTS if with_tangents else _CALM
    block = t - BLOCK  # the first step whose draws have been made
    inside = False
    calm = False
    while True:
        if calm and not inside:
            flush_update(known, c, dominant)
            if with_tangents:
                inside = enter_by_tangents(region, known, c, dominant, bounds_private, bounds_reference)
            else:
                build_region(region, known, dominant, bounds_private, bounds_reference)
                inside = True

        stopped = run.delta > 0.0 and _is_sure(run, space, dominant, inside)
        if stopped or (row < run.records.checkpoints.size and run.records.checkpoints[row] == t):
            flush_update(known, c, dominant)
            row = record(run, r, t, row, stopped)
        if stopped or t >= t_end:
            flush_update(known, c, dominant)
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
            boosted = _choose(run, c, dominant, t, drawn)

        pulled = UNDECIDED
        if not bounds_reference:
            flush_update(known, c, dominant)
            set_policy(problem, known, s, t, boosted)
            pulled = draw_arm(s.policy, boosted, dominant, uniforms[3, i])
            calm = s.policy[dominant] > calm_enough
            see(run.watch, r, problem, known, s, boosted, pulled, t + 1)
        elif inside:
            epsilon = epsilon_at(problem.budget, t + 1)
            pulled = draw_inside(region, c, wide, boosted, dominant, epsilon, uniforms[3, i])
        if pulled == UNDECIDED:
            pulled = _draw_arm(run, space, dominant, t, boosted, uniforms[3, i])
            calm = c.reference[PI_LOW, dominant] > calm_enough

        known.boosts[boosted] += 1
        reward_pull(run.rewards, known, pulled, i)
        t += 1
        if pulled != dominant:
            update_and_displace(known, c, pulled)
            flush_update(known, c, dominant)
            inside = False
            dominant = still_most_pulled(known.pulls, dominant, pulled)
        else:
            defer_update(known, c, dominant)
            inside = inside and is_inside(region, known, dominant)


@kernel
def advance_lazily(
    run: Run, space: Lazy, follows_posterior: bool, first: int, last: int, t: int, row: int, t_end: int
) -> tuple[int, int]:
    """Advance like `eager.advance_plainly`; `follows_posterior` says that the reference's probabilities have bounds."""
    reached, next_row = t, row
    for r in range(first, last):
        reached, next_row = _advance(run, space, follows_posterior, r, t, row, t_end)
    return reached, next_row
