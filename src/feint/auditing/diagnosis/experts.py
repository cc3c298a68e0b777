"""The experts of a diagnosis: every departure from a claim that it can name, one class per family.

A family has labels (which arms, which rows) and a grid of sizes, evenly spaced in the logarithm. `log_ratios(label,
size)` are the rows ℓ_t = log q_t(A_t)/π_t(A_t) of the expert who says that the pulls were drawn with q_t.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from feint._types import FloatArray
from feint.auditing.diagnosis.expert_evidence import Boosts, boosts_of, mixed, powered, tilted
from feint.auditing.diagnosis.pulls import Pulls

BOOSTED, SHARE = "boosted", "share"
GREEDY, RANDOM, TEMPERATURE = "too greedy", "too random", "temperature"
POWER = "power"  # a setting: of `Tempered` around the reference
HOLDOUT = "holdout"  # a setting: (arm, share) of `Holdout` around the reference

_EPSILONS = np.geomspace(0.001, 1.0, 7)
TILTS = np.geomspace(0.01, 8.0, 13)
MIXED = np.geomspace(0.003, 0.9, 10)
_POWERS = np.geomspace(0.01, 3.0, 11)  # |log τ|
_ROWS_TO_1 = np.geomspace(30.0, 30_000.0, 13)  # after which a growing power is 1
KEPT_OF_CLAIM = 0.01  # of π_t in an expert that has probabilities of its own, so that a zero does not refute it

Label = TypeVar("Label")


Setting = tuple[str, Any]  # an option of the claim and its value


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

    def setting(self, label: Label, size: float) -> Setting | None:
        """Return the option of a claim that says the same, if there is one."""
        return None

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

    SIZES = TILTS

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
    """With probability λ one arm is pulled whatever its π: q = (1 − λ)·π + λ·1{a = b}, as in a holdout."""

    SIZES, LARGEST = MIXED, 0.999

    def __init__(self, kind: str, log: Pulls, arms: Sequence[int]) -> None:
        super().__init__(kind, log)
        self._arms = arms

    def labels(self) -> Sequence[int]:
        """Return the arms that may be forced."""
        return self._arms

    def log_ratios(self, label: int, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class. Where the arm could not be drawn, it cannot be forced."""
        ratios = mixed(np.where(self.log.arms == label, -self.log.pulled, -math.inf), size)
        return ratios if self.log.available is None else np.where(self.log.available[:, label], ratios, 0.0)

    def words(self, label: int, size: float) -> str:
        """Return a description of the departure."""
        return f"{share_text(size)} of the pulls go to {self.log.name(label)}, whatever its probability"

    def setting(self, label: int, size: float) -> Setting:
        """Return the arm that is held out, and its share."""
        return HOLDOUT, (label, float(f"{size:.3g}"))

    def arms(self, label: int) -> tuple[int, ...]:
        """Return the arm concerned."""
        return (label,)


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

    def setting(self, label: float, size: float) -> Setting:
        """Return the power."""
        return POWER, float(f"{math.exp(label * size):.3g}")


class GrowingPower(ExpertFamily[bool]):
    """q ∝ π^(n/M), where n is the number of rows before: the probabilities are uniform at first, then sharpen."""

    SIZES = _ROWS_TO_1

    def labels(self) -> Sequence[bool]:
        """Return the only label."""
        return (True,)

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return powered(self.log.arms, self.log.log_pi, self.log.past.numbers / size)

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        return f"as if probabilities were raised to the power n/{_rounded(size)}, where n is the number of earlier rows"

    def setting(self, label: bool, size: float) -> Setting:
        """Return the power as `Tempered` reads it."""
        return POWER, f"n/{_rounded(size)}"


class Uniform(ExpertFamily[bool]):
    """q = (1 − λ)·π + λ/K, K being the arms that could be drawn."""

    SIZES, LARGEST = MIXED, 0.999

    def labels(self) -> Sequence[bool]:
        """Return the only label."""
        return (True,)

    def log_ratios(self, label: bool, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        return mixed(self.log.log_uniform() - self.log.pulled, size)

    def words(self, label: bool, size: float) -> str:
        """Return a description of the departure."""
        return f"{share_text(size)} of the pulls drawn uniformly"


def _rounded(size: float) -> int:
    """Return a number of rows, rounded to three digits."""
    return int(float(f"{size:.3g}"))


def share_text(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
