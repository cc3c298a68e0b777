"""The probabilities of a reference for the next pull, from the arms and public rewards so far: pull by pull.

The observer uses this; `recomputation` does the same for whole logs. Both take the first K pulls as the initial round.
"""

import copy
import math
from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.families.base import Belief, belief, recall, set_posterior
from feint.numerics._jit import has_plain, kernel, part, shared_inlined
from feint.numerics._validate import restore_counts
from feint.references.base import (
    expect,
    has_context_per_arm,
    memory_of,
    min_pulls_per_arm,
    note_pull,
    recall_memory,
    reference_prior,
    remembers,
    show_context,
    stepwise_settings,
)
from feint.references.recomputation import Recomputation


@shared_inlined
def learn(belief: Belief, arm: int, reward: float) -> None:
    """Add a pull and its reward to the belief."""
    belief.pulls[arm] += 1
    belief.sums[arm] += reward
    belief.means[arm] = belief.sums[arm] / belief.pulls[arm]
    set_posterior(belief.family, belief, arm)


@kernel
def _learn_one(belief: Belief, arm: int, reward: float) -> None:
    learn(belief, arm, reward)


@kernel
def _expect_one(reference: Any, belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    """Ask the reference. A kernel is kept on disk; the part alone would be compiled in every process."""
    expect(reference, belief, t, pi, log_pi)


@part
def _set_all(belief: Belief) -> None:
    for a in range(belief.pulls.size):
        set_posterior(belief.family, belief, a)


class Expectation:
    """A reference that follows the public past, keeping only pulls and sums of rewards, and returns log π_t."""

    def __init__(self, reference: Any, family: Any, n_arms: int, initial_round: bool = True) -> None:
        self.family, self.reference = family, reference
        self.settings = stepwise_settings(reference, family, n_arms)
        self.belief = belief(family, reference_prior(reference, family), np.zeros(n_arms, dtype=np.int64))
        self.plain = has_plain((self.settings, self.belief.family))
        self._at_once = min_pulls_per_arm(reference, family) == 0
        self._remembers = remembers(self.settings)
        self._complete = False  # every arm has been pulled
        self._untested = n_arms if initial_round else 0
        if self._at_once and not self.plain:
            _set_all(self.belief)

    @property
    def time(self) -> int:
        """The number of pulls seen so far."""
        return int(self.belief.pulls.sum())

    @property
    def tests_next_pull(self) -> bool:
        """Return whether the next pull is tested."""
        self._complete = self._complete or bool(self.belief.pulls.all())
        return (self._complete or self._at_once) and self.time >= self._untested

    def log_probabilities(self, context: FloatArray | None = None) -> FloatArray | None:
        """Return log π (K,) of the next pull, or None if that pull is not tested."""
        if not self.tests_next_pull:
            return None
        show_context(self.settings, context)
        return self._expect()

    def _expect(self) -> FloatArray:
        pi, log_pi = np.empty((2, self.belief.pulls.size))
        (expect if self.plain else _expect_one)(self.settings, self.belief, self.time, pi, log_pi)
        return log_pi

    def observe(self, arm: int, reward: float) -> None:
        """Add a pull to the past."""
        (learn if self.plain else _learn_one)(self.belief, arm, reward)
        if self.plain:
            note_pull(self.settings, arm)
        if self._remembers:  # it must see pulls that are not tested, too
            self._expect()

    def state(self) -> dict[str, Any]:
        """Return the past as plain JSON types."""
        memory = memory_of(self.settings)  # of the order of the pulls
        past = {"pulls": self.belief.pulls.tolist(), "sums": self.belief.sums.tolist()}
        return past | ({"memory": memory} if memory else {})

    def recall(self, state: dict[str, Any]) -> None:
        """Restore the past from a saved state; raise ValueError if it is damaged."""
        restore_counts(self.belief.pulls, state["pulls"], "pulls")
        recall(self.belief, self.family, state["sums"], "sums")
        recall_memory(self.settings, state.get("memory", []))


class ContextExpectation:
    """A reference with contexts that follows the public past pull by pull."""

    plain = True

    def __init__(self, reference: Any, family: Any, n_arms: int, initial_round: bool = True) -> None:
        self.reference = reference
        self._followed = Recomputation(reference, family, n_arms, initial_round)
        self.family = self._followed.family
        self.time = 0  # pulls seen so far
        if self._followed.draws is not None:
            raise ValueError(
                "An observer needs exact probabilities, which do not exist where one draw scores more than three arms; "
                "audit the log instead (feint.audit)."
            )

    def log_probabilities(self, context: FloatArray | None = None) -> FloatArray | None:
        """Return log π (K,) of the next pull, or None if that pull is not tested."""
        return self._row(copy.deepcopy(self._followed), 0, math.nan, context)

    def observe(self, arm: int, reward: float, context: FloatArray | None = None) -> FloatArray | None:
        """Add a pull to the past; return log π (K,) of it, or None if it is not tested."""
        log_pi = self._row(self._followed, arm, reward, context)
        self.time += 1
        return log_pi

    def _row(self, followed: Recomputation, arm: int, reward: float, context: FloatArray | None) -> FloatArray | None:
        shared = has_context_per_arm(self.reference)
        if context is None or context.ndim != 1 + shared or (shared and len(context) != followed.n_arms):
            shape = f"({followed.n_arms}, d), a row of features per arm" if shared else "(d,), the features of the pull"
            given = "is missing" if context is None else f"has shape {context.shape}"
            raise ValueError(f"context {given}; {type(self.reference).__name__} needs {shape}.")
        one = np.zeros(1, dtype=np.int64)
        log_pi, tested = followed.rows(one, one + arm, np.array([reward]), contexts=context.reshape(1, -1))
        return log_pi[0] if tested[0] else None

    def state(self) -> dict[str, Any]:
        """Return the past as plain JSON types."""
        return {"time": self.time, "past": self._followed.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Restore the past from a saved state."""
        self.time = int(state["time"])
        self._followed.recall(state["past"])
