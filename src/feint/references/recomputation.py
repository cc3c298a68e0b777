"""The probabilities of a reference for every pull of a log, recomputed from arms and public rewards.

The first K rows of an agent are taken as the initial round, in which `Agent` pulls every arm once, and are not tested.
This is right for agents with such a round and costs other agents K rows; `initial_round=False` avoids that. Without a
prior there are no probabilities until a reward of every arm is known. One pass finds what was known before each row
(`past`). After that, the probabilities of Thompson Sampling are independent of each other and are computed on all
cores. A reference that ignores rewards counts every pull at once, whenever its reward is known. One for which the order
of the pulls matters is followed agent by agent.
"""

from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.families.base import Belief, belief, set_posterior
from feint.numerics._jit import has_plain, kernel
from feint.references.base import (
    describe,
    expect,
    memory_of,
    min_pulls_per_arm,
    note_pull,
    recall_memory,
    reference_prior,
    reference_settings,
    remembers,
)
from feint.references.past import KnownRewards, Past, Timing


@kernel
def _expect_rows(
    reference: Any,
    belief: Belief,
    numbers: IntArray,
    counts: FloatArray,
    sums: FloatArray,
    pi: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` (n, K) with log π of each row."""
    for i in range(numbers.size):
        for a in range(pi.size):
            belief.pulls[a] = counts[i, a]
            belief.sums[a] = sums[i, a]
            belief.means[a] = sums[i, a] / counts[i, a] if counts[i, a] > 0.0 else 0.0
            set_posterior(belief.family, belief, a)
        expect(reference, belief, numbers[i], pi, out[i])


class Recomputation:
    """A reference that follows a log and returns log π before each row."""

    def __init__(
        self,
        reference: Any,
        family: Any,
        n_arms: int,
        initial_round: bool = True,
        timing: Timing = Timing(),  # noqa: B008 - frozen
    ) -> None:
        self.reference, self.family, self.n_arms = reference, family, n_arms
        self._settings = reference_settings(reference, family, n_arms)
        self._prior = reference_prior(reference, family)
        self._belief = belief(family, self._prior, np.zeros(n_arms))
        self._plain = has_plain((self._settings, self._belief.family))
        self._remembers = remembers(self._settings)
        self._settings_of_group: dict[int, Any] = {}  # of references that keep state
        self._ignores = bool(getattr(reference, "ignores_rewards", False))  # such a reference needs no initial round
        self.untested = n_arms if initial_round and not self._ignores else 0
        self._least = min_pulls_per_arm(reference, family)
        self._timing = timing
        self.past = Past(n_arms, Timing() if self._ignores else timing)

    def rows(
        self, group: IntArray, arms: IntArray, rewards: FloatArray, times: Any = None, reward_times: Any = None
    ) -> tuple[FloatArray, BoolArray]:
        """Return log π (m, K) of the m tested rows, and which rows these are, (n,); add all rows to the past."""
        if self._ignores:
            rewards, times, reward_times = np.zeros(arms.size), None, None
        known = self.past.rows(group, arms, rewards, times, reward_times)
        tested = (known.numbers >= self.untested) & (known.counts.min(axis=1) > self._least - 1)
        if hasattr(self._settings, "has_posterior"):
            tested &= self._settings.has_posterior(known.counts, known.sums, known.spreads)
        if self._plain:
            return self._follow_plainly(known, group, arms, tested), tested
        return self._log_pi(KnownRewards(*(array[tested] for array in known)), group[tested]), tested

    def _log_pi(self, known: KnownRewards, group: IntArray) -> FloatArray:
        if not known.numbers.size:
            return np.empty((0, self.n_arms))
        if hasattr(self._settings, "log_probabilities"):
            return np.asarray(self._settings.log_probabilities(known.counts, known.sums, known.spreads))
        if self._settings.follows_posterior:
            return self.family.log_probabilities(*self.family.posterior(self._prior, known.counts, known.sums))
        found, pi = np.empty(known.counts.shape), np.empty(self.n_arms)
        if not self._remembers:
            _expect_rows(self._settings, self._belief, known.numbers, known.counts, known.sums, pi, found)
            return found
        order = np.argsort(group, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            some = np.empty((rows.size, self.n_arms))
            what = known.numbers[rows], known.counts[rows], known.sums[rows]
            _expect_rows(self._settings_for(int(group[rows[0]])), self._belief, *what, pi, some)
            found[rows] = some
        return found

    def _follow_plainly(self, known: KnownRewards, group: IntArray, arms: IntArray, tested: BoolArray) -> FloatArray:
        """Return log π of the tested rows of a reference or a family in plain Python, which sees every pull."""
        found, pi = np.empty(known.counts.shape), np.empty(self.n_arms)
        for i, (g, arm) in enumerate(zip(group.tolist(), arms.tolist(), strict=True)):
            settings, row = self._settings_for(g), slice(i, i + 1)
            if tested[i]:
                what = known.numbers[row], known.counts[row], known.sums[row]
                _expect_rows.py_func(settings, self._belief, *what, pi, found[row])  # type: ignore[attr-defined]
            note_pull(settings, arm)
        return np.asarray(found[tested])

    def _settings_for(self, group: int) -> Any:
        """Return those of the group's own copy of the reference."""
        if group not in self._settings_of_group:
            self._settings_of_group[group] = reference_settings(self.reference, self.family, self.n_arms)
        return self._settings_of_group[group]

    def state(self) -> dict[str, Any]:
        """Return the past, and what is remembered of the order of the pulls, as plain JSON types."""
        memory = {str(group): memory_of(settings) for group, settings in self._settings_of_group.items()}
        return self.past.state() | ({"memory": memory} if any(memory.values()) else {})

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.past.recall(state)
        for group, saved in state.get("memory", {}).items():
            recall_memory(self._settings_for(int(group)), saved)

    def describe(self) -> str:
        """Return a description for reports."""
        timing = self._timing.words()
        return describe(self.reference, self.family) + (f", {timing}" if timing else "")
