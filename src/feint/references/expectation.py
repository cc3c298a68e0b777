"""What a reference says of the coming pull, recomputed from the arms and public rewards so far.

The first K pulls are taken for the initial round in which every arm is pulled once, as `Agent` does it, and are not
tested: that is right for agents with such a round and costs others K rows (`initial_round=False` is for those). Without
a prior nothing can be said until every arm has been pulled. Many rows of Thompson Sampling are recomputed on all cores:
the posteriors before each row are one pass, and the probabilities then do not depend on each other.
"""

from typing import Any

import numpy as np

from feint.families.base import Belief, belief, recall, set_posterior
from feint.numerics._jit import Plain, kernel, part, shared_inlined
from feint.numerics._validate import FloatArray, IntArray, restore_counts
from feint.references.base import describe, expect, reference_prior, reference_settings


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


@kernel
def _posteriors_before(
    belief: Belief, arms: IntArray, rewards: FloatArray, first: FloatArray, second: FloatArray
) -> None:
    """Posterior parameters before each row into (n, K) arrays; the rows are then known."""
    for i in range(arms.size):
        for a in range(belief.pulls.size):
            first[i, a] = belief.posterior[0, a]
            second[i, a] = belief.posterior[1, a]
        learn(belief, arms[i], rewards[i])


@kernel
def _expect_rows(
    reference: Any,
    belief: Belief,
    t: int,
    first: int,
    arms: IntArray,
    rewards: FloatArray,
    pi: FloatArray,
    log_pi: FloatArray,
) -> None:
    """log π before each row from `first` on into (n, K), after t pulls; the rows are then known."""
    for i in range(arms.size):
        if i >= first:
            expect(reference, belief, t + i, pi, log_pi[i])
        learn(belief, arms[i], rewards[i])


@part
def _set_all(belief: Belief) -> None:
    for a in range(belief.pulls.size):
        set_posterior(belief.family, belief, a)


class Expectation:
    """log π_t from the public past, of which pulls and sums of rewards are all that is kept."""

    def __init__(self, reference: Any, family: Any, n_arms: int, initial_round: bool = True) -> None:
        self.family, self.reference = family, reference
        self.settings = reference_settings(reference, family, n_arms)
        self.belief = belief(family, reference_prior(reference, family), np.zeros(n_arms, dtype=np.int64))
        self.plain = isinstance(self.settings, Plain) or isinstance(self.belief.family, Plain)
        self._at_once = getattr(reference, "speaks_at_once", lambda family: False)(family)
        self._complete = False  # every arm has been pulled
        self._untested = n_arms if initial_round else 0
        if self._at_once and not self.plain:
            _set_all(self.belief)

    @property
    def rewards(self) -> str:
        """What a reward must be, in a clause."""
        return self.family.observable[1] if hasattr(self.family, "observable") else self.family.rewards

    def accepts(self, rewards: Any) -> Any:
        """Whether a number, or each of an array, can be a reward."""
        found = self.family.accepts(rewards)
        return found & (abs(rewards) <= self.family.observable[0]) if hasattr(self.family, "observable") else found

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

    def rows(self, arms: IntArray, rewards: FloatArray) -> tuple[FloatArray, int]:
        """(log π (m, K), first): before each of the rows from `first` on, those before it not being tested.

        The rows are then part of the past.
        """
        first, shape = self._first(arms), (arms.size, self.belief.pulls.size)
        if self.plain:
            return self._plain_rows(arms, rewards, first), first
        if self.settings.follows_posterior:
            parameters = np.empty((2, *shape))
            _posteriors_before(self.belief, arms, rewards, *parameters)
            tested = parameters[:, first:]
            return self.family.log_probabilities(*tested) if first < arms.size else np.empty((0, shape[1])), first
        log_pi = np.empty(shape)
        _expect_rows(self.settings, self.belief, self.time, first, arms, rewards, np.empty(shape[1]), log_pi)
        return log_pi[first:], first

    def _first(self, arms: IntArray) -> int:
        """The first of these rows that is tested."""
        waiting = max(0, self._untested - self.time)
        if not (self._at_once or self.speaks):
            missing = set(np.flatnonzero(self.belief.pulls == 0).tolist())
            i = 0
            while missing and i < arms.size:
                missing.discard(int(arms[i]))
                i += 1
            waiting = max(waiting, arms.size if missing else i)
        return min(waiting, arms.size)

    def _plain_rows(self, arms: IntArray, rewards: FloatArray, first: int) -> FloatArray:
        found = np.empty((arms.size - first, self.belief.pulls.size))
        pi = np.empty(self.belief.pulls.size)
        for i, (arm, reward) in enumerate(zip(arms.tolist(), rewards.tolist(), strict=True)):
            if i >= first:
                expect(self.settings, self.belief, self.time, pi, found[i - first])
            self.observe(arm, reward)
        return found

    def recall(self, pulls: Any, sums: Any) -> None:
        """Take the past from a saved state, or refuse it."""
        restore_counts(self.belief.pulls, pulls, "pulls")
        recall(self.belief, self.family, sums, "sums")

    def describe(self) -> str:
        """In words."""
        return describe(self.reference, self.family)
