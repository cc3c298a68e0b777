"""`beta_best_arm_probabilities` agrees with 30-digit integrals, rational arithmetic, closed forms and symmetries."""

import importlib
import math
import sys
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beta_oracle import exact_best_arm, log_beta_best_arm, log_exceeds
from cases import quick_but_for
from feint.numerics import beta_arms, beta_best_arm_kernel, beta_best_arm_probabilities, logit_beta_panel
from feint.numerics.best_arm_rows import fill_log_probabilities, fill_probabilities
from feint.numerics.beta_arms import EXPONENT, SUM, allocate_beta_workspace
from feint.numerics.beta_best_arm_kernel import beta_best_arm_sums


def pulled(pulls, means):
    return [(n * m, n * (1 - m), 1) for n, m in zip(pulls, means, strict=True)]


MEANS = (0.6, 0.4, 0.2, 0.3)

CORNERS = {
    "Thompson Sampling, t = 1e4": pulled([1e4, 60, 25, 40], MEANS),
    "Thompson Sampling, t = 1e6": pulled([1e6, 300, 100, 150], MEANS),
    "Jeffreys' prior alone": [(0.5, 0.5, 3)],
    "Jeffreys' prior and one success": [(0.5, 0.5, 2), (1.5, 0.5, 1)],
    "priors of 0.1": [(0.1, 0.1, 2), (0.1, 0.3, 1)],
    "prior of 0.001 beside 1": [(0.001, 0.001, 1), (1, 1, 1)],
    "no success in many pulls": [(0.5, 1000.5, 1), (0.5, 30.5, 1), (1.5, 200.5, 1)],
    "no failure in many pulls": [(1000.5, 0.5, 1), (30.5, 0.5, 1), (200.5, 1.5, 1)],
    "α ≪ β": [(0.1, 1e8, 1), (3.0, 1e7, 1), (20.0, 5e7, 1)],
    "β ≪ α": [(1e8, 0.5, 1), (1e4, 2, 1), (3, 1, 1)],
    "one arm of 1e8, the others of 3": [(1e8, 1e8, 1), (3, 3, 1), (3, 2, 1)],
    "one arm of 1e8 off the others' means": [(7e7, 3e7, 1), (3, 3, 1), (300, 200, 1)],
    "three arms of 1e8, near tie": [(1e8, 1e8, 1), (99_990_000, 1e8, 1), (5e7, 5.0007e7, 1)],
    "arms of 1e10": [(1e10, 1e10, 1), (0.99999e10, 1e10, 1)],
    "five sizes": pulled([1, 1e2, 1e4, 1e6, 1e8], [0.5, 0.45, 0.49, 0.499, 0.4995]),
    "p near 1e-300": [(5e4, 5e4, 1), (55_275, 44_725, 1), (30, 60, 1)],
    "K = 20 in two groups": [(6000, 4000, 1), (24, 36, 19)],
    "K = 100, identical": [(2.5, 7.5, 100)],
    "K = 100, product of tails below 1e-308": [(5e7, 5e7, 1), (503_000, 497_000, 99)],
    "K = 100 in three groups": [(30, 20, 50), (3, 4, 49), (6e5, 3.5e5, 1)],
}


_LONGEST = "five sizes", "Thompson Sampling, t = 1e4", "Thompson Sampling, t = 1e6"  # of mpmath's


@pytest.mark.parametrize("name", quick_but_for(_LONGEST, CORNERS))
def test_against_30_digit_integration(name):
    groups = CORNERS[name]
    counts = [n for _, _, n in groups]
    alphas, betas = (np.repeat([group[k] for group in groups], counts) for k in (0, 1))
    logs = beta_best_arm_probabilities(alphas, betas, log=True)
    plain = beta_best_arm_probabilities(alphas, betas)
    tolerance = 1e-9 if alphas.max() > 1e8 else 1e-10
    truth = log_beta_best_arm(groups)
    assert abs(sum(n * mp.exp(exact) for n, exact in zip(counts, truth, strict=True)) - 1) < 1e-20
    for a, exact in zip(np.cumsum([0, *counts[:-1]]), truth, strict=True):
        # Relative to log p itself, so that near p = 1 it is the complement that must be right.
        assert abs(mp.mpf(logs[a]) - exact) <= tolerance * abs(exact)
        if exact > -700:
            assert abs(mp.mpf(plain[a]) / mp.exp(exact) - 1) <= tolerance


