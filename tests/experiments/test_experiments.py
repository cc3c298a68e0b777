"""Test every experiment for what all of them promise."""

import json
import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import feint
from cases import quick_but_for
from feint.experiments import PAPER_FIGURES, SEEDS_SEEN, TITLES, choose_experiments, paper_method, reference_table
from feint.experiments.claims_page import marked
from feint.experiments.contract import caption_of, digest_settings, load_experiment, settings_of
from feint.experiments.findings import KINDS, LEVEL, MEASUREMENT, REFUTED, VERDICTS
from layout import crowded

TINY = {
    "figure1": {"horizon": 2_000, "replications": 4, "replications_claims": 5},
    "figure2": {"horizon": 2_000, "spent": 2, "horizon_unlimited": 1_000, "replications": 4},
    "figure3": {"early": 500, "horizon": 1_000, "replications": 4, "replications_asymmetric": 6},
    "figure4": {"horizon": 1_000, "replications": 4},
    "figure5": {"points": 200},
    "approximations": {"horizons": (300, 200, 200, 300), "seeds": (4, 5, 4, 5), "horizon": 60, "replications_pulls": 6},
    "lemma2": {"log10_horizon": 5, "replications": 5},
    "constraint": {"horizon": 60},
    "detection": {
        "epsilons": (0.1, 1.0),
        "deltas": (0.05,),
        "identify_total": 200,
        "identify_replications": (6,),
        "detect_extra": 50,
        "detect_replications": (5, 6),
    },
    "schedules": {
        "totals": (10.0, 100.0),
        "compared": ((10.0,), (100.0,)),
        "horizon": 1_000,
        "runs": (5, 7),
    },
    "power": {"totals": (0.1, 1.0), "horizon": 60, "runs": (20, 15)},
    "earning": {
        "horizon": 400,
        "runs": (8, 7, 8, 6),
        "watched": (60, 60, 40),
        "watched_replications": (8, 6, 7),
        "risky_horizon": 100,
        "risky_replications": 20,
    },
    "feedback": {
        "horizon": 100_000,
        "replications": 5,
        "spread_times": (1_000, 10_000),
        "spread_replications": 40,
        "watch_horizon": 300,
        "watch_replications": 6,
    },
    "goals": {
        "cases": (("above-threshold:0.5", (0.9, 0.2, 0.4), (0.1, 1.0, 0.3)),),
        "log10_horizon": 4,
        "replications": 4,
    },
}


PYTHON_SEQUENCE = re.compile(r"[(\[]-?\d[\d.e+-]*,")  # means are given in words


@pytest.fixture(scope="module", params=quick_but_for(["feedback"], TITLES))  # which compiles for a minute
def done(request):
    """Return (module, settings, data, ticks) of one experiment, run once with tiny settings."""
    experiment = load_experiment(request.param)
    settings = {**experiment.SETTINGS, **TINY[request.param]}
    ticks = []
    data = experiment.run(settings, 3, ticks.append)
    return experiment, settings, data, ticks


def test_every_experiment_is_tested_here():
    assert set(TINY) == set(TITLES)


