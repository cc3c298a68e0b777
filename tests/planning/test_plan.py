"""Test plans: the law of the stopping time, what they report, who notices, the inverse questions, and the command."""

import json
import math
from dataclasses import FrozenInstanceError
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm
from typer.testing import CliRunner

import feint
from cases import PAPER
from feint.bandit import Bandit
from feint.budgets import Constant, PowerLaw, RisingBudget, TotalBudget
from feint.cli import app
from feint.numerics import boost_probability
from feint.planning import plan, plan_epsilon, plan_total
from feint.planning.inverse import _search_epsilon
from feint.planning.plan import first_order_time, stopping_paths
from feint.theory import optimal_allocation, optimal_boosting
from shell import typed

SURE = norm.isf(5e-7)  # two-sided rate of false failures: 1e-6
PAIR = Bandit([2.0, 0.0], [0.0, 2.0])  # quick: two arms, two or three pulls decide
PAIR_APART = Bandit([2.0, 0.0], [0.0, 1.0])  # Thompson Sampling alone hardly ever decides

# The ten rows of docs/theory.md: public and private means, ε, δ.
ROWS = [
    (PAPER.public, PAPER.private, 0.1, 1e-3),
    (PAPER.public, PAPER.private, 1.0, 1e-3),
    (PAPER.public, PAPER.private, math.inf, 1e-3),
    ((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), 0.1, 1e-3),
    ((0.8, 0.3, 0.6), (0.1, 0.35, 0.2), 0.3, 1e-2),
    ((0.6, 0.1, 0.1, 0.1), (0.2, 0.5, 0, 0), 0.1, 1e-3),
    ((0.6, 0.5, 0, 0.3), (0.2, 0.5, 0, 0), 0.03, 1e-3),
    ((1, 0), (0, 1), 0.01, 1e-4),
    ((2, 0), (0, 1), 0.1, 1e-8),
    ((1, 0.5, 0, 0.2, 0.7), (1, 0.3, 0.4, 0.2, 0), 0.1, 1e-3),
]


@cache
def paper(epsilon=0.1, delta=0.001):
    return plan(PAPER, epsilon, delta)


