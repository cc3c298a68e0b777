"""The private side of paths whose private rewards are not all seen; `feedback` says what is learnt from them.

A path keeps the private estimate as a sum of rewards, estimate × pulls, and how many rewards were seen.
"""

from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.feedback import Linked, Sometimes
from feint.numerics.best_arm_quick import quick_log_best
from feint.planning.path_draws import WordArray, binomials, uniforms
from feint.planning.sides import Made, Side, Sums
from feint.registry import show_part
from feint.theory.instance import information

_OTHER_WORDS = np.uint64(0x7365656E)  # "seen": so that what is seen has uniform numbers of its own


def private_side(bandit: Bandit) -> Side:
    """Return the private side of an instance."""
    sides = {type(None): Side, Sometimes: _SometimesSide, Linked: _LinkedSide}
    kind: Any = sides.get(type(bandit.feedback))
    if kind is None:
        raise ValueError(f"Plans do not know the feedback {show_part(bandit.feedback, 'feedback')}; simulate it.")
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
        by_seen = self._unexplained / (self._unexplained + self._share * (1.0 - self._unexplained))
        self.lumps = 1.0 + by_seen**2 * (1.0 / self._share - 1.0)

    def look(self, counts: FloatArray, keys: WordArray, leap: int) -> FloatArray:
        """Draw how many rewards of these pulls are seen; in the initial round, leap 0, all are."""
        return binomials(counts, self._share, uniforms(keys ^ _OTHER_WORDS, leap, len(counts))) if leap else counts

    def learn(self, sums: FloatArray, made: Made, u: FloatArray, public: Sums) -> FloatArray:
        """Return estimate × pulls after these pulls."""
        from scipy.special import ndtri

        share_before = made.seen_before / np.maximum(made.pulls - made.counts, 1.0)
        learnt = (sums - self._slope * public[0]) * share_before  # the sum of Z before
        more = made.seen - made.seen_before
        noise = np.sqrt(more * self._noise * self._unexplained) * ndtri(u)
        share = made.seen / made.pulls
        return np.asarray((learnt + more * self._own_means + noise) / share + self._slope * public[1])

    def worth(self, pulls: FloatArray, seen: FloatArray) -> FloatArray:
        """Return the information about a private mean, in rewards."""
        return np.asarray(1.0 / (self._unexplained / seen + (1.0 - self._unexplained) / pulls))

    def posterior(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray) -> Sums:
        """Return means and standard deviations."""
        return sums / pulls, np.sqrt(self._noise / self.worth(pulls, seen))

    def log_best(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray) -> FloatArray:
        """Return log P(arm is the best), to about 1 %."""
        return quick_log_best(sums / pulls, self._noise / self.worth(pulls, seen))


class _LinkedSide(Side):
    """Estimates are c + b·X̄; see `feedback.linked`."""

    def see(self, bandit: Bandit) -> None:
        """Set the line of every arm."""
        self._line = np.array(bandit.feedback.intercepts)[:, None], np.array(bandit.feedback.slopes)[:, None]
        self._worth = information(bandit)[:, None]
        self.variances = self.variances / self._worth

    def learn(self, sums: FloatArray, made: Made, u: FloatArray, public: Sums) -> FloatArray:
        """Return estimate × pulls after these pulls."""
        return np.asarray(self._line[0] * made.pulls + self._line[1] * public[1])

    def worth(self, pulls: FloatArray, seen: FloatArray) -> FloatArray:
        """Return the information about a private mean, in rewards."""
        return np.asarray(self._worth * pulls)

    def posterior(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray) -> Sums:
        """Return means and standard deviations."""
        return sums / pulls, np.sqrt(self.variances / pulls)
