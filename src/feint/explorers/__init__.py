"""Explorers: the rules that choose which arm to boost. One algorithm per file, one contract (`base`).

The agent, plans, simulations and everything above them import this folder.
"""

from feint.explorers.base import Explorer
from feint.explorers.earn import Earn
from feint.explorers.fixed_boosting import FixedBoosting
from feint.explorers.fixed_tilting import FixedTilting
from feint.explorers.round_robin import RoundRobin
from feint.explorers.top_two import TopTwo
from feint.explorers.top_two_transport import TopTwoTransport
from feint.explorers.tracking import Tracking

__all__ = ["Earn", "Explorer", "FixedBoosting", "FixedTilting", "RoundRobin", "TopTwo", "TopTwoTransport", "Tracking"]
