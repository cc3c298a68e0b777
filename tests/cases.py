"""Instances that many tests use, and which of them are left to the slow tests."""

import pytest

import feint

PAPER = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])  # the paper's Section 6
HANGS = 1800  # seconds after which a test gives up waiting, on any machine

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
    """Return a bandit of this family, with the means of the paper's instance moved into every family's range."""
    return feint.Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.3], family=FAMILIES[name])


def quick_but_for(slow, values):
    """Return parameters of a test; those in `slow` are left to the slow tests."""
    return [pytest.param(value, marks=pytest.mark.slow) if value in slow else value for value in values]


def first_is_quick(values):
    """Return parameters of a test; all but the first are left to the slow tests, since each compiles kernels."""
    return [values[0], *quick_but_for(values[1:], values[1:])]
