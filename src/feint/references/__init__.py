"""References: the policies that an observer can expect. One policy per file, one contract (`base`).

The agent, the observer, simulations, audits and everything above them import this folder.
"""

from feint.references.base import Reference
from feint.references.biased_coin import BiasedCoin
from feint.references.clipped import Clipped
from feint.references.control_share import ControlShare
from feint.references.epsilon_greedy import EpsilonGreedy
from feint.references.holdout import Holdout
from feint.references.linear_thompson_sampling import LinearThompsonSampling
from feint.references.logistic_thompson_sampling import LogisticThompsonSampling
from feint.references.normal_inverse_gamma import NormalInverseGamma
from feint.references.observed_ucb import ObservedUCB
from feint.references.permuted_blocks import PermutedBlocks
from feint.references.play_the_winner import PlayTheWinner
from feint.references.scored_thompson import ScoredThompson
from feint.references.softmax import Softmax
from feint.references.split import Split
from feint.references.tempered import Tempered
from feint.references.thompson_sampling import ThompsonSampling
from feint.references.top_two_thompson import TopTwoThompson

__all__ = [
    "BiasedCoin",
    "Clipped",
    "ControlShare",
    "EpsilonGreedy",
    "Holdout",
    "LinearThompsonSampling",
    "LogisticThompsonSampling",
    "NormalInverseGamma",
    "ObservedUCB",
    "PermutedBlocks",
    "PlayTheWinner",
    "Reference",
    "ScoredThompson",
    "Softmax",
    "Split",
    "Tempered",
    "ThompsonSampling",
    "TopTwoThompson",
]
