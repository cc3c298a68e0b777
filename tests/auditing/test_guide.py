"""Test the guide docs/audit.md: its logs, options and service; test_guides.py types its commands."""

import re
import shlex
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

from typer.testing import CliRunner

from consoles import commands
from feint.cli import app

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(command) for command, _ in commands(GUIDE)]


def test_every_log_is_audited(tmp_path):
    program, script, *arguments = COMMANDS[0]
    assert program == "python"
    subprocess.run([sys.executable, str(ROOT / script), *arguments], cwd=tmp_path, check=True)
    named = {Path(word).name for command in COMMANDS for word in command if word.startswith("logs/")}
    assert named == {path.name for path in (tmp_path / "logs").iterdir()}


def test_every_option_is_explained():
    known = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "200"}).output
    options = set(re.findall(r"--[a-z][a-z-]+", known)) - {"--help", "--initial-round"}  # its negation is the option
    assert len(options) > 30
    assert sorted(name for name in options if name not in GUIDE) == []


def test_the_service_and_the_line_for_cron_run(tmp_path, monkeypatch):
    """They run with other paths, up to the end of a log, and as if the program `mail` were there."""
    monkeypatch.setattr("feint.cli.follow.shutil.which", lambda program: program)
    (ini,) = re.findall(r"```ini\n(.*?)```", GUIDE, re.DOTALL)
    service = ConfigParser(interpolation=None)
    service.optionxform = str
    service.read_string(ini)
    assert service["Service"]["RestartPreventExitStatus"] == "1 2"
    (cron,) = re.findall(r"```text\n(.*?) > /dev/null\n```", GUIDE, re.DOTALL)
    (tmp_path / "log.csv").write_text("arm,reward\n" + "0,0.1\n1,0.2\n2,0.3\n" * 3)
    places = {"/var/log/shop.csv": tmp_path / "log.csv", "/var/lib/shop/audit.json": tmp_path / "state.json"}
    for line in (service["Service"]["ExecStart"], cron.split(maxsplit=5)[5]):
        program, *words = shlex.split(line)
        assert program == "/usr/local/bin/feint"
        result = CliRunner().invoke(app, [*(str(places.get(word, word)) for word in words), "--until-end"])
        assert (result.exit_code, "in 9 rows" in result.output) == (0, True), result.output
    assert (tmp_path / "state.json").exists()
