"""Reward families: how rewards are distributed around a mean. One family per file, one contract (`base.Family`).

Everything but the numerics imports this folder.
"""

from feint.families.base import Belief, Families, Family, belief
from feint.families.bernoulli import Bernoulli
from feint.families.exponential import Exponential
from feint.families.gaussian import Gaussian
from feint.families.poisson import Poisson

__all__ = ["Belief", "Bernoulli", "Exponential", "Families", "Family", "Gaussian", "Poisson", "belief"]
