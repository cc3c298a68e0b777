"""Bounds on every P(a) from tangents hold at the posteriors' new places, by the exact kernel and in 40 digits."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feint
from feint.families.base import (
    MEAN_HIGH,
    MEAN_LOW,
    MOST,
    belief,
    displace,
    fill_corners,
    fill_log_best,
    fill_log_bounds,
    recentre,
    set_posterior,
    tangents,
)
from oracles import log_best_arm

WIDE = 1e-8  # what the engine widens bounds by


def place(known, pulls, means):
    """Return posteriors after this many pulls with these sample means."""
    known.pulls[:], known.means[:], known.sums[:] = pulls, means, np.asarray(means) * pulls
    for a in range(len(pulls)):
        set_posterior(known.family, known, a)


def bounds_of(known, centre):
    low, high = np.empty(known.pulls.size), np.empty(known.pulls.size)
    for a in range(known.pulls.size):
        displace(known.family, known, centre, a)
    fill_log_bounds(known.family, centre, low, high)
    return low, high


def exact(known):
    out = np.empty(known.pulls.size)
    fill_log_best(known.family, known.posterior, known.ws, out)
    return out


def holds(low, found, high):
    wide = WIDE * (1.0 + abs(found))
    return (low - wide <= found).all() and (found <= high + wide).all()


@st.composite
def centres(draw):
    """Draw posteriors at a centre: near ties and deep tails, equal and very different numbers of pulls."""
    n_arms = draw(st.integers(2, 6))
    pulls = np.array([int(10 ** draw(st.floats(0, 5))) for _ in range(n_arms)])
    scale = 10 ** draw(st.floats(-2.5, 0.3))
    means = scale * np.array(draw(st.lists(st.floats(-1, 1), min_size=n_arms, max_size=n_arms)))
    family = feint.Gaussian(draw(st.sampled_from([1.0, 0.3])))
    known = belief(family, family.prior(draw(st.sampled_from([None, (0.2, 1.5)]))), np.zeros(n_arms, dtype=np.int64))
    place(known, pulls, means)
    centre = tangents(n_arms, n_arms)
    recentre(known.family, known, centre, np.empty(n_arms))
    return known, centre


@settings(max_examples=300)
@given(centres(), st.data())
def test_bounds_hold_wherever_all_arms_move(centred, data):
    known, centre = centred
    n_arms = known.pulls.size
    share = 10 ** data.draw(st.floats(-4, 0.5))  # of more pulls
    more = np.array([int(share * n * data.draw(st.floats(0, 1))) for n in known.pulls])
    moves = np.array(data.draw(st.lists(st.floats(-4, 4), min_size=n_arms, max_size=n_arms)))
    sds = known.posterior[1] * np.sqrt(np.minimum(share, 1.0))
    place(known, known.pulls + more, known.means + moves * sds)
    low, high = bounds_of(known, centre)
    assert holds(low, exact(known), high)


def test_bounds_hold_against_forty_digits():
    known = belief(feint.Gaussian(1.0), (0.0, 0.0), np.zeros(3, dtype=np.int64))
    place(known, [900, 250, 400], [0.1, 0.25, 0.0])
    centre = tangents(3, 3)
    recentre(known.family, known, centre, np.empty(3))
    pulls, means = [930, 250, 410], [0.095, 0.25, 0.01]
    place(known, pulls, means)
    low, high = bounds_of(known, centre)
    log_p = log_best_arm([(m, mp.mpf(1) / mp.sqrt(n), 1) for m, n in zip(means, pulls, strict=True)])
    assert holds(low, np.array(log_p, dtype=float), high)


@pytest.mark.parametrize("means", [[0.5, 0.5, 0.5, 0.5], [0.2, 0.5, 0.1, 0.0]], ids=["equal", "log p of −90"])
def test_bounds_widen_like_the_share_of_new_pulls(means):
    """Σ_j [k + (b − k·g)²]/2 with k = τ/n and b = √k is of first order in τ/n, not in its root."""
    known = belief(feint.Gaussian(1.0), (0.0, 0.0), np.zeros(4, dtype=np.int64))
    centre = tangents(4, 4)
    n, shares, widths = 4000, np.array([1e-4, 4e-4, 1.6e-3]), []
    for share in shares:
        place(known, np.full(4, n), means)
        recentre(known.family, known, centre, np.empty(4))
        known.posterior[0] += np.sqrt(share) * known.posterior[1] * [1, -1, 1, -1]
        known.posterior[1] /= math.sqrt(1.0 + share)
        low, high = bounds_of(known, centre)
        widths.append((high - low)[1])
    slopes = np.diff(np.log(widths)) / np.diff(np.log(shares))
    assert (abs(slopes - 1.0) < 0.05).all()
    assert widths[0] < 1.1 * 4 * shares[0]


def test_upper_bounds_are_attained_where_an_arm_cannot_interfere():
    """The concave tangent is the truth where nothing depends on the arm that moves."""
    known = belief(feint.Gaussian(1.0), (0.0, 0.0), np.zeros(3, dtype=np.int64))
    place(known, [100, 100, 100], [1.0, 1.1, -3.0])
    centre = tangents(3, 3)
    recentre(known.family, known, centre, np.empty(3))
    known.posterior[0, 2] += 0.5 * known.posterior[1, 2]
    low, high = bounds_of(known, centre)
    np.testing.assert_allclose(high[:2], exact(known)[:2], atol=1e-12)
    np.testing.assert_allclose(high[:2] - low[:2], 0.5 * 0.5**2, rtol=1e-9)


@settings(max_examples=150)
@given(centres(), st.floats(0.0, 2.0), st.data())
def test_corners_bound_the_whole_box(centred, radius, data):
    known, centre = centred
    arm = int(np.argmax(known.pulls))
    box, corners = np.empty(3), np.empty((4, 2))
    raised = fill_corners(known.family, known, arm, radius, 1 + int(known.pulls[arm] * radius / 9), box, corners)
    found = []
    for corner in corners:
        known.posterior[:, arm] = corner
        found.append(bounds_of(known, centre))
    low, high = np.min([f[0] for f in found], axis=0), np.max([f[1] for f in found], axis=0) + raised
    pulls, means, before = known.pulls.copy(), known.means.copy(), int(known.pulls[arm])
    for _ in range(4):
        means[arm] = box[MEAN_LOW] + (box[MEAN_HIGH] - box[MEAN_LOW]) * data.draw(
            st.sampled_from([0, 0.3, 0.5, 0.8, 1])
        )
        pulls[arm] = before + int(data.draw(st.floats(0, 1)) * (box[MOST] - before))
        place(known, pulls, means)
        inside = bounds_of(known, centre)
        assert (low <= inside[0] + WIDE * (1 + abs(inside[0]))).all()
        assert (inside[1] <= high + WIDE * (1 + abs(inside[1]))).all()
        assert holds(low, exact(known), high)
