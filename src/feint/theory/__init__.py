"""The maximin exponent and what follows from it: rates of pulls, and the planner."""

from feint.theory.earning import Earning, optimal_earning
from feint.theory.maximin import Allocation, gamma, optimal_allocation, optimal_boosting
from feint.theory.planner import Plan, plan, plan_epsilon, plan_total
from feint.theory.rates import (
    bernoulli_limit,
    bernoulli_process,
    boost_limit,
    log_error_limit,
    predicted_pulls,
    pull_rate,
)

__all__ = [
    "Allocation",
    "Earning",
    "Plan",
    "bernoulli_limit",
    "bernoulli_process",
    "boost_limit",
    "gamma",
    "log_error_limit",
    "optimal_allocation",
    "optimal_boosting",
    "optimal_earning",
    "plan",
    "plan_epsilon",
    "plan_total",
    "predicted_pulls",
    "pull_rate",
]