DEEP = {
    "1e5 pulls each, means 0.5 and 0.6": (5e4, 5e4, 6e4, 4e4),
    "1e8 pulls each, log p = −1e6": (45e6, 55e6, 55e6, 45e6),
    "300 to 1": (300, 700, 5e5, 5e5),
    "no success against no failure": (0.5, 1e8, 1e8, 0.5),
    "a sharp loser": (4e7, 6e7, 70, 30),
    "a sharp leader": (30, 70, 6e7, 4e7),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_tails_of_two_arms(name):
    """A contour integral of Γ functions knows P(X > X′) to 30 digits, however small."""
    alpha, beta, leader_alpha, leader_beta = DEEP[name]
    logs = beta_best_arm_probabilities([alpha, leader_alpha], [beta, leader_beta], log=True)
    exact = log_exceeds(alpha, beta, leader_alpha, leader_beta)
    assert abs(mp.mpf(logs[0]) - exact) <= 1e-12 * abs(exact)
    assert logs[1] == pytest.approx(float(mp.log1p(-mp.exp(exact))), rel=1e-10, abs=0)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.tuples(*[st.floats(-0.3, 8)] * 4))
def test_two_arms_of_any_size(powers):
    alpha, beta, other_alpha, other_beta = sizes = tuple(10**power for power in powers)
    logs = beta_best_arm_probabilities([alpha, other_alpha], [beta, other_beta], log=True)
    exact = log_exceeds(*sizes) if logs[0] <= logs[1] else log_exceeds(*sizes[2:], *sizes[:2])
    assert abs(mp.mpf(logs.min()) - exact) <= 1e-10 * abs(exact)


WHOLE = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=2, max_size=5)


@given(WHOLE)
def test_whole_parameters_are_rational(parameters):
    exact = exact_best_arm(parameters)
    assert sum(exact) == 1
    alphas, betas = zip(*parameters, strict=True)
    p = beta_best_arm_probabilities(alphas, betas)
    for ours, truth in zip(p, exact, strict=True):
        assert abs(Fraction(float(ours)) / truth - 1) < 1e-12


def test_two_arms_by_the_finite_sum():
    """P(X′ > X) = ∑_{i<α′} B(α + i, β + β′)/((β′ + i)·B(1 + i, β′)·B(α, β)) for a whole α′ (Miller 2015)."""
    alpha, beta, other_alpha, other_beta = 70, 41, 60, 52

    def beta_function(a, b):
        return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))

    exact = sum(
        beta_function(alpha + i, beta + other_beta)
        / ((other_beta + i) * beta_function(1 + i, other_beta) * beta_function(alpha, beta))
        for i in range(other_alpha)
    )
    p = beta_best_arm_probabilities([alpha, other_alpha], [beta, other_beta])
    assert abs(Fraction(float(p[1])) / exact - 1) < 1e-13


@pytest.mark.parametrize("n_arms", [2, 3, 7, 100])
@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.5, 0.5), (0.1, 1e8), (1e8, 0.1), (3, 1e4), (6e7, 1e8)])
def test_identical_arms_share_equally(n_arms, alpha, beta):
    sums = row_of_sums(np.full(n_arms, float(alpha)), np.full(n_arms, float(beta)), allocate_beta_workspace(n_arms))
    large = 1e-10 if n_arms <= 30 else 3e-10
    assert np.abs(np.exp(sums) * n_arms - 1).max() < (large if min(alpha, beta) > 1e7 else 1e-12)


def row_of_sums(alphas, betas, ws):
    """Return log p before anything is normalised or taken from a complement."""
    beta_best_arm_sums(alphas, betas, ws)
    return np.log(ws.arms[SUM]) + ws.arms[EXPONENT]


def random_instances(seed, n_arms, rows):
    """Draw rows as in a bandit, rows of unlike sizes, near ties of large arms, few successes, and few failures."""
    rng = np.random.default_rng(seed)
    shape = rows, n_arms
    pulls = np.exp(rng.uniform(0, 12, shape))
    means = rng.uniform(0.05, 0.95, shape)
    seen = rng.beta(means * pulls + 0.5, (1 - means) * pulls + 0.5)
    bandit = pulls * seen + 0.5, pulls * (1 - seen) + 0.5
    ugly = 10 ** rng.uniform(-1, 8, shape), 10 ** rng.uniform(-1, 8, shape)
    centre = rng.uniform(0.01, 0.99, (rows, 1))
    pulls = 10 ** rng.uniform(1, 8, shape)
    near = np.clip(centre + 3 * rng.normal(size=shape) * np.sqrt(centre * (1 - centre) / pulls), 0, 1)
    close = np.maximum(pulls * near, 0.1), np.maximum(pulls * (1 - near), 0.1)
    few = rng.integers(0, 12, shape) + 0.5
    many = 10 ** rng.uniform(0, 7, shape)
    parts = zip(bandit, ugly, close, (few, many), (many, few), strict=True)
    return tuple(np.concatenate(part) for part in parts)


