"""Test `feint run`: its table, plot, store and instances from files, and one clear line for wrong input."""

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import feint
from cases import first_is_quick
from feint.agent.trace import Trace, draw_run, trace_run
from feint.cli import app
from feint.registry import from_config
from layout import crowded
from shell import typed

SMALL = ["run", "--horizon", "300", "--replications", "5"]
MEANS = ["--public", "0.6,0.3,0", "--private", "0.2,0.5,0.1"]


def invoke(*arguments):
    return CliRunner().invoke(app, [*SMALL, *arguments])


def test_table_plot_and_store(tmp_path):
    plot, store = tmp_path / "error.pdf", tmp_path / "runs.zarr"
    result = invoke(*MEANS, "--delta", "0.2", "--plot", str(plot), "--save", str(store), "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "best private arm found in" in result.output
    assert "runs stopped" in result.output
    assert plot.read_bytes().startswith(b"%PDF")
    bandit = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    again = feint.simulate(bandit, epsilon=0.1, horizon=300, replications=5, seed=3, delta=0.2)
    with xr.open_zarr(store, consolidated=False) as stored:
        assert again.identical(stored.load())


def test_nothing_is_overwritten_unasked(tmp_path):
    plot = tmp_path / "mine.png"
    plot.write_text("precious")
    refused = invoke(*MEANS, "--plot", str(plot))
    assert isinstance(refused.exception, FileExistsError)
    assert plot.read_text() == "precious"
    assert invoke(*MEANS, "--plot", str(plot), "--force").exit_code == 0
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_observer_beside_the_agent():
    result = invoke(*MEANS, "--observe", "--alpha", "0.9", "--epsilon", "1")
    assert result.exit_code == 0
    assert "runs were detected, median" in result.output


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_log_is_written_whole_and_once(suffix, tmp_path):
    path = tmp_path / f"log.{suffix}"
    assert invoke(*MEANS, "--log", str(path)).exit_code == 0
    report = feint.audit_log(path)
    assert report.mode == "rewards"
    assert isinstance(invoke(*MEANS, "--log", str(path)).exception, FileExistsError)


EXPLORERS = ["top-two", "top-two-transport", "tracking", "round-robin", "earn", "fixed-boosting:0,0.5,0.5"]


@pytest.mark.parametrize("explorer", first_is_quick(EXPLORERS))
def test_every_explorer_by_name(explorer):
    assert invoke(*MEANS, "--explorer", explorer).exit_code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "public = [0.6, 0.3]\nprivate = [0.2, 0.5]\nsigma = 2.0\n"),
        ("a.json", '{"public": [0.6, 0.3], "private": [0.2, 0.5]}'),
    ],
)
def test_instances_from_files(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    assert invoke("--instance", str(tmp_path / name)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Give --public and --private"),
        (["--public", "0.6,x", "--private", "1,2"], "numbers separated by commas"),
        (["--public", "0.6,0.3", "--private", "0.5,0.5"], "tie for the best private"),
        ([*MEANS, "--epsilon", "-1"], "0 or more"),
        ([*MEANS, "--explorer", "magic"], "There is no explorer 'magic'; choose among earn"),
        ([*MEANS, "--horizon", "2"], "3 or more"),
        ([*MEANS, "--delta", "2"], "between 0 and 1"),
        ([*MEANS, "--plot", "figure.doc"], "must end in"),
        ([*MEANS, "--save", "runs.csv"], "must end in"),
        ([*MEANS, "--instance", "x.toml"], "not both"),
        (["--instance", "missing.toml"], "missing.toml"),
        (["--instance", "broken.toml"], "cannot be read"),
        (["--instance", "other.json"], "and nothing else"),
        (["--instance", "instance.yaml"], "must be a .toml or a .json"),
    ],
)
def test_wrong_input_ends_with_one_clear_line(arguments, says, tmp_path):
    (tmp_path / "broken.toml").write_text("public = [0.6,")
    (tmp_path / "other.json").write_text('{"public": [1, 2], "means": 3}')
    result = typed(*SMALL, *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_families_by_name_and_from_files(tmp_path):
    """Options, a TOML and a JSON file give the same run; its log is audited with the family's posterior."""
    log = tmp_path / "log.csv"
    typed = invoke("--public", "0.6,0.3", "--private", "2,5", "--family", "poisson,gaussian:2", "--log", str(log))
    assert typed.exit_code == 0, typed.output
    (tmp_path / "a.toml").write_text('public = [0.6, 0.3]\nprivate = [2, 5]\nfamily = ["poisson", "gaussian:2"]\n')
    (tmp_path / "b.json").write_text('{"public": [0.6, 0.3], "private": [2, 5], "family": "poisson,gaussian:2"}')
    for name in ("a.toml", "b.json"):
        read = invoke("--instance", str(tmp_path / name))
        assert read.exit_code == 0, read.output
        assert read.output in typed.output
    audited = CliRunner().invoke(app, ["audit", str(log), "--arms", "2", "--reference", "poisson", "--prior", "0.5,0"])
    assert "Gamma posteriors of Poisson means and the prior Gamma(0.5, 0)" in " ".join(audited.output.split())
    assert audited.exit_code in (0, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--family", "cauchy"], "There is no family 'cauchy'; choose among"),
        (["--family", "gaussian:0"], "above 0"),
        (["--family", "gaussian:x"], "cannot be made"),
        (["--family", "bernoulli:2"], "cannot be made"),
        (["--family", "bernoulli,poisson,poisson"], "one name, or two"),
        (["--family", "bernoulli", "--sigma", "2"], "not both"),
        (["--family", "bernoulli"], "must lie strictly between 0 and 1"),
    ],
)
def test_wrong_families_get_a_sentence(options, says):
    result = CliRunner().invoke(app, ["run", "--public", "0.6,0.3,0", "--private", "0.2,0.5,0.1", *options])
    assert isinstance(result.exception, ValueError)
    assert says in str(result.exception)


