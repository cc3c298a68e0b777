"""The columns by which a claim is tested, one file each: probabilities of all arms, propensities, or rewards.

Only the audit imports this folder.
"""

from feint.auditing.arms import LogArms
from feint.auditing.claim import Claim
from feint.auditing.modes.base import GROUPS_SHARE, Mode, intervals_share
from feint.auditing.modes.probabilities import LoggedProbabilities
from feint.auditing.modes.propensities import LoggedPropensities
from feint.auditing.modes.recomputed import RecomputedReference
from feint.references.base import reference_settings

__all__ = [
    "GROUPS_SHARE", "LoggedProbabilities", "LoggedPropensities", "Mode", "RecomputedReference", "intervals_share",
    "make_mode",
]  # fmt: skip

_MODES: dict[str, type[Mode]] = {
    cls.NAME: cls for cls in (LoggedProbabilities, LoggedPropensities, RecomputedReference)
}


def make_mode(name: str, claim: Claim, arms: LogArms, *, grouped: bool = False) -> Mode:
    """Return the mode of this name, which has learned nothing; the reference is checked whether or not it is used."""
    reference_settings(claim.reference, claim.family, arms.n)
    return _MODES[name](claim, arms, grouped=grouped)
