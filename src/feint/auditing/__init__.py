"""The audit of a log: is the agent behind it doing what it claims?"""

from feint.auditing.arrays import audit
from feint.auditing.files import audit_log
from feint.auditing.layout import Names
from feint.auditing.report import ArmReport, AuditReport, GroupReport

__all__ = ["ArmReport", "AuditReport", "GroupReport", "Names", "audit", "audit_log"]
