"""Which departure explains a log best, once its claim is rejected.

Every departure is an expert who says that the pulls were drawn with q_t instead of π_t; its likelihood ratio against
the claim is Π_t q_t(A_t)/π_t(A_t). The families of a kind have equal weight, and so have a family's experts: a kind
with many experts pays for them with the logarithm of their number, as it should. An expert may have been right on the
whole log or on a stretch of it (`kernel`). Kinds have equal weight too, except for a wrong share, which has five times
as much: a boosted arm is pulled too often, and so is the likeliest arm of an agent that is too greedy.
Where the claimed probabilities hardly change, nobody can tell which it was, and the name that claims less comes first.

Other claims may be given roughly first. A kind of them is left out if it explains the log so much worse than others do
that it cannot be named, and if all its claims are themselves rejected. None of them is then an option to suggest.
Otherwise its claims are made exact, and weighed again.

This compares explanations after the fact. It is not a test: the best size of a departure is sought on the same rows.
But every expert's probabilities are fixed before the pull: one that saw it would explain any log. Two kinds that differ
by 3 nats share the evidence 95 to 5, however much both win over the claim; so the shares, not the gains, say how sure
the name is.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.diagnosis.expert_evidence import AFTER, EVIDENCE, FIRST, LAST, LOWEST, N_FACTS, TOTAL, WON, score
from feint.auditing.diagnosis.expert_families import Alternative, Given, expert_families, given_family
from feint.auditing.diagnosis.experts import SHARE, ExpertFamily, Setting
from feint.auditing.diagnosis.pulls import Pulls, RowsBefore, read_pulls
from feint.numerics._threads import thread_count
from feint.numerics.log_mean import log_mean

UNCLEAR = "unclear"
_CLEAR = math.log(20)
_NAMED, _SECOND_NAMED = 0.01, 0.001  # least shares of the evidence with which an explanation, and the second, is named
_HALVINGS = 9  # of the grid's step at most, where the best size of a family is sought
_LOG_WEIGHTS = {SHARE: math.log(5)}  # of kinds; 0 of all others
_SAME = 1e-6  # nats: a family that wins or loses less than this is the claim itself
_FAR = 30.0  # nats to the best explanation, beyond which an error of 1 % in every probability changes no name
_PEAK = 1.0  # nats below the peak, within which it is taken for a parabola


class Judge(Protocol):
    """What is known of other claims."""

    def write_passing(self, setting: Setting) -> str:
        """Return how a claim with this setting is written, if it would not be rejected, and otherwise an empty text."""

    def is_refuted(self, other: Alternative) -> bool:
        """Return whether another claim would clearly be rejected too, however rough it is."""

    def make_exact(self, other: Alternative) -> Alternative | None:
        """Return another claim with exact probabilities; None where it has none."""


class Explanation(NamedTuple):
    """One kind of departure, by its best expert.

    `share` is its part of the weighted evidence of all kinds. `log_gain` is the logarithm of the mean over its experts
    of Π q_t(A_t)/π_t(A_t): above 0 where it explains the log better than the claim. Between the rows `first_row` and
    `last_row` of the log its best expert won most. `option` is what to write for a claim that says the same and would
    not be rejected; it is empty where there is none.
    """

    kind: str
    words: str
    share: float
    log_gain: float
    first_row: int
    last_row: int
    arms: tuple[int, ...]
    option: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """Explanations of a log, best first.

    Those with less than 1 % of the evidence are left out, with two exceptions. The second best stays down to 0.1 %. If
    none of the others is a claim that would not be rejected, the best such claim stays too.
    """

    explanations: tuple[Explanation, ...]
    rows: int

    @property
    def kind(self) -> str:
        """Return the kind of the best explanation; "unclear" where it is not 20 times likelier than the claim."""
        return self.explanations[0].kind if self._clear else UNCLEAR

    @property
    def words(self) -> str:
        """Return the words of the best explanation."""
        return self.explanations[0].words if self._clear else "no known departure explains the log"

    @property
    def is_settled(self) -> bool:
        """Return whether the best explanation is 20 times likelier than the claim and than every other one."""
        shares = [explanation.share for explanation in self.explanations[:2]]
        return self._clear and (len(shares) == 1 or shares[0] >= math.exp(_CLEAR) * shares[1])

    @property
    def _clear(self) -> bool:
        return bool(self.explanations) and self.explanations[0].log_gain >= _CLEAR


def diagnose(
    arms: IntArray,
    log_pi: FloatArray,
    rows: IntArray,
    labels: Sequence[object],
    alternatives: Sequence[Alternative] = (),
    *,
    past: RowsBefore | None = None,
    available: BoolArray | None = None,
    judge: Judge | None = None,
) -> Diagnosis:
    """Return the kinds of departures from its claim that explain a log best.

    Parameters
    ----------
    arms
        (n,) the pulls.
    log_pi
        (n, K) logarithms of the claimed probabilities before each.
    rows
        (n,) their numbers in the log.
    labels
        K names of the arms.
    alternatives
        Other claims that might be the true ones.
    past
        Which rows lie before which; without it, those above.
    available
        (n, K) the arms that could be drawn; without it, all.
    judge
        Knows which settings of the claim would not be rejected, and makes rough alternatives exact; without it, no
        option is suggested, and every alternative is taken as it is.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pi = rng.dirichlet([1.0, 1.0, 1.0], 1000)
    >>> arms = (rng.random((1000, 1)) > np.roll(pi, 1, axis=0).cumsum(1)).sum(1)
    >>> diagnosis = diagnose(arms, np.log(pi), np.arange(1, 1001), ["red", "green", "blue"])
    >>> diagnosis.kind, diagnosis.words
    ('another row', 'each pull fits the probabilities one row before its own')
    """
    log = read_pulls(arms, log_pi, rows, [str(label) for label in labels], past, available)
    found: dict[str, list[tuple[float, _Best]]] = {}
    if log.arms.size:
        for family, (gain, best) in _weigh_all(log, alternatives, judge):
            if abs(gain) > _SAME:
                found.setdefault(family.kind, []).append((gain, best))
    gains = {kind: float(log_mean([gain for gain, _ in parts])) for kind, parts in found.items()}
    shares = _share_evidence(gains)
    explanations: list[Explanation] = []
    for kind in sorted(gains, key=lambda kind: -shares[kind]):
        best = max((best for _, best in found[kind]), key=lambda best: best.weighed)
        is_named = shares[kind] >= (_NAMED if len(explanations) != 1 else _SECOND_NAMED)
        # Another claim that would pass is named even if it explains little, unless one is there already.
        is_claim = isinstance(best.family, Given) and not any(known.option for known in explanations)
        if is_named or is_claim:
            explanation = _as_explanation(best, gains[kind], shares[kind], log, judge)
            if is_named or explanation.option:
                explanations.append(explanation)
    return Diagnosis(tuple(explanations), int(log.arms.size))


def _weigh_all(
    log: Pulls, others: Sequence[Alternative], judge: Judge | None
) -> list[tuple[ExpertFamily[Any], tuple[float, "_Best"]]]:
    """Return every family with what `_weigh` finds, except rough ones that cannot be named; see the module."""
    families = expert_families(log, others)
    with ThreadPoolExecutor(thread_count()) as pool:
        weighed = list(zip(families, pool.map(_weigh, families), strict=True))
    rough = {other.kind for other in others if other.is_rough} if judge is not None else set()
    lead = max((gain for family, (gain, _) in weighed if family.kind not in rough), default=-math.inf)
    found = []
    for family, (gain, best) in weighed:
        if judge is not None and family.kind in rough:
            members = [other for other in others if other.kind == family.kind]
            if gain < lead - _FAR and all(judge.is_refuted(other) for other in members):
                continue
            exact = [judge.make_exact(other) if other.is_rough else other for other in members]
            if not (there := [other for other in exact if other is not None]):
                continue
            family = given_family(log, there)
            gain, best = _weigh(family)
        found.append((family, (gain, best)))
    return found


class _Best(NamedTuple):
    """The best expert of a family."""

    weighed: float  # its log evidence less the logarithm of how many there are
    family: ExpertFamily[Any]
    label: Any
    size: float
    facts: FloatArray


def _weigh(family: ExpertFamily[Any]) -> tuple[float, _Best]:
    """Return (log of the mean evidence, best expert); around the best, the grid of sizes is refined."""
    logs: list[float] = []
    best = _Scored(-math.inf, 0, np.zeros(N_FACTS))
    best_label, best_index = None, 0
    for label, k, log_ratios in family.grid():
        found = _scored(log_ratios, k)
        logs.append(found.evidence)
        if found.evidence > best.evidence:
            best, best_label, best_index = found, label, len(logs) - 1
    if family.SIZES.size > 1:
        logs[best_index], best = _refine(family, best_label, best)
    weighed = best.evidence - math.log(len(logs))
    return float(log_mean(logs)), _Best(weighed, family, best_label, family.size(best.place), best.facts)


class _Scored(NamedTuple):
    """What an expert won."""

    evidence: float
    place: float  # of its size, in steps of the grid
    facts: FloatArray


def _scored(log_ratios: FloatArray, place: float) -> _Scored:
    facts = np.empty(N_FACTS)
    score(log_ratios, facts)
    return _Scored(float(facts[EVIDENCE]), place, facts)


def _refine(family: ExpertFamily[Any], label: Any, best: _Scored) -> tuple[float, _Scored]:
    """Return (log of the mean evidence over one step of the grid, spread evenly in the logarithm, best expert).

    Steps w are halved until the evidence differs by less than a nat between the best size and its neighbours: that of a
    long log is peaked so sharply that a size beside the true one, and its whole kind with it, would lose by dozens of
    nats. Through the last three goes a parabola that falls by d·(x/w)² from its peak f, of integral f·w·√(π/d).
    """
    step = 1.0
    for _ in range(_HALVINGS):
        step /= 2.0
        places = best.place - step, best.place + step  # binary fractions, so that other logs ask for the same boosts
        below, above = (_scored(family.log_ratios(label, family.size(place)), place) for place in places)
        middle, best = best, max(best, below, above, key=lambda found: found.evidence)
        if best.evidence - min(below.evidence, middle.evidence, above.evidence) < _PEAK:
            break
    d = middle.evidence - 0.5 * (above.evidence + below.evidence)
    share = step * math.sqrt(math.pi / d) if d > 0.0 else 1.0
    return best.evidence + math.log(min(share, 1.0)), best


def _share_evidence(gains: dict[str, float]) -> dict[str, float]:
    """Return the part of each kind in the weighted evidence of all."""
    logs = {kind: gain + _LOG_WEIGHTS.get(kind, 0.0) for kind, gain in gains.items()}
    total = float(np.logaddexp.reduce(list(logs.values())))
    return {kind: math.exp(log - total) for kind, log in logs.items()}


def _as_explanation(best: _Best, gain: float, share: float, log: Pulls, judge: Judge | None) -> Explanation:
    facts, family = best.facts, best.family
    first, last = int(log.rows[int(facts[FIRST])]), int(log.rows[int(facts[LAST])])
    setting = family.setting(best.label, best.size)
    option = "" if setting is None or judge is None else judge.write_passing(setting)
    words = family.words(best.label, best.size) + (", which would not be rejected" if option else _stretch(facts, log))
    return Explanation(family.kind, words, share, gain, first, last, family.arms(best.label), option)


def _stretch(facts: FloatArray, log: Pulls) -> str:
    """Return where the expert was right, if a part of the log explains it clearly better than the whole."""
    n = log.arms.size
    whole, since = facts[TOTAL], facts[TOTAL] - facts[LOWEST] - math.log(2 * n)
    between = facts[WON] - math.log(n * (n + 1.0))
    if max(since, between) < max(whole, 0.0) + _CLEAR:  # 0: an expert that was right nowhere is named without rows
        return ""
    if between < since + _CLEAR:
        return f" from row {log.rows[int(facts[AFTER])]} on"
    first, last = int(facts[FIRST]), int(facts[LAST])
    return f" from row {log.rows[first]} to row {log.rows[last]}"
