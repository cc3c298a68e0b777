"""Run the page docs/warehouses.md with today's DuckDB, Polars, pandas and Arrow, in a new environment."""

import subprocess
from pathlib import Path

import pytest

from own_environment import make_environment

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_page_runs(tmp_path):
    programs, environment = make_environment(tmp_path, "duckdb", "pandas", "polars", extras="[arrow]")
    page = ROOT / "docs" / "warehouses.md"
    assert page.read_text(encoding="utf-8").count("feint.audit_log(") >= 3
    done = subprocess.run(
        [programs / "python", "-m", "doctest", "-v", page], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "Test passed." in done.stdout
