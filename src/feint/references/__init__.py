"""References: the policies that an observer can expect. One policy per file, one contract (`base`).

The agent, the observer, simulations and audits import this folder.
"""

from feint.references.base import Reference
from feint.references.clipped import Clipped
from feint.references.epsilon_greedy import EpsilonGreedy
from feint.references.linear_thompson_sampling import LinearThompsonSampling
from feint.references.logistic_thompson_sampling import LogisticThompsonSampling
from feint.references.normal_inverse_gamma import NormalInverseGamma
from feint.references.observed_ucb import ObservedUCB
from feint.references.softmax import Softmax
from feint.references.split import Split
from feint.references.thompson_sampling import ThompsonSampling

__all__ = [
    "Clipped",
    "EpsilonGreedy",
    "LinearThompsonSampling",
    "LogisticThompsonSampling",
    "NormalInverseGamma",
    "ObservedUCB",
    "Reference",
    "Softmax",
    "Split",
    "ThompsonSampling",
]
