"""The most powerful test against a known alternative: the benchmark for every other test."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.numerics._validate import as_floats


class LikelihoodRatio(EProcess):
    r"""The test E_t = ∏ q_s(A_s)/π_s(A_s) for a known q, the most powerful one by Neyman and Pearson.

    If the agent follows q, log E grows on average by KL(q_t ‖ π_t) per step. So with a budget of ε per step no test
    reaches 1/α much before log(1/α)/ε steps.

    Parameters
    ----------
    alternative
        A function that takes log π (n, K) of the coming pulls and returns log q of the same shape; for a live agent
        `lambda log_pi: np.log(agent.probabilities())[None]`.

    >>> from feint.numerics import boost
    >>> test = LikelihoodRatio(2, alternative=lambda log_pi: np.log(boost(np.exp(log_pi), 1, 0.1)))
    >>> round(test.update(1, np.log([0.9, 0.1])), 4)
    0.9434
    """

    def __init__(self, n_arms: int, *, alternative: Callable[[FloatArray], FloatArray]) -> None:
        super().__init__(n_arms)
        if not callable(alternative):
            raise ValueError(f"alternative is {alternative!r}; give a function from log π to log q, both (n, K).")
        self._alternative = alternative

    def _arrays(self) -> dict[str, Any]:
        return {}

    def _extend(self, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
        log_q = as_floats(self._alternative(log_pi), "The alternative's log q")
        if log_q.shape != log_pi.shape or (log_q > 0).any() or abs(np.exp(log_q).sum(1) - 1).max() > 1e-9:
            raise ValueError("The alternative must return the logarithms of probabilities, in the shape of log π.")
        rows = np.arange(arms.size)
        # Added one after another, so that the result does not depend on how the rows are divided into calls.
        steps = log_q[rows, arms] - log_pi[rows, arms]
        steps[0] += self._log_e
        log_e[:] = np.cumsum(steps)

    def settings(self) -> dict[str, Any]:
        """Return the settings without the alternative, which cannot be saved; give it to `from_state` again."""
        if math.isinf(self._log_e):
            raise ValueError("The alternative is refuted (E = 0) and can never recover; there is no state to save.")
        return super().settings()
