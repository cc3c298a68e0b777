"""One conformance test for every experiment."""

import json
import math
from pathlib import Path

import pytest
import xarray as xr

import feint
from feint.experiments import paper_method, reference_table
from feint.experiments.claims_page import marked
from feint.experiments.contract import NAMES, caption_of, load_experiment, settings_of
from feint.experiments.findings import KINDS, LEVEL, REFUTED, VERDICTS
from layout import crowded

TINY = {
    "rate": {"horizon": 2_000, "replications": 4},
    "budget": {"horizon": 2_000, "spent": 2, "horizon_unlimited": 1_000, "replications": 4},
    "asymmetry": {"early": 500, "horizon": 1_000, "replications": 4, "replications_asymmetric": 6},
    "convergence": {"horizon": 1_000, "replications": 4},
    "boost": {"points": 200},
    "approximations": {"horizon": 60, "replications": 5, "replications_pulls": 6},
    "lemma2": {"log10_horizon": 5, "replications": 5},
    "constraint": {"horizon": 60},
    "detection": {
        "epsilons": (0.1, 1.0),
        "deltas": (0.05,),
        "identify_total": 200,
        "identify_replications": 6,
        "detect_extra": 50,
        "detect_replications": 5,
    },
    "schedules": {
        "totals": (10.0, 100.0),
        "compared": ((10.0,), (100.0,)),
        "horizon": 1_000,
        "replications": 5,
        "watched": 100,
        "watched_replications": 2,
    },
    "power": {"totals": (0.1, 1.0), "horizon": 60, "replications": 20},
    "earning": {
        "horizon": 400,
        "replications": 8,
        "watched": (60, 60, 40),
        "watched_replications": 8,
        "risky_horizon": 100,
        "risky_replications": 20,
    },
}


@pytest.fixture(scope="module", params=NAMES)
def done(request):
    """(module, settings, data, ticks) of one experiment, run once with tiny settings."""
    experiment = load_experiment(request.param)
    settings = {**experiment.SETTINGS, **TINY[request.param]}
    ticks = []
    data = experiment.run(settings, 3, ticks.append)
    return experiment, settings, data, ticks


def test_every_experiment_is_tested_here():
    assert set(TINY) == set(NAMES)


class TestConformance:
    def test_settings(self, done):
        experiment, settings, _, _ = done
        assert set(experiment.QUICK) <= set(experiment.SETTINGS)
        assert set(settings) == set(experiment.SETTINGS)
        assert settings_of(experiment, True) == {**experiment.SETTINGS, **experiment.QUICK}
        assert experiment.TITLE

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
        [pytest.param(name, marks=pytest.mark.slow) if name == "detection" else name for name in NAMES],
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
            assert claim.verdict in VERDICTS
            assert claim.kind in KINDS
            assert math.isfinite(claim.measured)
            assert claim.low <= claim.measured <= claim.high
            assert 0 <= claim.level <= LEVEL
            assert "inf" not in claim.claimed
            assert len(claim.name) <= 50  # a line of 80 columns has no room for more
            json.dumps(claim.to_json(), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_is_readable_and_refutes_nothing_that_the_full_run_shows(name):
    """What the full run shows is in docs/claims.md; names that a quick run alone has are not there."""
    experiment = load_experiment(name)
    settings = settings_of(experiment, True)
    data = experiment.run(settings, 0, lambda steps: None)
    assert crowded(experiment.plot(data)) == []
    page = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8").replace("\\", "")
    shown = {line.split(" | ")[1] for line in page.splitlines() if line.endswith("| shown |")}
    assert shown
    refuted = {marked(claim) for claim in experiment.claims(data, settings) if claim.verdict == REFUTED}
    assert refuted & shown == set()


def test_settings_are_the_papers():
    """Means, budgets and numbers of seeds from Section 6 and Appendix C of the paper."""
    paper = {"public": (0.6, 0.3, 0.0, 0.2), "private": (0.2, 0.5, 0.1, 0.0)}
    expected = {
        "rate": {"public": paper["public"], "epsilon": 0.1, "boosted": (1, 2, 3), "replications": 50},
        "budget": {**paper, "epsilons": (0.0, 1e-3, 1e-2, 1e-1, 1.0, math.inf), "replications": 100},
        "asymmetry": {
            "private": (0.2, 0.5, 0.0, 0.0),
            "symmetric": (0.6, 0.1, 0.1, 0.1),
            "asymmetric": (0.6, 0.5, 0.0, 0.3),
            "epsilon": 0.1,
        },
        "convergence": {
            "public": ((0.6, 0.3, 0.1), (0.8, 0.3, 0.6)),
            "private": ((0.2, 0.5, 0.3), (0.1, 0.35, 0.2)),
            "epsilon": 0.1,
            "replications": 50,
        },
        "boost": {"epsilon": 0.1},
    }
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
    """A claim table that cannot fail is worth nothing: pulls below φ must be reported."""
    rate = load_experiment("rate")
    settings = {**rate.SETTINGS, **TINY["rate"], "replications": 11}  # the fewest with an interval at LEVEL
    data = rate.run(settings, 0, lambda steps: None)
    data["pulls"] = data.pulls * 0.01
    found = {claim.name: claim.verdict for claim in rate.claims(data, settings)}
    assert {name for name, verdict in found.items() if verdict == REFUTED} >= {
        f"φ underestimates arm {arm}" for arm in (1, 2, 3)
    }


def test_paper_method_draws_as_algorithm_1():
    """At ε → ∞ q-hat is 1: the boosted arm is pulled, so round-robin pulls are exact."""
    bandit = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    runs = paper_method.run(
        bandit, epsilon=1e4, horizon=63, replications=3, seed=0, checkpoints=[63], round_robin=[1, 2]
    )
    assert runs.pulls[:, 0].values.tolist() == [[1.0, 31.0, 31.0]] * 3
    assert (runs.log_error < 0).all()


def test_unknown_figures_are_explained():
    with pytest.raises(ValueError, match="choose among rate"):
        load_experiment("nonsense")
