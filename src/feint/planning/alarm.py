r"""The observer's test over a leap: what `boost_mixture.bet` does pull by pull, for many pulls at the same π.

An expert with likelihood ratios r(a) gains Σ_a n_a·log r(a) from n_a pulls of every arm. The weights follow Bayes' rule
and are shared anew at every pull; over a leap that is done in strides of at most `_MEMORY` of the share's memory, 1/η
pulls, with the same part of the counts in each. Many paths at once, in NumPy: the last axis of every array.
"""

import numpy as np

from feint.evidence.boost_mixture import CELLS, CELLS_A_UNIT, EPSILONS, bets
from feint.evidence.fixed_share import HELD_BACK
from feint.numerics._validate import FloatArray

_MEMORY = 0.2  # of 1/η: the longest stride
_MOST = 64  # strides: a leap longer than 2,000 pulls has next to nothing to tell in each
_DEEPEST = 700.0  # of −log π, so that 1/π is a float64
_NOT_POSSIBLE = 1e-300  # an expert that called a pull impossible is as good as refuted


class Bettors:
    """The observer of every path."""

    def __init__(self, n_arms: int, n_paths: int) -> None:
        test = bets(n_arms, np.array(EPSILONS))
        e = test.experts
        self._table, self._stakes, self._prior, self._share = test.table, e.stakes, e.prior, e.share
        self._pairs = np.tril_indices(n_arms, -1) if e.prior.size > n_arms + 1 else None
        self.pulls = np.zeros(n_paths)
        self.counts = np.zeros((n_arms, n_paths))
        self.log_invested = np.full((e.stakes.size, n_paths), -np.inf)  # log I_j
        self.weights = np.repeat(np.broadcast_to(e.prior, (e.stakes.size, e.prior.size))[..., None], n_paths, axis=-1)

    def keep(self, rows: FloatArray) -> None:
        """Forget the other paths."""
        for name in ("pulls", "counts", "log_invested", "weights"):
            setattr(self, name, getattr(self, name)[..., rows])

    def bet(self, log_pi: FloatArray, counts: FloatArray, steps: FloatArray) -> FloatArray:
        """Test the pulls of a leap, `counts` (K, R) of `steps` (R,), at log π; returns log E (R,)."""
        gains = self._gains(log_pi, counts, steps)
        strides = int(min(_MOST, max(1.0, np.ceil(steps.max() * self._share / _MEMORY))))
        length = steps / strides
        kept = np.exp(length * np.log1p(-self._share))
        top = gains.max(1)
        ratios = np.exp((gains - top[:, None]) / strides)
        shared = (1.0 - kept) * self._prior[:, None]
        for _ in range(strides):
            released = np.log((_held_back(self.pulls) - _held_back(self.pulls + length)) * self._stakes[:, None])
            self.pulls = self.pulls + length
            self.weights *= ratios
            total = self.weights.sum(1)
            self.log_invested = np.logaddexp(self.log_invested, released) + (np.log(total) + top / strides)
            self.weights *= (kept / total)[:, None]
            self.weights += shared
        self.counts += counts
        held = np.log(_held_back(self.pulls))
        return np.asarray(np.logaddexp(held, np.logaddexp.reduce(self.log_invested, axis=0)))

    def _gains(self, log_pi: FloatArray, counts: FloatArray, steps: FloatArray) -> FloatArray:
        """Σ_a n_a·log r(a) of every expert, (J, M, R)."""
        place = np.minimum(np.log1p(-log_pi) * CELLS_A_UNIT, CELLS - 1e-9)
        cell = place.astype(np.int64)
        here, there = self._table.T[:, cell], self._table.T[:, cell + 1]
        q, others = here + (place - cell) * (there - here), (1.0 - here) + (place - cell) * (here - there)
        rest = -np.expm1(log_pi)
        own = q * np.exp(np.minimum(-log_pi, _DEEPEST))  # r_b(b)
        with np.errstate(invalid="ignore"):
            other = np.where(rest > 0.0, others / rest, 0.0)  # r_b of any other arm
        found = [_times(counts, own) + _times(steps - counts, other)]
        if self._pairs is not None:
            i, k = self._pairs
            share = (1.0 + self.counts[k]) / (2.0 + self.counts[i] + self.counts[k])
            rare = share * other[:, i] + (1.0 - share) * other[:, k]
            found.append(
                _times(counts[i], rare + share * (own - other)[:, i])
                + _times(counts[k], rare + (1.0 - share) * (own - other)[:, k])
                + _times(steps - counts[i] - counts[k], rare)
            )
        inverse = 1.0 / (1.0 + self.counts)
        usual = (other * inverse).sum(1, keepdims=True)
        whole = _times(counts, (usual + (own - other) * inverse) / inverse.sum(0)).sum(1, keepdims=True)
        return np.concatenate([*found, whole], axis=1)


def _held_back(pulls: FloatArray) -> FloatArray:
    """c_t of `fixed_share`."""
    return np.where(pulls > 0.0, HELD_BACK / np.log2(pulls + 2.0), 1.0)


def _times(count: FloatArray, ratio: FloatArray) -> FloatArray:
    return np.asarray(count * np.log(np.maximum(ratio, _NOT_POSSIBLE)))
