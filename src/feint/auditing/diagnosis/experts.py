"""The experts of a diagnosis: every departure from a claim that it can name, one class per family.

A family has labels (which arms, which rows) and a grid of sizes, evenly spaced in the logarithm. `log_ratios(label,
size)` are the rows ℓ_t = log q_t(A_t)/π_t(A_t) of the expert who says that the pulls were drawn with q_t.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.diagnosis.kernel import Boosts, boosts_of, mixed, powered, tilted

BOOSTED, SHARE, REPEATS, ANOTHER_ROW = "boosted", "share", "repeats", "another row"
GREEDY, RANDOM = "too greedy", "too random"

_EPSILONS = np.geomspace(0.001, 1.0, 7)
_TILTS = np.geomspace(0.01, 8.0, 13)
_MIXED = np.geomspace(0.003, 0.9, 10)
_POWERS = np.geomspace(0.01, 3.0, 11)  # |log τ|
_BATCHES = (10, 20, 50, 100, 500)
_DELAYS = (2, 5, 10, 50)
_KEPT = 0.01  # of π_t in an expert that has probabilities of its own, so that a zero does not refute it
_PAIRED = 12  # arms among which pairs are looked for
_CONSTANT = 0.1  # standard deviation of log-odds below which a boost and a wrong share are one and the same
_SAME = 1e-6  # difference of two experts' log q in rows that count as the same
_SMALLEST = -690.0  # log-odds
_REFUTED = -90.0  # log π of a pull that the claim gives probability 0 or nearly so; within LIMIT of what others give it

Label = TypeVar("Label")


class Pulls(NamedTuple):
    """Pulls, what was claimed before each, and what several families need of it."""

    arms: IntArray  # (n,)
    log_pi: FloatArray  # (n, K)
    rows: IntArray  # (n,) numbers of the rows
    names: Sequence[str]  # of arms
    pulled: FloatArray  # (n,) log π of the pulled arm

    def chosen(self, arm: int) -> FloatArray:
        """Return 1 where `arm` was pulled, otherwise 0."""
        return np.asarray(self.arms == arm, dtype=np.float64)

    def p(self, arm: int) -> FloatArray:
        """Return π of one arm."""
        return np.asarray(np.exp(self.log_pi[:, arm]))

    def odds(self, arm: int) -> FloatArray:
        """Return log π/(1 − π) of one arm, within ±690."""
        log_p = self.log_pi[:, arm]
        with np.errstate(divide="ignore"):
            return np.clip(log_p - np.log(-np.expm1(np.minimum(log_p, 0.0))), _SMALLEST, -_SMALLEST)

    def name(self, *arms: int) -> str:
        """Return the names of some arms in words."""
        names = [self.names[a] for a in arms]
        return f"arm {names[0]}" if len(names) == 1 else f"arms {', '.join(names[:-1])} and {names[-1]}"


def read_pulls(arms: IntArray, log_pi: FloatArray, rows: IntArray, names: Sequence[str]) -> Pulls:
    """Return the pulls of a log; where an arm of probability 0 was pulled, 0 is taken for 1e-39."""
    each = np.arange(arms.size)
    if (log_pi[each, arms] < _REFUTED).any():
        log_pi = np.maximum(log_pi, _REFUTED)  # in every row: where it is 0 must not tell what was pulled
    return Pulls(arms, np.ascontiguousarray(log_pi), rows, names, log_pi[each, arms])


class ExpertFamily(ABC, Generic[Label]):
    """Experts of one sort; see the module's docstring."""

    SIZES: ClassVar[FloatArray] = np.ones(1)
    LARGEST: ClassVar[float] = math.inf  # a size that must not be passed where the grid is refined

    def __init__(self, kind: str, log: Pulls) -> None:
        self.kind, self.log = kind, log

    @abstractmethod
    def labels(self) -> Sequence[Label]:
        """Return what the experts differ in besides their size."""

    @abstractmethod
    def log_ratios(self, label: Label, size: float) -> FloatArray:
        """Return ℓ_t of every row, (n,)."""

    @abstractmethod
    def words(self, label: Label, size: float) -> str:
        """Return a description of the departure, as a clause."""

    def arms(self, label: Label) -> tuple[int, ...]:
        """Return the arms concerned."""
        return ()

    def size(self, place: float) -> float:
        """Return the size at this place of the grid, or between two places."""
        if self.SIZES.size == 1:
            return float(self.SIZES[0])
        return min(float(self.SIZES[0]) * math.exp(place * math.log(self.SIZES[1] / self.SIZES[0])), self.LARGEST)

    def grid(self) -> Iterator[tuple[Label, int, FloatArray]]:
        """Yield (label, index of the size, log ratios) of all experts."""
        for k, size in enumerate(self.SIZES):
            for label in self.labels():
                yield label, k, self.log_ratios(label, float(size))