def test_stopping_law_against_another_simulation():
    """Two arms without a limit, pulled in turn: stop when the lead over √(4/t) reaches Φ⁻¹(1 − δ). Drawn in NumPy."""
    gap, delta, paths, horizon = 0.5, 0.01, 4000, 2000
    rng = np.random.default_rng(0)
    pairs = np.arange(1, horizon // 2 + 1)
    lead = np.cumsum(gap + math.sqrt(2.0) * rng.normal(size=(paths, pairs.size)), axis=1)  # sums of differences
    stopped = abs(lead) / np.sqrt(2.0 * pairs) >= -ndtri(delta)
    assert stopped.any(1).all()
    times = 2.0 * (1 + stopped.argmax(1))
    found = plan(Bandit([1.0, 0.0], [0.0, gap]), math.inf, delta, explorer=feint.FixedBoosting([0.5, 0.5]))
    # Half a pull of either arm in between is looked at here and not there: 5 % at most.
    error = SURE * math.hypot(found.standard_error, times.std() / math.sqrt(paths))
    assert abs(found.time - times.mean()) < error + 2 + 0.05 * times.mean()


def test_the_exponent_governs_small_delta():
    """time/((log(1/δ)/Γ)²/ε) → 1; at ε = 1 the second order log(1/ε) vanishes, and 1 + 2/L remains."""
    found = plan(PAIR, 1.0, 1e-300)
    assert found.first_order_time == pytest.approx((math.log(1e-300) / 2.0) ** 2, rel=1e-12)
    assert found.time / found.first_order_time == pytest.approx(1.0, abs=0.03)  # its standard error is 0.3 %


def test_first_order_time_of_schedules():
    """B(T) = 9 by hand: Σ t^−½ ≈ 2√T + ζ(½), and Σ 2t·b/(h(h + 1)) = b·T(T + 1)/(h(h + 1))."""
    assert first_order_time(Constant(0.3), 3.0) == pytest.approx(30.0, rel=1e-9)
    assert first_order_time(Constant(18.0), 3.0) == pytest.approx(0.5, rel=1e-12)
    assert first_order_time(Constant(math.inf), 3.0) == 3.0
    assert first_order_time(PowerLaw(0.01, 0.5), 3.0) == pytest.approx(((900 + 1.4603545) / 2) ** 2, rel=1e-5)
    assert first_order_time(PowerLaw(1.0, 2.0), 3.0) == math.inf  # Σ t⁻² = π²/6
    assert first_order_time(TotalBudget(18.0, 100), 3.0) == pytest.approx(50.0, rel=1e-9)
    assert first_order_time(TotalBudget(8.9, 1000), 3.0) == math.inf
    rising = first_order_time(RisingBudget(18.0, 1000), 3.0)
    assert rising == pytest.approx(math.sqrt(500 * 1001 + 0.25) - 0.5, rel=1e-3)
    # The paper's instance, where ∫ t^−½ = 2√T has it at 2,434,468: Σ t^−½ is less by 1.46.
    needed = math.log(1e3) / optimal_boosting(PAPER).gamma
    assert first_order_time(PowerLaw(1.0, 0.5), needed) == pytest.approx(
        (math.sqrt(2_434_468) + 0.7301773) ** 2, rel=1e-5
    )


def test_what_a_plan_says():
    found, best = paper(), optimal_boosting(PAPER)
    assert (found.gamma, found.case) == (best.gamma, best.case)
    assert found.pulls.sum() == pytest.approx(found.time, rel=1e-2)  # a pull counts whole, its time as the middle
    assert found.weights.sum() == pytest.approx(1.0)
    assert 0.97 * 0.1 * (found.time - 4) < found.kl_spent <= 0.1 * (found.time - 4) * (1 + 1e-3)
    assert found.costs.sum() == pytest.approx(found.kl_spent)
    each = found.costs / (found.weights * (found.time - 4))  # boosts of what is nearly sure cost less than ε
    assert each[0] < 0.05
    np.testing.assert_allclose(each[1:], 0.1, rtol=1e-4)
    assert found.quantiles[0] < found.quantiles[1] < found.time < found.quantiles[2]
    assert found.standard_error < 0.03 * found.time
    assert found.never == 0.0
    for notice in (found.informed, found.observer):
        assert notice.share == 1.0
        assert notice.quantiles[0] < notice.quantiles[1] < notice.quantiles[2] < found.time
        assert found.delta < notice.error < 0.75
    assert found.informed.quantiles[1] < found.observer.quantiles[1]
    with pytest.raises(FrozenInstanceError):
        found.time = 0.0
    assert plan(PAIR, 0.1, 0.01).time == plan(PAIR, 0.1, 0.01).time


def test_fixed_shares_are_kept():
    weights = optimal_boosting(PAPER).weights
    found = plan(PAPER, 1.0, 0.1, explorer=feint.FixedBoosting(weights))
    np.testing.assert_allclose(found.weights, weights, atol=2e-3)
    with pytest.raises(ValueError, match="does not say with which probability"):
        plan(PAPER, 1.0, 0.1, explorer=feint.Tracking())


def test_power_is_the_boost_of_alpha():
    """At α = .05 a budget B of .1, .5, 1, 2, 3 allows power .17, .38, .56, .82, 1; here B is the plan's."""
    easy = Bandit([1.0, 0.0], [0.0, 3.0])
    for alpha in (0.01, 0.3):
        found = plan(easy, 0.05, 0.01, alpha=alpha)
        assert found.power == pytest.approx(boost_probability(alpha, found.kl_spent), rel=1e-9)
        assert alpha < found.power < 1.0
        # The error of B, made one of q*, by a derivative: dq*/dB = 1/log(odds of q* over odds of α).
        odds = math.log(found.power / (1 - found.power) * (1 - alpha) / alpha)
        assert found.errors["power"] == pytest.approx(found.errors["kl_spent"] / odds, rel=0.05)


def test_power_charges_runs_that_are_never_sure():
    """Runs that are not sure when a total of 1 nat is spent, after 100 pulls, spend all of it but the first round's."""
    found = plan(PAIR_APART, feint.TotalBudget(1.0, 100), 0.01)
    assert 0.01 < found.never < 0.2
    low, high = ((1 - found.never) * found.kl_spent + found.never * spent for spent in (0.8, 0.98))
    assert boost_probability(0.05, low) < found.power < boost_probability(0.05, high)
    assert found.power > boost_probability(0.05, found.kl_spent)


def test_a_plan_is_never_longer_with_more_budget():
    cases = (
        (Bandit([1.0, 0.0], [0.0, 1.0]), 1e-4, (0.1, 1.0, 5.0, 100.0, 1e4, math.inf)),
        (PAPER, 0.05, (1.0, 1e4, math.inf)),
    )
    for bandit, delta, epsilons in cases:
        times = [plan(bandit, epsilon, delta).time for epsilon in epsilons]
        assert (np.diff(times) <= 0).all(), times
        assert times[-2] == times[-1]
    pair = cases[0][0]
    assert plan(pair, 1.0, 1e-5).time > plan(pair, 1.0, 1e-4).time


def test_without_a_limit_shares_come_near_the_classical_ones():
    """At δ = 10⁻¹⁰⁰ Algorithm 1 has had time to learn: its boosts tend to the allocation of Garivier & Kaufmann."""
    bandit = Bandit([1.0, 0.0, 0.5], [0.0, 1.0, 0.2])
    found = plan(bandit, math.inf, 1e-100)
    np.testing.assert_allclose(found.weights, optimal_allocation(bandit).weights, atol=0.03)


def test_units_do_not_matter():
    scaled = plan(Bandit(3 * np.array(PAIR.public), 3 * np.array(PAIR.private), sigma=3.0), 0.1, 0.01)
    assert scaled.time == pytest.approx(plan(PAIR, 0.1, 0.01).time, rel=1e-2)


def test_a_total_that_runs_out():
    """The promise of `plan_total` is kept by the plan of that budget, and by simulation."""
    bandit, time = Bandit([1.0, 0.0], [0.0, 1.0]), 500
    total = plan_total(bandit, time, 1e-4)
    found = plan(bandit, TotalBudget(total, time), 1e-4)
    assert found.quantiles[1] == pytest.approx(time, rel=0.03)
    most = plan_total(bandit, time, 1e-4, share=0.9)
    assert most > 2 * total
    for share, planned in ((0.5, total), (0.9, most)):
        runs = feint.simulate(
            bandit, epsilon=TotalBudget(planned, time), horizon=time, replications=4000, delta=1e-4, checkpoints=[time]
        )
        # 5 standard errors of both shares (1e-6), and 0.02 for the leaps.
        off = 5 * math.sqrt(share * (1 - share) * (1 / 4000 + 1 / 4000)) + 0.02
        assert abs(float(runs.stopping_time.notnull().mean()) - share) < off


def test_inverse_question():
    epsilon = plan_epsilon(PAIR, 300, 0.01)
    assert plan(PAIR, epsilon, 0.01).time == pytest.approx(300, rel=6e-3)


def test_inverse_questions_of_goals_draw_few_paths(monkeypatch):
    """Every path of a goal costs integrals: with all 1,200 paths at every try, 8,400 and 9,600 were drawn here. The
    answers hold for all paths.
    """
    goal, drawn = feint.AboveThreshold(0.25), []

    def draw(*arguments, **options):
        paths = stopping_paths(*arguments, **options)
        drawn.append(paths.stopped.size)
        return paths

    monkeypatch.setattr("feint.planning.inverse.stopping_paths", draw)
    epsilon = plan_epsilon(PAPER, 10_000, 0.01, goal=goal)
    assert sum(drawn) < 5500
    drawn.clear()
    total = plan_total(PAPER, 10_000, 0.01, goal=goal)
    assert sum(drawn) < 7000
    times = stopping_paths(PAPER, feint.TopTwo(), Constant(epsilon), 0.01, goal=goal).stopped
    assert times.mean() == pytest.approx(10_000, rel=6e-3)
    budget = TotalBudget(total, 10_000)
    times = stopping_paths(PAPER, feint.TopTwo(), budget, 0.01, horizon=10_000.0, goal=goal).stopped
    assert np.isfinite(times).mean() == pytest.approx(0.5, abs=2.5e-3)
    drawn.clear()
    with pytest.raises(ValueError, match="tie for place 2"):
        plan_epsilon(Bandit(PAPER.public, [0.5, 0.2, 0.2, 0.0]), 10_000, 0.01, goal=feint.TopArms(2))
    assert not drawn


def test_no_budget_is_needed_for_an_easy_instance():
    """Private gap 3σ, public gap σ/10: Thompson Sampling pulls both arms, and two or three pulls decide."""
    easy = Bandit([0.1, 0.0], [0.0, 3.0])
    assert plan(easy, 1e-6, 0.01).quantiles[1] < 20
    assert plan_epsilon(easy, 1000, 0.01) < 1e-3
    assert plan_total(easy, 100, 0.01) == 0.0


def test_bad_input_is_explained():
    for epsilon in (0.0, PowerLaw(0.0, 0.5), TotalBudget(0.0, 10)):
        with pytest.raises(ValueError, match="exponent is zero"):
            plan(PAPER, epsilon, 0.01)
    for delta in (0.0, 1.0, -0.1, math.nan, True, "0.1"):
        with pytest.raises(ValueError, match=r"delta.* strictly between 0 and 1"):
            plan(PAPER, 0.1, delta)
    with pytest.raises(ValueError, match=r"alpha.* got 2"):
        plan(PAPER, 0.1, 0.01, alpha=2)
    with pytest.raises(ValueError, match="0 or more"):
        plan(PAPER, -0.1, 0.01)
    with pytest.raises(ValueError, match="tie for the best public"):
        plan(Bandit([1, 1], [0, 1]), 0.1, 0.01)
    with pytest.raises(ValueError, match="% of runs reach confidence"):
        plan(PAIR, TotalBudget(1e-3, 100), 1e-100)
    with pytest.raises(ValueError, match="without any limit it takes"):
        plan_epsilon(PAIR, 3, 1e-9)
    with pytest.raises(ValueError, match="pulls above 4"):
        plan_epsilon(PAPER, 4, 0.01)
    with pytest.raises(ValueError, match="without any limit"):
        plan_total(PAIR, 3, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("row", range(10))
def test_fixed_shares_against_simulation(row):
    """Mean and 10, 50 and 90 % points within 10 % (docs/theory.md); 3.5 standard errors of both sides are allowed on
    top (0.05 % per comparison).
    """
    public, private, epsilon, delta = ROWS[row]
    bandit = Bandit(public, private)
    best = optimal_allocation(bandit) if epsilon == math.inf else optimal_boosting(bandit)
    explorer = feint.FixedBoosting(best.weights)
    found = plan(bandit, epsilon, delta, explorer=explorer)
    end, n = 10**7, 1500
    runs = feint.simulate(
        bandit, explorer, epsilon=epsilon, horizon=end, replications=n, checkpoints=[end], delta=delta, seed=13
    )
    times = np.nan_to_num(runs.stopping_time.values, nan=math.inf)
    stopped = times[np.isfinite(times)]
    error = math.hypot(stopped.std() / math.sqrt(n), found.standard_error)
    assert abs(found.time - stopped.mean()) < 0.1 * stopped.mean() + 3.5 * error
    for share, quantile in zip((0.1, 0.5, 0.9), found.quantiles, strict=True):
        # The plan's quantile lies between those of the simulation at shares 3.5 standard errors off, times 1 ± 10 %.
        off = 3.5 * math.sqrt(share * (1 - share) * (1 / n + 1 / 4000))
        low, high = np.quantile(times, (share - off, min(1.0, share + off)), method="nearest")
        assert 0.9 * low < quantile < 1.1 * high


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, math.inf])
@pytest.mark.parametrize("row", [0, 3, 4, 5, 6, 7, 8, 9])
def test_algorithm_1_against_simulation(row, epsilon):
    """The mean is within 20 % and 3.5 standard errors on top."""
    public, private, _, delta = ROWS[row]
    bandit = Bandit(public, private)
    found = plan(bandit, epsilon, delta)
    end = 10**7
    runs = feint.simulate(
        bandit, epsilon=epsilon, horizon=end, replications=500, checkpoints=[end], delta=delta, seed=17
    )
    times = runs.stopping_time.dropna("replication").values
    error = math.hypot(times.std() / math.sqrt(times.size), found.standard_error)
    assert abs(found.time - times.mean()) < 0.2 * times.mean() + 3.5 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "horizon", "n"), [(1.0, 400, 400), (0.1, 2500, 300), (0.01, 8000, 200), (0.001, 30000, 100)]
)
@pytest.mark.parametrize("row", [0, 3, 4, 6, 9, 7])
def test_who_notices_against_simulation(row, epsilon, horizon, n):
    """Medians are within 20 % of the order statistics that lie 3.5 standard errors to both sides."""
    bandit = Bandit(*ROWS[row][:2])
    found = plan(bandit, epsilon, 0.1)
    runs = feint.simulate(
        bandit, epsilon=epsilon, horizon=horizon, replications=n, checkpoints=[horizon], observe=True, seed=23
    )
    off = 3.5 * 0.5 * math.sqrt(1 / n + 1 / 500)
    for notice, times in ((found.informed, runs.floor_time), (found.observer, runs.detection_time)):
        low, high = np.quantile(times.fillna(math.inf).values, (0.5 - off, 0.5 + off), method="nearest")
        assert 0.8 * low - 1 < notice.quantiles[1] < 1.2 * high + 1


