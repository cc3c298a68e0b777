"""The guide docs/sweeps.md, typed: its Python is a doctest, and its local commands print what it shows."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feint.cli import app

GUIDE = Path(__file__).parents[2] / "docs" / "sweeps.md"
LEFT_OUT = "…"


@pytest.mark.slow
def test_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    local = text[: text.index("## On a cluster")]
    found = doctest.DocTestParser().get_doctest(local, {}, "sweeps.md", str(GUIDE), 0)
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0
    (study,) = re.findall(r"```toml\n(.*?)```", local, re.DOTALL)
    Path("study.toml").write_text(study, encoding="utf-8")
    (own,) = re.findall(r"```python\n(class .*?)```", local, re.DOTALL)
    Path("mine.py").write_text(own)
    (block,) = re.findall(r"```console\n(.*?)```", local, re.DOTALL)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "feint"
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
        assert result.exit_code == 0, result.output
        printed = [line.rstrip() for line in result.stdout.splitlines()]
        for line in shown.splitlines():
            start, cut, _ = line.partition(LEFT_OUT)
            assert any(other.startswith(start) if cut else other == line for other in printed), (line, result.output)
    assert Path("study.png").read_bytes().startswith(b"\x89PNG")
