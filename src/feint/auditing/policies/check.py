"""`check_policy`: run a policy, watch it with the audit's test, and stop as soon as the answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.auditor import Auditor
from feint.auditing.chunks import chunks
from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns, choose_columns
from feint.auditing.diagnosis.alternatives import explain_log, rows_looked_at
from feint.auditing.modes import LoggedProbabilities, intervals_share
from feint.auditing.policies.player import TOLERANCE, Player
from feint.auditing.policies.report import PolicyArm, PolicyReport
from feint.auditing.readers.arrays import ArrayLog
from feint.bandit import Bandit
from feint.evidence.replays import Replays
from feint.numerics._validate import check_level, is_whole
from feint.support.printable import short_repr
from feint.support.progress import Tick, ticking

_AT_ONCE = 100  # steps between two looks at whether the answer is known
_REPLAYS = 0.1  # share of E that bets on replays


class Policy(Protocol):
    """What a policy must have if there are no contexts."""

    def probabilities(self) -> ArrayLike:
        """Return the probability of every arm for the coming pull."""

    def pull(self) -> SupportsIndex:
        """Draw an arm and return its number, from 0."""

    def update(self, arm: int, reward: float, /) -> object:
        """Learn the reward of the arm that was pulled."""


class ContextualPolicy(Protocol):
    """What a policy must have if there are contexts."""

    def probabilities(self, context: Any, /) -> ArrayLike:
        """Return the probability of every arm for the coming pull."""

    def pull(self, context: Any, /) -> SupportsIndex:
        """Draw an arm and return its number, from 0."""

    def update(self, arm: int, reward: float, context: Any, /) -> object:
        """Learn the reward of the arm that was pulled."""


AnyPolicy = Policy | ContextualPolicy


class SaidProbabilities(LoggedProbabilities):
    """The audit of logged probabilities, with a bet on replays: 0.1 of E is `Replays`."""

    def __init__(self, claim: Claim, arms: LogArms) -> None:
        super().__init__(claim, arms)
        self.replays = Replays(arms.n)
        self.log_e_of_audit = 0.0  # of the other 0.9

    def test(self, arms: IntArray, log_pi: FloatArray, groups: IntArray, begins: BoolArray) -> FloatArray:
        """Return log E after each step."""
        audited = super().test(arms, log_pi, groups, begins)
        self.log_e_of_audit = float(audited[-1])
        replayed = self.replays.extend(arms, log_pi)
        return np.asarray(np.logaddexp(audited + math.log1p(-_REPLAYS), replayed + math.log(_REPLAYS)))

    def departures(self) -> tuple[FloatArray, FloatArray]:
        """Return (low, high) of the confidence sequences of Σ (p − π): if one leaves out 0, E ≥ 1/α at that step."""
        assert self.calibration is not None
        return self.calibration.confidence_sequence(
            self.claim.alpha * intervals_share(self.log_e_values()) * (1.0 - _REPLAYS)
        )


def check_policy(
    policy: AnyPolicy | Callable[[], AnyPolicy],
    bandit: Bandit,
    *,
    steps: int,
    alpha: float = 0.001,
    precision: float | None = None,
    contexts: Any = None,
    seed: int = 0,
) -> PolicyReport:
    """Test whether a policy draws its arms with the probabilities that it states, on simulated rewards.

    Before every step the policy states its probabilities; then it pulls an arm and learns a reward of `bandit`. The
    test is that of `audit` with `probabilities`, with more bets: on random numbers that are used again, and on
    probabilities that are out of date. The check ends when the policy is rejected, when it is known to lie within
    `precision` of what it says, or after `steps` steps.

    Parameters
    ----------
    policy
        An object with `probabilities()`, `pull()` and `update(arm, reward)`, which is copied first; or a class or a
        function without arguments that makes one. Arms count from 0. If it has a method `start(n_arms)`, that is called
        first.
    bandit
        Its public rewards are what the policy sees; private ones play no part.
    steps
        The maximum number of steps.
    alpha
        A policy that draws what it says is rejected with at most this probability.
    precision
        Also stop once every arm's mean departure, over the steps so far, is known to be at most this: once its
        confidence sequence lies within ±precision.
    contexts
        What a contextual policy sees: a list or an array, used in order and then again from its start, or a function
        that draws a context from a NumPy generator. Each method then takes the context as its last argument.
    seed
        The seed of rewards and contexts. The policy has random numbers of its own.

    Returns
    -------
    PolicyReport
        The verdict, each arm's departure, and what explains a rejection best.

    Examples
    --------
    >>> import numpy as np
    >>> class Uniform:
    ...     def __init__(self, says):
    ...         self.says, self.rng = says, np.random.default_rng(1)
    ...     def probabilities(self):
    ...         return self.says
    ...     def pull(self):
    ...         return self.rng.integers(2)
    ...     def update(self, arm, reward):
    ...         pass
    >>> bandit = Bandit([0.6, 0.3], [0.2, 0.5])
    >>> check_policy(Uniform([0.5, 0.5]), bandit, steps=20_000, precision=0.05).verdict
    'within 0.05 of what it says'
    >>> check_policy(Uniform([0.9, 0.1]), bandit, steps=20_000).rejected
    True
    """
    if not isinstance(bandit, Bandit):
        raise ValueError(f"bandit is {short_repr(bandit)[:80]}; give feint.Bandit(public, private).")
    if not is_whole(steps, 1):
        raise ValueError(f"steps is {steps!r}; give the maximum number of steps, 1 or more.")
    if not is_whole(seed, 0):
        raise ValueError(f"seed is {seed!r}; give a whole number, 0 or more.")
    if precision is not None:
        check_level(precision, "precision, of the mean departure of a probability,")
    level = check_level(alpha, "alpha, the level of the check,")
    check = _Check(Player(policy, bandit, contexts, seed), bandit.n_arms, level)
    with ticking(None, "checking", int(steps), "steps") as tick:
        return check.run(int(steps), precision, tick)


class _Check:
    """One check: a player and its auditor."""

    def __init__(self, player: Player, n_arms: int, alpha: float) -> None:
        self._player, self._arms = player, LogArms(n_arms)
        self._claim = Claim(mode=LoggedProbabilities.NAME, n_arms=n_arms, alpha=alpha, tolerance=TOLERANCE)
        self._mode = SaidProbabilities(self._claim, self._arms)
        self._auditor = Auditor(self._mode)
        self._columns: LogColumns = choose_columns(["arm", "probabilities"], self._claim)
        self._first: list[tuple[IntArray, FloatArray]] = []  # the first steps, which explain a rejection

    def run(self, steps: int, precision: float | None, tick: Tick) -> PolicyReport:
        """Play until the answer is known."""
        kept = rows_looked_at(steps, self._arms.n)[-1]
        precise = False
        while self._auditor.rows < steps and self._auditor.rejected_at is None and not precise:
            made = self._auditor.rows
            arms, said = self._player.play(min(_AT_ONCE, steps - made))
            if made < kept:
                self._first.append((arms, said))
            for chunk in self._chunks(arms, said, made):
                self._auditor.feed(chunk)
            tick(arms.size)
            if precision is not None:
                low, high = self._mode.departures()
                precise = max(-low.min(), high.max()) <= precision * self._auditor.rows
        return self._report(steps, precision, precise)

    def _chunks(self, arms: IntArray, said: FloatArray, made: int = 0) -> Any:
        log = ArrayLog({"arm": arms, "probabilities": said})
        return chunks(log, self._columns, self._arms, lambda done: None, first=made + 1)

    def _report(self, most: int, precision: float | None, precise: bool) -> PolicyReport:
        audit = self._auditor.report([])
        audit = replace(audit, log_e_values={**audit.log_e_values, "replays": self._mode.replays.log_e_value})
        replay = None
        if audit.rejected:
            arms, probabilities = (np.concatenate(parts) for parts in zip(*self._first, strict=True))
            log = partial(self._chunks, arms, probabilities)
            found = explain_log(log, self._claim, self._mode.NAME, self._arms, audit)
            audit = replace(audit, diagnosis=found)
            likeliest = self._mode.replays.likeliest
            won_most = self._mode.replays.log_e_value > self._mode.log_e_of_audit
            if audit.impossible is None and won_most and likeliest.log_gain > -math.log(audit.alpha):
                replay = likeliest
        assert self._mode.calibration is not None
        observed, excess = self._mode.calibration.observed, self._mode.calibration.excess
        low, high = self._mode.departures()
        said = observed - excess
        low, high = np.maximum(low, -said), np.minimum(high, audit.rows - said)  # no probability is below 0 or above 1
        numbers = (observed, said, excess, low, high)
        return PolicyReport(
            policy=self._player.name,
            steps=audit.rows,
            most_steps=most,
            precision=precision,
            precise=precise and not audit.rejected,
            arms=tuple(PolicyArm(a, *(float(x[a]) / audit.rows for x in numbers)) for a in range(self._arms.n)),
            replay=replay,
            audit=audit,
        )