class Boosted(ExpertFamily[tuple[int, ...]]):
    """Definition 1 with a constant budget on one arm; or on several in turn, arm a with probability ∝ 1/N_a, where N_a
    is 1 + its pulls so far.
    """

    SIZES = _EPSILONS

    def __init__(self, kind: str, log: Pulls, groups: Sequence[tuple[int, ...]]) -> None:
        super().__init__(kind, log)
        self._groups = groups
        self._epsilon, self._kept = math.nan, {}  # type: tuple[float, dict[int, FloatArray]]
        self._boosts: Boosts

    def labels(self) -> Sequence[tuple[int, ...]]:
        """Return the arms that each expert boosts in turn."""
        return self._groups

    def log_ratios(self, label: tuple[int, ...], size: float) -> FloatArray:
        """Return log Σ_b w_b·q^b(A)/π(A), with weights w from the pulls so far."""
        if size != self._epsilon:
            self._epsilon, self._kept, self._boosts = size, {}, boosts_of(size)
        if len(label) == 1:
            return self._alone(label[0])
        ratios, weights = np.zeros(self.log.arms.size), np.zeros(self.log.arms.size)
        for arm in label:
            if len(label) == 2:
                ratio = self._kept[arm] if arm in self._kept else np.exp(self._alone(arm))
                self._kept[arm] = ratio
            else:
                ratio = np.exp(self._alone(arm))
            chosen = self.log.chosen(arm)
            weight = 1.0 / (1.0 + chosen.cumsum() - chosen)
            ratios += weight * ratio
            weights += weight
        return np.asarray(np.log(ratios / weights))

    def _alone(self, arm: int) -> FloatArray:
        return self._boosts(self.log.odds(arm), self.log.chosen(arm))

    def words(self, label: tuple[int, ...], size: float) -> str:
        """Return a description of the departure."""
        if self.kind == SHARE:
            return f"{self.log.name(*label)} pulled too often"
        if len(label) == 1:
            return f"{self.log.name(*label)} boosted, ε ≈ {size:.2g}"
        everyone = len(label) > 2 and len(label) == len(self.log.names)
        return f"{'all arms' if everyone else self.log.name(*label)} boosted in turn, ε ≈ {size:.2g}"

    def arms(self, label: tuple[int, ...]) -> tuple[int, ...]:
        """Return the boosted arms."""
        return label