@pytest.mark.parametrize(("n_arms", "rows"), [(2, 1000), (3, 1000), (5, 400), (20, 30), (100, 2)])
def test_probabilities_sum_to_one_and_logs_agree(n_arms, rows):
    alphas, betas = random_instances(n_arms, n_arms, rows)
    ws = allocate_beta_workspace(n_arms)
    sums = np.array([row_of_sums(a, b, ws) for a, b in zip(alphas, betas, strict=True)])
    error = np.abs(np.exp(sums).sum(-1) - 1)
    assert error[:rows].max() < 5e-12  # the bandit's rows
    assert error.max() < 5e-11
    p = beta_best_arm_probabilities(alphas, betas)
    logs = beta_best_arm_probabilities(alphas, betas, log=True)
    assert np.isfinite(logs).all()
    assert (logs <= 0).all()
    assert np.abs(p.sum(-1) - 1).max() < 1e-14
    visible = logs > -700
    assert np.abs(logs[visible] - np.log(p[visible])).max() < 5e-11
    leader = sums.argmax(-1)[:, None]
    others = np.exp(np.where(np.arange(n_arms) == leader, -math.inf, sums)).sum(-1)
    sure = others < 1e-3
    assert np.allclose(np.take_along_axis(logs, leader, -1)[sure, 0], np.log1p(-others[sure]), rtol=1e-13, atol=0)
    assert n_arms == 100 or sure.any()


def test_narrower_panels_change_nothing(tmp_path, monkeypatch):
    """The panel widths are the only tuned numbers, so they are halved in copies of the modules, for every arm."""
    widths = {beta_arms: ("_WIDTH", "_SLOPE_WIDTH"), logit_beta_panel: ("_CDF_WIDTH", "_CDF_RISE", "_POLE_WIDTH")}
    for module in (beta_arms, logit_beta_panel, beta_best_arm_kernel):
        source = Path(module.__file__).read_text()
        for name in widths.get(module, ()):
            value = getattr(module, name)
            assert f"\n{name} = {value}" in source
            source = source.replace(f"\n{name} = {value}", f"\n{name} = {value / 2}")
        for other in (beta_arms, logit_beta_panel):
            short = other.__name__.rpartition(".")[2]
            source = source.replace(f"from {other.__name__} import", f"from narrow_{short} import")
        (tmp_path / f"narrow_{module.__name__.rpartition('.')[2]}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        narrow = importlib.import_module("narrow_beta_best_arm_kernel")
        wide_panels = narrow_panels = 0
        for n_arms, rows in ((2, 400), (4, 300)):
            ws = allocate_beta_workspace(n_arms)
            for a, b in zip(*random_instances(7, n_arms, rows), strict=True):
                wide_panels += beta_best_arm_sums(a, b, ws)
                wide = np.log(ws.arms[SUM]) + ws.arms[EXPONENT]
                narrow_panels += narrow.beta_best_arm_sums(a, b, ws)
                tolerance = 5e-13 + 4e-15 * math.sqrt((a + b).max())
                assert close_to(wide, np.log(ws.arms[SUM]) + ws.arms[EXPONENT], tolerance)
        assert narrow_panels > 1.7 * wide_panels
    finally:
        for name in [name for name in sys.modules if name.startswith("narrow_")]:
            del sys.modules[name]


def test_panel_count_stays_small():
    """Neither depth nor unlike sizes cost panels: left ends and continued fractions keep the sweep where mass is."""
    alphas, betas = random_instances(0, 4, 1000)
    ws = allocate_beta_workspace(4)
    assert max(beta_best_arm_sums(a, b, ws) for a, b in zip(alphas, betas, strict=True)) < 80
    alphas, betas, _ = np.array(CORNERS["Thompson Sampling, t = 1e4"]).T.copy()
    assert beta_best_arm_sums(alphas, betas, ws) < 10


def test_same_numbers_for_any_number_of_threads_and_any_split(monkeypatch):
    alphas, betas = random_instances(1, 4, 400)
    monkeypatch.setenv("FEINT_THREADS", "1")
    alone = beta_best_arm_probabilities(alphas, betas)
    for threads in ("2", "5"):
        monkeypatch.setenv("FEINT_THREADS", threads)
        assert (beta_best_arm_probabilities(alphas, betas) == alone).all()
    assert (beta_best_arm_probabilities(alphas[123], betas[123]) == alone[123]).all()


def test_one_row_for_other_kernels():
    alphas, betas = random_instances(2, 3, 20)
    ws = allocate_beta_workspace(3)
    out = np.empty(3)
    for fill, log in ((fill_log_probabilities, True), (fill_probabilities, False)):
        expected = beta_best_arm_probabilities(alphas, betas, log=log)
        for row in range(len(alphas)):
            fill(ws, alphas[row], betas[row], out)
            assert (out == expected[row]).all()


SIZES = st.lists(st.floats(0.1, 1e5), min_size=2, max_size=6)
OTHERS = st.lists(st.floats(0.1, 1e5), min_size=6, max_size=6)


def logs_of(alphas, betas):
    return beta_best_arm_probabilities(np.array(alphas), np.array(betas[: len(alphas)]), log=True)


def close_to(a, b, tolerance=1e-11):
    return (np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b))).all()


