r"""Which of many groups is pulled otherwise than claimed? A small test of every group, and e-BH over all of them.

For each group g, arm a and tilt λ of the arm's log-odds, E_{g,a,λ} is the product over the group's rows of exp(λX)/(1 +
π_a·(e^λ − 1)), as in `calibration`; E_g is their mean. It is an e-value of the claim about the group's own rows,
whatever the others do; with `within` the true π_a may be off as far as there. Of G groups, e-BH (Wang & Ramdas 2022)
names the k with the largest E_g, k the largest number for which the k-th of them is at least G/(αk): the expected share
of groups named wrongly is at most α, however the groups depend on each other. Eight tilts keep a group at 8·K numbers.
"""

import math

import numpy as np

from feint.numerics._jit import kernel
from feint.numerics._validate import FloatArray, IntArray

_TILTS = np.array([sign * size for size in (0.1, 0.4, 1.2, 3.0) for sign in (1.0, -1.0)])
_EXPM1_TILTS = np.expm1(_TILTS)
_FIRST_SPACE = 16


@kernel
def _tilt(within: float, logs: FloatArray, groups: IntArray, arms: IntArray, log_pi: FloatArray) -> None:
    for i in range(arms.size):
        for a in range(log_pi.shape[1]):
            p = math.exp(log_pi[i, a])
            allowed = within * min(p, -math.expm1(log_pi[i, a]))
            for k in range(_TILTS.size):
                expected = p + allowed if _TILTS[k] > 0.0 else p - allowed
                step = -math.log1p(expected * _EXPM1_TILTS[k])
                logs[groups[i], a, k] += step + _TILTS[k] if a == arms[i] else step


class GroupTilts:
    """E of every group.

    >>> test = GroupTilts(2)
    >>> rows = np.arange(80)
    >>> test.extend(rows % 2, np.where(rows % 2, 1, rows % 4 // 2), np.log(np.full((80, 2), 0.5)))
    >>> test.log_e_values().round(1), named(test.log_e_values(), 0.05)  # the second pulls arm 1 all the time
    (array([-1. , 23.7]), array([1]))
    """

    def __init__(self, n_arms: int, within: float = 0.0) -> None:
        self._within = within
        self._logs = np.zeros((_FIRST_SPACE, n_arms, _TILTS.size))
        self._tested = np.zeros(_FIRST_SPACE, dtype=np.int64)

    def extend(self, groups: IntArray, arms: IntArray, log_pi: FloatArray) -> None:
        """Test pulls of these groups: log π (n, K) before each."""
        self._make_space(int(groups.max(initial=0)))
        np.add.at(self._tested, groups, 1)
        _tilt(self._within, self._logs, groups, arms, log_pi)

    def refute(self, groups: IntArray) -> None:
        """Each of these pulled an arm that the claim gives probability 0: its E is infinite."""
        self._make_space(int(groups.max(initial=0)))
        np.add.at(self._tested, groups, 1)
        self._logs[groups] = math.inf

    @property
    def tested(self) -> IntArray:
        """Pulls tested of each group."""
        return self._tested[: self._size()].copy()

    def log_e_values(self) -> FloatArray:
        """log E of each group."""
        logs = self._logs[: self._size()].reshape(self._size(), self._logs[0].size)
        highest = logs.max(axis=1, initial=-math.inf)
        refuted = np.isposinf(highest)
        apart = np.where(refuted[:, None], 0.0, logs - np.where(refuted, 0.0, highest)[:, None])
        return np.asarray(highest + np.log(np.exp(apart).mean(axis=1)))

    def _make_space(self, largest: int) -> None:
        if largest >= self._tested.size:
            space = max(2 * self._tested.size, largest + 1) - self._tested.size
            self._logs = np.concatenate([self._logs, np.zeros((space, *self._logs.shape[1:]))])
            self._tested = np.concatenate([self._tested, np.zeros(space, dtype=np.int64)])

    def _size(self) -> int:
        return int(np.flatnonzero(self._tested).max(initial=-1)) + 1


def named(log_e_values: FloatArray, alpha: float) -> IntArray:
    """The groups that e-BH names at level α, worst first."""
    order = np.argsort(-log_e_values, kind="stable")
    needed = math.log(max(log_e_values.size, 1) / alpha) - np.log(np.arange(1, log_e_values.size + 1))
    enough = np.flatnonzero(log_e_values[order] >= needed)
    return order[: enough[-1] + 1] if enough.size else order[:0]
