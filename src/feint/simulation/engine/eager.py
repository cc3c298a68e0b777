"""The eager method: move replications forward one exact step after the other."""

from feint.agent.step import decide, draw_arm, most_pulled, update
from feint.numerics._jit import kernel, shared
from feint.simulation.engine.record import Run, record, sure_exactly
from feint.simulation.engine.rewards import BLOCK, draw_block, initial_round, reward_pull
from feint.simulation.engine.watch import begin, see


@shared
def _advance(run: Run, r: int, t: int, row: int, t_end: int) -> tuple[int, int]:
    known, s, uniforms = run.known, run.space, run.rewards.uniforms
    if t == 0:
        begin(run.watch, r)
        initial_round(run.rewards, known, r)
        t = known.pulls.size
    block = t - BLOCK  # the first step whose draws have been made
    while True:
        stopped = run.delta > 0.0 and sure_exactly(run)
        row = record(run, r, t, row, stopped)
        if stopped or t >= t_end:
            return t, row
        i = t - block
        if i == BLOCK:
            draw_block(run.rewards, r, t)
            block = t
            i = 0
        boosted = decide(run.problem, known, s, t, (uniforms[0, i], uniforms[1, i], uniforms[2, i]))
        pulled = draw_arm(s.policy, boosted, most_pulled(known.pulls), uniforms[3, i])
        known.boosts[boosted] += 1
        t += 1
        see(run.watch, r, run.problem, known, s, boosted, pulled, t)
        reward_pull(run.rewards, known, pulled, i)
        update(known, pulled)


def advance_plainly(run: Run, first: int, last: int, t: int, row: int, t_end: int) -> tuple[int, int]:
    """Move replications first … last − 1 from t pulls to t_end, or to their stopping times; return (t, the row of the
    next checkpoint) of the last one.

    It serves agents with a part in plain Python; compiled, it is `advance_eagerly`. Nothing but `run` carries over
    between calls, so it does not matter into which pieces a horizon is divided.
    """
    reached, next_row = t, row
    for r in range(first, last):
        reached, next_row = _advance(run, r, t, row, t_end)
    return reached, next_row


advance_eagerly = kernel(advance_plainly)
