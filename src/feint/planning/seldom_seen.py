"""The private side of paths whose private rewards are not all seen; `feedback` says what is learnt from them.

A path keeps the private estimate as a sum of rewards, estimate × pulls. How many rewards were seen is not drawn: it is
1 + s·(N − 1) after N pulls, the expected number.
"""

from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.feedback import Linked, Sometimes
from feint.numerics.best_arm_quick import quick_log_best
from feint.planning.sides import Side, Sums
from feint.support.printable import short_repr
from feint.theory.instance import information


def private_side(bandit: Bandit) -> Side:
    """Return the private side of an instance."""
    sides = {type(None): Side, Sometimes: _SometimesSide, Linked: _LinkedSide}
    kind: Any = sides.get(type(bandit.feedback))
    if kind is None:
        raise ValueError(f"Plans do not know the feedback {short_repr(bandit.feedback)}; simulate it.")
    side: Side = kind(bandit.families[1], np.array(bandit.private))
    side.see(bandit)
    return side


class _SometimesSide(Side):
    """Estimates are Z̄ + c·X̄, Z = Y − c·X; see `feedback.sometimes`."""

    def see(self, bandit: Bandit) -> None:
        """Set what is seen."""
        feedback = bandit.feedback
        self._noise = self.variances
        self._unexplained = (1.0 - feedback.correlation) * (1.0 + feedback.correlation)
        self._share = feedback.share
        self._slope = feedback.correlation * bandit.families[1].sigma / bandit.families[0].sigma
        self._own_means = np.array(bandit.private)[:, None] - self._slope * np.array(bandit.public)[:, None]
        self.variances = self._noise / information(bandit)[:, None]

    def _seen(self, pulls: FloatArray) -> FloatArray:
        return np.asarray(np.where(pulls > 0.0, 1.0 + self._share * (pulls - 1.0), 0.0))

    def learn(self, sums: FloatArray, pulls: FloatArray, counts: FloatArray, u: FloatArray, public: Sums) -> FloatArray:
        """Return estimate × pulls after these pulls."""
        from scipy.special import ndtri

        before, seen = self._seen(pulls - counts), self._seen(pulls)
        share_before = before / np.maximum(pulls - counts, 1.0)
        learnt = (sums - self._slope * public[0]) * share_before  # the sum of Z before
        more = seen - before
        noise = np.sqrt(more * self._noise * self._unexplained) * ndtri(u)
        return np.asarray(pulls / seen * (learnt + more * self._own_means + noise) + self._slope * public[1])

    def posterior(self, pulls: FloatArray, sums: FloatArray) -> Sums:
        """Return means and standard deviations."""
        variances = self._noise * (self._unexplained / self._seen(pulls) + (1.0 - self._unexplained) / pulls)
        return sums / pulls, np.sqrt(variances)

    def log_best(self, pulls: FloatArray, sums: FloatArray) -> FloatArray:
        """Return log P(arm is the best), to about 1 %."""
        means, sds = self.posterior(pulls, sums)
        return quick_log_best(means, sds**2)


class _LinkedSide(Side):
    """Estimates are c + b·X̄; see `feedback.linked`."""

    def see(self, bandit: Bandit) -> None:
        """Set the line of every arm."""
        self._line = np.array(bandit.feedback.intercepts)[:, None], np.array(bandit.feedback.slopes)[:, None]
        self.variances = self.variances / information(bandit)[:, None]

    def learn(self, sums: FloatArray, pulls: FloatArray, counts: FloatArray, u: FloatArray, public: Sums) -> FloatArray:
        """Return estimate × pulls after these pulls."""
        return np.asarray(self._line[0] * pulls + self._line[1] * public[1])

    def posterior(self, pulls: FloatArray, sums: FloatArray) -> Sums:
        """Return means and standard deviations."""
        return sums / pulls, np.sqrt(self.variances / pulls)
