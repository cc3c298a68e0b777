"""`best_arm_probabilities` agrees with 40-digit integration, closed forms and its own symmetries."""

import importlib.util
import math
import tempfile
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import log_ndtr

import feint
from cases import PAPER, quick_but_for
from feint.numerics import best_arm_kernel
from feint.numerics.best_arm_kernel import add_panel, place_arms
from feint.numerics.best_arm_workspace import SHIFT, SUM, allocate_normal_workspace
from oracles import log_best_arm

PUBLIC = PAPER.public


def one_each(means, sds):
    return [(float(m), float(s), 1) for m, s in zip(means, sds, strict=True)]


CORNERS = {
    # three moments of a run of the paper's instance
    "paper, t = 1e3": one_each(PUBLIC, 1 / np.sqrt([1000, 20, 10, 15])),
    "paper, t = 1e4": one_each(PUBLIC, 1 / np.sqrt([10_000, 60, 25, 40])),
    "paper, t = 1e5": one_each(PUBLIC, 1 / np.sqrt([100_000, 200, 90, 120])),
    "exact tie": one_each([0, 0], [1, 1]),
    "exact tie of three, one sharp": one_each([0, 0, 0], [1, 1e-8, 1]),
    "tie far from a third": one_each([5, 5, 0], [1, 1, 0.5]),
    "p near 1e-300": one_each([0, -52.2], [1, 1]),
    "p near 1e-300, sharp leader": one_each([0, -37, -36], [1e-8, 1, 1]),
    "log p = −1e5": one_each([0, -632.45], [1, 1]),
    "log p = −5e5, sharp leader": one_each([0, -1000], [1e-3, 1]),
    "log p = −5e5, sharp loser": one_each([0, -1000], [1, 1e-3]),
    "log p = −6e14": one_each([0, -0.5], [1e-8, 1e-8]),
    "ratio 1e8, moderate": one_each([0.1, 0, -5], [1, 1e-8, 1]),
    "ratio 1e8, three scales": one_each([0, -0.1, 0.2], [1, 1e-8, 1e-4]),
    "five scales": one_each([0, 1, 2, 3, 4], [1, 0.1, 0.01, 2, 5]),
    "two sharp arms far from a wide one": one_each([0.3, 1.1, 1.1e8], [1, 1, 1e8]),
    "two sharp arms, a wide one, small units": one_each([0.3e-8, 1.1e-8, 0.77], [1e-8, 1e-8, 1.0]),
    "offset 1e6 sds": one_each([1e6, 1e6 + 1, 1e6 + 2.5], [1, 1, 1]),
    "offset −1e6 sds": one_each([-1e6, -1e6 - 20.125], [1, 1]),
    "huge units": one_each([3e200, 1e200], [1e200, 2e200]),
    "tiny units": one_each([3e-200, 1e-200], [1e-200, 2e-200]),
    "two deep peaks between the leaders": one_each([0, -0.23, -2.1, -2.0], [2.2e-6, 2.4e-6, 2.6e-6, 4.6e-5]),
    "sharp arm below two wide ones": one_each([1.36, 0.39, -0.35, -0.05], [0.05, 1.7e-8, 0.048, 0.49]),
    "K = 8, rising": one_each(np.linspace(-2, 0, 8), [1] * 8),
    "K = 50 in two groups": [(0.0, 1.0, 20), (0.5, 0.7, 30)],
    "K = 1000 in two groups": [(0.0, 1.0, 990), (1.0, 1.5, 10)],
    "K = 1000, one wide, one sharp": [(0.0, 1.0, 998), (-2.0, 4.0, 1), (3.0, 1e-3, 1)],
    "K = 1000, deep": [(0.0, 0.01, 500), (-30.0, 1.0, 499), (0.1, 0.002, 1)],
}


_LONGEST = "K = 8, rising", "five scales", "paper, t = 1e3", "paper, t = 1e4"  # up to a minute of mpmath's


@pytest.mark.parametrize("name", quick_but_for(_LONGEST, CORNERS))
def test_against_40_digit_integration(name):
    groups = CORNERS[name]
    means = np.repeat([m for m, _, _ in groups], [n for _, _, n in groups])
    sds = np.repeat([s for _, s, _ in groups], [n for _, _, n in groups])
    first = np.cumsum([0] + [n for _, _, n in groups[:-1]])
    truth = log_best_arm(groups)
    logs = feint.best_arm_probabilities(means, sds, log=True)
    plain = feint.best_arm_probabilities(means, sds)
    assert np.isfinite(logs).all()
    for a, exact in zip(first, truth, strict=True):
        assert abs(mp.mpf(logs[a]) - exact) <= 1e-12 * max(1, abs(exact))
        if exact > -700:
            assert abs(mp.mpf(plain[a]) / mp.exp(exact) - 1) <= 1e-12