class TestConformance:
    def test_settings(self, done):
        experiment, settings, _, _ = done
        for size, changes in (("quick", experiment.QUICK), ("usual", {}), ("full", experiment.FULL)):
            assert set(changes) <= set(experiment.SETTINGS)
            assert settings_of(experiment, size) == {**experiment.SETTINGS, **changes}
        assert set(settings) == set(experiment.SETTINGS)

    def test_caption_has_this_runs_own_numbers(self, done):
        experiment, settings, _, _ = done
        caption = caption_of(experiment, settings)
        assert "{" not in caption
        if "replications" in settings and "{replications" in experiment.CAPTION:
            assert f"{settings['replications']:,}" in caption
        if "means" in caption or "bands" in caption or "intervals" in caption:
            assert "95 %" in caption

    def test_progress_adds_up(self, done):
        experiment, settings, _, ticks = done
        assert sum(ticks) == pytest.approx(experiment.steps(settings), rel=0.02)

    @pytest.mark.parametrize(
        "done",
        [pytest.param(name, marks=pytest.mark.slow) if name in ("detection", "feedback") else name for name in TITLES],
        indirect=True,
    )
    def test_same_seed_same_data(self, done):
        experiment, settings, data, _ = done
        assert experiment.run(settings, 3, lambda steps: None).identical(data)

    def test_figure_is_drawn_from_stored_data_alone(self, done, tmp_path):
        experiment, _, data, _ = done
        data.to_zarr(tmp_path / "data.zarr", consolidated=False)
        with xr.open_zarr(tmp_path / "data.zarr", consolidated=False) as stored:
            figure = experiment.plot(stored.load())
        for axes in figure.axes:
            assert axes.lines
            bottom = axes.get_subplotspec().is_last_row()
            assert axes.get_xlabel() or not bottom
        assert any(axes.get_ylabel() for axes in figure.axes)
        for suffix in ("pdf", "png"):
            figure.savefig(tmp_path / f"figure.{suffix}")
            assert (tmp_path / f"figure.{suffix}").stat().st_size > 4_000
        assert crowded(figure) == []

    def test_claims_are_complete(self, done):
        experiment, settings, data, _ = done
        found = experiment.claims(data, settings)
        assert found
        assert len({claim.name for claim in found}) == len(found)
        for claim in found:
            assert claim.kind in KINDS
            assert claim.verdict in VERDICTS or claim.kind == MEASUREMENT
            assert math.isfinite(claim.measured)
            assert claim.low <= claim.measured <= claim.high
            assert 0 <= claim.level <= LEVEL
            assert "inf" not in claim.claimed
            assert not PYTHON_SEQUENCE.search(claim.quantity), claim.quantity
            assert len(claim.name) <= 50  # a line of 80 columns has no room for more
            json.dumps(claim.to_json(), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", TITLES)
def test_a_quick_run_is_readable_and_refutes_nothing_that_the_full_run_shows(name):
    """What the full run shows is in docs/claims.md; names that a quick run alone has are not there."""
    experiment = load_experiment(name)
    settings = settings_of(experiment, "quick")
    data = experiment.run(settings, 0, lambda steps: None)
    assert crowded(experiment.plot(data)) == []
    shown = {line.split(" | ")[1] for line in PAGE.splitlines() if line.endswith("| shown |")}
    assert shown
    refuted = {marked(claim) for claim in experiment.claims(data, settings) if claim.verdict == REFUTED}
    assert refuted & shown == set()


PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8").replace("\\", "")


def test_the_page_of_claims_is_a_full_run_of_these_settings():
    """Its seed had not been seen before, its settings are those of the code, and its counts are those of its rows."""
    seed, digest = re.search(r"Made by `feint reproduce all --full --seed (\d+)` \(settings (\w+)\)\.", PAGE).groups()
    assert int(seed) not in SEEDS_SEEN
    assert digest == digest_settings("full")
    rows = [
        line.strip("| ").split(" | ")
        for line in PAGE.splitlines()
        if line.startswith(tuple(f"| {n} |" for n in TITLES))
    ]
    verdicts = [row[5].strip("*") for row in rows if len(row) == 6]
    counts = re.findall(r"(\d+) shown, (\d+) refuted, (\d+) undecided \(of (\d+)\)", PAGE)
    assert sum(int(count[3]) for count in counts) == len(verdicts)
    for i, verdict in enumerate(VERDICTS):
        assert sum(int(count[i]) for count in counts) == verdicts.count(verdict)


def test_an_hour_decides_nearly_all():
    """Three claims may stay open, none of the paper's; 8 of the 52 claims that were ours may be measurements now."""
    paper, ours, theorems = (
        [int(n) for n in row] for row in re.findall(r"(\d+) shown, (\d+) refuted, (\d+) und", PAGE)
    )
    assert paper[2] == theorems[2] == 0
    assert ours[2] <= 3
    assert sum(ours) >= 52 - 8


def test_stars_name_commits_that_changed_experiments():
    """They are compared with the history of the files, where it is at hand."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("The history is not at hand.")
    named = set()
    for path in (root / "src" / "feint" / "experiments").glob("*.py"):
        named |= set(re.findall(r'"([0-9a-f]{7})"', path.read_text(encoding="utf-8")))
    assert named >= {"62a77bb", "db7e8d4", "33ba149", "3ae282a"}
    for commit in named:
        changed = subprocess.run(
            ["git", "show", "--format=", "--name-only", commit], cwd=root, capture_output=True, text=True, check=True
        )
        assert "src/feint/experiments/" in changed.stdout


def test_settings_are_the_papers():
    """Means, budgets and numbers of seeds from Section 6 and Appendix C of the paper."""
    paper = {"public": (0.6, 0.3, 0.0, 0.2), "private": (0.2, 0.5, 0.1, 0.0)}
    expected = {
        "figure1": {"public": paper["public"], "epsilon": 0.1, "replications": 50},
        "figure2": {**paper, "epsilons": (0.0, 1e-3, 1e-2, 1e-1, 1.0, math.inf), "replications": 100},
        "figure3": {
            "private": (0.2, 0.5, 0.0, 0.0),
            "symmetric": (0.6, 0.1, 0.1, 0.1),
            "asymmetric": (0.6, 0.5, 0.0, 0.3),
            "epsilon": 0.1,
            "replications": 100,
        },
        "figure4": {
            "public": ((0.6, 0.3, 0.1), (0.8, 0.3, 0.6)),
            "private": ((0.2, 0.5, 0.3), (0.1, 0.35, 0.2)),
            "epsilon": 0.1,
            "replications": 50,
        },
        "figure5": {"epsilon": 0.1},
    }
    assert list(expected) == list(PAPER_FIGURES)
    for name, values in expected.items():
        settings = load_experiment(name).SETTINGS
        assert {key: settings[key] for key in values} == values


def test_reference_table_has_the_values_of_40_digit_integration():
    """Exact values by 40-digit integration, six digits."""
    table = reference_table.run()
    assert float(table.exact[0, 3]) == pytest.approx(0.0581918, abs=5e-8)
    assert float(table.exact[1, 2]) == pytest.approx(0.00135642, abs=5e-9)
    assert float(table.exact[2, 2]) == pytest.approx(6.36904e-9, abs=5e-15)
    assert float(table.gauss_hermite.sel(nodes=32)[2, 2]) == pytest.approx(2.35e-9, rel=5e-3)


def test_a_false_claim_is_refuted():
    """A table of claims that cannot fail is worth nothing, so pulls below φ must be refuted."""
    rate = load_experiment("figure1")
    settings = {**rate.SETTINGS, **TINY["figure1"], "replications_claims": 11}  # the fewest with an interval at LEVEL
    data = rate.run(settings, 0, lambda steps: None)
    data["pulls"] = data.pulls * 0.01
    found = {claim.name: claim.verdict for claim in rate.claims(data, settings)}
    assert {name for name, verdict in found.items() if verdict == REFUTED} >= {
        f"φ underestimates arm {arm}" for arm in (2, 3, 4)
    }


def test_paper_method_draws_as_algorithm_1():
    """At ε → ∞ q-hat is 1: the boosted arm is pulled, so round-robin pulls are exact."""
    bandit = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    runs = paper_method.run(
        bandit, epsilon=1e4, horizon=63, replications=3, seed=0, checkpoints=[63], round_robin=[1, 2]
    )
    assert runs.pulls[:, 0].values.tolist() == [[1.0, 31.0, 31.0]] * 3
    assert (runs.log_error < 0).all()


def test_names_and_groups_keep_the_papers_order():
    assert choose_experiments(["paper"]) == [f"figure{number}" for number in range(1, 6)]
    assert choose_experiments(["lemma2", "paper", "figure2"]) == [*PAPER_FIGURES, "lemma2"]
    assert choose_experiments(["all"]) == list(TITLES)
    with pytest.raises(ValueError, match="choose among figure1"):
        choose_experiments(["figure1", "nonsense"])


def test_figures_number_arms_as_printed_and_show_the_papers_seeds():
    """Arm 1 of the paper is arm 0 of the data; of 6 asymmetric runs, 4 are the paper's."""
    first = load_experiment("figure1")
    data = first.run({**first.SETTINGS, **TINY["figure1"]}, 0, lambda steps: None)
    assert data.arm.values.tolist() == [1, 2, 3]  # "a = 2, 3, 4"
    assert [axes.get_title() for axes in first.plot(data).axes[:3]] == ["arm 2", "arm 3", "arm 4"]
    third = load_experiment("figure3")
    data = third.run({**third.SETTINGS, **TINY["figure3"]}, 0, lambda steps: None)
    panels = third.plot(data).axes
    assert [axes.get_title().split("\n")[1] for axes in panels] == ["4 seeds", "4 seeds", "6 seeds"]
    for axes, runs in zip(panels[1:], (4, 6), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert lines["arm 2"][-1] == pytest.approx(float(data.asymmetric[:runs, -1, 1].mean()))


def test_every_curve_of_the_error_has_its_band():
    """The band of the mean of 1 − p* is Student's, as of any mean; where it reaches 0 it ends at the axes."""
    second = load_experiment("figure2")
    errors = np.array([[0.5, 0.5, 1e-3], [0.4, 0.5, 1e-9], [0.6, 0.5, 1e-9]])
    data = xr.Dataset(
        {"log_error": (("epsilon", "replication", "time"), np.log(errors)[None])},
        coords={"epsilon": [0.1], "time": [100, 200, 300]},
    )
    left, right = second.plot(data).axes
    assert len(left.collections) == len(right.collections) == 1
    low, high = np.array([f(left.collections[0].get_paths()[0].vertices[1:-1][:, 1]) for f in (min, max)])
    assert low == left.get_ylim()[0]
    half = stats.t.ppf(0.975, 2) * errors.std(0, ddof=1) / math.sqrt(3)
    assert 10**high == pytest.approx((errors.mean(0) + half).max())
