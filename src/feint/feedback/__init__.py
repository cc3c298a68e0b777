"""What the agent sees of its private rewards. One way per file, one contract (`base.Feedback`).

Instances, explorers, plans, the agent, the simulation, experiments and the page import this folder.
"""

from feint.feedback.base import Feedback
from feint.feedback.linked import Linked
from feint.feedback.sometimes import Sometimes

__all__ = ["Feedback", "Linked", "Sometimes"]
