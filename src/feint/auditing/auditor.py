"""The audit itself, fed chunk by chunk: recompute or take what was claimed, test it, and keep what the report needs.

E is the mean of two e-processes: `BoostMixture`, which is powerful where single arms are boosted, and `Calibration`,
which has no model of the deceiver. Where only propensities were logged it is `PropensityMixture`.
"""

import math
from typing import Any

import numpy as np

from feint.auditing.checks import PROBABILITY_0, TIME, BadRow, Chunk, check
from feint.auditing.report import INTERVALS, ArmReport, AuditReport
from feint.numerics._validate import BoolArray, FloatArray, IntArray, check_level
from feint.observer import BoostMixture, Calibration, PropensityMixture
from feint.observer.expected import Expected, expected_of
from feint.references import BetaThompsonSampling

_HISTORY = 2_000  # points kept at most of log E over the rows
_EXAMPLES = 20  # of bad rows named in the report
_SUSPICIOUS = math.log(1e-12)


class Auditor:
    """One audit; `feed` it chunks of the log in order, then ask for the `report`."""

    def __init__(
        self, mode: str, n_arms: int, reference: Any, sigma: float, alpha: float, *, tolerance: float, skip_bad: bool
    ) -> None:
        self.mode, self.n_arms, self.alpha = mode, n_arms, check_level(alpha, "alpha, the level of the audit,")
        self.reference, self._sigma = reference, sigma
        self._tolerance, self._skip_bad = tolerance, skip_bad
        self._expected: Expected | None = expected_of(reference, n_arms, sigma) if mode == "rewards" else None
        self._boosts = PropensityMixture(n_arms) if mode == "propensities" else BoostMixture(n_arms)
        self._calibration = None if mode == "propensities" else Calibration(n_arms)
        self._rows, self._observed = 0, np.zeros(n_arms, dtype=np.int64)
        self._log_e, self._highest, self._rejected_at = 0.0, 0.0, None  # type: tuple[float, float, int | None]
        self._smallest: tuple[float, int] | None = None
        self._last_time: Any = None
        self._bad: dict[str, int] = {}
        self._examples: list[str] = []
        self._all_binary = True
        self._history = _History()

    def feed(self, chunk: Chunk) -> None:
        """Check and test the next rows."""
        good, bad, self._last_time = check(
            chunk, self.mode, self.n_arms, self._expected, self._tolerance, self._last_time
        )
        if bad:
            self._note(bad)
        self._rows += good.size
        rows, arms = chunk.rows[good], chunk.arm.values[good].astype(np.int64)
        self._observed += np.bincount(arms, minlength=self.n_arms)
        if self.mode == "rewards":
            assert chunk.reward is not None
            assert self._expected is not None
            rewards = chunk.reward.values[good]
            self._all_binary &= bool(((rewards == 0) | (rewards == 1)).all())
            log_pi, first = self._expected.rows(arms, rewards)
            rows, arms = rows[first:], arms[first:]
        elif self.mode == "propensities":
            assert chunk.propensity is not None
            log_pi = np.log(np.minimum(chunk.propensity.values[good], 1.0))
        else:
            log_pi = _log_normalised(np.column_stack([column.values[good] for column in chunk.probabilities]))
        if arms.size:
            self._test(rows, arms, log_pi)

    def _note(self, bad: list[BadRow]) -> None:
        if not self._skip_bad:
            shown = "; ".join(str(row) for row in bad[:5])
            more = f"; and {len(bad) - 5} more soon after" if len(bad) > 5 else ""
            advice = "Correct the log, or leave such rows out with --skip-bad (skip_bad=True)."
            if all(row.kind == TIME for row in bad):
                advice = "Sort the log, or do not look at times with --ignore-time (ignore_time=True)."
            raise ValueError(f"{shown}{more}. {advice}")
        for row in bad:
            self._bad[row.kind] = self._bad.get(row.kind, 0) + 1
            if len(self._examples) < _EXAMPLES:
                self._examples.append(str(row))

    def _test(self, rows: IntArray, arms: IntArray, log_pi: FloatArray) -> None:
        log_e = self._boosts.extend(arms, log_pi)
        if self._calibration is not None:
            log_e = np.logaddexp(log_e, self._calibration.extend(arms, log_pi)) - math.log(2)
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
        parts = {"boosts": self._boosts.log_e_value}
        if self._calibration is not None:
            parts["calibration"] = self._calibration.log_e_value
        arm, size = self._boosts.likeliest
        return AuditReport(
            mode=self.mode,
            claim=self._claim(),
            n_arms=self.n_arms,
            rows=self._rows,
            tested=self._boosts.tested,
            alpha=self.alpha,
            log_e_value=self._log_e,
            highest_log_e_value=self._highest,
            rejected_at=self._rejected_at,
            log_e_values=parts,
            arms=self._arms(),
            boosted_arm=arm if self._boosts.tested else None,
            boosted_epsilon=size if self._boosts.tested and isinstance(self._boosts, BoostMixture) else None,
            smallest_log_probability=None if self._smallest is None else self._smallest[0],
            smallest_row=None if self._smallest is None else self._smallest[1],
            bad_rows=dict(sorted(self._bad.items())),
            bad_examples=tuple(self._examples),
            warnings=(*warnings, *self._warnings()),
            history_rows=history_rows,
            history_log_e_values=history_log_e,
        )

    def _claim(self) -> str:
        if self.mode == "rewards":
            return str(self.reference.describe(self._sigma))
        return f"the logged {self.mode} are those of the pulls"

    def _arms(self) -> tuple[ArmReport, ...]:
        if self._calibration is None:
            return tuple(ArmReport(a, int(n), None, None, None, None) for a, n in enumerate(self._observed))
        low, high = self._calibration.confidence_sequence(self.alpha * INTERVALS)
        observed, excess = self._calibration.observed, self._calibration.excess
        return tuple(
            ArmReport(a, int(observed[a]), *(float(x[a]) for x in (observed - excess, excess, low, high)))
            for a in range(self.n_arms)
        )

    def _warnings(self) -> list[str]:
        found = []
        tested, skipped = self._boosts.tested, sum(self._bad.values())
        if tested == 0:
            never = [str(a) for a in np.flatnonzero(self._observed == 0)[:10]]
            why = f"arm {', '.join(never)} was never pulled; do arms count from 0? Is there a prior?"
            if skipped == self._rows:
                why = "all rows are bad" if skipped else "the log has no rows"
            found.append(f"No row could be tested: {why}")
        elif self._observed[0] == 0:
            found.append("Arm 0 was never pulled: do the arms of this log count from 1? Here they count from 0.")
        untested = self._rows - skipped - tested
        if tested and untested > self.n_arms:
            found.append(
                f"Some arm was pulled first at row {untested} or later. Before that there is no posterior under a flat "
                "prior, so those rows were not tested."
            )
        if self.mode == "propensities":
            found.append(
                "Only the pulled arm's probability was logged: the test is weaker, and no expected pulls are known. "
                "Log the probabilities of all arms."
            )
        if zeros := self._bad.get(PROBABILITY_0, 0):
            found.append(
                f"{zeros} pulls of arms with probability 0 were left out. "
                "If they were logged rightly, they refute the claim."
            )
        if skipped and self.mode == "rewards":
            found.append(
                f"{skipped} bad rows were left out. If the agent saw their rewards, this is no valid test: the "
                "posterior lacks them, and an honest agent may be rejected."
            )
        elif skipped:
            found.append(f"{skipped} bad rows were left out; the result holds if that does not depend on the arm.")
        if self._smallest is not None and self._smallest[0] < _SUSPICIOUS:
            fits = "sigma, prior and reference fit" if self.mode == "rewards" else "the logged probabilities are right"
            found.append(
                f"Row {self._smallest[1]} pulled an arm to which the claim gives probability "
                f"10^{self._smallest[0] / math.log(10):.0f}: that alone refutes it, so make sure that {fits}."
            )
        if (
            self.mode == "rewards"
            and self._all_binary
            and tested
            and not isinstance(self.reference, BetaThompsonSampling)
        ):
            found.append(
                "All rewards are 0 or 1: is Thompson Sampling with Beta posteriors claimed (--reference beta)?"
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


def _log_normalised(table: FloatArray) -> FloatArray:
    """log of probabilities that sum to 1 up to rounding; that of a likely arm from its complement."""
    table = table / table.sum(1, keepdims=True)
    rows, leader = np.arange(len(table)), table.argmax(1)
    others = table.copy()
    others[rows, leader] = 0.0
    rest = others.sum(1)
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(table)
    likely: BoolArray = rest < 0.5
    logs[rows[likely], leader[likely]] = np.log1p(-rest[likely])
    return logs
