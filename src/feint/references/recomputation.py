"""The probabilities of a reference for every pull of a log, recomputed from arms and public rewards.

The first K rows of an agent are taken as the initial round, in which `Agent` pulls every arm once, and are not tested.
This is right for agents with such a round and costs other agents K rows; `initial_round=False` avoids that. Without a
prior there are no probabilities until a reward of every arm is known. One pass finds what was known before each row
(`past`). After that, the probabilities of Thompson Sampling are independent of each other and are computed on all
cores. A reference that ignores rewards counts every pull at once, whenever its reward is known. One for which the order
of the pulls matters is followed agent by agent.
"""

from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.families import Bernoulli
from feint.families.base import Belief, belief, set_posterior
from feint.numerics._jit import has_plain, kernel, kernel_or_python
from feint.numerics.beta_pairs import BetaPairs
from feint.references.base import (
    check_timing,
    describe,
    expect,
    has_own_inside,
    memory_of,
    min_pulls_per_arm,
    note_pull,
    recall_memory,
    reference_family,
    reference_prior,
    reference_settings,
    remembers,
    show_context,
    takes_contexts,
)
from feint.references.past import KnownRewards, Past, Timing
from feint.references.plain import PlainReference
from feint.references.regressions import Scores


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


class LogRows(NamedTuple):
    """Some rows of a log, as `Recomputation.rows` takes them."""

    group: IntArray
    arms: IntArray
    rewards: FloatArray
    times: Any = None
    reward_times: Any = None
    contexts: FloatArray | None = None


