"""Findings: what is claimed, what was measured, and whether that shows, refutes or does not decide the claim.

A claim says that a number lies in a range. The measurement has an interval that misses the number with probability at
most `LEVEL`. If the interval lies inside the range, the claim is *shown*; if outside, it is *refuted*; otherwise it is
*undecided*. A verdict is wrong with probability at most `LEVEL`, whatever the truth, and more data decide more.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from feint.support.intervals import Interval

LEVEL = 1e-3  # chance of a wrong verdict, per claim

SHOWN, UNDECIDED, REFUTED = "shown", "undecided", "refuted"
VERDICTS = (SHOWN, REFUTED, UNDECIDED)

OURS = ""  # instead of the paper's words

PAPER_CLAIM, OUR_CLAIM, THEOREM = "the paper's", "ours", "theorems"
KINDS = {
    PAPER_CLAIM: "What the paper says of its figures, measured",
    OUR_CLAIM: "What the paper does not say, measured",
    THEOREM: "Theorems: these cannot fail unless the software is wrong",
}


@dataclass(frozen=True)
class Finding:
    """The claim that a number lies from `at_least` to `at_most`, with what was measured.

    `stated` has the paper's own words, which count arms from 1, or is `OURS`. `low` and `high` bound the number, except
    with probability `level` (0 where nothing is random). The settings of an `exploratory` claim were chosen after data
    had been seen, so its level is not guaranteed. A `theorem` is a check of the software.
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
    exploratory: bool = False
    theorem: bool = False

    @property
    def verdict(self) -> str:
        """Return whether the claim is shown, refuted or undecided.

        >>> Finding("shares are fair", OURS, "share", 0.5, 0.47, 0.53, 0.45, 0.55).verdict
        'shown'
        """
        return verdict((self.measured, self.low, self.high), self.at_least, self.at_most)

    @property
    def kind(self) -> str:
        """Return whether the claim is a theorem, the paper's, or ours."""
        if self.theorem:
            return THEOREM
        return OUR_CLAIM if self.stated == OURS else PAPER_CLAIM

    @property
    def claimed(self) -> str:
        """The claimed range in words."""
        if math.isinf(self.at_least):
            return f"at most {self.at_most:.4g}"
        if math.isinf(self.at_most):
            return f"at least {self.at_least:.4g}"
        return f"{self.at_least:.4g} … {self.at_most:.4g}"

    @property
    def interval(self) -> str:
        """The interval in words, empty where nothing is random."""
        return "" if self.low == self.high else f"{self.low:.3g} … {self.high:.3g}"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; infinite numbers become null."""
        plain = {
            key: None if isinstance(value, float) and math.isinf(value) else value
            for key, value in asdict(self).items()
        }
        return {**plain, "kind": self.kind, "verdict": self.verdict}


def verdict(interval: Interval, at_least: float, at_most: float) -> str:
    """Return the verdict on a range, given an interval (value, low, high)."""
    _, low, high = interval
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
    **marks: bool,
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
    return Finding(name, stated, text, worst.value, worst.low, worst.high, at_least, at_most, **marks)


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
    return lines