@pytest.mark.parametrize("n_arms", [2, 3, 7, 100, 1000])
def test_identical_arms_share_equally(n_arms):
    p = feint.best_arm_probabilities(np.full(n_arms, 3.0), np.full(n_arms, 0.5))
    assert np.abs(p * n_arms - 1).max() < 1e-13


def random_instances(seed, n_arms, rows):
    """Draw rows: a third as in a bandit, a third of unlike sizes, a third with tiny probabilities."""
    rng = np.random.default_rng(seed)
    pulls = np.exp(rng.uniform(0, 12, (rows, n_arms)))
    bandit = rng.normal(0, 0.5, (rows, n_arms)) + rng.normal(size=(rows, n_arms)) / np.sqrt(pulls), 1 / np.sqrt(pulls)
    ugly = rng.normal(size=(rows, n_arms)), 10 ** rng.uniform(-8, 0, (rows, n_arms))
    deep = rng.normal(0, 30, (rows, n_arms)), np.exp(rng.normal(size=(rows, n_arms)))
    return tuple(np.concatenate(parts) for parts in zip(bandit, ugly, deep, strict=True))


@pytest.mark.parametrize(("n_arms", "rows"), [(2, 3000), (3, 3000), (5, 1000), (20, 100), (200, 3)])
def test_probabilities_sum_to_one_and_logs_agree(n_arms, rows):
    means, sds = random_instances(n_arms, n_arms, rows)
    p = feint.best_arm_probabilities(means, sds)
    logs = feint.best_arm_probabilities(means, sds, log=True)
    assert np.abs(p.sum(-1) - 1).max() <= 1e-12
    assert np.abs(np.exp(logs).sum(-1) - 1).max() <= 1e-12
    assert np.isfinite(logs).all()
    visible = logs > -700
    assert np.abs(logs[visible] - np.log(p[visible])).max() <= 1e-12


def test_narrower_panels_change_nothing():
    """The panel widths are the only tuned numbers, so they are halved in a copy of the module, for every arm."""
    means, sds = random_instances(7, 4, 200)
    wide = feint.best_arm_probabilities(means, sds, log=True)
    source = Path(best_arm_kernel.__file__).read_text()
    for name in ("_WIDTH", "_SLOPE_WIDTH"):
        value = getattr(best_arm_kernel, name)
        assert f"\n{name} = {value}" in source
        source = source.replace(f"\n{name} = {value}", f"\n{name} = {value / 2}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "half_width_kernel.py").write_text(source)
        spec = importlib.util.spec_from_file_location("half_width_kernel", Path(folder) / "half_width_kernel.py")
        half = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(half)
        ws = allocate_normal_workspace(4)
        for row, expected in enumerate(wide):
            half.best_arm_sums(means[row], sds[row], ws)
            narrow = np.log(ws.arms[SUM]) + ws.arms[SHIFT]
            assert close(expected, narrow, 1e-13)


def test_panel_count_stays_small_for_ugly_instances():
    """The left ends keep the grid off regions where nothing is: a bound that failed for weaker choices of J."""
    means, sds = random_instances(0, 4, 4000)
    ws = allocate_normal_workspace(4)
    for m, s in zip(means, sds, strict=True):
        place_arms(m, s, ws)
        assert sum(1 for _ in iter(lambda: add_panel(ws), False)) < 60


def test_same_numbers_for_any_number_of_threads_and_any_split(monkeypatch):
    means, sds = random_instances(1, 4, 2000)
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("FEINT_THREADS", threads)
        results.append(feint.best_arm_probabilities(means, sds))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()
    assert (results[0][123] == feint.best_arm_probabilities(means[123], sds[123])).all()


MEANS = st.lists(st.floats(-50, 50), min_size=2, max_size=6)
SDS = st.lists(st.floats(0.01, 100), min_size=6, max_size=6)


def logs_of(means, sds):
    return feint.best_arm_probabilities(np.array(means), np.array(sds[: len(means)]), log=True)


def close(a, b, tolerance=2e-12):
    return (np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b))).all()


@given(MEANS, SDS, st.randoms(use_true_random=False))
def test_permutation(means, sds, random):
    order = list(range(len(means)))
    random.shuffle(order)
    sds = sds[: len(means)]
    shuffled = logs_of([means[i] for i in order], [sds[i] for i in order])
    assert close(shuffled, logs_of(means, sds)[order])


@given(st.lists(st.integers(-2000, 2000), min_size=2, max_size=6), SDS, st.integers(-1_000_000, 1_000_000))
def test_shift(quarters, sds, offset):
    means = np.array(quarters) / 4  # so that adding the offset is exact
    assert close(logs_of(means + offset, sds), logs_of(means, sds))


