"""Plans: how long learning takes, what it costs, who notices, and what can be learnt unseen, from paths in leaps.

Experiments, the page and the commands import this folder.
"""

from feint.planning.inverse import plan_epsilon, plan_total
from feint.planning.notice import Notice
from feint.planning.plan import Plan, plan
from feint.planning.unseen import Unseen, plan_unseen

__all__ = ["Notice", "Plan", "Unseen", "plan", "plan_epsilon", "plan_total", "plan_unseen"]