class Recomputation:
    """A reference that follows a log and returns log π before each row."""

    def __init__(
        self,
        reference: Any,
        family: Any,
        n_arms: int,
        initial_round: bool = True,
        timing: Timing = Timing(),  # noqa: B008 - frozen
        keeps_pairs: bool = True,  # whether to keep pairs of Beta posteriors, which `state` saves
    ) -> None:
        family = reference_family(reference, family)
        self.reference, self.family, self.n_arms = reference, family, n_arms
        check_timing(reference, timing)
        self._settings = reference_settings(reference, family, n_arms)
        self._prior = reference_prior(reference, family)
        self._belief = belief(family, self._prior, np.zeros(n_arms))
        self._plain = has_plain((self._settings, self._belief.family))
        self.is_own = isinstance(self._settings, PlainReference)  # such a reference is asked row by row
        self._remembers = remembers(self._settings)
        self._settings_of_group: dict[int, Any] = {}  # for references that keep state
        self._ignores = bool(getattr(reference, "ignores_rewards", False))  # such a reference needs no initial round
        self.untested = n_arms if initial_round and not self._ignores else 0
        self._least = min_pulls_per_arm(reference, family)
        self._pairs = BetaPairs() if keeps_pairs and n_arms == 2 and isinstance(family, Bernoulli) else None
        self._timing = timing
        self.past = Past(n_arms, Timing() if self._ignores else timing)
        self.roughly = False  # whether P(best) to about 1 % is enough, where the family has a quick way to it
        self._always: FloatArray | None = None  # log π (1, K) of a reference whose probabilities never change

    def rows(
        self,
        group: IntArray,
        arms: IntArray,
        rewards: FloatArray,
        times: Any = None,
        reward_times: Any = None,
        contexts: FloatArray | None = None,
    ) -> tuple[FloatArray, BoolArray]:
        """Return log π (m, K) of the m tested rows, and which rows these are, (n,); add all rows to the past.

        `contexts` are (n, d), or (n, K·d) where arms have their own.
        """
        if takes_contexts(self.reference):
            log = LogRows(group, arms, rewards, times, reward_times, contexts)
            numbers, scores = self.learn_by_contexts(log)
            tested = scores.proper & (numbers >= self.untested)
            return self.log_pi_of_scores(scores.at(tested), group[tested], numbers[tested]), tested
        if getattr(self.reference, "is_constant", False) and self.untested == 0:
            return np.broadcast_to(self._constant(), (arms.size, self.n_arms)), np.ones(arms.size, dtype=bool)
        known = self.learn(group, arms, rewards, times, reward_times)
        tested = (known.numbers >= self.untested) & self.has_probabilities(known)
        if self._plain:
            return self.follow_plainly(known, group, arms, tested, contexts=contexts), tested
        return self.log_pi(known.at(tested), group[tested]), tested

    def _constant(self) -> FloatArray:
        """Return log π, (1, K), of a reference that needs no past."""
        if self._always is None:
            nothing = np.zeros((1, self.n_arms))
            first = np.zeros(1, dtype=np.int64)
            self._always = self.log_pi(KnownRewards(nothing, nothing, nothing, first), first)
        return self._always

    def learn(
        self, group: IntArray, arms: IntArray, rewards: FloatArray, times: Any = None, reward_times: Any = None
    ) -> KnownRewards:
        """Add all rows to the past, and return what was known before each."""
        if self._ignores:
            return self.past.rows(group, arms, np.zeros(arms.size))
        return self.past.rows(group, arms, rewards, times, reward_times)

    def has_probabilities(self, known: KnownRewards, available: BoolArray | None = None) -> BoolArray:
        """Return for which rows enough is known, (n,): of all arms, or of those `available`, (n, K)."""
        counts = known.counts if available is None else np.where(available, known.counts, np.inf)
        enough: BoolArray = counts.min(axis=1) > self._least - 1
        if hasattr(self._settings, "has_posterior"):
            enough &= self._settings.has_posterior(known.counts, known.sums, known.spreads)
        return enough

    def learn_by_contexts(self, log: LogRows, available: BoolArray | None = None) -> tuple[IntArray, Scores]:
        """Add all rows to the past, and return each row's number among its agent's, and the scores before it."""
        pulled = self._settings.contexts_of(log.contexts)
        pulled = pulled[np.arange(log.arms.size), log.arms if pulled.shape[1] > 1 else 0]
        known = self.past.rows(*log[:5], pulled)
        fades = np.where(known.numbers > 0, self.past.timing.discount, 1.0)
        return known.numbers, self._settings.follow(log.group, fades, log.contexts, self.past.learnt, available)

    def log_pi_of_scores(self, scores: Scores, group: IntArray, numbers: IntArray) -> FloatArray:
        """Return log π of rows whose arms have these scores; see `contexts` for its form where `draws` is not None."""
        return np.asarray(self._settings.log_pi(scores, group, numbers))

    @property
    def follows_order(self) -> bool:
        """Return whether a reference inside the reference sees or remembers the order of the pulls."""
        return self._remembers or has_own_inside(self.reference)

    @property
    def has_rough(self) -> bool:
        """Return whether `roughly` makes a difference."""
        follows = getattr(self._settings, "follows_posterior", False)
        return follows and not self._plain and hasattr(self.family, "quick_log_probabilities")

    @property
    def draws(self) -> int | None:
        """Return the number of the auditor's own draws behind the probabilities; None where they are exact."""
        found: int | None = getattr(self._settings, "draws", None)
        return found

    def log_pi(self, known: KnownRewards, group: IntArray) -> FloatArray:
        """Return log π (n, K) of rows for which enough is known."""
        if not known.numbers.size:
            return np.empty((0, self.n_arms))
        if hasattr(self._settings, "log_probabilities"):
            return np.asarray(self._settings.log_probabilities(known.counts, known.sums, known.spreads))
        if self._plain:
            return self.follow_plainly(known, group, None, np.ones(group.size, dtype=bool))
        if self._settings.follows_posterior:
            posterior = self.family.posterior(self._prior, known.counts, known.sums)
            if self.roughly and self.has_rough:
                transposed = (np.ascontiguousarray(np.broadcast_to(x, known.counts.shape).T) for x in posterior)
                return np.asarray(self.family.quick_log_probabilities(*transposed).T)
            if self._pairs is not None:
                return self._pairs.log_probabilities(group, *posterior)
            return self.family.log_probabilities(*posterior)
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

    def follow_plainly(
        self,
        known: KnownRewards,
        group: IntArray,
        arms: IntArray | None,
        tested: BoolArray,
        available: BoolArray | None = None,
        contexts: FloatArray | None = None,
    ) -> FloatArray:
        """Return log π of the tested rows of a reference or a family in plain Python, which sees every pull (`arms`),
        which arms were `available` (n, K), and `contexts`.
        """
        found, pi = np.empty(known.counts.shape), np.empty(self.n_arms)
        for i, g in enumerate(group.tolist()):
            settings, row = self._settings_for(g), slice(i, i + 1)
            if tested[i]:
                what = known.numbers[row], known.counts[row], known.sums[row]
                if available is not None and isinstance(settings, PlainReference):
                    settings.available = available[i]
                show_context(settings, None if contexts is None else contexts[i])
                expect_rows = kernel_or_python(_expect_rows, settings, self._belief)
                expect_rows(settings, self._belief, *what, pi, found[row])
            if arms is not None:
                note_pull(settings, int(arms[i]))
        return np.asarray(found[tested])

    def _settings_for(self, group: int) -> Any:
        """Return the settings of the group's own copy of the reference."""
        if group not in self._settings_of_group:
            self._settings_of_group[group] = reference_settings(self.reference, self.family, self.n_arms)
        return self._settings_of_group[group]

    def state(self) -> dict[str, Any]:
        """Return the past, and what is remembered of the order of the pulls, as plain JSON types."""
        if takes_contexts(self.reference):
            return self.past.state() | {"contexts": self._settings.state()}
        pairs = {} if self._pairs is None else {"pairs": self._pairs.state()}
        memory = {str(group): memory_of(settings) for group, settings in self._settings_of_group.items()}
        return self.past.state() | pairs | ({"memory": memory} if any(memory.values()) else {})

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from where `state` was taken."""
        self.past.recall(state)
        if takes_contexts(self.reference):
            self._settings.recall(state["contexts"])
        elif self._pairs is not None:
            self._pairs.recall(state["pairs"])
        for group, saved in state.get("memory", {}).items():
            recall_memory(self._settings_for(int(group)), saved)

    def describe(self) -> str:
        """Return a description for reports."""
        timing = self._timing.words()
        return describe(self.reference, self.family) + (f", {timing}" if timing else "")