class Share(ExpertFamily[tuple[int, float]]):
    """The odds of one arm are e^λ times those claimed. With two arms, more of one is less of the other."""

    SIZES = _TILTS

    def labels(self) -> Sequence[tuple[int, float]]:
        """Return (arm, sign of λ) of each expert."""
        n_arms = len(self.log.names)
        return [(a, sign) for a in range(n_arms) for sign in ((1.0, -1.0) if n_arms > 2 else (1.0,))]

    def log_ratios(self, label: tuple[int, float], size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        arm, sign = label
        return tilted(self.log.p(arm), self.log.chosen(arm), sign * size)

    def words(self, label: tuple[int, float], size: float) -> str:
        """Return a description of the departure."""
        return f"{self.log.name(label[0])} pulled too {'often' if label[1] > 0 else 'rarely'}"

    def arms(self, label: tuple[int, float]) -> tuple[int, ...]:
        """Return the arm concerned."""
        return label[:1]

    def grid(self) -> Iterator[tuple[tuple[int, float], int, FloatArray]]:
        """Yield all experts, arm by arm, so that each arm's columns are made once."""
        for label in self.labels():
            p, chosen = self.log.p(label[0]), self.log.chosen(label[0])
            for k, size in enumerate(self.SIZES):
                yield label, k, tilted(p, chosen, label[1] * float(size))


class Forced(ExpertFamily[int]):
    """With probability λ one arm is pulled whatever its π: q = (1 − λ)·π + λ·1{a = b}, for arms b that were pulled
    where they have probability 0. A multiple of their odds would be 0 too.
    """

    SIZES, LARGEST = _MIXED, 0.999

    def labels(self) -> Sequence[int]:
        """Return the arms that were pulled at probability 0."""
        return [int(arm) for arm in np.unique(self.log.arms[self.log.pulled <= _REFUTED])]

    def log_ratios(self, label: int, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return mixed(np.where(self.log.arms == label, -self.log.pulled, -math.inf), size)

    def words(self, label: int, size: float) -> str:
        """Return a description of the departure."""
        return f"{_share_text(size)} of the pulls go to {self.log.name(label)}, also where it has probability 0"

    def arms(self, label: int) -> tuple[int, ...]:
        """Return the arm concerned."""
        return (label,)


class Repeats(ExpertFamily[bool]):
    """With probability λ the arm of the row before is pulled again: q = (1 − λ)·π + λ·1{a = A_{t−1}}."""

    SIZES, LARGEST = _MIXED, 0.999

    def __init__(self, kind: str, log: Pulls) -> None:
        super().__init__(kind, log)
        self._same = np.append(False, log.arms[1:] == log.arms[:-1])

    def labels(self) -> Sequence[bool]:
        """Return the only label."""
        return (True,)

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        ratios = mixed(np.where(self._same, -self.log.pulled, -math.inf), size)
        ratios[0] = 0.0
        return ratios

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        return f"{_share_text(size)} of the pulls repeat the row before"


class Avoids(Repeats):
    """The odds of the arm of the row before are e^−λ times those claimed."""

    SIZES, LARGEST = _TILTS, math.inf

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        before = np.append(self.log.arms[0], self.log.arms[:-1])
        ratios = tilted(np.exp(self.log.log_pi[np.arange(before.size), before]), self._same.astype(np.float64), -size)
        ratios[0] = 0.0
        return ratios

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        return "pulls avoid the arm of the row before"


class Given(ExpertFamily[int]):
    """Probabilities of another kind: those of another row, or of another claim; 1 % of π_t is mixed in."""

    def __init__(self, kind: str, log: Pulls, log_q: Sequence[FloatArray], words: Sequence[str]) -> None:
        super().__init__(kind, log)
        self._log_q, self._words = log_q, words  # log q of the pulled arm, (n,) each

    def labels(self) -> Sequence[int]:
        """Return the index of each list."""
        return range(len(self._log_q))

    def log_ratios(self, label: int, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return mixed(self._log_q[label] - self.log.pulled, 1.0 - _KEPT)

    def words(self, label: int, size: float) -> str:
        """Return the words that were handed in."""
        return self._words[label]


class Power(ExpertFamily[float]):
    """q ∝ π^τ."""

    SIZES = _POWERS

    def labels(self) -> Sequence[float]:
        """Return the sign of log τ."""
        return (1.0 if self.kind == GREEDY else -1.0,)

    def log_ratios(self, label: float, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return powered(self.log.arms, self.log.log_pi, math.exp(label * size))

    def words(self, label: float, size: float) -> str:
        """Return a description of the departure."""
        more = "likely" if label > 0 else "unlikely"
        return (
            f"{more} arms pulled too often, as if probabilities were raised to the power {math.exp(label * size):.2g}"
        )


class Uniform(ExpertFamily[bool]):
    """q = (1 − λ)·π + λ/K."""

    SIZES, LARGEST = _MIXED, 0.999

    def labels(self) -> Sequence[bool]:
        """Return the only label."""
        return (True,)

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return mixed(-math.log(len(self.log.names)) - self.log.pulled, size)

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        return f"{_share_text(size)} of the pulls drawn uniformly"


def expert_families(log: Pulls, alternatives: Sequence[tuple[str, str, FloatArray]]) -> list[ExpertFamily[Any]]:
    """Return all families of experts; those of one kind share its weight equally."""
    n_arms = len(log.names)
    varies = np.array([log.odds(a).std() >= _CONSTANT for a in range(n_arms)])
    found: list[ExpertFamily[Any]] = [Share(SHARE, log), Repeats(REPEATS, log), Avoids(REPEATS, log)]
    if n_arms > 2 or varies.any():  # a constant split of two arms can only have wrong shares
        found += [Power(GREEDY, log), Power(RANDOM, log), Uniform(RANDOM, log)]
    if (log.pulled <= _REFUTED).any():
        found.append(Forced(SHARE, log))
    pairs = list(combinations(_candidates(log), 2)) if n_arms > 2 else []
    for kind, groups in (
        (BOOSTED, [(a,) for a in range(n_arms) if varies[a]]),
        (BOOSTED, [pair for pair in pairs if varies[list(pair)].any()]),
        (BOOSTED, [tuple(range(n_arms))] if varies.any() else []),
        (SHARE, [pair for pair in pairs if not varies[list(pair)].any()]),
    ):
        if groups:
            found.append(Boosted(kind, log, groups))
    each = np.arange(log.arms.size)
    others: dict[str, list[tuple[str, FloatArray]]] = {}
    for kind, words, log_pi in alternatives:
        others.setdefault(kind, []).append((words, log_pi[each, log.arms]))
    given = [log_q for experts in others.values() for _, log_q in experts]
    for words, rows in _other_rows(log.rows):
        log_q = log.log_pi[rows, log.arms]
        if not any(_like(log_q, other) for other in given):
            others.setdefault(ANOTHER_ROW, []).append((words, log_q))
    for kind, experts in others.items():
        found.append(Given(kind, log, [log_q for _, log_q in experts], [words for words, _ in experts]))
    return found


def _candidates(log: Pulls) -> list[int]:
    """Return the arms pulled most beyond expectation, in standard deviations."""
    excess = np.empty(len(log.names))
    for a in range(excess.size):
        p = log.p(a)
        excess[a] = (log.chosen(a) - p).sum() / math.sqrt(max((p * (1.0 - p)).sum(), 1e-9))
    return sorted(np.argsort(-excess, kind="stable")[:_PAIRED].tolist())


def _other_rows(rows: IntArray) -> Iterator[tuple[str, IntArray]]:
    """Yield (words, index of the row whose probabilities were used), each once."""
    n = rows.size
    each = np.arange(n)
    seen = [each]
    for words, index in (
        ("each pull fits the probabilities one row before its own", np.maximum(each - 1, 0)),
        ("each pull fits the probabilities one row after its own", np.minimum(each + 1, n - 1)),
        *((f"each pull fits the probabilities {d} rows before its own", np.maximum(each - d, 0)) for d in _DELAYS),
        *(
            (f"each pull fits the probabilities at the start of its batch of {size} rows", start)
            for size in _BATCHES
            # Batches count from the log's first row, or from the first row that was tested.
            for start in (_batch_starts(rows - 1, size), _batch_starts(rows - rows[0], size))
        ),
    ):
        if not any(np.array_equal(index, other) for other in seen):
            seen.append(index)
            yield words, index


def _batch_starts(rows: IntArray, size: int) -> IntArray:
    batch = rows // size
    new = np.append(True, batch[1:] != batch[:-1])
    return np.maximum.accumulate(np.where(new, np.arange(rows.size), 0))


def _like(log_q: FloatArray, other: FloatArray) -> bool:
    """Return whether an alternative says the same as another row, as rewards d rows late and the row d before do."""
    with np.errstate(invalid="ignore"):
        same: BoolArray = abs(log_q - other) < _SAME
    return bool(same.mean() > 0.8)


def _share_text(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