COMMAND = ["plan", "--public", "2,0", "--private", "0,2", "--delta", "0.01"]


def test_command_prints_a_table_and_json(tmp_path):
    runner = CliRunner()
    answer = plan(PAIR, 0.1, 0.01)
    table = runner.invoke(app, [*COMMAND, "--epsilon", "0.1"])
    assert table.exit_code == 0
    for text in (f"{answer.time:,.0f} pulls", f"{answer.weights[1]:.4f}", "best private", "noticed at level 0.05"):
        assert text in table.output
    file = tmp_path / "mine.toml"
    file.write_text("public = [2.0, 0.0]\nprivate = [0.0, 2.0]\n")
    options = ["plan", "--instance", str(file), "--delta", "0.01", "--epsilon", "0.1", "--alpha", "0.01", "--json"]
    fields = json.loads(runner.invoke(app, options).output)
    assert fields["time"] == answer.time
    assert fields["weights"] == answer.weights.tolist()
    assert (fields["epsilon"], fields["alpha"], fields["families"][0]["sigma"]) == (0.1, 0.01, 1.0)
    assert fields["informed"]["quantiles"][1] > answer.informed.quantiles[1]  # a stricter level
    unlimited = json.loads(runner.invoke(app, [*COMMAND, "--epsilon", "inf", "--json"]).output)
    assert unlimited["epsilon"] == "inf"


