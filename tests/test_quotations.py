r"""Quotations of the paper have the paper's words, letter by letter; markup, case and spaces do not count.

The tests compare all quotations of docs/paper.md, docs/errata.md and docs/claims.md, those on lines of other pages and
docstrings that name the paper or a part of it, and what the experiments' claims have as `stated`. The paper's source is
not part of the project: `PAPER=paper.tex pytest tests/test_quotations.py` runs the comparison.
"""

import ast
import importlib
import inspect
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WHOLE = ("paper.md", "errata.md", "claims.md")  # every quotation of these is the paper's
NAMES_THE_PAPER = re.compile(r"\b(paper|Section|Appendix|Lemma|Theorem|Remark|Definition|Algorithm 1)\b")
QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”')
SIGNS = {
    "alpha": "α", "beta": "β", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "gamma": "γ", "Gamma": "Γ", "lambda": "λ",
    "mu": "μ", "phi": "φ", "Phi": "Φ", "pi": "π", "Pi": "Π", "sigma": "σ", "tau": "τ", "theta": "θ", "Theta": "Θ",
    "infty": "∞", "rightarrow": "→", "leq": "≤", "geq": "≥", "neq": "≠", "in": "∈",
    "lim": "lim", "max": "max", "min": "min",
}  # fmt: skip


def of_latex(source):
    """Return the paper's text as plain letters, digits and signs."""
    text = re.sub(r"(?<!\\)%.*", "", source)
    text = re.sub(r"\\(?:eq)?ref\s*\{[^}]*\}", "#", text)
    text = re.sub(r"\\(?:label|cite[pt]?)\s*\{[^}]*\}", "", text)
    text = re.sub(r"\\sqrt\{((?:[^{}]|\{[^{}]*\})*)\}", r"√(\1)", text)
    for _ in range(3):  # fractions inside fractions
        text = re.sub(r"\\[dt]?frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1/\2", text)
    text = re.sub(
        r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], found[1] if found[1] in ("lim", "max") else ""), text
    )
    return _letters(text)


def of_quotation(text):
    """Return the pieces of a quotation, between its ellipses, in the same form."""
    text = re.sub(r"\b(Algorithm|Theorem|Lemma|Figure|Section) \d+", r"\1 #", text)
    return [_letters(piece) for piece in text.split("…")]


def _letters(text):
    plain = text.replace("²", "2").replace("−", "-").replace("’", "'").lower()
    return re.sub(r"[\s$\\{}&^~,]", "", plain)


def is_in(quotation, paper):
    """Return whether all pieces of a quotation stand in the paper, in this order."""
    place = 0
    for piece in of_quotation(quotation):
        place = paper.find(piece, place)
        if place < 0:
            return False
    return True


def of_pages():
    """Yield (place, quotation) of the pages of the book and the README."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = re.sub(
            r"```.*?```|`[^`\n]*`", lambda code: "\n" * code[0].count("\n"), path.read_text("utf-8"), flags=re.S
        )
        text = text.replace("\\_", "_").replace("\\*", "*")
        for found in QUOTED.finditer(text):
            line = text.count("\n", 0, found.start())
            if path.name in WHOLE or NAMES_THE_PAPER.search(text.splitlines()[line]):
                yield f"{path.name}:{line + 1}", found[1] or found[2]


def of_docstrings():
    """Yield (place, quotation) of docstrings, on lines that name the paper."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for line in (ast.get_docstring(node) or "").splitlines():
                    if NAMES_THE_PAPER.search(line) and not line.lstrip().startswith((">>>", "...")):
                        yield from ((path.name, found[1] or found[2]) for found in QUOTED.finditer(line))


def of_claims():
    """Yield (place, quotation) of what experiments pass as `stated`, in place or by a variable of that name."""
    for path in sorted((ROOT / "src" / "feint" / "experiments").glob("[!_]*.py")):
        module = importlib.import_module(f"feint.experiments.{path.stem}")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            value = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                value = _stated(getattr(module, node.func.id, None), node.args)
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "stated":
                value = node.value
            if isinstance(value, ast.Constant) and value.value:
                yield path.name, value.value


def _stated(made, arguments):
    """Return the argument that a class or function of the experiments takes as `stated`."""
    if getattr(made, "__module__", "").startswith("feint.experiments"):
        names = list(inspect.signature(made).parameters)
        if "stated" in names and len(arguments) > names.index("stated"):
            return arguments[names.index("stated")]
    return None


def test_quotations_are_the_papers_words():
    if "PAPER" not in os.environ:
        pytest.skip("The paper's source is not at hand; set PAPER to the path of its LaTeX file.")
    paper = of_latex(Path(os.environ["PAPER"]).read_text(encoding="utf-8"))
    found = [*of_pages(), *of_docstrings(), *of_claims()]
    assert len(found) > 40
    assert [f"{place}: {quotation}" for place, quotation in found if not is_in(quotation, paper)] == []


def test_claims_and_their_page_have_the_same_quotations():
    stated = {quotation for _, quotation in of_claims()}
    assert len(stated) > 10
    on_the_page = {quotation for place, quotation in of_pages() if place.startswith("claims.md")}
    assert stated == on_the_page


def test_the_comparison_sees_a_changed_word():
    source = r"""We see that the $\phi_{a,t}$ rate underestimates the \textit{actual}   value % a comment
        and $\lim_{T \rightarrow \infty } \frac{M_T}{\sqrt{2cT}} = 1$ under Algorithm \ref{alg:it},
        \citep{who} so $d_{KL} \leq \epsilon$."""
    paper = of_latex(source)
    for right in ("the φ_{a,t} rate underestimates", "lim_{T → ∞} M_T/√(2cT) = 1 under Algorithm 1"):
        assert is_in(right, paper)
    assert is_in("We see … d_KL ≤ ε", paper)
    for wrong in ("the φ_{a,t} rate overestimates the actual", "d_KL ≤ ε … We see", "a comment"):
        assert not is_in(wrong, paper)
