"""The guide docs/check.md, typed: its commands, its test for pytest and its step of a CI file."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import feint
from consoles import assert_shown, typed
from feint.cli import app

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
COMMANDS = list(typed(GUIDE))
SHOP = ROOT / "docs" / "policies" / "shop.py"


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_prints_what_the_guide_shows(command, shown, monkeypatch):
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "feint"
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    assert result.exit_code == (0 if "within" in shown[0] else 1), result.output
    assert_shown(shown, result.stdout)


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
