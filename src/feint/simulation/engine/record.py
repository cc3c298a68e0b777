"""Replications as kernels see them, and the records of their checkpoints."""

import math
from typing import Any, NamedTuple

from feint._types import BoolArray, FloatArray, IntArray
from feint.agent.step import Known, Problem, Space, likeliest
from feint.explorers.bounded_draws import EXACT
from feint.families.base import fill_log_best
from feint.goals.base import fill_answer, log_error_of, surely_above
from feint.numerics._jit import by_type, parts, shared, shared_inlined
from feint.numerics.best_arm_rows import log_rest
from feint.simulation.engine.rewards import Rewards
from feint.simulation.engine.watch import record_watch


class Run(NamedTuple):
    """All that kernels need: the agent, its source of rewards, what it knows, who watches, and when it ends."""

    problem: Problem
    rewards: Rewards
    known: Known
    space: Space
    records: Any  # `Records` or `AnswerRecords`
    watch: Any
    best: IntArray  # (R,) the best private arm
    delta: float  # the error to stop at; 0 for never


@shared
def fill_private_logs(run: Run) -> None:
    """Fill the row EXACT of the space's logs with the exact log P(arm is the best private one)."""
    private = run.known.private
    fill_log_best(private.family, private.posterior, private.ws, run.space.logs[EXACT])


@by_type
def has_bounds(records: Any) -> bool:
    """Return whether regions and tangents bound what the goal asks about."""
    raise NotImplementedError


@by_type
def is_sure(records: Any, run: "Run") -> bool:
    """Return whether the posterior probability of the answer has reached 1 − δ, from the exact complement."""
    raise NotImplementedError


@by_type
def record_answer(records: Any, run: "Run", r: int, row: int) -> None:
    """Record the answer and its error at one checkpoint."""
    raise NotImplementedError


@shared
def sure_exactly(run: Run) -> bool:
    """Return whether the posterior probability of the answer has reached 1 − δ, from the exact complement."""
    return is_sure(run.records, run)


@shared_inlined
def sure_by_logs(run: Run) -> bool:
    """Return what `sure_exactly` does, from the exact log probabilities that are already in the space's logs."""
    return log_rest(run.space.logs[EXACT], likeliest(run.space.logs)) <= math.log(run.delta)


@shared
def record(run: Run, r: int, t: int, row: int, stopped: bool) -> int:
    """Fill the checkpoint at time t, or all that are left if the run has stopped; return the next row."""
    while row < run.records.checkpoints.size and (run.records.checkpoints[row] == t or stopped):
        for a in range(run.known.pulls.size):
            run.records.pulls[r, row, a] = run.known.pulls[a]
            run.records.boosts[r, row, a] = run.known.boosts[a]
        record_answer(run.records, run, r, row)
        record_watch(run.watch, r, row)
        row += 1
    if stopped:
        run.records.stopping_time[r] = float(t)
    return row


@shared_inlined
def _has_bounds(records: "Records") -> bool:
    return True


@shared
def _best_arm_is_sure(records: "Records", run: Run) -> bool:
    fill_private_logs(run)
    return sure_by_logs(run)


@shared
def _record_best_arm(records: "Records", run: Run, r: int, row: int) -> None:
    fill_private_logs(run)
    records.log_error[r, row] = log_rest(run.space.logs[EXACT], run.best[r])
    records.recommendation[r, row] = likeliest(run.space.logs)


@parts(has_bounds=_has_bounds, is_sure=_best_arm_is_sure, record_answer=_record_best_arm)
class Records(NamedTuple):
    """The records of R replications at C checkpoints, if the goal is the best arm."""

    checkpoints: IntArray  # (C,)
    pulls: IntArray  # (R, C, K)
    boosts: IntArray  # (R, C, K)
    log_error: FloatArray  # (R, C)
    recommendation: IntArray  # (R, C)
    stopping_time: FloatArray  # (R,) NaN where it was not reached


@shared_inlined
def _has_no_bounds(records: "AnswerRecords") -> bool:
    return False


@shared
def _answer_is_sure(records: "AnswerRecords", run: Run) -> bool:
    goal, private, log_delta = run.problem.goal, run.known.private, math.log(run.delta)
    fill_answer(goal, private, records.found)
    if surely_above(goal, private, records.found, log_delta):
        return False
    return log_error_of(goal, private, records.found) <= log_delta


@shared
def _record_answer(records: "AnswerRecords", run: Run, r: int, row: int) -> None:
    fill_answer(run.problem.goal, run.known.private, records.answer[r, row])
    records.log_error[r, row] = log_error_of(run.problem.goal, run.known.private, records.truth)


@parts(has_bounds=_has_no_bounds, is_sure=_answer_is_sure, record_answer=_record_answer)
class AnswerRecords(NamedTuple):
    """The records of R replications at C checkpoints, for any other goal."""

    checkpoints: IntArray  # (C,)
    pulls: IntArray  # (R, C, K)
    boosts: IntArray  # (R, C, K)
    log_error: FloatArray  # (R, C)
    answer: BoolArray  # (R, C, K)
    stopping_time: FloatArray  # (R,) NaN where it was not reached
    truth: BoolArray  # (K,) the right answer
    found: BoolArray  # (K,) scratch of one thread
