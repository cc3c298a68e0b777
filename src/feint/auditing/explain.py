"""What explains a rejection: its cause, and the departure from the claim that fits the log best.

For this the log is read again: up to the rejection for the cause, and somewhat further for the departure, or further
still where that does not settle what it was.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from feint.auditing.arms import LogArms
from feint.auditing.cause import find_cause
from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns, with_spare_columns
from feint.auditing.diagnosis.alternatives import explain_log
from feint.auditing.modes import make_mode
from feint.auditing.report import AuditReport
from feint.auditing.row_checks import Chunk

READ_ONCE = (
    "The rejection was not explained: for this the log must be read again, but its batches can be read only once. Give "
    "a file, a dataset or a table for a diagnosis."
)


def explain_rejection(
    report: AuditReport,
    read: Callable[[LogColumns], Iterable[Chunk]],
    claim: Claim,
    columns: LogColumns,
    arms: LogArms,
    names: Sequence[str],
) -> AuditReport:
    """Return a report on a rejection with what explains it; `read` yields the log's rows with the columns asked for,
    and `names` are all columns it has.
    """
    assert report.rejected_at is not None
    grouped = columns.group is not None
    mode = make_mode(columns.mode, claim, arms, grouped=grouped)
    is_exact = mode.calibration is not None
    report = replace(report, cause=find_cause(read(columns), mode, grouped, report.rejected_at))
    if is_exact:
        again = with_spare_columns(columns, names)
        report = replace(report, diagnosis=explain_log(lambda: read(again), claim, columns.mode, arms, report))
    return report
