"""One side of an instance, public or private, for many paths at once: the rewards of pulls and which arm is best."""

from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.families.base import draw_reward, usual_prior
from feint.numerics._jit import kernel
from feint.numerics.best_arm_quick import quick_log_best
from feint.numerics.streams import normal_pair, philox, uniform
from feint.planning.path_draws import WordArray

_SINGLY = 12.0  # up to this many pulls, rewards are drawn one by one; beyond, one normal number gives their sum
_ZERO = np.uint64(0)
Sums = tuple[FloatArray, FloatArray]  # before and after a leap


class Made(NamedTuple):
    """Pulls of every arm, (K, R): in all, in the last leap, and how many rewards were seen before it and are by now."""

    pulls: FloatArray
    counts: FloatArray
    seen_before: FloatArray
    seen: FloatArray


class Side:
    """A side of an instance; arrays have arms along the first axis and paths along the second."""

    def __init__(self, family: Any, means: FloatArray) -> None:
        self._family, self._prior, self._is_normal = family, usual_prior(family), family.kernel().normal
        self._means = means[:, None]
        self.variances = np.broadcast_to(np.asarray(family.variance(means), dtype=float), means.shape)[:, None]
        self._spreads = np.sqrt(self.variances)
        self.lumps = 1.0  # the mean square of the variances that pulls add, over the square of their mean

    def after(self, sums: FloatArray, pulls: FloatArray, counts: FloatArray, u: FloatArray) -> FloatArray:
        """Return sums of rewards after `counts` more pulls (`pulls` in all), drawn from uniform numbers."""
        from scipy.special import ndtri

        if self._is_normal:
            return np.asarray(sums + counts * self._means + np.sqrt(counts) * self._spreads * ndtri(u))
        more = np.empty(counts.shape)
        seeds = (u * 2.0**53).astype(np.uint64)
        _draw_sums(self._family.kernel(), self._means[:, 0], self._spreads[:, 0], counts, seeds, more)
        low, high = self._family.mean_range
        return np.clip(sums + more, low * pulls, high * pulls)

    def see(self, bandit: Bandit) -> None:
        """Set what is seen of the rewards: all of them."""

    def look(self, counts: FloatArray, keys: WordArray, leap: int) -> FloatArray:
        """Return how many rewards of these pulls are seen: all."""
        return counts

    def learn(self, sums: FloatArray, made: Made, u: FloatArray, public: Sums) -> FloatArray:
        """Return what is learnt from these pulls, as sums of rewards; `public` has the public sums before and after."""
        return self.after(sums, made.pulls, made.counts, u)

    def worth(self, pulls: FloatArray, seen: FloatArray) -> FloatArray:
        """Return how many rewards, all of them seen, would tell as much."""
        return pulls

    def posterior(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray) -> Sums:
        """Return the two parameters of every posterior."""
        first, second = self._family.posterior(self._prior, pulls, sums)
        return first, second

    def log_best(self, pulls: FloatArray, sums: FloatArray, seen: FloatArray) -> FloatArray:
        """Return log P(arm is the best) to about 1 %, or exactly for a family that has no quicker way."""
        if self._is_normal:
            return quick_log_best(sums / pulls, self.variances / pulls)
        first, second = self.posterior(pulls, sums, seen)
        if hasattr(self._family, "quick_log_probabilities"):
            return np.asarray(self._family.quick_log_probabilities(first, second))
        found = self._family.log_probabilities(np.ascontiguousarray(first.T), np.ascontiguousarray(second.T))
        return np.ascontiguousarray(found.T)


@kernel
def _draw_sums(
    family: Any, means: FloatArray, spreads: FloatArray, counts: FloatArray, seeds: WordArray, out: FloatArray
) -> None:
    """Draw sums of rewards: one by one, or by a normal number of the same mean and variance."""
    for a in range(counts.shape[0]):
        for i in range(counts.shape[1]):
            count, total = counts[a, i], 0.0
            if count > _SINGLY:
                w0, w1, _, _ = philox(_ZERO, _ZERO, _ZERO, _ZERO, seeds[a, i], _ZERO)
                normal, _ = normal_pair(w0, w1)
                total = count * means[a] + np.sqrt(count) * spreads[a] * normal
            else:
                for pull in range(int(count)):
                    w0, _, _, _ = philox(np.uint64(pull), _ZERO, _ZERO, _ZERO, seeds[a, i], _ZERO)
                    total += draw_reward(family, means[a], 0.0, uniform(w0))
            out[a, i] = total
