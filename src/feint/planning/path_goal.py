"""A goal other than the best arm, for many paths at once: how sure of its answer each path is.

Far from the bar, the weakest point of the answer stands for its error: Z = √(2E), with E the least evidence. Near it,
and wherever the error is reported, the posterior probability is exact.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.bandit import Bandit
from feint.families.base import Belief, belief, usual_prior
from feint.goals.base import answer_of, fill_answer, fill_slopes, goal_settings, log_error_of
from feint.numerics._jit import Plain, kernel, kernel_or_python
from feint.numerics._threads import run_slices
from feint.planning.sides import Side
from feint.registry import show_part
from feint.support.own_parts import fresh

_NEAR = 0.8  # standard deviations below the bar from which errors are exact; a leap seldom goes as far
_ROWS_PER_SLICE = 50


class PathGoal:
    """A goal of the paths of an instance; arrays have arms along the first axis and paths along the last."""

    def __init__(self, goal: Any, bandit: Bandit, private: Side) -> None:
        self._family, self._n_arms, self._private = bandit.families[1], bandit.n_arms, private
        self._goal = fresh(goal, bandit.n_arms)
        self._plain = isinstance(self.settings(), Plain)
        if self._plain and bandit.feedback is not None:
            raise ValueError(
                f"The goal {show_part(goal, 'goal')} can be answered only if all private rewards are seen; leave the "
                f"feedback {show_part(bandit.feedback, 'feedback')} out."
            )
        self._truth = answer_of(goal, np.array(bandit.private))

    def settings(self) -> Any:
        """Return the settings for kernels, with space of their own."""
        return goal_settings(self._goal, self._n_arms, self._family)

    def log_error(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray, bar: float) -> FloatArray:
        """Return the log of the error of each path's own answer, (R,); far below `bar` it is approximate."""
        return self._fill((pulls, sums, seen), bar, True).errors

    def log_true_error(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray) -> FloatArray:
        """Return the log of the posterior probability that the right answer is not the true one, (R,)."""
        return self._fill((pulls, sums, seen), -math.inf, False).errors

    def slopes(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray, lead: FloatArray) -> FloatArray:
        """Return how far Z, now `lead`, moves per standard deviation of each arm's mean, (K, R)."""
        from scipy.special import log_ndtr

        of_log_error = np.ascontiguousarray(self._fill((pulls, sums, seen), math.inf, False).slopes.T)
        return np.asarray(of_log_error * np.exp(log_ndtr(-lead) + 0.5 * lead**2) * math.sqrt(2.0 * math.pi))

    def _fill(self, known: tuple[FloatArray, FloatArray, FloatArray], bar: float, own: bool) -> "_PathErrors":
        pulls, sums, seen = known
        family, n_rows = self._family, pulls.shape[1]
        worth, posterior = self._private.worth(pulls, seen), self._private.posterior(pulls, sums, seen)
        rows = [np.ascontiguousarray(found.T) for found in (worth, sums / pulls, *posterior)]
        found = _PathErrors._make((*rows, np.empty(n_rows), np.empty(rows[0].shape)))

        def fill(start: int, stop: int) -> None:
            known = belief(family, usual_prior(family), np.zeros(self._n_arms))
            here = _PathErrors._make(array[start:stop] for array in found)
            settings = self.settings()
            fill_errors = kernel_or_python(_fill_errors, settings)
            fill_errors(settings, known, here, self._truth.copy(), own, bar - _NEAR)

        if self._plain:  # which may not be ready for threads
            fill(0, n_rows)
        else:
            run_slices(fill, n_rows, smallest=_ROWS_PER_SLICE)
        return found


class _PathErrors(NamedTuple):
    """Paths of a slice: what is known of them (R, K), and what is found: see `_fill_errors`."""

    pulls: FloatArray
    means: FloatArray
    first: FloatArray  # of the posteriors' two parameters
    second: FloatArray
    errors: FloatArray  # (R,)
    slopes: FloatArray  # (R, K)


@kernel
def _fill_errors(goal: Any, private: Belief, rows: _PathErrors, answer: BoolArray, own: bool, far: float) -> None:
    """Fill the log errors of `answer`, or of each row's `own`, and their slopes; below `far` errors are approximate."""
    for i in range(rows.errors.size):
        least = fill_slopes(goal, private.family, rows.pulls[i], rows.means[i], rows.slopes[i])
        z = math.sqrt(2.0 * least)
        if z < far:
            rows.errors[i] = math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
            continue
        for a in range(answer.size):
            private.posterior[0, a] = rows.first[i, a]
            private.posterior[1, a] = rows.second[i, a]
            private.pulls[a], private.means[a] = rows.pulls[i, a], rows.means[i, a]
            private.sums[a] = rows.pulls[i, a] * rows.means[i, a]
        if own:
            fill_answer(goal, private, answer)
        rows.errors[i] = log_error_of(goal, private, answer)
