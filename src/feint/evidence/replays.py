r"""Does a policy repeat itself? Bets on random numbers that are used again, and on probabilities that are out of date.

Both are likelihood ratios against the claim P(A_t = a | past) = π_t(a), so under the claim each has mean 1 given the
past, at every step.

**Repeats.** If a seed is set again every ℓ steps, the pull of ℓ steps before comes back. For the arm b = A_{t−ℓ}, known
before the pull, and λ > 0,

    E ← E·exp(λ·1{A_t = b})/(1 + π_t(b)·(e^λ − 1)).

**Old probabilities.** The arm may be drawn with the probabilities of ℓ steps before, π_{t−ℓ}. For 0 < q < 1,

    E ← E·(1 − q + q·π_{t−ℓ}(A_t)/π_t(A_t)),        Σ_a π_t(a)·(1 − q + q·π_{t−ℓ}(a)/π_t(a)) ≤ 1

(less than 1 where π_t(a) = 0 < π_{t−ℓ}(a)). Each arm may have the right share on average in both cases, so that bets on
shares alone see nothing.

E is the plain mean of two means: over the lags ℓ and sizes λ of the first kind, and over those of the second.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray

# Steps after which a seed may be set again: each up to 200, then those that people choose.
_LAGS = np.array([*range(1, 201), 250, 256, 300, 365, 400, 500, 512, 1000, 1024, 2000, 2048, 4096, 5000, 10000])
_TILTS = np.array([0.5, 2.0, 4.0])  # λ
_OLD = np.array([1, 2, 3, 4])  # steps by which probabilities may be out of date
_SHARES = np.array([0.1, 0.5, 0.9])  # q
_LARGEST_LOG_RATIO = 700.0  # a larger ratio counts as this one, which can only lower E


class Likeliest(NamedTuple):
    """The bet that stands out most: "repeats" or "old", its lag in steps, and by how many nats it stands out."""

    kind: str
    lag: int
    log_gain: float


class Replays:
    """The bets on repeated pulls and on old probabilities; see the module's docstring.

    >>> test = Replays(2)
    >>> rng = np.random.default_rng(0)
    >>> pulls = np.tile(rng.integers(2, size=50), 4)  # 50 random numbers, used four times
    >>> test.extend(pulls, np.log(np.full((200, 2), 0.5)))[-1].round(1)
    np.float64(94.1)
    >>> test.likeliest[:2]
    ('repeats', 50)
    """

    def __init__(self, n_arms: int) -> None:
        self._repeats = np.zeros((_LAGS.size, _TILTS.size))  # log E of each bet
        self._old = np.zeros((_OLD.size, _SHARES.size))
        self._arms = np.zeros(0, dtype=np.int64)  # the last pulls, as many as a bet may ask for
        self._log_pi = np.zeros((0, n_arms))  # what was said last, as far back as a bet may ask for

    @property
    def log_e_value(self) -> float:
        """The current log E."""
        return float(_mix(self._repeats[np.newaxis], self._old[np.newaxis])[0])

    @property
    def likeliest(self) -> Likeliest:
        """The bet that stands out most so far. An arm that is pulled too often repeats at every lag, so a bet on
        repeats counts by how much more it won than any bet at a lag that is not a multiple of its own.
        """
        won = self._repeats.max(axis=1)
        lag = _LAGS[won.argmax()]
        others = won[_LAGS % lag != 0] if lag > 1 else won[1:]
        old = _OLD[self._old.max(axis=1).argmax()]
        found = (
            Likeliest("repeats", int(lag), float(won.max() - max(others.max(), 0.0))),
            Likeliest("old", int(old), float(self._old.max())),
        )
        return max(found, key=lambda bet: bet.log_gain)

    def extend(self, arms: IntArray, log_pi: FloatArray) -> FloatArray:
        """Test pulls (n,) in order and return log E after each; `log_pi` (n, K) is what was said before each."""
        pulled, said = np.concatenate([self._arms, arms]), np.concatenate([self._log_pi, log_pi])
        repeats = self._repeats + _repeat_gains(arms, log_pi, pulled).cumsum(axis=0)
        old = self._old + _old_gains(arms, log_pi, said).cumsum(axis=0)
        if arms.size:
            self._repeats, self._old = repeats[-1], old[-1]
        self._arms, self._log_pi = pulled[-_LAGS[-1] :], said[-_OLD[-1] :]
        return _mix(repeats, old)


def _repeat_gains(arms: IntArray, log_pi: FloatArray, pulled: IntArray) -> FloatArray:
    """Return the log ratio of every step, lag and tilt, (n, L, J); 0 where nothing was pulled so long before.

    `pulled` are the last pulls, these included.
    """
    steps = np.arange(arms.size)[:, np.newaxis]
    before = steps + pulled.size - arms.size - _LAGS
    arm = pulled[np.maximum(before, 0)]
    expected = np.exp(log_pi[steps, arm])[..., np.newaxis]
    again = (arm == arms[:, np.newaxis])[..., np.newaxis]
    gains = np.where(again, _TILTS, 0.0) - np.log1p(expected * np.expm1(_TILTS))
    return np.where((before >= 0)[..., np.newaxis], gains, 0.0)


def _old_gains(arms: IntArray, log_pi: FloatArray, said: FloatArray) -> FloatArray:
    """Return the log ratio of every step, lag and share, (n, L, J); 0 where nothing was said so long before.

    `said` has what was said last, including what was said before these pulls.
    """
    steps = np.arange(arms.size)[:, np.newaxis]
    before = steps + len(said) - arms.size - _OLD
    log_ratio = said[np.maximum(before, 0), arms[:, np.newaxis]] - log_pi[steps, arms[:, np.newaxis]]
    ratio = np.exp(np.minimum(log_ratio, _LARGEST_LOG_RATIO))[..., np.newaxis]
    return np.where((before >= 0)[..., np.newaxis], np.log1p(_SHARES * (ratio - 1.0)), 0.0)


def _mix(*kinds: FloatArray) -> FloatArray:
    """Return the log of the mean over kinds of the mean of each one's E, (n,), from log E (n, L, J) of every bet."""
    means = []
    for log_e in kinds:
        flat = log_e.reshape(len(log_e), math.prod(log_e.shape[1:]))
        top = flat.max(axis=1, initial=-math.inf)
        means.append(top + np.log(np.exp(flat - top[:, np.newaxis]).mean(axis=1)))
    return np.asarray(np.logaddexp.reduce(means) - math.log(len(kinds)))
