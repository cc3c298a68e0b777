"""Budgets: how much divergence from the reference each step may spend. One budget per file, one contract (`base`).

Everything from the theory upwards imports this folder.
"""

from feint.budgets.base import (
    Budget,
    BudgetPieces,
    Epsilon,
    PowerKernel,
    TableKernel,
    checked_at,
    epsilon_at,
    may_grow,
    power_of,
)
from feint.budgets.constant import Constant, as_budget
from feint.budgets.power_law import PowerLaw, power_sum
from feint.budgets.rising import RisingBudget
from feint.budgets.total import TotalBudget

__all__ = [
    "Budget",
    "BudgetPieces",
    "Constant",
    "Epsilon",
    "PowerKernel",
    "PowerLaw",
    "RisingBudget",
    "TableKernel",
    "TotalBudget",
    "as_budget",
    "checked_at",
    "epsilon_at",
    "may_grow",
    "power_of",
    "power_sum",
]
