"""Deceptive exploration in multi-armed bandits: explore, plan and audit.

Names load on first use, so that `import feint` and `feint --help` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from feint.version import VERSION as __version__

if TYPE_CHECKING:
    # isort: off
    # What the paper defines, in its order
    from feint.families import Gaussian as Gaussian
    from feint.references import ThompsonSampling as ThompsonSampling
    from feint.numerics import best_arm_probabilities as best_arm_probabilities
    from feint.theory import optimal_allocation as optimal_allocation
    from feint.bandit import Bandit as Bandit
    from feint.references import ObservedUCB as ObservedUCB
    from feint.numerics import boost_probability as boost_probability
    from feint.theory import boost_limit as boost_limit
    from feint.numerics import boost as boost
    from feint.theory import bernoulli_process as bernoulli_process
    from feint.theory import bernoulli_limit as bernoulli_limit
    from feint.theory import pull_rate as pull_rate
    from feint.theory import error_exponent as error_exponent
    from feint.theory import gamma as gamma
    from feint.theory import log_error_limit as log_error_limit
    from feint.theory import optimal_boosting as optimal_boosting
    from feint.explorers import Tracking as Tracking
    from feint.explorers import TopTwo as TopTwo
    from feint.simulation.simulate import simulate as simulate
    from feint.agent.agent import Agent as Agent
    from feint.explorers import RoundRobin as RoundRobin
    from feint.theory import predicted_pulls as predicted_pulls
    from feint.explorers import TopTwoTransport as TopTwoTransport
    from feint.numerics import gauss_hermite_probabilities as gauss_hermite_probabilities
    from feint.numerics import boost_probability_approx as boost_probability_approx

    # What goes beyond it
    from feint.auditing import AuditReport as AuditReport
    from feint.auditing import PolicyReport as PolicyReport
    from feint.auditing import audit as audit
    from feint.auditing import audit_log as audit_log
    from feint.auditing import check_policy as check_policy
    from feint.budgets import PowerLaw as PowerLaw
    from feint.budgets import RisingBudget as RisingBudget
    from feint.budgets import TotalBudget as TotalBudget
    from feint.explorers import Earn as Earn
    from feint.explorers import FixedBoosting as FixedBoosting
    from feint.explorers import FixedTilting as FixedTilting
    from feint.families import Bernoulli as Bernoulli
    from feint.families import Exponential as Exponential
    from feint.families import Poisson as Poisson
    from feint.feedback import Linked as Linked
    from feint.feedback import Sometimes as Sometimes
    from feint.agent.observer import Observer as Observer
    from feint.goals import AboveThreshold as AboveThreshold
    from feint.goals import BestArm as BestArm
    from feint.goals import TopArms as TopArms
    from feint.planning import plan as plan
    from feint.planning import plan_epsilon as plan_epsilon
    from feint.planning import plan_total as plan_total
    from feint.planning import plan_unseen as plan_unseen
    from feint.references import BiasedCoin as BiasedCoin
    from feint.references import Clipped as Clipped
    from feint.references import ControlShare as ControlShare
    from feint.references import EpsilonGreedy as EpsilonGreedy
    from feint.references import Holdout as Holdout
    from feint.references import PermutedBlocks as PermutedBlocks
    from feint.references import PlayTheWinner as PlayTheWinner
    from feint.references import ScoredThompson as ScoredThompson
    from feint.references import LinearThompsonSampling as LinearThompsonSampling
    from feint.references import LogisticThompsonSampling as LogisticThompsonSampling
    from feint.references import Softmax as Softmax
    from feint.references import Split as Split
    from feint.references import Tempered as Tempered
    from feint.references import TopTwoThompson as TopTwoThompson
    from feint.sweep import Sweep as Sweep
    from feint.sweep import open_sweep as open_sweep
    from feint.theory import optimal_earning as optimal_earning
    from feint.numerics import beta_best_arm_probabilities as beta_best_arm_probabilities
    from feint.numerics import gamma_best_arm_probabilities as gamma_best_arm_probabilities
    from feint.numerics import tilt as tilt
    from feint import plot as plot
    # isort: on


_HOME = {
    # What the paper defines, in its order (docs/api_pages.py says where)
    "Gaussian": "feint.families",
    "ThompsonSampling": "feint.references",
    "best_arm_probabilities": "feint.numerics",
    "optimal_allocation": "feint.theory",
    "Bandit": "feint.bandit",
    "ObservedUCB": "feint.references",
    "boost_probability": "feint.numerics",
    "boost_limit": "feint.theory",
    "boost": "feint.numerics",
    "bernoulli_process": "feint.theory",
    "bernoulli_limit": "feint.theory",
    "pull_rate": "feint.theory",
    "error_exponent": "feint.theory",
    "gamma": "feint.theory",
    "log_error_limit": "feint.theory",
    "optimal_boosting": "feint.theory",
    "Tracking": "feint.explorers",
    "TopTwo": "feint.explorers",
    "simulate": "feint.simulation.simulate",
    "Agent": "feint.agent.agent",
    "RoundRobin": "feint.explorers",
    "predicted_pulls": "feint.theory",
    "TopTwoTransport": "feint.explorers",
    "gauss_hermite_probabilities": "feint.numerics",
    "boost_probability_approx": "feint.numerics",
    # What goes beyond it
    "AuditReport": "feint.auditing",
    "PolicyReport": "feint.auditing",
    "audit": "feint.auditing",
    "audit_log": "feint.auditing",
    "check_policy": "feint.auditing",
    "PowerLaw": "feint.budgets",
    "RisingBudget": "feint.budgets",
    "TotalBudget": "feint.budgets",
    "Earn": "feint.explorers",
    "FixedBoosting": "feint.explorers",
    "FixedTilting": "feint.explorers",
    "Bernoulli": "feint.families",
    "Exponential": "feint.families",
    "Poisson": "feint.families",
    "Linked": "feint.feedback",
    "Sometimes": "feint.feedback",
    "Observer": "feint.agent.observer",
    "AboveThreshold": "feint.goals",
    "BestArm": "feint.goals",
    "TopArms": "feint.goals",
    "plan": "feint.planning",
    "plan_epsilon": "feint.planning",
    "plan_total": "feint.planning",
    "plan_unseen": "feint.planning",
    "BiasedCoin": "feint.references",
    "Clipped": "feint.references",
    "ControlShare": "feint.references",
    "EpsilonGreedy": "feint.references",
    "Holdout": "feint.references",
    "PermutedBlocks": "feint.references",
    "PlayTheWinner": "feint.references",
    "ScoredThompson": "feint.references",
    "LinearThompsonSampling": "feint.references",
    "LogisticThompsonSampling": "feint.references",
    "Softmax": "feint.references",
    "Split": "feint.references",
    "Tempered": "feint.references",
    "TopTwoThompson": "feint.references",
    "Sweep": "feint.sweep",
    "open_sweep": "feint.sweep",
    "optimal_earning": "feint.theory",
    "beta_best_arm_probabilities": "feint.numerics",
    "gamma_best_arm_probabilities": "feint.numerics",
    "tilt": "feint.numerics",
}

_MODULES = ("plot",)

__all__ = ["__version__", *_HOME, *_MODULES]


if not TYPE_CHECKING:  # with it, a type checker would accept any name as one of ours

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"feint.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'feint' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
