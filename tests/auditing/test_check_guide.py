"""Test the guide docs/check.md: its test for pytest, its step of CI, its fields; test_guides.py types its commands."""

import re
import runpy
import shlex
from pathlib import Path

from typer.testing import CliRunner

import feint
from feint.cli import app

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
SHOP = ROOT / "docs" / "policies" / "shop.py"


def test_the_example_for_pytest():
    module = runpy.run_path(str(SHOP))
    module["test_the_shop_draws_what_it_logs"]()
    module["test_the_check_finds_bugs"](module["Reseeded"])


def test_the_step_of_ci(monkeypatch):
    monkeypatch.chdir(ROOT)
    (line,) = re.findall(r"^  run: feint (.*)$", GUIDE, re.MULTILINE)
    assert CliRunner().invoke(app, shlex.split(line)).exit_code == 0


def test_every_option_and_every_field_is_explained():
    known = CliRunner().invoke(app, ["check", "--help"], env={"COLUMNS": "200"}).output
    options = set(re.findall(r"--[a-z][a-z-]+", known)) - {"--help"}
    assert len(options) == 8
    assert sorted(name for name in options if name not in GUIDE) == []
    shop = runpy.run_path(str(SHOP))
    report = feint.check_policy(shop["Reseeded"], shop["BANDIT"], steps=1_000).to_json()
    listed = GUIDE.split("## The JSON")[1]
    assert sorted(name for name in report if f"`{name}`" not in listed) == []
    for nested in (report["arms"][0], report["replay"]):
        assert sorted(name for name in nested if f"`{name}`" not in listed) == []
