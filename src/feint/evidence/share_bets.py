r"""Bets that need no exact probability: where the auditor can only draw from the claim, not compute it.

The auditor makes n fresh draws of its own from the claimed distribution of a row, independent of the pull, and counts
how many fall on each arm: X_a of n. For every arm a and every |q| < 1 fixed before,

    1 + q·(1{A = a} − X_a/n)

is positive and has mean exactly 1 under the claim, since E[X_a/n | past] = π_a = P(A = a | past). No error of the draws
needs to be allowed for: they make the bet a little noisier, not less valid. (A likelihood ratio with X_a/n in the place
of π_a would not have mean 1.) `within` = w allows |P(A = a) − π_a| ≤ w·π_a, so that the mean is at most 1 + |q|·w, by
which each factor is divided. The same holds for any arm that is fixed before the draws, such as the *leader*,
the arm with the largest expected score: an agent that is too greedy or too random shows there, even if every arm has
its right share. E is half the mean of the products over arms and q, and half that of the leader's.

These bets win at most a factor 2 per row, which is little where a rare arm is pulled too often. For that there is
`propensity_mixture` with (X_A + 1)/(n + 1) in the place of π_A, which is valid for the same reason.
"""

from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.evidence.fixed_share import check_within

_BETS = np.array([sign * size for size in (0.1, 0.3, 0.9) for sign in (1.0, -1.0)])  # q


class ShareBets(EProcess):
    """The test by shares X/n of the auditor's own draws. Rows of the shares and the leader's number, (n, K + 1), take
    the place of log π.

    >>> test = ShareBets(2)
    >>> rows = np.tile([0.5, 0.5, 0.0], (40, 1))
    >>> bool(test.extend(np.ones(40, dtype=int), rows)[-1] > 10)  # always arm 1
    True
    """

    def __init__(self, n_arms: int, *, within: float = 0.0) -> None:
        super().__init__(n_arms)
        self.within = check_within(within)
        self._logs = np.zeros((self.n_arms + 1, _BETS.size))  # the last is the leader
        self._log_weights = -np.log(2.0 * _BETS.size * np.append(np.full(self.n_arms, float(self.n_arms)), 1.0))

    @property
    def strongest(self) -> tuple[int | None, float]:
        """The arm (None for the leader) and q of the bet that has won most."""
        arm, k = (int(i) for i in np.unravel_index(self._logs.argmax(), self._logs.shape))
        return (arm if arm < self.n_arms else None), float(_BETS[k])

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "within")

    def _arrays(self) -> dict[str, Any]:
        return {"logs": self._logs}

    def _checked(self, arms: Any, log_pi: Any) -> tuple[IntArray, FloatArray]:
        return np.asarray(arms, dtype=np.int64), np.asarray(log_pi, dtype=float)

    def _extend(self, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
        leaders = log_pi[:, self.n_arms].astype(np.int64)
        sets = np.column_stack([np.tile(np.arange(self.n_arms), (arms.size, 1)), leaders])
        surprise = (arms[:, None] == sets) - np.take_along_axis(log_pi, sets, axis=1)  # shares, here
        steps = np.log1p(surprise[:, :, None] * _BETS) - np.log1p(self.within * np.abs(_BETS))
        logs = self._logs + np.cumsum(steps, axis=0)
        self._logs[:] = logs[-1]
        flat = (logs + self._log_weights[:, None]).reshape(arms.size, -1)
        top = flat.max(axis=1)
        log_e[:] = top + np.log(np.exp(flat - top[:, None]).sum(axis=1))
