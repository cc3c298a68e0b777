"""Test the guide docs/sweeps.md: its Python is a doctest; test_guides.py types its commands."""

import doctest
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "sweeps.md"


@pytest.mark.slow
def test_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    found = doctest.DocTestParser().get_doctest(text[: text.index("## On a cluster")], {}, "sweeps.md", str(GUIDE), 0)
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0
