"""What the reference says of the coming pull, recomputed from the arms and public rewards so far.

With a flat prior there is no posterior until every arm has been pulled; those pulls are not tested. Many rows at once
are recomputed on all cores: the counts and sums before each row are one pass, and the probabilities then do not depend
on each other.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from feint.bandit import check_sigma
from feint.numerics import best_arm_probabilities, beta_best_arm_probabilities
from feint.numerics._jit import inlined, kernel
from feint.numerics._validate import FloatArray, IntArray
from feint.numerics.best_arm import fill_log_probabilities
from feint.numerics.best_arm_kernel import Workspace, workspace
from feint.references import BetaThompsonSampling, ObservedUCB, ThompsonSampling, reference_config

LARGEST_REWARD = 1e6  # in units of σ: the rounding of a sum of 10⁷ such is still far below the posterior's width
_MOST_PSEUDO_PULLS = 1e12


class Expected(ABC):
    """π_t from the public past; `pulls` and `sums` (K,) are all that is kept of it."""

    def __init__(self, n_arms: int) -> None:
        self.pulls = np.zeros(n_arms)
        self.sums = np.zeros(n_arms)

    @abstractmethod
    def accepts(self, rewards: Any) -> Any:
        """Whether a number, or each of an array, can be a reward."""

    @abstractmethod
    def possible(self) -> bool:
        """Whether `pulls` and `sums` can have come from rewards, for a state read from a file."""

    @property
    @abstractmethod
    def kind_of_reward(self) -> str:
        """What a reward must be, in a clause."""

    @abstractmethod
    def log_probabilities(self) -> FloatArray | None:
        """log π (K,) of the coming pull; None while there is no posterior."""

    @abstractmethod
    def rows(self, arms: IntArray, rewards: FloatArray) -> tuple[FloatArray, int]:
        """(log π (m, K), first): before each of the rows from `first` on, those before it having no posterior.

        The rows are then part of the past.
        """

    def observe(self, arm: int, reward: float) -> None:
        """Add a pull to the past."""
        self.pulls[arm] += 1.0
        self.sums[arm] += reward


def expected_of(reference: Any, n_arms: int, sigma: float) -> Expected:
    """The recomputation that fits a reference."""
    reference_config(reference)  # refuses what is none
    if isinstance(reference, BetaThompsonSampling):
        return BetaExpected(n_arms, reference)
    return NormalExpected(n_arms, reference, check_sigma(sigma))


class NormalPast(NamedTuple):
    """A reference with normal indices (`references.base`) and what it knows, as kernels take them."""

    bonus: float
    spread: float
    sigma: float
    prior_mean: float
    pseudo_pulls: float
    pulls: FloatArray
    sums: FloatArray
    means: FloatArray  # of the indices
    sds: FloatArray
    log_pi: FloatArray
    ws: Workspace


@inlined
def _set_indices(past: NormalPast, means: FloatArray, sds: FloatArray) -> None:
    t = 0.0
    for a in range(means.size):
        t += past.pulls[a]
    for a in range(means.size):
        count = past.pulls[a] + past.pseudo_pulls
        sd = past.sigma / math.sqrt(count)
        means[a] = (past.sums[a] + past.pseudo_pulls * past.prior_mean) / count
        if past.bonus > 0.0:
            means[a] += past.bonus * sd * math.sqrt(math.log(t))
        sds[a] = past.spread * sd


@kernel
def expect(past: NormalPast) -> None:
    """log π of the coming pull into `past.log_pi`."""
    _set_indices(past, past.means, past.sds)
    fill_log_probabilities(past.means, past.sds, past.ws, past.log_pi)


@kernel
def _indices_before(past: NormalPast, arms: IntArray, rewards: FloatArray, means: FloatArray, sds: FloatArray) -> int:
    """Indices before each row into means and sds (n, K); returns the first row that has them."""
    first = arms.size
    for i in range(arms.size):
        if first == arms.size:
            fewest = past.pulls[0]
            for a in range(1, past.pulls.size):
                fewest = min(fewest, past.pulls[a])
            if fewest + past.pseudo_pulls > 0.0:
                first = i
        if first < arms.size:
            _set_indices(past, means[i], sds[i])
        past.pulls[arms[i]] += 1.0
        past.sums[arms[i]] += rewards[i]
    return first


class NormalExpected(Expected):
    """Thompson Sampling with normal posteriors, or the observed UCB."""

    def __init__(self, n_arms: int, reference: ThompsonSampling | ObservedUCB, sigma: float) -> None:
        super().__init__(n_arms)
        prior = reference.prior_mean if isinstance(reference, ThompsonSampling) else 0.0, reference.pseudo_pulls(sigma)
        if not prior[1] <= _MOST_PSEUDO_PULLS or not abs(prior[0]) <= LARGEST_REWARD * sigma:
            raise ValueError(
                f"The prior {reference!r} does not fit sigma = {sigma:g}: its sd must be at least 1e-6 sigma, and its "
                "mean within 1e6 sigma of 0."
            )
        means, sds, log_pi = (np.empty(n_arms) for _ in range(3))
        self.past = NormalPast(
            *reference.index(), sigma, *prior, self.pulls, self.sums, means, sds, log_pi, workspace(n_arms)
        )
        self._complete = prior[1] > 0

    def accepts(self, rewards: Any) -> Any:
        """See the base class."""
        return abs(rewards) <= LARGEST_REWARD * self.past.sigma

    def possible(self) -> bool:
        """See the base class."""
        return bool((abs(self.sums) <= LARGEST_REWARD * self.past.sigma * self.pulls).all())

    @property
    def kind_of_reward(self) -> str:
        """See the base class."""
        return "a finite number within 1e6 sigma of 0 (else subtract a constant)"

    @property
    def has_posterior(self) -> bool:
        """Whether every arm has been pulled, or there is a prior."""
        self._complete = self._complete or bool(self.pulls.all())
        return self._complete

    def log_probabilities(self) -> FloatArray | None:
        """See the base class."""
        if not self.has_posterior:
            return None
        expect(self.past)
        return self.past.log_pi.copy()

    def rows(self, arms: IntArray, rewards: FloatArray) -> tuple[FloatArray, int]:
        """See the base class."""
        shape = (arms.size, self.pulls.size)
        means, sds = np.empty(shape), np.empty(shape)
        first = _indices_before(self.past, arms, rewards, means, sds)
        return best_arm_probabilities(means[first:], sds[first:], log=True), first


@kernel
def _counts_before(
    pulls: FloatArray,
    sums: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
    alphas: FloatArray,
    betas: FloatArray,
    successes: float,
    failures: float,
) -> None:
    for i in range(arms.size):
        for a in range(pulls.size):
            alphas[i, a] = successes + sums[a]
            betas[i, a] = failures + pulls[a] - sums[a]
        pulls[arms[i]] += 1.0
        sums[arms[i]] += rewards[i]


class BetaExpected(Expected):
    """Thompson Sampling with Beta posteriors."""

    def __init__(self, n_arms: int, reference: BetaThompsonSampling) -> None:
        super().__init__(n_arms)
        self._prior = (reference.successes, reference.failures)

    def accepts(self, rewards: Any) -> Any:
        """See the base class."""
        return (rewards == 0) | (rewards == 1)

    def possible(self) -> bool:
        """See the base class."""
        return bool(((self.sums >= 0) & (self.sums <= self.pulls) & (self.sums == self.sums.round())).all())

    @property
    def kind_of_reward(self) -> str:
        """See the base class."""
        return "0 or 1, for Beta posteriors"

    def log_probabilities(self) -> FloatArray | None:
        """See the base class."""
        successes, failures = self._prior
        return beta_best_arm_probabilities(successes + self.sums, failures + self.pulls - self.sums, log=True)

    def rows(self, arms: IntArray, rewards: FloatArray) -> tuple[FloatArray, int]:
        """See the base class."""
        shape = (arms.size, self.pulls.size)
        alphas, betas = np.empty(shape), np.empty(shape)
        _counts_before(self.pulls, self.sums, arms, rewards, alphas, betas, *self._prior)
        return beta_best_arm_probabilities(alphas, betas, log=True), 0
