"""The audit of a log: is the agent behind it doing what it claims? The commands and the page import it.

Names load on first use: `feint --help` reads the options in `claim`, and nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feint.auditing.claim import Claim as Claim
    from feint.auditing.claim import Names as Names
    from feint.auditing.groups import GroupReport as GroupReport
    from feint.auditing.policies.check import check_policy as check_policy
    from feint.auditing.policies.report import PolicyReport as PolicyReport
    from feint.auditing.report import ArmReport as ArmReport
    from feint.auditing.report import AuditReport as AuditReport
    from feint.auditing.verbs import audit as audit
    from feint.auditing.verbs import audit_log as audit_log

_HOME = {
    "ArmReport": "report",
    "AuditReport": "report",
    "Claim": "claim",
    "GroupReport": "groups",
    "Names": "claim",
    "PolicyReport": "policies.report",
    "audit": "verbs",
    "audit_log": "verbs",
    "check_policy": "policies.check",
}

__all__ = [*_HOME]

if not TYPE_CHECKING:  # a type checker that saw this would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'feint.auditing' has no attribute {name!r}")
        value = getattr(import_module(f"feint.auditing.{_HOME[name]}"), name)
        globals()[name] = value
        return value
