"""One log from its columns to the report, whole or as it grows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from feint.auditing.arms import LogArms
from feint.auditing.auditor import Auditor
from feint.auditing.chunks import chunks
from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns, choose_columns
from feint.auditing.explain import READ_ONCE, explain_rejection
from feint.auditing.find_arms import find_arms
from feint.auditing.modes import LoggedPropensities, RecomputedReference, make_mode
from feint.auditing.readers import FollowedLog, Log, Source, naming, open_log
from feint.auditing.readers.base import Progress, no_progress
from feint.auditing.readers.lines_seen import SeenLines
from feint.auditing.report import AuditReport
from feint.auditing.row_checks import Chunk
from feint.auditing.sharded import Prepared, Where, audit_sharded
from feint.references.base import sees_contexts


def audit_source(
    source: Source, claim: Claim, *, explain: bool = True, progress: Progress = no_progress, where: Where | None = None
) -> AuditReport:
    """Audit a file, a pipe or a table, in shards if the claim or `where` say so."""
    where = where or Where()
    shards = where.shards_of(claim)
    log = open_log(source, claim.delimiter, claim.encoding)
    with naming(log.name):
        claim = _recomputed_if_it_needs_no_rewards(claim)
        if shards is None:
            return audit_opened(log, claim, explain=explain, progress=progress)
        found = _prepare(log, replace(claim, shards=shards), progress)
        return audit_sharded(Prepared(source, log, *found), where, explain, progress)


def audit_opened(log: Log, claim: Claim, *, explain: bool = True, progress: Progress = no_progress) -> AuditReport:
    """Feed an `Auditor`, and look for reasons if it rejects."""
    claim, columns, arms, warnings = _prepare(log, claim, progress)
    grouped = columns.group is not None
    mode = make_mode(columns.mode, claim, arms, grouped=grouped)
    auditor = Auditor(mode, grouped=grouped)
    for chunk in chunks(log, columns, arms, progress("auditing", log.size or 0)):
        auditor.feed(chunk)
    report = auditor.report(warnings)
    wanted = explain and report.rejected_at is not None and report.tested and not auditor.only_changed
    if not wanted:
        return report
    if not getattr(log, "can_be_read_again", True):
        return replace(report, warnings=(*report.warnings, READ_ONCE))
    progress("explaining", 0)

    def read(which: LogColumns) -> Iterator[Chunk]:
        return chunks(log, which, arms, lambda done: None)

    return explain_rejection(report, read, claim, columns, arms, log.columns)


def follow_log(
    log: FollowedLog, claim: Claim, state: Any, keep: Callable[[Auditor], object] = lambda auditor: None
) -> Iterator[Auditor]:
    """Audit a log that grows: yield the auditor before the first row, after every few rows, and at the end.

    `state` is what `followed_state` gave in an earlier run. For a file it is about its first rows, for a pipe about
    the rows that came before. `keep` is called when another file takes the place of the one that was followed: the
    state is then about the new one, whose first row may take long to come.
    """
    with naming(log.name):
        claim = _recomputed_if_it_needs_no_rewards(claim)
        claim, columns = _choose_columns(log, claim)
        arms = find_arms(log, columns, claim, [], None)
        grouped = columns.group is not None
        auditor = Auditor(make_mode(columns.mode, claim, arms, grouped=grouped), grouped=grouped)
        if state is not None:
            auditor.recall(state)
            log.resume(SeenLines.from_state(state.get("seen")))
        log.on_rotation = lambda: keep(auditor)
        yield auditor
        for chunk in chunks(log, columns, arms, lambda done: None, first=auditor.rows + 1):
            auditor.feed(chunk)
            yield auditor
        yield auditor  # the log may have been rotated since


def followed_state(auditor: Auditor, log: FollowedLog) -> dict[str, Any]:
    """Return all that `follow_log` needs to continue identically, as plain JSON types."""
    return {**auditor.state(), "seen": log.seen.state()}


def _prepare(log: Log, claim: Claim, progress: Progress) -> tuple[Claim, LogColumns, LogArms, list[str]]:
    """Return the claim, the columns that matter, the arms, and warnings about them."""
    claim, columns = _choose_columns(log, claim)
    warnings: list[str] = []
    arms = find_arms(log, columns, claim, warnings, progress)
    return claim, columns, arms, warnings + _unused(claim, columns)


def _choose_columns(log: Log, claim: Claim) -> tuple[Claim, LogColumns]:
    """Return the columns that matter, and the claim with what their names say."""
    columns = choose_columns(log.columns, claim)
    return replace(claim, probability_of=columns.probability_of), columns


def _recomputed_if_it_needs_no_rewards(claim: Claim) -> Claim:
    """Choose the mode of a split: its shares are the claim, whatever else the log has."""
    if claim.mode is not None or claim.needs_rewards:
        return claim
    return replace(claim, mode=RecomputedReference.NAME)


def _unused(claim: Claim, columns: LogColumns) -> list[str]:
    """Return a warning for everything that was given but plays no part."""
    found = []
    if columns.mode != RecomputedReference.NAME and not claim.is_usual:
        found.append(f"Reference, prior and rewards are not used: the log has {columns.mode} of its own (see `mode`).")
    if columns.mode != LoggedPropensities.NAME and claim.propensity_draws is not None:
        found.append(f"`propensity_draws` is not used: the {columns.mode} of the log are tested (see `mode`).")
    if columns.mode != LoggedPropensities.NAME and claim.probability_of is not None:
        found.append(f"`probability_of` is not used: the {columns.mode} of the log are tested (see `mode`).")
    if columns.mode != RecomputedReference.NAME and claim.names.context is not None:
        found.append(f"`context` is not used: the {columns.mode} of the log are tested (see `mode`).")
    elif claim.names.context is not None and not sees_contexts(claim.reference):
        found.append(f"`context` is not used: {type(claim.reference).__name__} knows no contexts.")
    if columns.reward is None and claim.missing is not None:
        found.append("`missing` is not used: no rewards are read.")
    if columns.mode == RecomputedReference.NAME and claim.floor > 0:
        found.append("`floor` is not used: it is for probabilities that were logged.")
    if claim.n_groups is not None and columns.group is None:
        found.append("`n_groups` is not used: name the column of groups (`group`).")
    if columns.unused:
        shown = ", ".join(repr(name) for name in columns.unused[:6])
        found.append(f"Columns that look like a claim are not used: {shown}.")
    return found
