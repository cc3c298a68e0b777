"""In the book every public name is described, links lead somewhere, and nothing is left out of the reference."""

import inspect
import re
import runpy
import shlex
from operator import attrgetter
from pathlib import Path

import pytest
from typer.main import get_command

import api_pages
import feint
from feint.auditing.command_line import WrittenClaim, audit_options
from feint.cli.shared import app
from feint.registry import registered

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = sorted(
    (set(feint.__all__) - {"__version__", *feint._MODULES})
    | {f"{module}.{name}" for module in feint._MODULES for name in getattr(feint, module).__all__}
)


def section(text, title):
    """Return what stands below a title of a docstring, up to the next title; None if there is no such title."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found and found.group(1)


def described(text):
    """Return the descriptions of a docstring's parameters, by their names."""
    found = {}
    for names, words in re.findall(r"^(\S[^\n]*)\n((?:(?: .*)?\n)+)", (section(text, "Parameters") or "") + "\n", re.M):
        found |= {name.strip(): words for name in names.split(",")}
    return found


def complaints(thing):
    """Return what the docstring of a class or function lacks, as sentences without a subject."""
    text = inspect.getdoc(thing) or ""
    parameters = inspect.signature(thing).parameters
    known = described(text)
    found = [f"does not describe {name}" for name in parameters if name not in known]
    found += [f"describes {name}, which it does not take" for name in known if name not in parameters]
    for name, parameter in parameters.items():
        array = "ArrayLike" in str(parameter.annotation) or "_NestedSequence" in str(parameter.annotation)
        if array and not re.search(r"\((\.\.\.|n|K)[^)]*\)", known.get(name, "")):
            found.append(f"has no shape of {name}")
    if ">>>" not in (section(text, "Examples") or ""):
        found.append("has no example")
    if (
        not isinstance(thing, type)
        and section(text, "Returns") is None
        and "float" not in str(inspect.signature(thing).return_annotation)
    ):
        found.append("does not say what it returns")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_described(name):
    thing = attrgetter(name)(feint)
    assert complaints(thing) == []
    if isinstance(thing, type):
        members = {key: value for key, value in vars(thing).items() if not key.startswith("_") and callable(value)}
        assert [key for key, value in members.items() if not inspect.getdoc(value)] == []


def test_the_check_of_descriptions_can_fail():
    def poor(weights: "npt.ArrayLike", epsilon: float):  # noqa: F821
        """Poor.

        Parameters
        ----------
        weights
            One per arm.
        delta
            Gone.
        """

    assert complaints(poor) == [
        "does not describe epsilon",
        "describes delta, which it does not take",
        "has no shape of weights",
        "has no example",
        "does not say what it returns",
    ]


def test_what_the_paper_defines_comes_first():
    listed = [name for names in api_pages.PAPER.values() for name in names]
    assert list(feint._HOME)[: len(listed)] == listed


def test_the_reference_has_every_name(tmp_path):
    (tmp_path / "Gone.md").write_text("a name that is no more")
    api_pages.write(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.md")} == {"index", *NAMES}
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert all(f"[`{name}`]({name}.md)" in index for name in NAMES)


def anchors(path):
    """Return the anchors of a page's titles, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(path, text):
    """Return links to files and titles that do not exist."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, title = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.is_relative_to(ROOT) or not target.exists() or (title and title not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("path", PAGES, ids=[path.name for path in PAGES])
def test_links_lead_somewhere(path):
    assert broken(path, path.read_text(encoding="utf-8")) == []


def test_the_check_of_links_can_fail():
    text = "[a](docs/theory.md#any-family) [b](docs/gone.md) ![c](docs/images/gone.png) [d](docs/theory.md#gone)"
    assert broken(ROOT / "README.md", text) == ["docs/gone.md", "docs/images/gone.png", "docs/theory.md#gone"]


def test_every_page_and_picture_is_used():
    """Nobody finds a page that no list of contents names, and a picture that no page shows only takes space."""
    listed = re.findall(
        r"```\{toctree\}\n(.*?)```", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.DOTALL
    )
    entries = {line for block in listed for line in block.splitlines() if line and not line.startswith(":")}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"} <= entries
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [path.name for path in (ROOT / "docs" / "images").iterdir() if f"images/{path.name}" not in text] == []


def test_every_option_of_a_claim_has_its_sentence():
    """ "Which claim do I have?" leads to all that can be claimed, and what it says can be written."""
    text = (ROOT / "docs" / "which-claim.md").read_text(encoding="utf-8")
    flags = set(re.findall(r"--(?:no-)?([a-z-]+)", text))
    assert {name.replace("_", "-") for name in audit_options()} - flags == set()
    assert [name for name in registered("reference") if name not in text] == []
    parser = get_command(app).commands["audit"]
    for words in map(shlex.split, re.findall(r"`(--[^`]* [^`]*)`", text)):
        given = parser.make_context("audit", ["log.csv", *words]).params
        if "mine.py:Mine" not in words:
            WrittenClaim(**{name: given[name] for name in audit_options()}).claim()


def test_the_workflow_is_what_runs_here():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"- run: (.*)", workflow) == [".ci/run"]


def test_the_notebook_is_the_tutorial():
    """`python docs/notebook.py` writes it, and the book's build runs it."""
    made = runpy.run_path(str(ROOT / "docs" / "notebook.py"))
    assert made["NOTEBOOK"].read_text(encoding="utf-8") == made["notebook"](made["PAGE"].read_text(encoding="utf-8"))
    code = "\n".join(
        source for kind, source in made["cells"](made["PAGE"].read_text(encoding="utf-8")) if kind == "code"
    )
    for shown in ("def algorithm_1(", "class Greedy", "feint.Sweep(", "feint.plan(", "feint.audit("):
        assert shown in code
    assert "import algorithm_1" not in code  # a notebook that was downloaded has no file beside it
    compile(code, "tutorial.ipynb", "exec")
