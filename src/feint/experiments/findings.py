"""Findings: what is claimed, what was measured, and whether that shows, refutes or does not decide the claim.

A claim says that a number lies in a range. The measurement has an interval that misses the number with probability at
most `LEVEL`, for any law (`support.intervals`). If the interval lies inside the range, the claim is *shown*; if
outside, it is *refuted*; otherwise it is *undecided*. A verdict is wrong with probability at most `LEVEL`, whatever the
truth, and more data decide more. A finding without a range claims nothing: it is a number with its interval.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from feint.support.intervals import Interval

LEVEL = 1e-3  # chance of a wrong verdict, per claim

SHOWN, UNDECIDED, REFUTED, MEASURED = "shown", "undecided", "refuted", "measured"
VERDICTS = (SHOWN, REFUTED, UNDECIDED)  # of a claim

OURS = ""  # instead of the paper's words

PAPER_CLAIM, OUR_CLAIM, THEOREM, MEASUREMENT = "the paper's", "ours", "theorems", "measurements"
KINDS = {
    PAPER_CLAIM: "What the paper says, measured",
    OUR_CLAIM: "What the paper does not say, measured",
    THEOREM: "Theorems: these cannot fail unless the software is wrong",
    MEASUREMENT: "Measurements: numbers with their intervals, about which nothing is claimed",
}


@dataclass(frozen=True)
class Finding:
    """The claim that a number lies from `at_least` to `at_most`, with what was measured.

    `stated` has the paper's own words, which count arms from 1, or is `OURS`. `low` and `high` bound the number, except
    with probability `level` (0 where nothing is random). `changed` names the commits that changed settings, range or
    statistic after data had been seen, from the history of the experiment's file: such a claim is exploratory, and its
    level holds only for data that nobody had seen by then. A `theorem` is a check of the software.
    """

    name: str
    stated: str
    quantity: str
    measured: float
    low: float
    high: float
    at_least: float = -math.inf
    at_most: float = math.inf
    level: float = LEVEL
    changed: tuple[str, ...] = ()
    theorem: bool = False

    @property
    def verdict(self) -> str:
        """Return whether the claim is shown, refuted or undecided.

        >>> Finding("shares are fair", OURS, "share", 0.5, 0.47, 0.53, 0.45, 0.55).verdict
        'shown'
        """
        return verdict((self.measured, self.low, self.high), self.at_least, self.at_most)

    @property
    def exploratory(self) -> bool:
        """Return whether the claim was changed after data had been seen."""
        return bool(self.changed)

    @property
    def kind(self) -> str:
        """Return whether this is a theorem, a claim of the paper's or of ours, or a measurement."""
        if self.theorem:
            return THEOREM
        if self.verdict == MEASURED:
            return MEASUREMENT
        return OUR_CLAIM if self.stated == OURS else PAPER_CLAIM

    @property
    def claimed(self) -> str:
        """Return the claimed range in words."""
        if self.verdict == MEASURED:
            return ""
        if math.isinf(self.at_least):
            return f"at most {self.at_most:.4g}"
        if math.isinf(self.at_most):
            return f"at least {self.at_least:.4g}"
        return f"{self.at_least:.4g} … {self.at_most:.4g}"

    @property
    def interval(self) -> str:
        """Return the interval in words, or an empty text where nothing is random."""
        return "" if self.level == 0 else f"{self.low:.3g} … {self.high:.3g}"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; infinite numbers become null."""
        plain = {
            key: None if isinstance(value, float) and math.isinf(value) else list(value) if key == "changed" else value
            for key, value in asdict(self).items()
        }
        return {**plain, "exploratory": self.exploratory, "kind": self.kind, "verdict": self.verdict}

    @property
    def words_in_doubt(self) -> str:
        """Return which words of the paper are refuted or undecided and what would have to be true for them to hold."""
        if self.kind != PAPER_CLAIM or self.verdict == SHOWN:
            return ""
        how = "contradict" if self.verdict == REFUTED else "do not decide"
        range_ = self.claimed.replace("…", "to") if "…" in self.claimed else self.claimed
        return (
            f"These data {how} the paper's words “{self.stated}”. For them to hold, this number would have to be "
            f"{range_}: {self.quantity}. Its interval is {self.interval or f'{self.measured:.4g}'}."
        )


def verdict(interval: Interval, at_least: float, at_most: float) -> str:
    """Return the verdict on a range, given an interval (value, low, high)."""
    _, low, high = interval
    if math.isinf(at_least) and math.isinf(at_most):
        return MEASURED
    if at_least <= low and high <= at_most:
        return SHOWN
    return REFUTED if high < at_least or low > at_most else UNDECIDED


@dataclass(frozen=True)
class Point:
    """One of the points that a claim is about; the intervals of all points hold together, except with LEVEL."""

    where: str
    value: float
    low: float
    high: float


def at_every_point(
    name: str,
    stated: str,
    quantity: str,
    points: list[Point],
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    changed: tuple[str, ...] = (),
    theorem: bool = False,
) -> Finding:
    """Return a finding about all points, measured at the one that decides it.

    That is a point that refutes the claim; otherwise one that leaves it undecided; otherwise the one nearest the edge
    of the range. The intervals hold together (each at LEVEL/points), so choosing a point does not spoil the level.
    """
    order = (SHOWN, UNDECIDED, REFUTED)

    def severity(point: Point) -> tuple[int, float]:
        found = verdict((point.value, point.low, point.high), at_least, at_most)
        return order.index(found), max(at_least - point.value, point.value - at_most)

    worst = max(points, key=severity)
    text = f"{quantity}; the worst of {len(points)} points, {worst.where}"
    measured = worst.value, worst.low, worst.high
    return Finding(name, stated, text, *measured, at_least, at_most, changed=changed, theorem=theorem)


def family_words(claims: Iterable[Finding]) -> str:
    """Return the level of one interval and, in words, that of all verdicts together."""
    levels = [claim.level for claim in claims if claim.level > 0]
    return (
        f"An interval misses the truth with probability at most {100 * LEVEL:g} %, whatever the law of the data. "
        f"{len(levels)} intervals rest on chance: the probability that any of them misses is at most {len(levels)} × "
        f"{100 * LEVEL:g} % = {100 * sum(levels):.2g} %."
    )


def count(claims: Iterable[Finding], kind: str) -> dict[str, int]:
    """Count how many claims of a kind have each verdict."""
    found = [claim.verdict for claim in claims if claim.kind == kind]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def count_lines(claims: Iterable[Finding]) -> list[str]:
    """Return one line per kind: how many claims are shown, refuted and undecided."""
    everything, lines = list(claims), []
    for kind in KINDS:
        counted = count(everything, kind)
        if total := sum(counted.values()):
            parts = ", ".join(f"{number} {verdict}" for verdict, number in counted.items())
            lines.append(f"{kind}: {parts} (of {total})")
    if measured := sum(claim.kind == MEASUREMENT for claim in everything):
        lines.append(f"{MEASUREMENT}: {measured}")
    return lines
