"""Instances, and choices among them, that many tests use."""

import pytest

import feint

PAPER = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])  # the paper's Section 6
HANGS = 1800  # seconds after which what should have ended never will, on whatever machine

FAMILIES = {
    "gaussian": feint.Gaussian(1.0),
    "bernoulli": feint.Bernoulli(),
    "poisson": feint.Poisson(),
    "exponential": feint.Exponential(),
    "clicks and revenue": (feint.Bernoulli(), feint.Gaussian(2.0)),
    "two noises": (feint.Gaussian(0.5), feint.Gaussian(2.0)),
    "counts and waits": (feint.Poisson(), feint.Exponential()),
}


def instance(name):
    """The means of the paper's instance, moved into every family's range."""
    return feint.Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.3], family=FAMILIES[name])


def quick_but_for(slow, values):
    """Parameters of which some are left to the slow tests."""
    return [pytest.param(value, marks=pytest.mark.slow) if value in slow else value for value in values]


def first_is_quick(values):
    """Parameters of which all but the first are left to the slow tests: each compiles kernels of its own."""
    return [values[0], *quick_but_for(values[1:], values[1:])]
