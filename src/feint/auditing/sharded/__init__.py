"""Audits in shards by group, here or on many machines."""

from feint.auditing.sharded.run import Prepared, Where, audit_sharded

__all__ = ["Prepared", "Where", "audit_sharded"]
