"""Goals: what is to be learnt of the private means, one file each.

Theory, explorers, agents, simulations, plans and everything above them import this folder.
"""

from feint.goals.above_threshold import AboveThreshold
from feint.goals.base import Goal
from feint.goals.best_arm import BestArm
from feint.goals.top_arms import TopArms

__all__ = ["AboveThreshold", "BestArm", "Goal", "TopArms"]
