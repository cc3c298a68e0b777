"""Numerics: best-arm probabilities, the KL boost and tilt, and random streams, as kernels and for Python.

Everything imports this folder; it imports nothing of the package but `support` and `_types`.
"""

from feint.numerics.best_arm import best_arm_probabilities, gauss_hermite_probabilities
from feint.numerics.beta_best_arm import beta_best_arm_probabilities
from feint.numerics.boost import boost, boost_probability, boost_probability_approx
from feint.numerics.gamma_best_arm import gamma_best_arm_probabilities
from feint.numerics.streams import RandomStream
from feint.numerics.tilt import tilt

__all__ = [
    "RandomStream",
    "best_arm_probabilities",
    "beta_best_arm_probabilities",
    "boost",
    "boost_probability",
    "boost_probability_approx",
    "gamma_best_arm_probabilities",
    "gauss_hermite_probabilities",
    "tilt",
]
