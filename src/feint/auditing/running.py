"""One log from its columns to the report; or as it grows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from feint.auditing.auditor import Auditor
from feint.auditing.chunks import chunks, find_arms
from feint.auditing.claimed import Claimed
from feint.auditing.claims import LoggedPropensities, Recomputed
from feint.auditing.explaining import explanation
from feint.auditing.layout import MOST_ARMS, NO_TIME, Arms, Layout, Names, choose_layout, label_of
from feint.auditing.readers import FollowedLog, Log, Source, naming, open_log
from feint.auditing.readers.seen import Seen
from feint.auditing.report import AuditReport
from feint.numerics._validate import is_whole

Progress = Callable[[str, int], Callable[[int], object]]


def no_progress(what: str, total: int) -> Callable[[int], object]:
    """For who wants none."""
    return lambda done: None


# What `audit_log` takes beside the claim; so for `follow_log`.
def audit_claimed(
    source: Source,
    claimed: Claimed,
    *,
    names: Names,
    mode: str | None,
    n_arms: int | Sequence[str] | None,
    alpha: float,
    skip_bad: bool,
    explain: bool = True,
    ignore_time: bool,
    delimiter: str | None,
    encoding: str | None,
    progress: Progress,
) -> AuditReport:
    """A file, a pipe or a table, once it is clear what is claimed."""
    log = open_log(source, delimiter, encoding)
    with naming(log.name):
        layout = _layout(log, names, mode, claimed, ignore_time)
        return audited(log, layout, claimed, n_arms, alpha, skip_bad, explain, progress)


def follow_log(
    log: FollowedLog,
    claimed: Claimed,
    *,
    names: Names,
    mode: str | None,
    n_arms: int | Sequence[str] | None,
    alpha: float,
    skip_bad: bool,
    ignore_time: bool,
    state: Any,
) -> Iterator[Auditor]:
    """Audit a log that grows: give the auditor before the first row, after every few rows, and at the end.

    `state` is what `followed_state` gave in an earlier run: of a file, about its first rows; of a pipe, about the rows
    that came before.
    """
    with naming(log.name):
        layout = _layout(log, names, mode, claimed, ignore_time)
        arms = _arms(log, layout, n_arms, skip_bad, [], None)
        auditor = Auditor(claimed.claim(layout.mode, arms), alpha, skip_bad=skip_bad)
        if state is not None:
            auditor.recall(state)
            log.resume(Seen.from_state(state.get("seen")))
        yield auditor
        for chunk in chunks(log, layout, arms, lambda done: None, first=auditor.rows + 1):
            auditor.feed(chunk)
            yield auditor
        yield auditor  # the log may have been rotated since


def followed_state(auditor: Auditor, log: FollowedLog) -> dict[str, Any]:
    """Return all that `follow_log` needs to go on identically, as plain JSON types."""
    return {**auditor.state(), "seen": log.seen.state()}


def audited(
    log: Log,
    layout: Layout,
    claimed: Claimed,
    n_arms: Any,
    alpha: float,
    skip_bad: bool,
    explain: bool,
    progress: Progress,
) -> AuditReport:
    """Feed an `Auditor`, and look for reasons where it rejects."""
    warnings: list[str] = []
    arms = _arms(log, layout, n_arms, skip_bad, warnings, progress)
    claim = claimed.claim(layout.mode, arms)
    if layout.mode != Recomputed.MODE and not claimed.usual:
        warnings.append(
            f"Reference, prior and rewards are not used: the log has {layout.mode} of its own (see `mode`)."
        )
    if layout.mode != LoggedPropensities.MODE and claimed.options.draws is not None:
        warnings.append(f"`propensity_draws` is not used: the {layout.mode} of the log are tested (see `mode`).")
    if layout.mode == Recomputed.MODE and claimed.options.floor > 0:
        warnings.append("`floor` is not used: it is for probabilities that were logged.")
    if layout.unused:
        shown = ", ".join(repr(name) for name in layout.unused[:6])
        warnings.append(f"Columns that look like a claim are not used: {shown}.")
    auditor = Auditor(claim, alpha, skip_bad=skip_bad, grouped=layout.group is not None)
    for chunk in chunks(log, layout, arms, progress("auditing", log.size or 0)):
        auditor.feed(chunk)
    report = auditor.report(warnings)
    if explain and report.rejected and report.tested and claim.calibration is not None:
        again = chunks(log, layout, arms, lambda done: None)
        found = explanation(again, claimed, layout.mode, arms, report)
        report = replace(report, diagnosis=found)
    return report


def _layout(log: Log, names: Names, mode: str | None, claimed: Claimed, ignore_time: bool) -> Layout:
    """Which columns matter."""
    if not isinstance(names, Names):
        raise ValueError(f"names is {names!r}; give feint.auditing.Names(arm=…, reward=…, …).")
    needs_rewards = not getattr(claimed.reference, "ignores_rewards", False)
    if not needs_rewards and mode is None:
        mode = Recomputed.MODE
    layout = choose_layout(log.columns, replace(names, time=NO_TIME) if ignore_time else names, mode, needs_rewards)
    if layout.reward_time is not None and layout.time is None:
        raise ValueError("Where rewards are known by time (`reward_time`), pulls need one too: name it with `time`.")
    return layout


def _arms(
    log: Log, layout: Layout, n_arms: Any, skip_bad: bool, warnings: list[str], progress: Progress | None
) -> Arms:
    """How many arms there are and how they are called; without `progress` the log can be read only once."""
    listed = getattr(log, "width", 0) if layout.listed else 0  # arrays know it, files only when they are read
    width = listed or len(layout.probabilities)
    if width > MOST_ARMS:
        raise ValueError(f"There are {width:,} columns of probabilities; there must be 2 to {MOST_ARMS:,} arms.")
    if width:
        given = n_arms if n_arms is None or is_whole(n_arms, 0) else len(_labels(n_arms) or [])
        if given is not None and given != width:
            raise ValueError(f"`n_arms` is {n_arms!r}, but there are {width} columns of probabilities; leave it out.")
        if layout.labels is None:
            return Arms(width, _labels(n_arms))
        if (labels := _labels(n_arms)) is not None and set(labels) != set(layout.labels):
            raise ValueError(f"`n_arms` is {n_arms!r}, but the columns of probabilities are of {layout.labels}.")
        return Arms(width, layout.labels)
    if (labels := _labels(n_arms)) is not None:
        return Arms(len(labels), labels)
    if n_arms is not None:
        if not is_whole(n_arms, 2, MOST_ARMS):
            raise ValueError(f"`n_arms` is {n_arms!r}; it must be a whole number of arms from 2 to {MOST_ARMS:,}.")
        if layout.listed is None:
            return Arms(int(n_arms))
    if skip_bad and layout.listed is None:
        raise ValueError("Where bad rows are left out they must not decide how many arms there are: give `n_arms`.")
    if progress is None:
        raise ValueError("How many arms there are cannot be seen while a log grows: give `n_arms`.")
    return find_arms(log, layout, n_arms, warnings, progress("counting arms", log.size or 0))


def _labels(n_arms: Any) -> list[str] | None:
    """Those that were given, if any."""
    if n_arms is None or is_whole(n_arms, 0):
        return None
    labels = [label_of(label) for label in n_arms] if isinstance(n_arms, Sequence | np.ndarray) else []
    if not 2 <= len(set(labels)) == len(labels) <= MOST_ARMS or not all(labels):
        raise ValueError(f"`n_arms` is {n_arms!r}; give a number of arms, or the different labels of two or more.")
    return labels
