"""The rows in which the rejection of an audit in shards is explained: those of the shard, or of the group, that has
most of the evidence.

These rows are audited once more as a log of their own, in this process, and what explains that audit is reported. The
verdict stays that of all shards.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from feint.auditing.auditor import Auditor
from feint.auditing.by_label import ByLabel
from feint.auditing.chunks import chunks
from feint.auditing.columns import LogColumns
from feint.auditing.explain import explain_rejection
from feint.auditing.modes import make_mode
from feint.auditing.report import AuditReport
from feint.auditing.row_checks import Chunk, select_rows
from feint.auditing.sharded.partition import ShardOf
from feint.auditing.sharded.prepared import Prepared


class Strongest(NamedTuple):
    """Shard `shard` of `n_shards` or, if `group` is given, this group of it."""

    shard: int
    n_shards: int
    group: str | None

    def rows_of(self, log: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the rows of a log that belong to it."""
        numbers = ShardOf(self.n_shards) if self.group is None else _IsGroup(self.group)
        wanted = self.shard if self.group is None else 1
        for chunk in log:
            assert chunk.groups is not None
            rows = np.flatnonzero(numbers.numbers(chunk.groups) == wanted)
            if rows.size:
                yield select_rows(chunk, rows)

    def words(self) -> str:
        """Return a description that can follow "in"."""
        if self.group is not None:
            return f"the group {self.group}"
        return f"shard {self.shard + 1} of {self.n_shards}"


class _IsGroup(ByLabel):
    """1 for a group's label, 0 for others."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self._group = group

    def number_of(self, label: str) -> int:
        """Return 1 for the group's label, 0 for others."""
        return int(label == self._group)


def explain_strongest(report: AuditReport, strongest: Strongest, found: Prepared) -> AuditReport:
    """Return a report on a rejection with what explains that of the strongest rows."""
    claim, columns, arms = (
        replace(found.claim, shards=None, blocks=None, dependent_groups=False),
        found.columns,
        found.arms,
    )

    def read(which: LogColumns) -> Iterator[Chunk]:
        return strongest.rows_of(chunks(found.log, which, arms, lambda done: None))

    auditor = Auditor(make_mode(columns.mode, claim, arms, grouped=True), grouped=True)
    last = 0
    for chunk in read(columns):
        auditor.feed(chunk)
        last = int(chunk.rows[-1])
    alone = auditor.report([])
    if not alone.tested:
        return report
    rejected_at = last if alone.rejected_at is None else alone.rejected_at
    alone = replace(alone, rejected_at=rejected_at)
    alone = explain_rejection(alone, read, claim, columns, arms, found.log.columns)
    words = (
        f"What explains the rejection was sought only in {strongest.words()}, which has most of the evidence and was "
        "audited as a log of its own."
    )
    return replace(report, cause=alone.cause, diagnosis=alone.diagnosis, warnings=(*report.warnings, words))
