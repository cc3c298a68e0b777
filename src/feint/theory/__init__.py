"""The maximin exponent and what follows from it: rates of pulls."""

from feint.theory.earning import Earning, optimal_earning
from feint.theory.limits import bernoulli_limit, bernoulli_process, boost_limit, error_exponent, pull_rate
from feint.theory.maximin import Allocation, gamma, optimal_allocation, optimal_boosting
from feint.theory.rates import log_error_limit, predicted_pulls

__all__ = [
    "Allocation",
    "Earning",
    "bernoulli_limit",
    "bernoulli_process",
    "boost_limit",
    "error_exponent",
    "gamma",
    "log_error_limit",
    "optimal_allocation",
    "optimal_boosting",
    "optimal_earning",
    "predicted_pulls",
    "pull_rate",
]
