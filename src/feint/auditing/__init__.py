"""The audit of a log: is the agent behind it doing what it claims?"""

from feint.auditing.entry import audit, audit_log
from feint.auditing.log_file import Names
from feint.auditing.report import ArmReport, AuditReport

__all__ = ["ArmReport", "AuditReport", "Names", "audit", "audit_log"]
