"""The audit itself, fed chunk by chunk: check what was claimed, test it, and keep what the report needs."""

import math
from typing import Any

import numpy as np

from feint.auditing.checks import PROBABILITY_0, TIME, BadRow, Chunk, check
from feint.auditing.claims import Claim
from feint.auditing.report import INTERVALS, ArmReport, AuditReport
from feint.evidence import BoostMixture
from feint.numerics._validate import FloatArray, IntArray, check_level

_HISTORY = 2_000  # points kept at most of log E over the rows
_EXAMPLES = 20  # of bad rows named in the report
_SUSPICIOUS = math.log(1e-12)


class Auditor:
    """One audit; `feed` it chunks of the log in order, then ask for the `report`."""

    def __init__(self, claim: Claim, alpha: float, *, skip_bad: bool) -> None:
        self.claim, self.n_arms = claim, claim.n_arms
        self.alpha = check_level(alpha, "alpha, the level of the audit,")
        self._skip_bad = skip_bad
        self._rows, self._observed = 0, np.zeros(claim.n_arms, dtype=np.int64)
        self._log_e, self._highest, self._rejected_at = 0.0, 0.0, None  # type: tuple[float, float, int | None]
        self._smallest: tuple[float, int] | None = None
        self._last_time: Any = None
        self._bad: dict[str, int] = {}
        self._examples: list[str] = []
        self._history = _History()

    def feed(self, chunk: Chunk) -> None:
        """Check and test the next rows."""
        good, bad, self._last_time = check(chunk, self.n_arms, self.claim.check, self._last_time)
        if bad:
            self._note(bad)
        self._rows += good.size
        rows, arms = chunk.rows[good], chunk.arm.values[good].astype(np.int64)
        self._observed += np.bincount(arms, minlength=self.n_arms)
        log_pi, first = self.claim.read(chunk, good, arms)
        if arms.size > first:
            self._test(rows[first:], arms[first:], log_pi)

    def _note(self, bad: list[BadRow]) -> None:
        if not self._skip_bad:
            shown = "; ".join(str(row) for row in bad[:5])
            more = f"; and {len(bad) - 5} more soon after" if len(bad) > 5 else ""
            advice = "Correct the log, or leave such rows out (`skip_bad`)."
            if all(row.kind == TIME for row in bad):
                advice = "Sort the log, or do not look at times (`ignore_time`)."
            raise ValueError(f"{shown}{more}. {advice}")
        for row in bad:
            self._bad[row.kind] = self._bad.get(row.kind, 0) + 1
            if len(self._examples) < _EXAMPLES:
                self._examples.append(str(row))

    def _test(self, rows: IntArray, arms: IntArray, log_pi: FloatArray) -> None:
        log_e = self.claim.test(arms, log_pi)
        self._log_e = float(log_e[-1])
        self._highest = max(self._highest, float(log_e.max()))
        alarms = np.flatnonzero(log_e >= -math.log(self.alpha))
        if self._rejected_at is None and alarms.size:
            self._rejected_at = int(rows[alarms[0]])
        pulled = log_pi if log_pi.ndim == 1 else log_pi[np.arange(arms.size), arms]
        least = int(pulled.argmin())
        if self._smallest is None or pulled[least] < self._smallest[0]:
            self._smallest = (float(pulled[least]), int(rows[least]))
        self._history.add(rows, log_e)

    def report(self, warnings: list[str]) -> AuditReport:
        """What was found; `warnings` are the caller's, about how the log was read."""
        history_rows, history_log_e = self._history.all()
        boosts, calibration = self.claim.boosts, self.claim.calibration
        parts = {"boosts": boosts.log_e_value}
        if calibration is not None:
            parts["calibration"] = calibration.log_e_value
        arm, size = boosts.likeliest
        return AuditReport(
            mode=self.claim.MODE,
            claim=self.claim.words(),
            n_arms=self.n_arms,
            rows=self._rows,
            tested=boosts.tested,
            alpha=self.alpha,
            log_e_value=self._log_e,
            highest_log_e_value=self._highest,
            rejected_at=self._rejected_at,
            log_e_values=parts,
            arms=self._arms(),
            boosted_arm=arm if boosts.tested else None,
            boosted_epsilon=size if boosts.tested and isinstance(boosts, BoostMixture) else None,
            smallest_log_probability=None if self._smallest is None else self._smallest[0],
            smallest_row=None if self._smallest is None else self._smallest[1],
            bad_rows=dict(sorted(self._bad.items())),
            bad_examples=tuple(self._examples),
            warnings=(*warnings, *self._warnings()),
            history_rows=history_rows,
            history_log_e_values=history_log_e,
        )

    def _arms(self) -> tuple[ArmReport, ...]:
        calibration = self.claim.calibration
        if calibration is None:
            return tuple(ArmReport(a, int(n), None, None, None, None) for a, n in enumerate(self._observed))
        low, high = calibration.confidence_sequence(self.alpha * INTERVALS)
        observed, excess = calibration.observed, calibration.excess
        return tuple(
            ArmReport(a, int(observed[a]), *(float(x[a]) for x in (observed - excess, excess, low, high)))
            for a in range(self.n_arms)
        )

    def _warnings(self) -> list[str]:
        found = []
        tested, skipped = self.claim.boosts.tested, sum(self._bad.values())
        if tested == 0:
            never = [str(a) for a in np.flatnonzero(self._observed == 0)[:10]]
            why = f"arm {', '.join(never)} was never pulled; do arms count from 0? Is there a prior?"
            if skipped == self._rows:
                why = "all rows are bad" if skipped else "the log has no rows"
            elif not never:
                why = "it is no longer than the initial round"
            found.append(f"No row could be tested: {why}")
        elif self._observed[0] == 0:
            found.append("Arm 0 was never pulled: do the arms of this log count from 1? Here they count from 0.")
        untested = self._rows - skipped - tested
        if tested and untested > self.n_arms:
            found.append(
                f"Some arm was pulled first at row {untested} or later. Before that there is no posterior under a flat "
                "prior, so those rows were not tested."
            )
        if zeros := self._bad.get(PROBABILITY_0, 0):
            found.append(
                f"{zeros} pulls of arms with probability 0 were left out. "
                "If they were logged rightly, they refute the claim."
            )
        found += self.claim.warnings(skipped)
        if self._smallest is not None and self._smallest[0] < _SUSPICIOUS:
            found.append(
                f"Row {self._smallest[1]} pulled an arm to which the claim gives probability "
                f"10^{self._smallest[0] / math.log(10):.0f}: that alone refutes it, so make sure that "
                f"{self.claim.fits()}."
            )
        return found


class _History:
    """log E at evenly spaced rows, thinned as the log grows; which rows stay does not depend on the chunks."""

    def __init__(self) -> None:
        self._every, self._seen = 1, 0
        self._kept: list[tuple[int, float]] = []
        self._last: tuple[int, float] | None = None

    def add(self, rows: IntArray, log_e: FloatArray) -> None:
        counts = np.arange(self._seen, self._seen + rows.size)
        self._seen += rows.size
        self._last = (int(rows[-1]), float(log_e[-1]))
        start = 0
        while start < rows.size:  # in pieces, so that a long chunk is thinned as short ones are
            piece = slice(start, start + _HISTORY)
            kept = counts[piece] % self._every == 0
            self._kept += zip(rows[piece][kept].tolist(), log_e[piece][kept].tolist(), strict=True)
            while len(self._kept) > _HISTORY:
                self._every *= 2
                self._kept = self._kept[::2]
            start += _HISTORY

    def all(self) -> tuple[IntArray, FloatArray]:
        points = self._kept + ([self._last] if self._last is not None and self._last != self._kept[-1] else [])
        return np.array([row for row, _ in points], dtype=np.int64), np.array([value for _, value in points])
