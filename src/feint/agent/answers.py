"""What a live agent would answer after its pulls, and how sure it is."""

from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.agent.step import Known
from feint.families.base import Belief, fill_log_best
from feint.goals.base import fill_answer, log_error_of
from feint.goals.best_arm import BestArmKernel
from feint.numerics._jit import kernel, kernel_or_python
from feint.numerics.best_arm_rows import log_rest
from feint.numerics.sorting import find_largest


@kernel
def _fill_log_best(private: Belief, out: FloatArray) -> None:
    """Fill `out` with log P(arm is best).

    This kernel is cached on disk; the part, called from Python, would compile for seconds in every process.
    """
    fill_log_best(private.family, private.posterior, private.ws, out)


@kernel
def _fill_answer(goal: Any, private: Belief, answer: BoolArray) -> float:
    fill_answer(goal, private, answer)
    return log_error_of(goal, private, answer)


def log_best_arms(known: Known) -> FloatArray:
    """Return log P(arm is best) of every arm, (K,)."""
    _check_posterior(known)
    private, logs = known.private, np.empty(known.pulls.size)
    kernel_or_python(_fill_log_best, private.family)(private, logs)
    return logs


def answer_now(goal: Any, known: Known) -> tuple[BoolArray, float]:
    """Return whether each arm belongs to the answer, and the log of its error; `goal` are the settings for kernels."""
    if isinstance(goal, BestArmKernel):
        logs = log_best_arms(known)
        best = int(find_largest(logs))
        return np.arange(logs.size) == best, float(log_rest(logs, best))
    _check_posterior(known)
    answer = np.empty(known.pulls.size, dtype=bool)
    log_error = kernel_or_python(_fill_answer, goal, known.private.family)(goal, known.private, answer)
    return answer, float(log_error)


def _check_posterior(known: Known) -> None:
    if known.pulls.sum() < known.pulls.size:
        raise ValueError("Every arm must be pulled once before there is a posterior; finish the initial round.")