def test_horizons_budgets_and_references_by_name():
    result = invoke(*MEANS, "--horizon", "3e2", "--epsilon", "total:5", "--reference", "softmax:0.2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["runs"] == 5
    assert found["pulls"] == 300
    assert found["instance"]["families"] == [{"kind": "gaussian", "sigma": 1.0}] * 2
    assert found["settings"]["epsilon"] == {"kind": "total", "total": 5.0, "horizon": 300}
    assert (found["settings"]["seed"], found["settings"]["method"]) == (0, "lazy")
    assert sum(found["mean_pulls"]) == pytest.approx(300)
    bandit = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    runs = feint.simulate(
        bandit, reference=feint.Softmax(0.2), epsilon=feint.TotalBudget(5.0, 300), horizon=300, replications=5
    )
    assert found["mean_pulls"] == runs.pulls.isel(time=-1).mean("replication").values.tolist()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--horizon", "1e2.5"], "--horizon is '1e2.5'; give a whole number"),
        (["--horizon", "2.5"], "--horizon is '2.5'; give a whole number"),
        (["--epsilon", "power:1"], "power:SCALE,EXPONENT"),
        (["--epsilon", "much"], "There is no budget 'much'; choose among a number, constant, power"),
        (
            ["--reference", "greedy"],
            "There is no reference 'greedy'; did you mean epsilon-greedy:EPSILON? Otherwise choose among biased-coin",
        ),
        (["--method", "quick"], "choose one of lazy, eager, event"),
        (["--alpha", "0.1"], "add --observe"),
        (["--plot", "nowhere/error.pdf"], "There is no folder nowhere"),
    ],
)
def test_wrong_options_get_a_sentence(options, says):
    result = typed(*SMALL, *MEANS, *options)
    assert result.returncode == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_one_run_as_a_picture(tmp_path, monkeypatch):
    """The run that is drawn is the first of those that are simulated."""
    picture = tmp_path / "run.png"
    result = invoke(*MEANS, "--picture", str(picture))
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 20_000
    drawn = []
    with monkeypatch.context() as patch:
        patch.setattr(
            "feint.agent.trace.trace_run", lambda trace, until: drawn.append(until) or trace_run(trace, until)
        )
        invoke(*MEANS, "--picture", str(picture), "--force")
        invoke(*MEANS, "--picture", str(picture), "--force", "--delta", "0.4")
    assert drawn[0] == 300
    assert 3 <= drawn[1] < 300  # until it was sure
    bandit = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    one = trace_run(Trace(bandit, epsilon=0.1), 300)
    runs = feint.simulate(bandit, epsilon=0.1, horizon=300, replications=1, observe=True, checkpoints=[300])
    assert np.bincount(one.arm, minlength=3).tolist() == runs.pulls.values[0, -1].tolist()
    assert float(one.log_e_value[-1]) == pytest.approx(float(runs.log_e_value[0, -1]), rel=1e-9)
    assert float(one.log_error[-1]) == pytest.approx(float(runs.log_error[0, -1]), rel=1e-9)
    assert crowded(draw_run(one, 0.05)) == []
    with pytest.raises(ValueError, match="at most 100,000"):
        trace_run(Trace(bandit, epsilon=0.1), 10**6)


OWN_EXPLORER = """
class Least:
    def choose(self, view, uniforms):
        return int(view.pulls.argmin())
"""


@pytest.mark.parametrize(
    "options",
    [
        ["--delta", "0.3", "--seed", "5", "--method", "eager", "--epsilon", "power:1,0.5"],
        ["--observe", "--alpha", "0.2", "--family", "gaussian:2", "--explorer", "mine.py:Least", "--horizon", "60"],
    ],
)
def test_json_is_enough_to_run_it_again(options, tmp_path, monkeypatch):
    """A run is repeated by the command in the JSON and, without a user's own parts, from its settings in Python."""
    (tmp_path / "mine.py").write_text(OWN_EXPLORER)
    monkeypatch.chdir(tmp_path)
    found = json.loads(invoke(*MEANS, *options, "--json").stdout)
    assert found["versions"]["feint"] == feint.__version__
    again = CliRunner().invoke(app, [*found["command"], "--json"])
    assert json.loads(again.stdout) == found
    settings = found["settings"]
    if settings["explorer"].get("own"):
        return
    families = tuple(from_config(family, "family") for family in found["instance"]["families"])
    runs = feint.simulate(
        feint.Bandit(found["instance"]["public"], found["instance"]["private"], family=families),
        from_config(settings["explorer"], "explorer"),
        reference=from_config(settings["reference"], "reference"),
        epsilon=from_config(settings["epsilon"], "budget"),
        replications=range(*settings["replications"]),
        **{name: settings[name] for name in ("horizon", "seed", "delta", "method", "observe")},
    )
    assert runs.pulls.values[:, -1].mean(0).tolist() == found["mean_pulls"]
    assert runs.log_error.values[:, -1].mean() == found["mean_log_error"]
