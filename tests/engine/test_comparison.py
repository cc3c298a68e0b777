"""Where the bounds of tangents decide a draw, they decide as exact probabilities do."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import feint
from feint.agent.step import Known, draw_arm, space
from feint.explorers.base import CUT_HIGH, CUT_LOW, P_HIGH, P_LOW, REST_HIGH, REST_LOW, UNDECIDED
from feint.explorers.bounded_draws import EXACT, fill_exact_bounds
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, belief, fill_log_best, set_posterior
from feint.numerics.best_arm_rows import complete_logs
from feint.numerics.boost_kernel import boost_policy
from feint.numerics.boost_table import TABLE_SHAPE
from feint.simulation.engine import comparison as compared
from feint.simulation.engine import region as regions_of

POSITIVE = st.floats(-6, 0).map(lambda x: 10**x)


@settings(max_examples=400)
@given(st.data(), st.integers(2, 6), st.floats(-6, 1).map(lambda x: 10**x), st.floats(-4, 0).map(lambda x: 10**x))
def test_what_bounds_draw_is_what_every_policy_inside_draws(data, n_arms, epsilon, width):
    weights = np.array(data.draw(st.lists(POSITIVE, min_size=n_arms, max_size=n_arms)))
    pi = weights / weights.sum()
    shares = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n_arms, max_size=n_arms)))
    bounds = np.empty((regions_of.REFERENCE_ROWS, n_arms))
    bounds[regions_of.LOG_PI_LOW] = np.log(pi) - width * shares - 1e-9
    bounds[regions_of.LOG_PI_HIGH] = np.minimum(0.0, np.log(pi) + width * (1 - shares) + 1e-9)
    bounds[: regions_of.LOG_PI_LOW] = np.exp(bounds[regions_of.LOG_PI_LOW :])
    boosted, dominant = data.draw(st.integers(0, n_arms - 1)), data.draw(st.integers(0, n_arms - 1))
    policy, table = np.empty(n_arms), np.full(TABLE_SHAPE, np.nan)
    boost_policy(pi, np.log(pi), boosted, epsilon, policy)
    undecided = 0
    for u in np.linspace(0.0005, 0.9995, 100):
        pulled = compared.draw_by_bounds(bounds, table, boosted, dominant, epsilon, u)
        undecided += pulled == UNDECIDED
        assert pulled in (UNDECIDED, draw_arm(policy, boosted, dominant, u))
    if width < 1e-3:
        assert undecided <= n_arms  # one per cut


def known_at(pulls, public, private):
    """Return what an agent knows after this many pulls with these sample means."""
    counts = np.array(pulls, dtype=np.int64)
    sides = []
    for means in (public, private):
        side = belief(feint.Gaussian(1.0), (0.0, 0.0), counts)
        side.means[:], side.sums[:] = means, np.asarray(means) * counts
        for a in range(counts.size):
            set_posterior(side.family, side, a)
        sides.append(side)
    return Known(counts, np.zeros_like(counts), *sides)


def exact(side):
    s = space(side.pulls.size)
    fill_log_best(side.family, side.posterior, side.ws, s.logs[EXACT])
    s.log_pi[:] = s.logs[EXACT]
    fill_exact_bounds(s.logs, s.bounds)
    complete_logs(s.log_pi, s.pi)
    return s


def check_private(bounds, side):
    s = exact(side)
    pairs = ((P_LOW, P_HIGH), (CUT_LOW, CUT_HIGH))
    if s.bounds[REST_LOW].argmin() == bounds[REST_LOW].argmin():
        pairs += ((REST_LOW, REST_HIGH),)
    for low, high in pairs:
        assert (bounds[low] <= s.bounds[low]).all()
        assert (s.bounds[low] <= bounds[high]).all()


def check_reference(bounds, side):
    s = exact(side)
    for low, high, found in (
        (regions_of.PI_LOW, regions_of.PI_HIGH, s.pi),
        (regions_of.LOG_PI_LOW, regions_of.LOG_PI_HIGH, s.log_pi),
    ):
        assert (bounds[low] <= found).all()
        assert (found <= bounds[high]).all()


@settings(max_examples=200)
@given(st.data(), st.integers(2, 5), st.floats(-2, 0).map(lambda x: 10**x))
def test_rows_hold_where_the_arms_are_and_over_a_region_about_them(data, n_arms, spread):
    """Tangents have their centre at one state; then every arm gets some pulls; then D moves within its region."""

    def means():
        return spread * np.array(data.draw(st.lists(st.floats(-1, 1), min_size=n_arms, max_size=n_arms)))

    pulls = np.array([int(10 ** data.draw(st.floats(1, 4.5))) for _ in range(n_arms)])
    known = known_at(pulls, means(), means())
    c, r = compared.comparison(n_arms), regions_of.region(n_arms)
    compared.evaluate(known.private, c.private, np.empty(n_arms))
    compared.evaluate(known.public, c.public, np.empty(n_arms))
    for a in range(n_arms):
        more = int(data.draw(st.floats(0, 0.05)) * pulls[a])
        known.pulls[a] += more
        for side in (known.public, known.private):
            side.sums[a] += more * side.means[a] + data.draw(st.floats(-2, 2)) * math.sqrt(more)
        compared.update_and_displace(known, c, a)
    if compared.bound_private_by_tangents(known.private, c):
        check_private(c.bounds, known.private)
    if compared.bound_reference_by_tangents(known.public, c):
        check_reference(c.reference, known.public)
    dominant = int(np.argmax(known.pulls))
    if not compared.enter_by_tangents(r, known, c, dominant, True, True):
        return
    before = int(known.pulls[dominant])
    most = int(min(r.private_box[MOST], r.public_box[MOST]))
    for when in (0.0, data.draw(st.floats(0, 1)), 1.0):
        known.pulls[dominant] = before + int(when * (most - before))
        for side, box in ((known.public, r.public_box), (known.private, r.private_box)):
            where = data.draw(st.sampled_from([0.0, 0.4, 1.0]))
            mean = box[MEAN_LOW] + where * (box[MEAN_HIGH] - box[MEAN_LOW])
            side.sums[dominant] = mean * known.pulls[dominant]
            set_posterior(side.family, side, dominant)
        check_private(r.private, known.private)
        check_reference(r.reference, known.public)


def test_rows_hold_below_where_the_quick_exponential_ends():
    """π is e^−680 and e^−1300: q* of a boosted arm takes either π or its logarithm, so both must be right."""
    for other in (0.25, -0.1):
        known = known_at([10_000, 3_162], [1.0, other], [1.0, other])
        c = compared.comparison(2)
        compared.evaluate(known.private, c.private, np.empty(2))
        compared.evaluate(known.public, c.public, np.empty(2))
        assert compared.bound_private_by_tangents(known.private, c)
        check_private(c.bounds, known.private)
        assert compared.bound_reference_by_tangents(known.public, c)
        check_reference(c.reference, known.public)


def test_bounds_decide_most_steps():
    """This is what the engine saves: 20 pulls of each of four arms after 2,500, all bounds together are 2 % wide."""
    rng = np.random.default_rng(0)
    known = known_at([2500] * 4, rng.normal(0.5, 0.02, 4), rng.normal(0.0, 0.02, 4))
    c = compared.comparison(4)
    compared.evaluate(known.private, c.private, np.empty(4))
    for a in range(4):
        known.pulls[a] += 20
        known.private.sums[a] += rng.normal(0.0, math.sqrt(20.0)) + 20 * known.private.means[a]
        compared.update_and_displace(known, c, a)
    assert compared.bound_private_by_tangents(known.private, c)
    assert (c.bounds[P_HIGH] - c.bounds[P_LOW]).sum() < 0.04
