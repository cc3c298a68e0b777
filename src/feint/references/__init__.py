"""References: what the observer expects. One policy a file, one contract (`base`)."""

from feint.references.base import Reference
from feint.references.epsilon_greedy import EpsilonGreedy
from feint.references.observed_ucb import ObservedUCB
from feint.references.softmax import Softmax
from feint.references.split import Split
from feint.references.thompson_sampling import ThompsonSampling

__all__ = ["EpsilonGreedy", "ObservedUCB", "Reference", "Softmax", "Split", "ThompsonSampling"]
