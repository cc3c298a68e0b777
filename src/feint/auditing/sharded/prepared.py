"""What an audit in shards begins with."""

from typing import NamedTuple

from feint.auditing.arms import LogArms
from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns
from feint.auditing.readers import Log, Source


class Prepared(NamedTuple):
    """A log that was opened, and what was found out about it."""

    source: Source
    log: Log
    claim: Claim
    columns: LogColumns
    arms: LogArms
    warnings: list[str]
