"""Top-two Thompson Sampling on the public rewards."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from feint._types import FloatArray
from feint.families.base import Belief, fill_log_best
from feint.numerics._jit import inlined, part, parts
from feint.numerics._validate import check_level
from feint.numerics.best_arm_rows import complete_logs, log_rest
from feint.numerics.sorting import find_largest
from feint.references.priors import HasPrior


@inlined
def _log_rest(log_p: FloatArray, pi: FloatArray, arm: int) -> float:
    """Return log(1 − p) of an arm from the sum of the others where it is likely, which keeps the digits."""
    return math.log1p(-pi[arm]) if pi[arm] <= 0.5 else log_rest(log_p, arm)


@part
def _set_top_two(beta: float, pi: FloatArray, log_pi: FloatArray) -> None:
    """Turn log p into log π_a = log p_a + log(β + (1 − β)·Σ_{b≠a} p_b/(1 − p_b)).

    The odds of the leader alone can be too large for float64, or swallow a sum from which they are then subtracted. So
    they are added to the sum of the other odds where they belong.
    """
    leader = find_largest(log_pi)
    log_odds = log_pi[leader] - _log_rest(log_pi, pi, leader)
    odds = 0.0  # the sum over the others, each at most 1
    for a in range(pi.size):
        if a != leader:
            odds += pi[a] / (1.0 - pi[a])
    for a in range(pi.size):
        if a == leader:
            log_pi[a] += math.log(beta + (1.0 - beta) * odds)
        else:
            rest = beta + (1.0 - beta) * max(odds - pi[a] / (1.0 - pi[a]), 0.0)
            log_leader = math.log1p(-beta) + log_odds
            log_pi[a] += (
                log_leader + math.log1p(rest * math.exp(-log_leader))
                if log_leader > 0.0
                else math.log(rest + math.exp(log_leader))
            )
    complete_logs(log_pi, pi)


@part
def _expect(settings: "TopTwoThompsonKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    fill_log_best(belief.family, belief.posterior, belief.ws, log_pi)
    complete_logs(log_pi, pi)
    _set_top_two(settings.beta, pi, log_pi)


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class TopTwoThompsonKernel(NamedTuple):
    """`TopTwoThompson` for kernels."""

    beta: float


@dataclass(frozen=True)
class TopTwoThompson(HasPrior):
    """A reference that pulls the best arm of a posterior draw with probability β, and otherwise the second.

    The second is the best arm of further draws, made until it differs from the first (Russo, Operations Research 68,
    2020). With p the probabilities of being the best, π_a = β·p_a + (1 − β)·Σ_{b≠a} p_b·p_a/(1 − p_b).

    Parameters
    ----------
    beta
        The probability of the first, above 0 and below 1.
    prior
        As in `ThompsonSampling`.

    Examples
    --------
    >>> import feint
    >>> observer = feint.Observer(2, feint.TopTwoThompson(0.75, prior=(0, 1)), initial_round=False)
    >>> observer.reference_probabilities()  # with two arms, the second is the other one
    array([0.5, 0.5])
    >>> _ = observer.update(0, 3.0)
    >>> observer.reference_probabilities().round(4)  # p = 0.8897, 0.1103: 0.75·p + 0.25·(1 − p)
    array([0.6948, 0.3052])
    """

    name: ClassVar[str] = "top-two-thompson"
    beta: float = 0.5
    prior: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", check_level(self.beta, "beta, the first arm's share,"))
        super().__post_init__()

    def kernel(self, family: Any, n_arms: int) -> TopTwoThompsonKernel:
        """Return the settings for kernels: the prior is part of the belief."""
        self.check_pairs(n_arms)
        return TopTwoThompsonKernel(self.beta)

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        return f"top-two Thompson Sampling (β = {self.beta:g}) with {self.posterior_words(family)}"
