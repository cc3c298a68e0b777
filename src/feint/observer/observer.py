"""The observer: sees arms and public rewards, expects a reference, and says how much speaks against it."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from feint.bandit import check_sigma
from feint.files import load_state, save_state
from feint.numerics._jit import kernel
from feint.numerics._validate import FloatArray, as_number, is_whole, restore
from feint.observer.boost_mixture import EPSILONS, BoostMixture, bet
from feint.observer.expected import NormalExpected, NormalPast, expect, expected_of
from feint.observer.fixed_share import SHARE, Experts
from feint.references import ThompsonSampling, reference_config, reference_from_config

_VERSION = 1


@kernel
def _watch(past: NormalPast, experts: Experts, arm: int, reward: float) -> float:
    """One pull with normal indices in one call: the calls of separate kernels would take as long as they do."""
    expect(past)
    log_e = bet(experts, past.log_pi, arm)
    past.pulls[arm] += 1.0
    past.sums[arm] += reward
    return log_e


class Observer:
    """Test, pull by pull, whether an agent follows the reference it claims (`BoostMixture` is the test).

    Where the reference has no prior, pulls are not tested until every arm has been pulled once. What is tested is that
    each pull is drawn afresh with the reference's probabilities. A real UCB agent does not draw: with `ObservedUCB` it
    would be rejected, and only an agent that draws from the observer's belief, as `Agent` does, would not.

    Parameters
    ----------
    n_arms
        K, at least 2.
    reference
        What the agent claims to follow: `ThompsonSampling`, `BetaThompsonSampling` or `ObservedUCB`.
    sigma
        Standard deviation of the public rewards; the Beta reference does not use it.
    epsilons, share
        Of the test.

    Examples
    --------
    >>> observer = Observer(2)
    >>> for arm, reward in [(0, 1.0), (1, 0.0), (0, 1.2), (0, 0.9), (0, 1.1), (1, -0.3), (1, 0.1), (1, 0.2)]:
    ...     log_e = observer.update(arm, reward)
    >>> observer.tested, round(log_e, 2)
    (6, 1.23)
    >>> observer.p_value < 0.05
    False
    """

    def __init__(
        self,
        n_arms: int,
        reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
        sigma: float = 1.0,
        *,
        epsilons: npt.ArrayLike = EPSILONS,
        share: float = SHARE,
    ) -> None:
        self._test = BoostMixture(n_arms, epsilons=epsilons, share=share)
        self._expected = expected_of(reference, self._test.n_arms, sigma)
        self._config = {"reference": reference_config(reference), "sigma": check_sigma(sigma)}

    @property
    def n_arms(self) -> int:
        """K."""
        return self._test.n_arms

    @property
    def time(self) -> int:
        """Pulls seen."""
        return int(self._expected.pulls.sum())

    @property
    def tested(self) -> int:
        """Pulls tested."""
        return self._test.tested

    @property
    def log_e_value(self) -> float:
        """log E: the evidence against the reference, 0 at the start. Reject at level α once it reaches log(1/α)."""
        return self._test.log_e_value

    @property
    def p_value(self) -> float:
        """1/max_t E_t, valid whenever it is looked at."""
        return self._test.p_value

    @property
    def likeliest(self) -> tuple[int, float]:
        """The (arm, ε) of the grid whose constant boost explains the pulls best, be it poorly."""
        return self._test.likeliest

    def reference_probabilities(self) -> FloatArray | None:
        """What the reference says of the coming pull; None while it has no posterior."""
        log_pi = self._expected.log_probabilities()
        return None if log_pi is None else np.exp(log_pi)

    def update(self, arm: int, public_reward: float) -> float:
        """Test a pull and learn its public reward; returns log E. With `ObservedUCB`, the observer's own sample."""
        if not is_whole(arm, 0, self.n_arms - 1):
            raise ValueError(f"arm is {arm!r}; with {self.n_arms} arms it must be from 0 to {self.n_arms - 1}.")
        what = f"public_reward must be {self._expected.kind_of_reward}"
        reward = as_number(public_reward, what)
        if not self._expected.accepts(reward):
            raise ValueError(f"{what}; got {public_reward!r}.")
        if isinstance(self._expected, NormalExpected) and self._expected.has_posterior:
            log_e: float = _watch(self._expected.past, self._test.experts, arm, reward)
            self._test.count(1, log_e, log_e)
            return log_e
        log_pi = self._expected.log_probabilities()
        if log_pi is not None:
            self._test.update(arm, log_pi)
        self._expected.observe(arm, reward)
        return self.log_e_value

    def state(self) -> dict[str, Any]:
        """Everything needed to go on identically, as plain JSON types."""
        past = {"pulls": self._expected.pulls.tolist(), "sums": self._expected.sums.tolist()}
        return {"feint_observer": _VERSION, **self._config, **past, "test": self._test.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Observer":
        """The observer that `state` described."""
        if not isinstance(state, dict) or state.get("feint_observer") != _VERSION:
            raise ValueError(f"This is not the state of an observer of version {_VERSION}; save it with Observer.save.")
        try:
            test = BoostMixture.from_state(state["test"])
            reference = reference_from_config(state["reference"])
            observer = cls(test.n_arms, reference, state["sigma"], epsilons=test.epsilons, share=test.share)
            for name, target in (("pulls", observer._expected.pulls), ("sums", observer._expected.sums)):
                restore(target, state[name], name)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"The state is incomplete or damaged: {error!r}.") from None
        observer._test = test
        pulls = observer._expected.pulls
        if (pulls < 0).any() or (pulls != pulls.round()).any() or test.tested > pulls.sum():
            raise ValueError("The state is damaged: its pulls cannot come from an observer.")
        if not observer._expected.possible():
            raise ValueError("The state is damaged: its sums cannot come from rewards.")
        return observer

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the state as JSON, whole or not at all."""
        save_state(self.state(), path, force=force)

    @classmethod
    def load(cls, path: str | Path) -> "Observer":
        """Read what `save` wrote."""
        return cls.from_state(load_state(path))
