r"""Which of many groups are not pulled as claimed? A small test of every group, and e-BH over all of them.

For each group g, arm a and tilt λ of the arm's log-odds, E_{g,a,λ} is the product over the group's rows of exp(λX)/(1 +
π_a·(e^λ − 1)), as in `calibration`; E_g is their mean. It is an e-value for the claim about the group's own rows,
whatever the other groups do; `within` has the same meaning as there. Of G groups, e-BH (Wang & Ramdas 2022) selects the
k groups with the largest E_g, where k is the largest number such that the k-th largest E_g is at least G/(αk). The
expected share of wrongly selected groups is at most α, however the groups depend on each other. With eight tilts, a
group needs 8·K numbers.
"""

import math

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import kernel

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
    """The e-values of all groups.

    >>> test = GroupTilts(2)
    >>> rows = np.arange(80)
    >>> test.extend(rows % 2, np.where(rows % 2, 1, rows % 4 // 2), np.log(np.full((80, 2), 0.5)))
    >>> test.log_e_values().round(1), select_groups(test.log_e_values(), 0.05)  # group 1 always pulls arm 1
    (array([-1. , 23.7]), array([1]))
    """

    def __init__(self, n_arms: int, within: float = 0.0) -> None:
        self._within = within
        self._logs = np.zeros((_FIRST_SPACE, n_arms, _TILTS.size))
        self._tested = np.zeros(_FIRST_SPACE, dtype=np.int64)

    def extend(self, groups: IntArray, arms: IntArray, log_pi: FloatArray) -> None:
        """Test pulls of these groups; `log_pi` (n, K) is what was claimed before each pull."""
        self._make_space(int(groups.max(initial=0)))
        np.add.at(self._tested, groups, 1)
        _tilt(self._within, self._logs, groups, arms, log_pi)

    def refute(self, groups: IntArray) -> None:
        """Set E of these groups to infinity: each pulled an arm that the claim gives probability 0."""
        self._make_space(int(groups.max(initial=0)))
        np.add.at(self._tested, groups, 1)
        self._logs[groups] = math.inf

    @property
    def tested(self) -> IntArray:
        """The number of tested pulls of each group, (G,)."""
        return self._tested[: self._size()].copy()

    def log_e_values(self) -> FloatArray:
        """Return log E of each group, (G,)."""
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


def select_groups(log_e_values: FloatArray, alpha: float) -> IntArray:
    """Return the groups that e-BH selects at level α, largest E first."""
    order = np.argsort(-log_e_values, kind="stable")
    needed = math.log(max(log_e_values.size, 1) / alpha) - np.log(np.arange(1, log_e_values.size + 1))
    enough = np.flatnonzero(log_e_values[order] >= needed)
    return order[: enough[-1] + 1] if enough.size else order[:0]
