"""All families of experts, and those whose probabilities are given: of another row, claim or reading of a column."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.diagnosis.clip_limits import CLIP, Limited
from feint.auditing.diagnosis.expert_evidence import KEPT, mixed
from feint.auditing.diagnosis.experts import (
    BOOSTED,
    GREEDY,
    KEPT_OF_CLAIM,
    RANDOM,
    SHARE,
    TEMPERATURE,
    Boosted,
    ExpertFamily,
    Forced,
    GrowingPower,
    Power,
    Setting,
    Share,
    Uniform,
)
from feint.auditing.diagnosis.order import (
    ALTERNATION,
    BALANCE,
    BURN_IN,
    REPEATS,
    SORTED,
    Avoids,
    Behind,
    Repeats,
    Sorted,
    UniformStart,
)
from feint.auditing.diagnosis.pulls import REFUTED, Pulls

ANOTHER_ROW, READING = "another row", "reading"

_BATCHES = (10, 20, 50, 100, 500)
_DELAYS = (1, 2, 5, 10, 50)
_PAIRED = 12  # arms among which pairs are looked for
_CONSTANT = 0.1  # standard deviation of log-odds below which a boost and a wrong share are one and the same
_SAME = 1e-6  # difference of two experts' log q in rows that count as the same
_BINS = 20  # of a histogram of probabilities


class Alternative(NamedTuple):
    """Another claim that might be the true one, recomputed by the caller."""

    kind: str
    words: str
    log_pi: FloatArray  # (n, K)
    setting: Setting | None = None
    is_rough: bool = False  # log π is known to about 1 %


class _Expert(NamedTuple):
    """Probabilities that are given."""

    words: str
    log_q: FloatArray  # (n,) of the pulled arm
    setting: Setting | None = None


class Given(ExpertFamily[int]):
    """Probabilities of another kind: those of another row, or of another claim; a little of π_t is mixed in."""

    def __init__(self, kind: str, log: Pulls, experts: Sequence[_Expert]) -> None:
        super().__init__(kind, log)
        self._experts = experts

    def labels(self) -> Sequence[int]:
        """Return the index of each expert."""
        return range(len(self._experts))

    def log_ratios(self, label: int, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        # A column is read in one way throughout: 1 % would cost it 20 nats in 2,000 rows.
        kept = KEPT if self.kind == READING else KEPT_OF_CLAIM
        return mixed(self._experts[label].log_q - self.log.pulled, 1.0 - kept)

    def words(self, label: int, size: float) -> str:
        """Return the words that were handed in."""
        return self._experts[label].words

    def setting(self, label: int, size: float) -> Setting | None:
        """Return the setting that was handed in."""
        return self._experts[label].setting


def read_otherwise(log: Pulls, log_pi: FloatArray) -> FloatArray:
    """Return log q of the pulled arms under another reading of a column of propensities, such that log q − log π
    compares both readings fairly.

    A column that holds the probability of the pulled arm tells which arm was pulled: read as that of one and the same
    arm, it would fit better than the truth. What either reading says was known before the pull, the probability of
    arm 0, must be likely too; both pay for it by a histogram of the rows before.
    """
    pulled: FloatArray = log_pi[np.arange(log.arms.size), log.arms]
    return pulled + _log_density(np.exp(log_pi[:, 0])) - _log_density(log.p(0))


def _log_density(p: FloatArray) -> FloatArray:
    """Return the log of each value's share of its bin among the values before, by Krichevsky and Trofimov's rule."""
    bins = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    each = np.arange(p.size)
    seen = np.cumsum(bins[:, np.newaxis] == np.arange(_BINS), axis=0)[each, bins] - 1
    return np.asarray(np.log((seen + 0.5) / (each + 0.5 * _BINS)))


def expert_families(log: Pulls, alternatives: Sequence[Alternative]) -> list[ExpertFamily[Any]]:
    """Return all families of experts; those of one kind share its weight equally."""
    n_arms = len(log.names)
    varies = np.array([log.odds(a).std() >= _CONSTANT for a in range(n_arms)])
    found: list[ExpertFamily[Any]] = [
        Share(SHARE, log),
        Repeats(REPEATS, log),
        Avoids(ALTERNATION, log),
        Behind(BALANCE, log),
    ]
    if n_arms > 2 or varies.any():  # a constant split of two arms can only have wrong shares
        found += [Power(GREEDY, log), Power(RANDOM, log), Uniform(RANDOM, log), UniformStart(BURN_IN, log)]
    if varies.any():
        found += [GrowingPower(TEMPERATURE, log), Limited(CLIP, log)]
    # With constant probabilities, a forced arm has a wrong share, unless its odds, and so all multiples, are 0.
    refuted = np.bincount(log.arms, log.pulled <= REFUTED, n_arms) > 0
    if (varies | refuted).any():
        found.append(Forced(SHARE, log, np.flatnonzero(varies | refuted).tolist()))
    if log.past.ordered and not log.past.begins.all():
        found.append(Sorted(SORTED, log))
    pairs = list(combinations(_candidates(log), 2)) if n_arms > 2 else []
    for kind, groups in (
        (BOOSTED, [(a,) for a in range(n_arms) if varies[a]]),
        (BOOSTED, [pair for pair in pairs if varies[list(pair)].any()]),
        (BOOSTED, [tuple(range(n_arms))] if varies.any() else []),
        (SHARE, [pair for pair in pairs if not varies[list(pair)].any()]),
    ):
        if groups:
            found.append(Boosted(kind, log, groups))
    return found + _given(log, alternatives)


def given_family(log: Pulls, alternatives: Sequence[Alternative]) -> Given:
    """Return the family of other claims of one kind."""
    return Given(alternatives[0].kind, log, [_expert(log, other) for other in alternatives])


def _expert(log: Pulls, other: Alternative) -> _Expert:
    if other.kind == READING:
        return _Expert(other.words, read_otherwise(log, other.log_pi), other.setting)
    return _Expert(other.words, other.log_pi[np.arange(log.arms.size), log.arms], other.setting)


def _given(log: Pulls, alternatives: Sequence[Alternative]) -> list[ExpertFamily[Any]]:
    """Return the families of other claims and of other rows."""
    others: dict[str, list[_Expert]] = {}
    for other in alternatives:
        others.setdefault(other.kind, []).append(_expert(log, other))
    given = [expert.log_q for experts in others.values() for expert in experts]
    for words, rows in _other_rows(log.rows):
        log_q = log.log_pi[rows, log.arms]
        if not any(_like(log_q, other) for other in given):
            others.setdefault(ANOTHER_ROW, []).append(_Expert(words, log_q))
    return [Given(kind, log, experts) for kind, experts in others.items()]


def _candidates(log: Pulls) -> list[int]:
    """Return the arms pulled most beyond expectation, in standard deviations."""
    excess = np.empty(len(log.names))
    for a in range(excess.size):
        p = log.p(a)
        excess[a] = (log.chosen(a) - p).sum() / math.sqrt(max((p * (1.0 - p)).sum(), 1e-9))
    return sorted(np.argsort(-excess, kind="stable")[:_PAIRED].tolist())


def _other_rows(rows: IntArray) -> Iterator[tuple[str, IntArray]]:
    """Yield (words, index of the row whose probabilities were used), each once.

    Later rows are not among them: the probabilities of the next row may depend on the pull of this one.
    """
    each = np.arange(rows.size)
    seen = [each]
    for words, index in (
        *(
            (f"each pull fits the probabilities {'one row' if d == 1 else f'{d} rows'} before its own", each - d)
            for d in _DELAYS
        ),
        *(
            (f"each pull fits the probabilities at the start of its batch of {size} rows", start)
            for size in _BATCHES
            # Batches count from the log's first row, or from the first row that was tested.
            for start in (_batch_starts(rows - 1, size), _batch_starts(rows - rows[0], size))
        ),
    ):
        index = np.maximum(index, 0)
        if not any(np.array_equal(index, other) for other in seen):
            seen.append(index)
            yield words, index


def _batch_starts(rows: IntArray, size: int) -> IntArray:
    batch = rows // size
    new = np.append(True, batch[1:] != batch[:-1])
    return np.maximum.accumulate(np.where(new, np.arange(rows.size), 0))


def _like(log_q: FloatArray, other: FloatArray) -> bool:
    """Return whether an alternative says the same as another row, such as rewards d rows late and the row d before."""
    with np.errstate(invalid="ignore"):
        same: BoolArray = abs(log_q - other) < _SAME
    return bool(same.mean() > 0.8)
