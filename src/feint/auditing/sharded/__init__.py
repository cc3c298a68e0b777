"""Audits in shards by group, here or on many machines. The verbs of audits and the command import this folder."""

from feint.auditing.sharded.prepared import Prepared
from feint.auditing.sharded.run import Where, audit_sharded

__all__ = ["Prepared", "Where", "audit_sharded"]
