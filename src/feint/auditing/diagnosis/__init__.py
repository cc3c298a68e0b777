"""Why a claim was rejected: kinds of departures and other claims, compared after the fact.

Only the audit imports this folder.
"""

from feint.auditing.diagnosis.expert_families import Alternative
from feint.auditing.diagnosis.experts import BOOSTED, SHARE
from feint.auditing.diagnosis.weighing import UNCLEAR, Diagnosis, Explanation, diagnose

__all__ = ["BOOSTED", "SHARE", "UNCLEAR", "Alternative", "Diagnosis", "Explanation", "diagnose"]
