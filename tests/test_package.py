"""Test the package from outside: import time, lazy names, the command, and the version."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import feint

ROOT = Path(__file__).parents[1]


def loaded_by(*command):
    """Return which of the heavy packages a command imports."""
    code = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); " + command[0]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return {"numba", "scipy", "xarray", "matplotlib", "pyarrow", "pandas"} & set(done.stderr.split())


def test_import_and_help_load_nothing_heavy():
    """Slow imports wait until they are used; otherwise `feint --help` would take seconds."""
    assert loaded_by("import feint") == set()
    assert loaded_by("import sys; sys.argv = ['feint', '--help']; from feint.cli import main; main()") == set()
    assert "numba" in loaded_by("import feint; feint.simulate")  # the check can fail


def test_compiling_is_announced_on_standard_error_only(tmp_path):
    """A first use with an empty cache prints results on standard output, and on standard error why it takes long."""
    at_once = (
        "import sys; from feint.numerics import _compiling; _compiling._CompileNotice._PATIENCE = 0.0; "
        "from feint.__main__ import main; sys.argv[0] = 'feint'; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", at_once, "plan", "--public", "1,0", "--private", "0,1", "--epsilon", "1", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert json.loads(done.stdout)["time"] > 2
    assert done.stderr.splitlines() == [
        "feint: compiling kernels (`feint warm` does all at once)",
        "feint: compiled kernels are kept: the next start is quick",
    ]


def test_second_start_does_not_compile():
    """A fresh process finds the kernel in the cache on disk: one hit, no miss."""
    code = (
        "import feint; feint.best_arm_probabilities([0.0, 1.0], [1.0, 1.0]); "
        "from feint.numerics.best_arm_rows import _fill_rows; s = _fill_rows.stats; "
        "print(sum(s.cache_hits.values()), sum(s.cache_misses.values()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    second = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert second.stdout.split() == ["1", "0"]


def test_every_name_loads_and_is_listed():
    for name in feint.__all__:
        assert getattr(feint, name) is not None
    assert set(feint.__all__) == set(dir(feint))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = feint.nonsense


def test_one_file_has_the_version():
    """What is built takes its number from there; the changelog's heading is the only other place that names it."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert config["project"]["dynamic"] == ["version"]
    assert config["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "feint.version.VERSION"}
    assert f"## [{feint.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    named = [path for path in (ROOT / "src").rglob("*.py") if f'"{feint.__version__}"' in path.read_text()]
    assert [path.name for path in named] == ["version.py"]
    assert feint.__version__ not in (ROOT / "CITATION.cff").read_text()


def test_command_explains_bad_input_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    result = subprocess.run(
        [sys.executable, "-m", "feint", "reproduce", "--out", str(tmp_path / "file")], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stderr.startswith("feint: ")
    assert len(result.stderr.splitlines()) == 1
    bad = subprocess.run([sys.executable, "-m", "feint", "nonsense"], capture_output=True, text=True)
    assert bad.returncode == 2


def test_bad_thread_setting_is_explained():
    result = subprocess.run(
        [sys.executable, "-c", "import feint; feint.best_arm_probabilities([0.0, 1.0], [1.0, 1.0])"],
        capture_output=True,
        text=True,
        env={**os.environ, "FEINT_THREADS": "none"},
    )
    assert "whole number of threads" in result.stderr


def test_no_file_names_a_package_host():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [ROOT / name for name in listed.stdout.split()] if listed.returncode == 0 else []
    words = ("--index-" + "url", "pypi" + ".org/simple", "find-" + "links")
    for path in files:
        text = path.read_text(errors="ignore") if path.is_file() else ""
        assert not any(word in text for word in words), path
