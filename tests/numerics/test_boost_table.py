"""Bounds on q* between knots hold for q* itself."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from feint.numerics.boost_kernel import boost_scalar
from feint.numerics.boost_table import TABLE_SHAPE, boost_bounds

LOGS = st.one_of(st.floats(-40.0, 0.0), st.floats(-8, 0).map(lambda x: -(10**x)))
EPSILONS = st.one_of(st.floats(-9, 1.5).map(lambda x: 10**x), st.sampled_from([0.0, math.inf, 1 / 32, 0.5]))


def pair(log_p):
    return math.exp(log_p), log_p


@settings(max_examples=500)
@given(st.lists(LOGS, min_size=3, max_size=3).map(sorted), EPSILONS)
def test_bounds_hold_between_their_ends(logs, epsilon):
    """They hold up to the few roundings that the engine's slack of 1e-11 covers."""
    table = np.full(TABLE_SHAPE, np.nan)
    for _ in range(2):  # the first call of an ε asks q* itself
        low, high = boost_bounds(table, pair(logs[0]), pair(logs[2]), epsilon)
        for log_p in logs:
            exact = boost_scalar(*pair(log_p), epsilon, True)
            assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)


@given(st.floats(-20.0, -0.05), st.floats(-3, 0).map(lambda x: 10**x))
def test_bounds_of_one_point_are_close(log_p, epsilon):
    """They are as close as the table's docstring says."""
    table = np.full(TABLE_SHAPE, np.nan)
    for _ in range(2):
        low, high = boost_bounds(table, pair(log_p), pair(log_p), epsilon)
    assert high - low <= 1e-3 * boost_scalar(*pair(log_p), epsilon, True)


def test_a_table_forgets_another_budget():
    table = np.full(TABLE_SHAPE, np.nan)
    for epsilon in (0.1, 0.1, 0.3, 0.3, 0.1, 0.1):
        low, high = boost_bounds(table, pair(-2.0), pair(-1.9), epsilon)
        assert low <= boost_scalar(*pair(-1.95), epsilon, True) <= high
