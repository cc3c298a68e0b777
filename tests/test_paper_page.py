"""docs/paper.md has all of the paper, each entry with an example and a test, and the tests that pages name exist."""

import re
from pathlib import Path

import pytest

import paper_figures

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
EQUATIONS, LINES = 76, 14  # of the compiled paper, and of its Algorithm 1


def numbers(text):
    """Return every number of "3 and 4", "38, 39, 40" or "21 to 28"."""
    found = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def numbers_of(kind):
    """Return the numbers that the titles of the page give to a kind of entry."""
    parts = [re.findall(rf"{kind}s? ([\d, andto]+)", title) for title in ENTRIES]
    return numbers(", ".join(text for found in parts for text in found))


def rows(head):
    """Return the numbers in the first column of the tables whose first title is `head`."""
    tables = re.findall(rf"^\| {head} \|.*\n\|[- |]*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return numbers(", ".join(row.split("|")[1] for table in tables for row in table.splitlines()))


def test_all_of_the_paper_is_there():
    assert numbers_of("Equation") | rows("equation") == set(range(1, EQUATIONS + 1))
    assert numbers_of("Lemma") == set(range(1, 8))
    assert numbers_of("Figure") == set(range(1, 6))
    assert numbers_of("Theorem") >= {1}
    assert numbers_of("Definition") == {1}
    assert numbers_of("Algorithm") == {1}
    assert rows("line") == set(range(1, LINES + 1))
    assert "Remark" in ENTRIES
    assert "Problem" in ENTRIES


@pytest.mark.parametrize("title", ENTRIES)
def test_an_entry_has_an_example_and_a_test(title):
    text = ENTRIES[title]
    assert ">>>" in text or text.startswith("Steps of a proof")
    assert re.search(r"\*Tests?:\*", text)
    assert "tests/" in text


def test_every_figure_is_drawn():
    shown = re.findall(r"^```\{figure\} built/figures/(\w+)\.png", PAGE, re.MULTILINE)
    assert shown == list(paper_figures.FIGURES)


def named_tests(text):
    """Return (file, test) of every `tests/….py::name`; `…::name` has the file of the one before."""
    found, file = [], ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py|…)::([\w:]+)`", text):
        file = file if path == "…" else path
        found.append((file, name))
    return found


def exists(file, name):
    """Return whether a file has a test of that name, or a class with such a test."""
    text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
    return all(re.search(rf"\b(?:def|class) {part}\b", text) for part in name.split("::"))


def missing(tests):
    """Return those tests that do not exist."""
    return [f"{file}::{name}" for file, name in tests if not exists(file, name)]


@pytest.mark.parametrize("page", ["paper", "errata", "theory"])
def test_every_named_test_exists(page):
    tests = named_tests((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert tests
    assert missing(tests) == []


def test_the_check_of_named_tests_can_fail():
    text = "`tests/theory/test_lemmas.py::gone`, `…::test_lemma_5_orders_the_counts`, `tests/gone.py::test_it`"
    assert missing(named_tests(text)) == ["tests/theory/test_lemmas.py::gone", "tests/gone.py::test_it"]
