r"""Which of many groups are not pulled as claimed? A small test of every group, e-BH over them, and a bet on all.

**One group.** For group j, arm a and tilt λ of the arm's log-odds, E_{j,a,λ} is the product over the group's rows of
exp(λX)/(1 + π_a·(e^λ − 1)), as in `calibration`; E_j is their mean; `within` and `floor` mean the same as there. With
eight tilts, a group needs 8·K numbers.

**Groups that arrive.** Group j is the j-th by its first row in the log (by label among those that arrive in one
instant, whose order may depend on the draws) and has the weight

    γ_j = 1/log₂(j + 1) − 1/log₂(j + 2),        Σ_j γ_j = 1,

or 1/N for each if their number N is known beforehand (`n_groups`). The weights do not depend on how many groups there
are so far, as the 1/G of plain e-BH (Wang & Ramdas 2022) does. e-BH by weights names the k groups with

    γ_j·E_j ≥ 1/(αk),        k as large as possible.

E_j is the current value, never the highest so far.

**Validity.** Let each draw be fresh given all rows above it, of every group. A group's rank is known before its first
pull, so for every group that keeps its claim γ_j·E_j is a supermartingale that starts at γ_j. A wrongly named group
adds 1/k to the share of wrong ones, at most α·γ_j·E_j since it was named. So at every stopping time the expected share
of wrongly named groups is at most α·Σ_j γ_j·E[E_j] ≤ α. If a draw is fresh only given the rows of its own group, then
E[E_j] ≤ 1 holds at a length that is fixed beforehand, and so does this bound.

**All groups.** The weight that is not given out yet counts at 1:

    M = Σ_j γ_j·E_j + (1 − Σ_j γ_j) = 1 + Σ_j γ_j·(E_j − 1),        j over the groups so far.

A row changes one E_j by a factor with mean at most 1, and a group that arrives changes nothing, so M is an e-process of
the whole log. It is read after every row. One bent group makes it large, however many others keep their claim. Whenever
k groups are named, M ≥ k·1/(αk) = 1/α: if all groups keep their claims, the probability that any is ever named, at
whatever row one looks, is at most α (Ville).

The sum is kept as logarithms in a binary tree, whose root is M without the weight that is not given out yet. A row
changes one leaf and the nodes above it. Nothing is subtracted, so M keeps its digits when an E_j falls again.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.evidence.claim_table import ABOVE, BELOW, REST, Claimed, P, read_claimed
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import restore, restore_counts

_TILTS = np.array([sign * size for size in (0.1, 0.4, 1.2, 3.0) for sign in (1.0, -1.0)])
_EXPM1_TILTS = np.expm1(_TILTS)
_FIRST_SPACE = 16  # groups; a power of two, since the tree has as many leaves


class _Evidence(NamedTuple):
    """What the groups' tests have won; there is space for S groups."""

    logs: FloatArray  # (S, K, len(_TILTS)) log E_{j,a,λ}
    log_e: FloatArray  # (S,) log E_j
    log_weights: FloatArray  # (S,) log γ_j
    tree: FloatArray  # (2S,) the log of what is not given out; the root; …; from S on the leaves log(γ_j·E_j)


@inlined
def _log_add(x: float, y: float) -> float:
    larger, smaller = max(x, y), min(x, y)
    return larger + math.log1p(math.exp(smaller - larger)) if smaller > -math.inf else larger


