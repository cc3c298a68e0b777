r"""One verdict from the audits of all shards: the mean of three e-values.

Let E_s be the e-process of shard s of S, and E_j that of group j (`evidence/group_tilts.py`). Shards and groups have
disjoint rows, in the order of the log.

**The product** Π_s E_s. A row belongs to one shard and changes the E of that shard alone, by a factor r_t(A_t) with
Σ_a π_t(a)·r_t(a) ≤ 1 that is fixed by rows above it. If each draw is fresh given *all* rows above it, of every shard,
then given these the product's expected factor is at most 1 too, whichever shard the row is in: the product is an
e-process of the whole log in row order.

**The average** (1/S)·Σ_s E_s, S being fixed beforehand. It needs less: each draw is fresh given the rows above it in
its own shard. A shard without rows has E_s = 1.

**The groups** M = 1 + Σ_j γ_j·(E_j − 1), j the rank of the group's first row in the whole log. A group that is still to
come has E_j = 1, so the sum may be taken over all groups of the log, at any row.

Their mean is an e-process, since each is. It is read at a common row: at the end of the log, or after every block, with
E of each shard and group as it was after the last of its rows until then. Reading it at some rows only is valid, since
Ville's inequality covers all of them; it may miss a row at which E was larger.

**Dependent groups.** If draws are fresh only given their own group's rows (one user's page shows what another chose),
neither of the first two holds: bets that are learnt from one group win in another that follows it, within a shard as
well as between shards. Then each shard has Σ_i γ_i·E_i over its own groups in place of E_s, i their rank in the shard.
E is the mean of the average of these and of M. It is read once, at the end, since even E_j alone is not an e-process
of the whole log then (E[E_j] ≤ 1 holds at a length fixed beforehand, not at a stopping time). The order in which groups
arrive must not depend on pulls.

**The auditor's own draws** (`references/scores.py`) are the same in every shard, and independent of the log only if
each is used once. So where probabilities are estimated from them, the product is left out.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from feint._types import FloatArray, IntArray
from feint.auditing.auditor import EXAMPLES, Auditor
from feint.auditing.groups import GroupReport, report_groups
from feint.auditing.modes import Mode
from feint.auditing.report import AuditReport, Impossible, Shards
from feint.auditing.sharded.shard import ShardResult
from feint.auditing.sharded.strongest import Strongest
from feint.auditing.units import ChangedUnit
from feint.evidence.group_tilts import log_arrival_weights, select_groups
from feint.numerics.log_mean import log_mean


def merge_shards(
    results: Sequence[ShardResult], mode: Mode, warnings: list[str]
) -> tuple[AuditReport, Strongest | None]:
    """Return the report on the whole log, and where to look for what explains a rejection; None if there is nothing to
    explain. `mode` is new, and `results` has every shard in order.
    """
    claim, groups = mode.claim, GroupsOfShards(results, mode.claim.n_groups)
    rows, parts = combine_shards(results, groups, mode)
    auditor = _MergedAuditor(mode, results, groups, {name: float(values[-1]) for name, values in parts.items()})
    auditor.take_readings(rows, log_mean(np.array(list(parts.values()))))
    report = auditor.report(warnings)
    explained = report.rejected_at is not None and report.tested and not auditor.only_changed
    strongest = _find_strongest(results, groups, report, claim.dependent_groups) if explained else None
    if claim.dependent_groups:  # the intervals pool all groups
        report = replace(report, arms=tuple(replace(arm, low=None, high=None) for arm in report.arms))
    shards = Shards(len(results), claim.blocks, claim.dependent_groups)
    return replace(report, shards=shards, boosted_arm=None, boosted_epsilon=None), strongest


def _find_strongest(
    results: Sequence[ShardResult], groups: "GroupsOfShards", report: AuditReport, dependent: bool
) -> Strongest:
    """Return the shard with the first pull of probability 0; otherwise the group with the largest γ_j·E_j if the bet on
    groups is the largest of the three, or the shard with the largest E.
    """
    impossible = [(result.facts["impossible"], result.shard) for result in results if result.facts["impossible"]]
    if impossible:
        return Strongest(min(impossible)[1], len(results), None)
    parts = report.log_e_values
    if groups.are_tested and (dependent or parts["groups"] >= max(parts.values())):
        return Strongest(*groups.strongest())
    return Strongest(
        int(np.argmax([result.log_e[-1] if result.log_e.size else 0.0 for result in results])), len(results), None
    )


def combine_shards(
    results: Sequence[ShardResult], groups: "GroupsOfShards", mode: Mode
) -> tuple[IntArray, dict[str, FloatArray]]:
    """Return the rows after which E is read, (B,), and the logs of the e-values whose mean it is, (B,) each."""
    readings = _BlockEnds(results)
    if mode.claim.dependent_groups:
        each = np.array([[result.facts["groups"]] for result in results])
        return readings.last_rows[-1:], {"average": log_mean(each), "groups": groups.log_m(readings)[-1:]}
    each = np.array([readings.carry(result, result.log_e) for result in results])
    found = {} if mode.shares is not None else {"product": each.sum(axis=0)}
    found["average"] = log_mean(each)
    if groups.are_tested:
        found["groups"] = groups.log_m(readings)
    return readings.last_rows, found


class _BlockEnds:
    """When E is read: after the last row of every block that has rows."""

    def __init__(self, results: Sequence[ShardResult]) -> None:
        last: dict[int, int] = {}
        for result in results:
            for block, row in zip(result.blocks.tolist(), result.last_rows.tolist(), strict=True):
                last[block] = max(row, last.get(block, 0))
        self._blocks = np.array(sorted(last) or [0])
        self.last_rows: IntArray = np.array([last[block] for block in sorted(last)] or [0])

    def carry(self, result: ShardResult, values: FloatArray) -> FloatArray:
        """Return what a shard had at every reading, (B, …): its value after the last block with rows, at first 0."""
        start = np.zeros((1, *values.shape[1:]))
        return np.concatenate([start, values])[np.searchsorted(result.blocks, self._blocks, side="right")]


class GroupsOfShards:
    """All groups of the log in the order of their arrival, by label within one instant."""

    def __init__(self, results: Sequence[ShardResult], n_groups: int | None) -> None:
        labels = [label for result in results for label in result.labels]
        arrivals = np.concatenate([result.arrivals for result in results])
        if n_groups is not None and len(labels) > n_groups:
            raise ValueError(
                f"The log has more than {n_groups:,} groups, which were said to be all (`n_groups`); give their number "
                "as it was known beforehand, or leave it out."
            )
        order = sorted(range(len(labels)), key=lambda i: (arrivals[i], labels[i]))
        self._results, self._order, self._labels = results, np.array(order, dtype=np.int64), labels
        by_rank = log_arrival_weights(len(labels), n_groups)
        self._log_weights = np.empty(len(labels))
        self._log_weights[self._order] = by_rank
        self._left = 1.0 / math.log2(len(labels) + 2) if n_groups is None else max(0.0, 1.0 - len(labels) / n_groups)
        self.are_tested = any(result.tested.size for result in results)

    def __len__(self) -> int:
        return len(self._labels)

    def log_m(self, readings: _BlockEnds) -> FloatArray:
        """Return log M at every reading, (B,); impossible pulls are not in it."""
        found = np.full(readings.last_rows.size, math.log(self._left) if self._left > 0.0 else -math.inf)
        first = 0
        for result in self._results:
            log_weights = self._log_weights[first : first + len(result.labels)]
            first += len(result.labels)
            if log_weights.size:
                log_e = readings.carry(result, result.group_log_e)
                log_e = np.where(np.isposinf(log_e), 0.0, log_e)
                found = np.logaddexp(found, np.logaddexp.reduce(log_weights + log_e, axis=1))
        return found

    def strongest(self) -> tuple[int, int, str]:
        """Return the shard of the group with the largest γ_j·E_j, the number of shards, and the group."""
        log_e = np.concatenate([result.group_log_e[-1] for result in self._results if len(result.labels)])
        place = int((self._log_weights + log_e).argmax())
        shards = np.repeat(np.arange(len(self._results)), [len(result.labels) for result in self._results])
        return int(shards[place]), len(self._results), self._labels[place]

    def reports(self, alpha: float) -> tuple[GroupReport, ...]:
        """Return every group, named ones first, then by evidence."""
        if not self.are_tested:
            return ()
        log_e = np.concatenate([result.group_log_e[-1] for result in self._results if len(result.labels)])[self._order]
        tested = np.concatenate([result.tested for result in self._results])[self._order]
        named = select_groups(log_e + self._log_weights[self._order], alpha)
        return report_groups([self._labels[i] for i in self._order], tested, log_e, named)


class _MergedAuditor(Auditor):
    """An audit whose facts are the sums over shards."""

    def __init__(
        self, mode: Mode, results: Sequence[ShardResult], groups: GroupsOfShards, log_e_values: dict[str, float]
    ) -> None:
        super().__init__(mode, grouped=True)
        found = [result.facts for result in results]
        mode.absorb([facts["mode"] for facts in found])
        self._rows = sum(facts["rows"] for facts in found)
        self._observed += np.sum([facts["observed"] for facts in found], axis=0)
        self._groups: Any = groups
        self._log_e_values = log_e_values
        self._smallest = min((tuple(facts["smallest"]) for facts in found if facts["smallest"]), default=None)
        for facts in found:
            for kind, count in facts["bad"].items():
                self._bad[kind] = self._bad.get(kind, 0) + count
        examples = sorted((row, text) for facts in found for row, text in facts["examples"])
        self._examples = [text for _, text in examples[:EXAMPLES]]
        self._times.tied, self._times.back = (sum(facts[name] for facts in found) for name in ("tied", "back"))
        self._units.repeated = sum(facts["repeated"] for facts in found)
        self._take_refutations(found)

    def _take_refutations(self, found: Sequence[dict[str, Any]]) -> None:
        if impossible := [Impossible(*facts["impossible"]) for facts in found if facts["impossible"]]:
            first = min(impossible)
            self._impossible = first._replace(pulls=sum(one.pulls for one in impossible))
            self._readings.reject(first.row)
        if changed := [ChangedUnit(*facts["changed"]) for facts in found if facts["changed"]]:
            self._units.changed = min(changed)._replace(rows=sum(one.rows for one in changed))
            self._readings.reject(min(changed).row)

    def take_readings(self, rows: IntArray, log_e: FloatArray) -> None:
        """Take log E after these rows."""
        if rows[-1] > 0:  # the log has rows
            self._readings.add(rows, log_e, np.ones(rows.size, dtype=bool))

    def log_e_values(self) -> dict[str, float]:
        """Return the logs of the e-values whose mean is E."""
        return self._log_e_values
