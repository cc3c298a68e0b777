"""What a reference says of the coming pull, from the arms and public rewards so far: pull by pull, for the observer.

As in `recomputation`, which does the same for whole logs, the first K pulls are taken for the initial round.
"""

from typing import Any

import numpy as np

from feint.families.base import Belief, belief, recall, set_posterior
from feint.numerics._jit import has_plain, kernel, part, shared_inlined
from feint.numerics._validate import FloatArray, restore_counts
from feint.references.base import expect, reference_prior, speaks_after, stepwise_settings


@shared_inlined
def learn(belief: Belief, arm: int, reward: float) -> None:
    """Add a pull to what is known."""
    belief.pulls[arm] += 1
    belief.sums[arm] += reward
    belief.means[arm] = belief.sums[arm] / belief.pulls[arm]
    set_posterior(belief.family, belief, arm)


@kernel
def _learn_one(belief: Belief, arm: int, reward: float) -> None:
    learn(belief, arm, reward)


@part
def _set_all(belief: Belief) -> None:
    for a in range(belief.pulls.size):
        set_posterior(belief.family, belief, a)


class Expectation:
    """log π_t from the public past, of which pulls and sums of rewards are all that is kept."""

    def __init__(self, reference: Any, family: Any, n_arms: int, initial_round: bool = True) -> None:
        self.family, self.reference = family, reference
        self.settings = stepwise_settings(reference, family, n_arms)
        self.belief = belief(family, reference_prior(reference, family), np.zeros(n_arms, dtype=np.int64))
        self.plain = has_plain((self.settings, self.belief.family))
        self._at_once = speaks_after(reference, family) == 0
        self._complete = False  # every arm has been pulled
        self._untested = n_arms if initial_round else 0
        if self._at_once and not self.plain:
            _set_all(self.belief)

    @property
    def time(self) -> int:
        """Pulls seen."""
        return int(self.belief.pulls.sum())

    @property
    def speaks(self) -> bool:
        """Whether the coming pull is tested."""
        self._complete = self._complete or bool(self.belief.pulls.all())
        return (self._complete or self._at_once) and self.time >= self._untested

    def log_probabilities(self) -> FloatArray | None:
        """log π (K,) of the coming pull; None while nothing is said."""
        if not self.speaks:
            return None
        pi, log_pi = np.empty((2, self.belief.pulls.size))
        expect(self.settings, self.belief, self.time, pi, log_pi)
        return log_pi

    def observe(self, arm: int, reward: float) -> None:
        """Add a pull to the past."""
        (learn if self.plain else _learn_one)(self.belief, arm, reward)

    def recall(self, pulls: Any, sums: Any) -> None:
        """Take the past from a saved state, or refuse it."""
        restore_counts(self.belief.pulls, pulls, "pulls")
        recall(self.belief, self.family, sums, "sums")
