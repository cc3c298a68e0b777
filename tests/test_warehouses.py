"""The page docs/warehouses.md, with DuckDB, Polars, pandas and Arrow as of today, in an environment of its own."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_page_runs(tmp_path):
    dist, home = tmp_path / "dist", tmp_path / "home"
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", dist, ROOT], check=True)
    (wheel,) = dist.glob("*.whl")
    venv.create(home, with_pip=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, f"{wheel}[arrow]", "duckdb", "pandas", "polars"], check=True, env=environment)
    page = ROOT / "docs" / "warehouses.md"
    assert page.read_text(encoding="utf-8").count("feint.audit_log(") >= 3
    done = subprocess.run(
        [home / "bin" / "python", "-m", "doctest", "-v", page], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "Test passed." in done.stdout
