"""Replications as kernels see them, and the records of their checkpoints."""

import math
from typing import Any, NamedTuple

from feint._types import FloatArray, IntArray
from feint.agent.step import Known, Problem, Space, likeliest, log_complement
from feint.explorers.bounded_draws import EXACT
from feint.families.base import fill_log_best
from feint.numerics._jit import shared, shared_inlined
from feint.simulation.engine.rewards import Rewards
from feint.simulation.engine.watch import record_watch


class Records(NamedTuple):
    """The records of R replications at C checkpoints."""

    checkpoints: IntArray  # (C,)
    pulls: IntArray  # (R, C, K)
    boosts: IntArray  # (R, C, K)
    log_error: FloatArray  # (R, C)
    recommendation: IntArray  # (R, C)
    stopping_time: FloatArray  # (R,) NaN where it was not reached


class Run(NamedTuple):
    """All that kernels need: the agent, its source of rewards, what it knows, who watches, and when it ends."""

    problem: Problem
    rewards: Rewards
    known: Known
    space: Space
    records: Records
    watch: Any
    best: IntArray  # (R,) the best private arm
    delta: float  # the error to stop at; 0 for never


@shared
def fill_private_logs(run: Run) -> None:
    """Fill the row EXACT of the space's logs with the exact log P(arm is the best private one)."""
    private = run.known.private
    fill_log_best(private.family, private.posterior, private.ws, run.space.logs[EXACT])


@shared
def sure_exactly(run: Run) -> bool:
    """Return whether the largest private probability has reached 1 − δ, from the exact complement."""
    fill_private_logs(run)
    return sure_by_logs(run)


@shared_inlined
def sure_by_logs(run: Run) -> bool:
    """Return the same from the exact log probabilities that are already in the space's logs."""
    return log_complement(run.space.logs, likeliest(run.space.logs)) <= math.log(run.delta)


@shared
def record(run: Run, r: int, t: int, row: int, stopped: bool) -> int:
    """Fill the checkpoint at time t, or all that are left if the run has stopped; return the next row."""
    while row < run.records.checkpoints.size and (run.records.checkpoints[row] == t or stopped):
        fill_private_logs(run)
        for a in range(run.known.pulls.size):
            run.records.pulls[r, row, a] = run.known.pulls[a]
            run.records.boosts[r, row, a] = run.known.boosts[a]
        run.records.log_error[r, row] = log_complement(run.space.logs, run.best[r])
        run.records.recommendation[r, row] = likeliest(run.space.logs)
        record_watch(run.watch, r, row)
        row += 1
    if stopped:
        run.records.stopping_time[r] = float(t)
    return row