@kernel
def _sum_up(tree: FloatArray) -> None:
    for node in range(tree.size // 2 - 1, 0, -1):
        tree[node] = _log_add(tree[2 * node], tree[2 * node + 1])


@kernel
def _tilt(
    steps: FloatArray, found: _Evidence, groups: IntArray, arms: IntArray, claimed: Claimed, log_m: FloatArray
) -> None:
    """Test pulls; `steps` (K, len(_TILTS)) is scratch space."""
    n_arms, size = steps.shape[0], found.log_e.size
    made = -1
    for i in range(arms.size):
        place = claimed.places[i]
        if place != made:
            made = place
            _set_steps(steps, claimed.table[place])
        logs, highest = found.logs[groups[i]], -math.inf
        for a in range(n_arms):
            for k in range(_TILTS.size):
                logs[a, k] += steps[a, k] + _TILTS[k] if a == arms[i] else steps[a, k]
                highest = max(highest, logs[a, k])
        total = 0.0
        for a in range(n_arms):
            for k in range(_TILTS.size):
                total += math.exp(logs[a, k] - highest)
        found.log_e[groups[i]] = highest + math.log(total / (n_arms * _TILTS.size))
        node = size + groups[i]
        found.tree[node] = found.log_weights[groups[i]] + found.log_e[groups[i]]
        while node > 1:
            node //= 2
            found.tree[node] = _log_add(found.tree[2 * node], found.tree[2 * node + 1])
        log_m[i] = _log_add(found.tree[1], found.tree[0])


@part
def _set_steps(steps: FloatArray, claim: FloatArray) -> None:
    """Set what a pull of another arm adds to every log E."""
    for a in range(steps.shape[0]):
        smaller = min(claim[P, a], claim[REST, a])
        for k in range(_TILTS.size):
            slack = claim[ABOVE, a] if _TILTS[k] > 0.0 else -claim[BELOW, a]
            steps[a, k] = -math.log1p((claim[P, a] + slack * smaller) * _EXPM1_TILTS[k])


class GroupTilts:
    """The e-values of all groups, and that of the whole log which they make together.

    >>> test = GroupTilts(2)
    >>> rows = np.arange(80)
    >>> log_m = test.extend(rows % 2, np.where(rows % 2, 1, rows % 4 // 2), np.log(np.full((80, 2), 0.5)))
    >>> test.log_e_values().round(1), test.name_groups(0.05)  # group 1 always pulls arm 1
    (array([-1. , 23.7]), array([1]))
    >>> bool(log_m[-1] > np.log(20))
    True
    """

    def __init__(self, n_arms: int, within: float = 0.0, n_groups: int | None = None, floor: float = 0.0) -> None:
        self._n_arms, self._n_groups = n_arms, n_groups
        self._allowed = float(within), float(floor)
        self._arrived = 0
        self._tested = np.zeros(0, dtype=np.int64)
        self._refuted = np.zeros(0, dtype=bool)
        self._evidence = _Evidence(np.zeros((0, n_arms, _TILTS.size)), *(np.zeros(0) for _ in range(3)))
        self._make_space(_FIRST_SPACE)

    @property
    def log_e_value(self) -> float:
        """log M; impossible pulls are not in it."""
        return float(np.logaddexp(self._evidence.tree[0], self._evidence.tree[1]))

    @property
    def tested(self) -> IntArray:
        """The number of tested pulls of each group, (G,)."""
        return self._tested[: self._arrived].copy()

    @property
    def strongest(self) -> tuple[int, int, float]:
        """The group with the largest γ_j·E_j, and the arm and the tilt that won most in it."""
        _, log_e, log_weights, _ = self._evidence
        group = int((log_weights + log_e)[: self._arrived].argmax())
        logs = self._evidence.logs[group]
        arm, k = np.unravel_index(logs.argmax(), logs.shape)
        return group, int(arm), float(_TILTS[k])

    def admit(self, arrived: int) -> None:
        """Record how many groups have arrived, whether or not they are tested."""
        if self._n_groups is not None and arrived > self._n_groups:
            raise ValueError(
                f"The log has more than {self._n_groups:,} groups, which were said to be all (`n_groups`); give their "
                "number as it was known beforehand, or leave it out."
            )
        self._arrived = max(self._arrived, arrived)
        if self._arrived > self._tested.size:
            self._make_space(2 ** (self._arrived - 1).bit_length())

    def extend(self, groups: IntArray, arms: IntArray, log_pi: FloatArray) -> FloatArray:
        """Test pulls of these groups and return log M after each; `log_pi` (n, K) is what was claimed before it."""
        return self.extend_prepared(groups, arms, read_claimed(log_pi, *self._allowed))

    def extend_prepared(self, groups: IntArray, arms: IntArray, claimed: Claimed) -> FloatArray:
        """Test pulls as `extend` does."""
        self.admit(int(groups.max(initial=-1)) + 1)
        np.add.at(self._tested, groups, 1)
        log_m = np.empty(arms.size)
        _tilt(np.empty((self._n_arms, _TILTS.size)), self._evidence, groups, arms, claimed, log_m)
        return log_m

    def refute(self, groups: IntArray) -> None:
        """Set E of these groups to infinity: each pulled an arm that the claim gives probability 0."""
        self.admit(int(groups.max(initial=-1)) + 1)
        np.add.at(self._tested, groups, 1)
        self._refuted[groups] = True

    def log_e_values(self) -> FloatArray:
        """Return log E of each group, (G,)."""
        return np.where(self._refuted, math.inf, self._evidence.log_e)[: self._arrived]

    def name_groups(self, alpha: float) -> IntArray:
        """Return the groups that e-BH by weights names at level α, those with the largest γ_j·E_j first."""
        return select_groups(self.log_e_values() + self._evidence.log_weights[: self._arrived], alpha)

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        arrived = slice(self._arrived)
        logs, log_e = self._evidence.logs[arrived], self._evidence.log_e[arrived]
        return {
            "tested": self._tested[arrived].tolist(),
            "refuted": np.flatnonzero(self._refuted).tolist(),
            "logs": logs.tolist(),
            "log_e": log_e.tolist(),
        }

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from where `state` was taken."""
        if not state["tested"]:
            return
        self.admit(len(state["tested"]))
        arrived = slice(self._arrived)
        restore_counts(self._tested[arrived], state["tested"], "the tested pulls of the groups")
        self._refuted[np.array(state["refuted"], dtype=np.int64)] = True
        for name in ("logs", "log_e"):
            restore(getattr(self._evidence, name)[arrived], state[name], f"the groups' {name}")
        self._plant_tree()

    def _make_space(self, size: int) -> None:
        more = size - self._tested.size
        self._tested = np.concatenate([self._tested, np.zeros(more, dtype=np.int64)])
        self._refuted = np.concatenate([self._refuted, np.zeros(more, dtype=bool)])
        old = self._evidence
        self._evidence = _Evidence(
            np.concatenate([old.logs, np.zeros((more, *old.logs.shape[1:]))]),
            np.concatenate([old.log_e, np.zeros(more)]),
            log_arrival_weights(size, self._n_groups),
            np.empty(2 * size),
        )
        self._plant_tree()

    def _plant_tree(self) -> None:
        _, log_e, log_weights, tree = self._evidence
        size = log_e.size
        left = 1.0 / math.log2(size + 2) if self._n_groups is None else max(0.0, 1.0 - size / self._n_groups)
        tree[0] = math.log(left) if left > 0.0 else -math.inf
        tree[size:] = log_weights + log_e
        _sum_up(tree)


def log_arrival_weights(size: int, n_groups: int | None = None) -> FloatArray:
    """Return log γ_j for the first `size` groups that arrive; −∞ for those that come after all `n_groups`.

    >>> bool(np.exp(log_arrival_weights(2)).sum().round(12) == 1 - 1 / math.log2(4))
    True
    """
    rank = np.arange(1, size + 1)
    if n_groups is not None:
        return np.where(rank <= n_groups, -math.log(n_groups), -math.inf)
    # 1/log₂(j + 1) − 1/log₂(j + 2) without a difference of nearly equal numbers
    weights = np.log1p(1.0 / (rank + 1)) * math.log(2.0) / (np.log(rank + 1) * np.log(rank + 2))
    return np.asarray(np.log(weights))


def select_groups(log_weighted: FloatArray, alpha: float) -> IntArray:
    """Return the groups that e-BH selects at level α by log(γ_j·E_j), largest first."""
    order = np.argsort(-log_weighted, kind="stable")
    needed = -math.log(alpha) - np.log(np.arange(1, log_weighted.size + 1))
    enough = np.flatnonzero(log_weighted[order] >= needed)
    return order[: enough[-1] + 1] if enough.size else order[:0]
