"""References: what the observer expects. One policy a file, one contract (`base.Reference`)."""

from feint.references.base import Reference, reference_config, reference_from_config
from feint.references.beta_thompson_sampling import BetaThompsonSampling
from feint.references.observed_ucb import ObservedUCB
from feint.references.thompson_sampling import ThompsonSampling

__all__ = [
    "BetaThompsonSampling",
    "ObservedUCB",
    "Reference",
    "ThompsonSampling",
    "reference_config",
    "reference_from_config",
]
