"""Without extras the three verbs work, and whatever needs an extra says so in one sentence."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from feint.support.extras import _EXTRAS

ROOT = Path(__file__).parents[1]
INSTANCE = ["--public", "0.6,0.3,0,0.2", "--private", "0.2,0.5,0.1,0", "--epsilon", "0.1"]
SHORT = ["run", *INSTANCE, "--horizon", "3000", "--replications", "2"]
# Runs commands one after the other where none of the extras' packages can be imported.
ALONE = """
import contextlib, io, json, sys

packages, commands = map(json.loads, sys.argv[1:])

sys.modules.update(dict.fromkeys(packages))  # an import of these finds nothing
from feint.cli import main

def run(command):
    sys.argv = ["feint", *command]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0, out.getvalue(), err.getvalue()

print(json.dumps([run(command) for command in commands]))
"""
STUDY = """
horizon = 10
replications = 1
epsilons = [0.1]
[bandits.a]
public = [0.6, 0.3]
private = [0.2, 0.5]
"""


def run_alone(folder, *commands):
    """Return [(exit code, standard output, standard error)] of each command."""
    packages = ["bokeh", "cloudpickle", "dask", "numcodecs", "tornado", *_EXTRAS]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, json.dumps(packages), json.dumps(commands)],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_core_explores_plans_and_audits(tmp_path):
    run, plan, audit = run_alone(
        tmp_path,
        [*SHORT, "--log", "log.csv"],
        ["plan", *INSTANCE, "--delta", "0.001", "--json"],
        ["audit", "log.csv", "--arms", "4"],
    )
    assert run[0] == 0
    assert "best private arm found" in run[1]
    assert plan[0] == 0
    assert json.loads(plan[1])["time"] > 4
    assert audit[0] == 1
    assert "rejected at row 223 of 3,000" in audit[1]  # what the README shows, with Arrow or without


def test_what_is_missing_is_named_with_the_command_that_installs_it(tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\n0,1\n1,0\n")
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    (tmp_path / "log.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (tmp_path / "study.toml").write_text(STUDY)
    audit = ["audit", "log.csv", "--arms", "2"]
    expected = {
        (*SHORT, "--plot", "a.pdf"): ("a.pdf", "matplotlib", "plot"),
        (*SHORT, "--picture", "a.png"): ("a.png", "matplotlib", "plot"),
        ("plan", *INSTANCE, "--delta", "0.01", "--plot", "a.svg"): ("a.svg", "matplotlib", "plot"),
        (*audit, "--plot", "a.svg"): ("a.svg", "matplotlib", "plot"),
        (*audit, "--html", "a.html"): ("a.html", "matplotlib", "plot"),
        ("reproduce", "--out", "all"): ("feint reproduce", "matplotlib", "plot"),
        (*SHORT, "--log", "a.parquet"): ("a.parquet", "pyarrow", "arrow"),
        ("audit", "log.parquet"): ("log.parquet", "pyarrow", "arrow"),
        ("audit", "log.csv.zst"): ("log.csv.zst", "pyarrow", "arrow"),
        (*SHORT, "--save", "a.zarr"): ("a.zarr", "zarr", "sweep"),
        ("sweep", "study.toml", "--out", "a.zarr"): ("A sweep", "zarr", "sweep"),
        ("sweep", "study.toml", "--out", "a.zarr", "--dry-run"): ("A sweep", "zarr", "sweep"),
        ("sweep", "show", "a.zarr"): ("A sweep", "zarr", "sweep"),
        ("sweep", "study.toml", "--out", "memory://a.zarr"): ("memory://a.zarr", "fsspec", "cluster"),
        ("app", "--port", "0"): ("The page", "panel", "app"),
    }
    before = sorted(tmp_path.iterdir())
    for (what, library, extra), answer in zip(expected.values(), run_alone(tmp_path, *expected), strict=True):
        sentence = f"feint: {what} needs {library}, which is not installed: pip install 'feint[{extra}]'.\n"
        assert answer == [2, "", sentence]
    assert sorted(tmp_path.iterdir()) == before  # refused before anything was done


@pytest.mark.parametrize(("library", "extra"), _EXTRAS.items())
def test_the_extra_that_is_named_brings_the_library(library, extra):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(needed.startswith(library) for needed in extras[extra])
    assert extras["all"] == [f"feint[{','.join(sorted(set(extras) - {'all'}))}]"]
