"""The audit itself, fed chunk by chunk: check what was claimed, test it, and keep what the report needs."""

import math
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.groups import LogGroups
from feint.auditing.modes import Mode, intervals_share
from feint.auditing.readings import Readings
from feint.auditing.report import ArmReport, AuditReport, Impossible
from feint.auditing.row_checks import ORDER, TIME, BadRow, Chunk, Times, check_rows
from feint.auditing.units import Units
from feint.evidence import BoostMixture
from feint.evidence.claim_table import of_pulled_arms
from feint.numerics._validate import restore_counts
from feint.support.saved import check_form, of_length

_VERSION = 6
EXAMPLES = 20  # of bad rows named in the report
_SUSPICIOUS = math.log(1e-12)


class Auditor:
    """One audit; `feed` it chunks of the log in order, then ask for the `report`."""

    def __init__(self, mode: Mode, *, grouped: bool = False) -> None:
        self.mode, self.n_arms, self.alpha = mode, mode.arms.n, mode.claim.alpha
        self._rows, self._observed = 0, np.zeros(self.n_arms, dtype=np.int64)
        self._readings = Readings(self.alpha)
        self._impossible: Impossible | None = None
        self._smallest: tuple[float, int] | None = None
        self._times = Times()
        self._bad: dict[str, int] = {}
        self._examples: list[str] = []
        self._units = Units()
        self._groups = LogGroups(mode, grouped)

    @property
    def rejected_at(self) -> int | None:
        """Return the row at which the claim was rejected, None if it was not."""
        return self._readings.rejected_at

    @property
    def only_changed(self) -> bool:
        """Return whether the claim is refuted only by rows that do not repeat their unit's first row."""
        tests = self._impossible is not None or self._readings.highest >= -math.log(self.alpha)
        return self._units.changed is not None and not tests

    def feed(self, chunk: Chunk) -> None:
        """Check and test the next rows."""
        checked = check_rows(chunk, self.mode.arms, self.mode.check, self._times)
        if checked.bad:
            self._note(checked.bad)
        good = checked.good
        self._rows += good.size
        kept = _selection(good)
        rows, arms = chunk.rows[kept], chunk.arm.values[kept].astype(np.int64)
        self._observed += np.bincount(arms, minlength=self.n_arms)
        groups = self._groups.number(chunk, checked)
        drawn, changed = self._units.draws(chunk, good, arms, groups)
        log_pi, tested = self.mode.read(chunk, good, arms, groups)
        if drawn is not None:
            log_pi, tested = log_pi[drawn[tested]], tested & drawn
        if changed.size:
            self._readings.reject(int(rows[changed[0]]))
            self._groups.refute(groups[changed])
        instants = self._readings.number(checked.begins)
        if log_pi.size:
            kept = _selection(tested)
            self._test(rows[kept], arms[kept], groups[kept], log_pi, instants[kept])
        self._readings.settle(timed=chunk.times is not None)

    def _note(self, bad: list[BadRow]) -> None:
        unordered = [row for row in bad if row.kind == ORDER]
        bad = unordered or bad
        if unordered or not self.mode.claim.skip_bad:
            shown = "; ".join(str(row) for row in bad[:5])
            more = f"; and {len(bad) - 5} more soon after" if len(bad) > 5 else ""
            advice = "Correct the log, or leave such rows out (`skip_bad`)."
            if all(row.kind == TIME for row in bad):
                advice = "Sort the log, or ignore its times (`ignore_time`)."
            elif unordered:
                advice = (
                    "The rows are not in the order of `order_by`; sort them within each group, or correct `order_by`."
                )
            elif any(row.reason == "reward is missing" for row in bad):
                advice += " If such rewards were never received, say so with `missing`='never'."
            raise ValueError(f"{shown}{more}. {advice}")
        for row in bad:
            self._bad[row.kind] = self._bad.get(row.kind, 0) + 1
            if len(self._examples) < EXAMPLES:
                self._examples.append(str(row))

    def _test(self, rows: IntArray, arms: IntArray, groups: IntArray, log_pi: FloatArray, instants: IntArray) -> None:
        pulled = of_pulled_arms(log_pi, arms)
        possible = ~np.isneginf(pulled)
        if not possible.all():
            self._refute(rows[~possible], arms[~possible])
            if self.mode.calibration is not None:
                self.mode.calibration.refute(arms[~possible], log_pi[~possible])
            self._groups.refute(groups[~possible])
            if not possible.any():
                return
            rows, arms, groups = rows[possible], arms[possible], groups[possible]
            log_pi, pulled, instants = log_pi[possible], pulled[possible], instants[possible]
        begins = self._readings.begin(instants)
        log_e = self._groups.extend(groups, arms, log_pi, self.mode.test(arms, log_pi, groups, begins))
        self._readings.add(rows, log_e, begins)
        least = int(pulled.argmin())
        if self._smallest is None or pulled[least] < self._smallest[0]:
            self._smallest = (float(pulled[least]), int(rows[least]))

    def _refute(self, rows: IntArray, arms: IntArray) -> None:
        """Note pulls of arms to which the claim gives probability 0: E is infinite from the first of them on."""
        first = self._impossible or Impossible(int(rows[0]), int(arms[0]), 0)
        self._impossible = first._replace(pulls=first.pulls + rows.size)
        self._readings.reject(int(rows[0]))

    def report(self, warnings: list[str]) -> AuditReport:
        """Return what was found; `warnings` are the caller's, about how the log was read."""
        self._readings.read_last()  # the log is over, and so is its last instant
        history_rows, history_log_e = self._readings.history.all()
        boosts = self.mode.boosts
        arm, size = boosts.likeliest
        refuted = self._impossible is not None or self._units.changed is not None
        return AuditReport(
            mode=self.mode.NAME,
            claim=self.mode.words(),
            n_arms=self.n_arms,
            rows=self._rows,
            tested=boosts.tested + (self._impossible.pulls if self._impossible else 0),
            alpha=self.alpha,
            log_e_value=math.inf if refuted else self._readings.log_e,
            highest_log_e_value=math.inf if refuted else self._readings.highest,
            rejected_at=self._readings.rejected_at,
            impossible=self._impossible,
            log_e_values=self.log_e_values(),
            arms=self._arms(),
            all_groups=self._groups.reports(self.alpha),
            n_groups=len(self._groups),
            boosted_arm=arm if boosts.tested else None,
            boosted_epsilon=size if boosts.tested and isinstance(boosts, BoostMixture) else None,
            smallest_log_probability=None if self._smallest is None else self._smallest[0],
            smallest_row=None if self._smallest is None else self._smallest[1],
            bad_rows=dict(sorted(self._bad.items())),
            bad_examples=tuple(self._examples),
            warnings=(*warnings, *self._warnings()),
            diagnosis=None,
            history_rows=history_rows,
            history_log_e_values=history_log_e,
            repeated=self._units.repeated,
            changed=self._units.changed,
        )

    def log_e_values(self) -> dict[str, float]:
        """Return log E of each part of E."""
        found = self.mode.log_e_values()
        if self._groups.log_e_value is not None:
            found["groups"] = self._groups.log_e_value
        return found

    def _arms(self) -> tuple[ArmReport, ...]:
        calibration, names = self.mode.calibration, self.mode.arms.names()
        if calibration is None:
            return tuple(
                ArmReport(a, names[a], int(n), None, None, None, None, None) for a, n in enumerate(self._observed)
            )
        low, high = calibration.confidence_sequence(self.alpha * intervals_share(self.log_e_values()))
        observed, excess, allowed = calibration.observed, calibration.excess, calibration.allowed
        return tuple(
            ArmReport(
                a, names[a], int(observed[a]), *(float(x[a]) for x in (observed - excess, excess, low, high, allowed))
            )
            for a in range(self.n_arms)
        )

    def _warnings(self) -> list[str]:
        found = []
        refuted = self._impossible.pulls if self._impossible else 0
        tested, skipped = self.mode.boosts.tested + refuted, sum(self._bad.values())
        if self._impossible is not None:
            arm = self.mode.arms.names()[self._impossible.arm]
            found.append(
                f"Row {self._impossible.row} pulled arm {arm}, to which the claim gives probability 0"
                + (f", and {refuted - 1:,} more rows did the same" if refuted > 1 else "")
                + f": that refutes it.{self.mode.ROUNDED}"
            )
        if (changed := self._units.changed) is not None:
            names = self.mode.arms.names()
            found.append(
                f"Row {changed.row} shows arm {names[changed.arm]} to the unit {changed.unit}, whose first row has arm "
                f"{names[changed.first_arm]}"
                + (f", and {changed.rows - 1:,} more rows do not repeat theirs" if changed.rows > 1 else "")
                + ": that refutes the claim."
            )
        if tested == 0:
            never = [str(a) for a in np.flatnonzero(self._observed == 0)[:10]]
            why = f"arm {', '.join(never)} was never pulled; do arms count from 0? Is there a prior?"
            if skipped == self._rows:
                why = "all rows are bad" if skipped else "the log has no rows"
            elif not never:
                why = "the log is no longer than the initial round"
            found.append(f"No row could be tested: {why}")
        elif self._observed[0] == 0 and self.mode.arms.labels is None:
            found.append("Arm 0 was never pulled: do the arms of this log count from 1? Here they count from 0.")
        untested = self._rows - skipped - tested - self._units.repeated
        if tested and untested > self.n_arms * max(1, len(self._groups)):
            found.append(
                f"{untested:,} rows came before a reward of every arm was known. Under a flat prior there is no "
                "posterior until then, so those rows were not tested."
            )
        if self._times.back:
            found.append(
                f"Rows that are earlier than a row of another group above them: {self._times.back:,}. The log's own "
                "order was used. That is right if no group's pulls depend on another's; otherwise sort the log by "
                "time."
            )
        if self._times.tied:
            found.append(
                f"Rows with the same time as the row before: {self._times.tied:,}. Rows of the same time count as one "
                "instant, and E is read after its last row." + self.mode.order_within_instants()
            )
        found += self.mode.warnings(skipped)
        if self._smallest is not None and self._smallest[0] < _SUSPICIOUS:
            found.append(
                f"Row {self._smallest[1]} pulled an arm to which the claim gives probability "
                f"10^{self._smallest[0] / math.log(10):.0f}: that alone refutes it, so make sure that "
                f"{self.mode.fits()}."
            )
        return found

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        facts = {name: getattr(self, "_" + name) for name in _FACTS}
        return {
            "feint_auditor": _VERSION,
            "identity": self._identity(),
            "mode": self.mode.state(),
            "observed": self._observed.tolist(),
            "impossible": self._impossible,
            "groups": self._groups.state(),
            "units": self._units.state(),
            "times": self._times.state(),
            **self._readings.state(),
            **facts,
        }

    def _identity(self) -> dict[str, Any]:
        """Return what must be the same for an audit to continue."""
        return {**self.mode.claim.identity(), "mode": self.mode.NAME, "arms": self.mode.arms.names()}

    def recall(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state` of the same audit."""
        if not isinstance(state, dict) or state.get("feint_auditor") != _VERSION:
            found = state.get("feint_auditor") if isinstance(state, dict) else None
            other = (
                f"it is of format {found}, which another version of feint wrote" if found else "it is something else"
            )
            raise ValueError(
                f"This is not the state of an audit of format {_VERSION}: {other}; begin a new audit with another file "
                "(`state`)."
            )
        mine, saved = self._identity(), state.get("identity")
        for name, value in mine.items():
            its = saved.get(name) if isinstance(saved, dict) else None
            if its != value:
                raise ValueError(f"The saved state is of another audit: its {name} is {its!r}, not {value!r}.")
        check_form(state, self.state())
        self.mode.recall(state["mode"])
        restore_counts(self._observed, state["observed"], "the pulls observed")
        found = state["impossible"]
        self._impossible = None if found is None else Impossible(*of_length(found, 3, "impossible"))
        self._groups.recall(state["groups"])
        self._units.recall(state["units"])
        self._times.recall(state["times"])
        self._readings.recall(state)
        for name in _FACTS:
            setattr(self, "_" + name, state[name])
        check_form(self._bad, dict.fromkeys(self._bad, 0), "bad")
        if self._smallest is not None:
            of_length(self._smallest, 2, "smallest")
        counted = int(self._observed.sum()) + sum(self._bad.values())
        refuted = self._impossible.pulls if self._impossible else 0
        if self._rows != counted or not 0 <= self.mode.boosts.tested + refuted <= self._observed.sum():
            raise ValueError(f"The state is damaged: it has {self._rows} rows, but counts of {counted}.")

    @property
    def rows(self) -> int:
        """Return the number of rows fed so far."""
        return self._rows


def _selection(chosen: BoolArray) -> BoolArray | slice:
    """Return an index of the chosen rows: a slice, which copies nothing, if all are chosen."""
    return slice(None) if chosen.all() else chosen


_FACTS = "rows", "smallest", "bad", "examples"
