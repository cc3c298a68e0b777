"""Every command of every guide is run by the tests, and warnings are errors there."""

import re
import shlex
import warnings
from pathlib import Path

import pytest

from shell import typed

DOCS = Path(__file__).parents[1] / "docs"
# Who runs the commands of a page; `feint app` serves until it is ended, and tests/app starts it.
RUN_BY = {
    "app.md": "app/test_door.py",
    "audit.md": "auditing/test_guide.py",
    "check.md": "auditing/test_check_guide.py",
    "public-logs.md": "auditing/test_real_files.py",  # such columns; those logs are not copied here
    "sweeps.md": "sweep/test_guide.py",
    "tutorial.md": "test_guides.py",
    "warehouses.md": "test_warehouses.py",
}


def commands(text):
    """Return the commands of a page's blocks, without what they print."""
    blocks = re.findall(r"^```(?:console|sh)\n(.*?)^```", text, re.DOTALL | re.M)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("feint ")]


TUTORIAL = commands((DOCS / "tutorial.md").read_text(encoding="utf-8"))


def run(command, folder):
    """Run a command of the tutorial, whose only rejection is that of its audit; a warning would end it with 3."""
    verb, *arguments = shlex.split(command)[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = typed(verb, *arguments, cwd=folder)
    assert done.returncode == (1 if verb == "audit" else 0), done.stderr
    assert "Warning" not in done.stderr


def test_every_page_with_commands_has_a_test():
    found = {path.name for path in DOCS.glob("*.md") if commands(path.read_text(encoding="utf-8"))}
    assert found == set(RUN_BY)
    assert len(TUTORIAL) == 6
    for name in RUN_BY.values():
        assert (Path(__file__).parent / name).is_file()


def test_what_is_unseen_is_planned_without_a_warning(tmp_path):
    """A divergence of 1e-310 nats overflowed where a leap's length was computed."""
    (command,) = [command for command in TUTORIAL if "--unseen" in command]
    run(command, tmp_path)


@pytest.mark.slow
def test_the_tutorial(tmp_path):
    for command in TUTORIAL:
        run(command, tmp_path)
