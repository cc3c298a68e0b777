"""The observer: sees arms and public rewards, expects a reference, and measures the evidence against it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from feint._types import FloatArray
from feint.evidence.base import IMPOSSIBLE
from feint.evidence.boost_bet import Bets, bet, bets_of
from feint.evidence.boost_mixture import EPSILONS, BoostMixture
from feint.evidence.fixed_share import SHARE
from feint.families import Family
from feint.families.base import Belief, is_observable, observable_rewards
from feint.numerics._jit import kernel
from feint.numerics._validate import as_floats, check_flag, checked_number, is_whole
from feint.references import Reference, ThompsonSampling
from feint.references.base import LARGEST_FEATURE, expect, takes_contexts
from feint.references.expectation import ContextExpectation, Expectation, learn
from feint.registry import config_of, families_for, from_config, show_part
from feint.support.files import load_state, save_state
from feint.support.saved import check_form

_VERSION = 5
_FORM = {"reference": {"kind": ""}, "family": {"kind": ""}, "initial_round": True, "test": {}}


@kernel
def _watch(
    reference: Any, belief: Belief, bets: Bets, pi: FloatArray, log_pi: FloatArray, arm: int, reward: float
) -> float:
    """Test one pull in one call: calls of separate kernels would take as long as their work. A pull of probability 0
    gives ∞, and nothing is learnt from it.
    """
    t = 0
    for a in range(belief.pulls.size):
        t += belief.pulls[a]
    expect(reference, belief, t, pi, log_pi)
    if log_pi[arm] == -math.inf:
        return math.inf
    log_e = bet(bets, log_pi, arm)
    learn(belief, arm, reward)
    return log_e


class Observer:
    """Test, pull by pull, whether an agent follows the reference it claims (`BoostMixture` is the test).

    It bets on boosts alone, as `simulate(..., observe=True)` does step by step, and gives the same numbers. It does not
    bet on serial dependence or wrong shares, as audits do: an agent that boosts has neither, and each stake costs time.
    So E differs from an audit's E of the same pulls, of which it is one part: `audit(...).log_e_values["boosts"]`.

    The first K pulls are not tested. Without a prior, no pull is tested before every arm has been pulled. The test is
    whether each pull is drawn afresh with the reference's probabilities. A real UCB agent does not draw, so
    with `ObservedUCB` it would be rejected. An agent that draws from the observer's belief, as `Agent` does, would not.

    Parameters
    ----------
    n_arms
        K, at least 2.
    reference
        What the agent claims to follow: one of `feint.references`, or your own with `log_probabilities(view)`, which
        the observer copies.
    sigma, family
        The family of the public rewards; `sigma` is short for `family=Gaussian(sigma)`. Without either, the family
        that the reference is about, or Gaussian(1).
    initial_round
        Whether the agent pulls every arm once first. False tests the first K pulls too, where the prior allows it.
    epsilons
        (n,) grid of KL budgets per step that the test bets on.
    share
        The share of the test's capital that changes arms with every pull; larger for a deceiver who changes arms often.

    Examples
    --------
    >>> observer = Observer(2)
    >>> for arm, reward in [(0, 1.0), (1, 0.0), (0, 1.2), (0, 0.9), (0, 1.1), (1, -0.3), (1, 0.1), (1, 0.2)]:
    ...     log_e = observer.update(arm, reward)
    >>> observer.tested, round(log_e, 2)
    (6, 1.8)
    >>> observer.p_value < 0.05
    False
    """

    def __init__(
        self,
        n_arms: int,
        reference: Reference = ThompsonSampling(),  # noqa: B008 - frozen
        sigma: float | None = None,
        *,
        family: Family | None = None,
        initial_round: bool = True,
        epsilons: ArrayLike = EPSILONS,
        share: float = SHARE,
    ) -> None:
        self._test = BoostMixture(n_arms, epsilons=epsilons, share=share)
        self._bets = bets_of(self._test.experts)
        side = families_for(reference, family, sigma)[0]
        self._initial_round = check_flag(initial_round, "initial_round")
        follow = ContextExpectation if takes_contexts(reference) else Expectation
        self._expected: Any = follow(reference, side, self._test.n_arms, self._initial_round)
        self._pi, self._log_pi = np.empty((2, self._test.n_arms))

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return self._test.n_arms

    @property
    def time(self) -> int:
        """The number of pulls seen."""
        return int(self._expected.time)

    @property
    def tested(self) -> int:
        """The number of pulls tested."""
        return self._test.tested

    @property
    def log_e_value(self) -> float:
        """The evidence against the reference, log E; 0 at the start. Reject at level α once it reaches log(1/α)."""
        return self._test.log_e_value

    @property
    def p_value(self) -> float:
        """The anytime p-value, 1/max_t E_t: valid whenever you look at it."""
        return self._test.p_value

    @property
    def likeliest(self) -> tuple[int, float]:
        """The (arm, ε) of the grid whose constant boost explains the pulls best, even if poorly."""
        return self._test.likeliest

    def reference_probabilities(self, context: ArrayLike | None = None) -> FloatArray | None:
        """Return the reference's probabilities of the coming pull; None if that pull is not tested."""
        log_pi = self._expected.log_probabilities(self._checked_context(context))
        return None if log_pi is None else np.exp(log_pi)

    def update(self, arm: int, public_reward: float, *, context: ArrayLike | None = None) -> float:
        """Test a pull, learn its public reward (with `ObservedUCB`, the observer's own sample), and return log E.

        `context` is (d,) or, where arms have features of their own, (K, d): what the reference knew of this pull.
        """
        if not is_whole(arm, 0, self.n_arms - 1):
            raise ValueError(f"arm is {arm!r}; with {self.n_arms} arms it must be from 0 to {self.n_arms - 1}.")
        expected = self._expected
        what = f"public_reward must be {observable_rewards(expected.family)}"
        reward = checked_number(public_reward, what, lambda number: is_observable(expected.family, number))
        seen = self._checked_context(context)
        if isinstance(expected, ContextExpectation):
            log_pi = expected.observe(arm, reward, seen)
            return self.log_e_value if log_pi is None else self._test.update(arm, log_pi)
        if expected.tests_next_pull:
            if not expected.plain:
                pi = self._pi, self._log_pi
                log_e = float(_watch(expected.settings, expected.belief, self._bets, *pi, arm, reward))
                if log_e == math.inf:
                    raise ValueError(IMPOSSIBLE)
                self._test.count(1, log_e, log_e)
                return log_e
            self._test.update(arm, expected.log_probabilities(seen))
        expected.observe(arm, reward)
        return self.log_e_value

    def _checked_context(self, context: ArrayLike | None) -> FloatArray | None:
        if context is None:
            return None
        if not self._expected.plain:
            raise ValueError(f"{type(self._expected.reference).__name__} uses no context; leave context out.")
        found = as_floats(context, "context")
        if not (np.abs(found) <= LARGEST_FEATURE).all():
            raise ValueError(f"context must be numbers within ±{LARGEST_FEATURE:g}; got {context!r}.")
        return found

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        past = self._expected.state()
        config = {
            "reference": config_of(self._expected.reference, "reference"),
            "family": config_of(self._expected.family, "family"),
            "initial_round": self._initial_round,
        }
        return {"feint_observer": _VERSION, **config, **past, "test": self._test.state()}

    @classmethod
    def from_state(
        cls, state: dict[str, Any], *, reference: Reference | None = None, family: Family | None = None
    ) -> Observer:
        """Return the observer that `state` describes; pass a reference or a family of your own again."""
        if not isinstance(state, dict) or state.get("feint_observer") != _VERSION:
            raise ValueError(f"This is not the state of an observer of version {_VERSION}; save it with Observer.save.")
        check_form(state, _FORM)
        test = BoostMixture.from_state(state["test"])
        observer = cls(
            test.n_arms,
            from_config(state["reference"], "reference", reference),
            family=from_config(state["family"], "family", family),
            initial_round=state["initial_round"],
            epsilons=test.epsilons,
            share=test.share,
        )
        observer._test, observer._bets = test, bets_of(test.experts)
        check_form(state, observer._expected.state())
        observer._expected.recall(state)
        if test.tested > observer.time:
            raise ValueError("The state is damaged: its pulls cannot come from an observer.")
        return observer

    def __repr__(self) -> str:
        against = show_part(self._expected.reference, "reference")
        evidence = f"log₁₀ E = {self.log_e_value / math.log(10):.4g} against {against}"
        return f"<Observer of {self.n_arms} arms after {self.time:,} pulls, {self.tested:,} tested: {evidence}>"

    def _repr_html_(self) -> str:
        from feint.support.html import table

        rows = [
            ("log₁₀ E, the evidence against the reference", f"{self.log_e_value / math.log(10):.4g}"),
            ("anytime p-value", f"{self.p_value:.4g}"),
        ]
        if self.tested:
            boost = "arm {}, ε = {:g} nats per step".format(*self.likeliest)
            rows.append(("the boost that explains the pulls best, even if poorly", boost))
        note = "Reject the reference at level α once E reaches 1/α. The p-value counts the highest E so far."
        return table(repr(self)[1:-1], ("", ""), rows, [note])

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the state as JSON, whole or not at all."""
        save_state(self.state(), path, force=force)

    @classmethod
    def load(cls, path: str | Path, *, reference: Reference | None = None, family: Family | None = None) -> Observer:
        """Read what `save` wrote; see `from_state`."""
        return cls.from_state(load_state(path), reference=reference, family=family)