@given(SIZES, OTHERS, st.randoms(use_true_random=False))
def test_permutation(alphas, betas, random):
    order = random.sample(range(len(alphas)), len(alphas))
    shuffled = logs_of([alphas[i] for i in order], [betas[i] for i in order])
    assert close_to(shuffled, logs_of(alphas, betas)[order])


@given(*[st.floats(0.1, 1e8)] * 4)
def test_failures_are_the_successes_of_the_opposite(alpha, beta, other_alpha, other_beta):
    """1 − X ~ Beta(β, α), so of two arms the other one is then the largest."""
    opposite = logs_of([beta, other_beta], [alpha, other_alpha])
    assert close_to(logs_of([alpha, other_alpha], [beta, other_beta]), opposite[::-1], 1e-10)


@given(SIZES, OTHERS, st.floats(0, 5))
def test_a_success_raises_the_arm_and_lowers_the_others(alphas, betas, successes):
    before = logs_of(alphas, betas)
    after = logs_of([alphas[0] + successes, *alphas[1:]], betas)
    slack = 1e-11 * np.maximum(1, np.abs(before))
    assert after[0] >= before[0] - slack[0]
    assert (after[1:] <= before[1:] + slack[1:]).all()


def test_batches_broadcast():
    alphas = np.tile([60, 4, 2, 3], (3, 1, 1))
    betas = np.ones((5, 1)) * 7
    p = beta_best_arm_probabilities(alphas, betas)
    assert p.shape == (3, 5, 4)
    assert (p[2, 4] == beta_best_arm_probabilities([60, 4, 2, 3], [7] * 4)).all()
    assert beta_best_arm_probabilities(np.empty((0, 3)), 1.0).shape == (0, 3)
    assert beta_best_arm_probabilities([[1, 2, 3]], [1, 1, 1]).shape == (1, 3)


@pytest.mark.parametrize(
    ("alphas", "betas", "says"),
    [
        ([1, math.nan], [1, 1], "NaN"),
        ([1, math.inf], [1, 1], "alphas must be finite; give prior \\+ successes"),
        ([1, 1], [1, math.inf], "betas must be finite; give prior \\+ failures"),
        ([1, 0], [1, 1], "alphas reach down to 0 but must be above 0; add a prior to the successes"),
        ([1, 1], [1, -2], "betas reach down to -2 but must be above 0; add a prior to the failures"),
        ([1, 1e-4], [1, 1], "alphas reach down to 0.0001; .* prior of at least 0.001"),
        ([1, 1], [1, 2e10], "betas reach 2e\\+10; beyond 1e10 .* best_arm_probabilities"),
        ([1], [1], "at least 2"),
        (1.0, 1.0, "at least 2"),
        ([1, 1], [1, 1, 1], "do not broadcast"),
        ([1, "a"], [1, 1], "real numbers"),
        ([1, 1j], [1, 1], "real numbers"),
    ],
)
def test_bad_input_is_explained(alphas, betas, says):
    with pytest.raises(ValueError, match=says):
        beta_best_arm_probabilities(alphas, betas)