@given(MEANS, SDS, st.integers(-300, 300))
def test_scale(means, sds, power):
    factor = 2.0**power
    scaled = logs_of(np.array(means) * factor, np.array(sds) * factor)
    # Subnormal differences lose digits before they reach us.
    assume(all(m == 0 or abs(m * factor) > 1e-290 for m in means))
    assert close(scaled, logs_of(means, sds))


@given(MEANS, SDS, st.floats(0, 5))
def test_raising_an_arm_raises_it_and_lowers_the_others(means, sds, rise):
    before = logs_of(means, sds)
    after = logs_of([means[0] + rise, *means[1:]], sds)
    slack = 1e-12 * np.maximum(1, np.abs(before))
    assert after[0] >= before[0] - slack[0]
    assert (after[1:] <= before[1:] + slack[1:]).all()


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(1e-4, 1e4), st.floats(1e-4, 1e4))
def test_two_arms_have_a_closed_form(first, second, sd_1, sd_2):
    z = (first - second) / math.hypot(sd_1, sd_2)
    assert close(logs_of([first, second], [sd_1, sd_2]), log_ndtr(np.array([z, -z])), 4e-12)


@pytest.mark.parametrize("distance", [1e13, 1e15, 1e17, 1e18, 1e30, 1e100, 1e150])
def test_any_distance_that_float64_can_square(distance):
    """log Φ(−d/√2) ≈ −d²/4: no endless march where a panel is narrower than the gaps between floats."""
    logs = feint.best_arm_probabilities([0.0, distance], [1.0, 1.0], log=True)
    assert logs[0] == pytest.approx(-(distance**2) / 4, rel=1e-12)
    assert logs[1] == 0


def test_large_units_are_not_taken_for_large_distances():
    huge = feint.best_arm_probabilities([1e308, -1e308], [1e307, 1e307], log=True)
    assert close(huge, feint.best_arm_probabilities([10.0, -10.0], [1.0, 1.0], log=True))


def test_batches_broadcast():
    means = np.zeros((3, 1, 4)) + PUBLIC
    sds = np.ones((5, 1))
    p = feint.best_arm_probabilities(means, sds)
    assert p.shape == (3, 5, 4)
    assert (p[2, 4] == feint.best_arm_probabilities(PUBLIC, np.ones(4))).all()
    assert feint.best_arm_probabilities(np.empty((0, 3)), np.ones((0, 3))).shape == (0, 3)
    assert feint.best_arm_probabilities(np.empty((0, 3)), 1.0).shape == (0, 3)
    assert feint.best_arm_probabilities([[0, 1, 2]], [1, 1, 1]).shape == (1, 3)


@pytest.mark.parametrize(
    ("means", "sds", "says"),
    [
        ([0, math.nan], [1, 1], "NaN"),
        ([0, 1], [1, math.nan], "NaN"),
        ([0, math.inf], [1, 1], "finite"),
        ([0, 1], [1, math.inf], "finite"),
        ([0, 1], [1, 0], "above 0"),
        ([0, 1], [1, -2], "above 0"),
        ([0], [1], "at least 2"),
        (0.0, 1.0, "at least 2"),
        ([], [], "at least 2"),
        ([0, 1], [1, 1, 1], "do not broadcast"),
        ([0, "a"], [1, 1], "real numbers"),
        ([[0, 1], [0]], [1, 1], "real numbers"),
        ([0, 1j], [1, 1], "real numbers"),
        ([0, 1e200], [1, 1], "apart"),
        ([0, 0, 1], [1e-20, 1, 1], "differ by a factor"),
        ([1.7e308, -1.7e308], [1, 1], "apart"),
    ],
)
def test_bad_input_is_explained(means, sds, says):
    for function in (feint.best_arm_probabilities, feint.gauss_hermite_probabilities):
        with pytest.raises(ValueError, match=says):
            function(means, sds)


def test_gauss_hermite_is_the_papers_rule():
    """It is compared with its sum written out in mpmath, and with errors found with 40 digits."""
    sds = 1 / np.sqrt([1000, 20, 10, 15])
    p = feint.gauss_hermite_probabilities(PUBLIC, sds)
    nodes, weights = np.polynomial.hermite.hermgauss(32)
    for a in range(4):
        total = mp.mpf(0)
        for x, w in zip(nodes, weights, strict=True):
            product = mp.mpf(w)
            for j in range(4):
                if j != a:
                    product *= mp.ncdf((PUBLIC[a] - PUBLIC[j] + sds[a] * math.sqrt(2) * x) / sds[j])
            total += product
        assert p[a] == pytest.approx(float(total / mp.sqrt(mp.pi)), rel=1e-12)
    exact = feint.best_arm_probabilities(PUBLIC, sds)
    assert p[3] / exact[3] - 1 == pytest.approx(-0.13, abs=0.005)
    for nodes in (0, 2.5, "a", 1000, True):
        with pytest.raises(ValueError, match="at least 1 node"):
            feint.gauss_hermite_probabilities(PUBLIC, sds, nodes=nodes)
