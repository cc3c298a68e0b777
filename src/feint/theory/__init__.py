"""Theory: the maximin exponent, the rates of pulls that follow from it, and what a deceiver can earn.

Plans, plots, experiments and explorers that track the optimum import this folder.
"""

from feint.theory.earning import Earning, optimal_earning
from feint.theory.limits import (
    bernoulli_limit,
    bernoulli_process,
    boost_limit,
    error_exponent,
    pull_rate,
    saturated_log_error,
)
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
    "saturated_log_error",
]