def test_command_draws_and_does_not_overwrite(tmp_path):
    picture = tmp_path / "plan.png"
    drawn = CliRunner().invoke(app, [*COMMAND, "--epsilon", "0.1", "--plot", str(picture)])
    assert drawn.exit_code == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(FileExistsError):
        CliRunner().invoke(app, [*COMMAND, "--epsilon", "0.1", "--plot", str(picture)], catch_exceptions=False)


def test_command_answers_the_inverse_questions():
    by_time = CliRunner().invoke(app, [*COMMAND, "--time", "300", "--json"])
    assert json.loads(by_time.output)["time"] == pytest.approx(300, rel=6e-3)
    by_total = CliRunner().invoke(app, [*COMMAND, "--total", "9", "--horizon", "300", "--json"])
    fields = json.loads(by_total.output)
    assert fields["epsilon"] == {"kind": "total", "total": 9.0, "horizon": 300}
    assert fields["time"] == plan(PAIR, TotalBudget(9.0, 300), 0.01).time


def test_command_takes_an_explorer_and_a_reference():
    options = [*COMMAND, "--epsilon", "0.1", "--json", "--reference", "gaussian:2", "--explorer", "fixed-boosting:0,1"]
    fields = json.loads(CliRunner().invoke(app, options).output)
    bandit = feint.Bandit([2.0, 0.0], [0.0, 2.0], sigma=2.0)
    assert fields["time"] == plan(bandit, 0.1, 0.01, explorer=feint.FixedBoosting([0.0, 1.0])).time
    assert fields["explorer"] == {"kind": "fixed-boosting", "weights": [0.0, 1.0]}
    assert fields["families"][0] == {"kind": "gaussian", "sigma": 2.0}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epsilon", "0"], "exponent is zero"),
        (["--epsilon", "0.1", "--time", "100"], "Give exactly one of --epsilon"),
        (["--epsilon", "0.1", "--horizon", "100"], "with --total or --unseen"),
        (["--unseen", "0.5", "--horizon", "1.5"], "whole number of pulls"),
        (["--epsilon", "0.1", "--public", "0.6,x"], "--public is '0.6,x'"),
        (["--epsilon", "0.1", "--explorer", "round-robin"], "does not say with which probability it boosts an arm"),
        (["--unseen", "0.5", "--horizon", "100", "--explorer", "top-two"], "leave --explorer out"),
        (["--epsilon", "0.1", "--reference", "ucb"], "A plan is for the reference thompson-sampling; simulate others"),
        (["--epsilon", "0.1", "--reference", "thompson-sampling:0,1"], "leave the prior out, or use feint run."),
        (["--epsilon", "0.1", "--reference", "beta", "--sigma", "1"], "contradicts the public rewards"),
    ],
)
def test_command_explains_bad_input(arguments, sentence):
    result = typed(*COMMAND, *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("feint: ")
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_where_the_expected_time_jumps_the_nearest_is_returned():
    """The time falls from 100 to 50 at ε = 2: 90 is nearest to 100, and 60 to 50."""

    def expected(epsilon):
        return 100.0 if epsilon < 2.0 else 50.0

    assert expected(math.exp(_search_epsilon(expected, 90.0, 0.0, 0.005))) == 100.0
    assert expected(math.exp(_search_epsilon(expected, 60.0, 0.0, 0.005))) == 50.0
