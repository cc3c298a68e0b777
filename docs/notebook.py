"""Write docs/tutorial.ipynb from docs/tutorial.md: `python docs/notebook.py`. The book's build runs its cells."""

import json
import re
from doctest import DocTestParser
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, NOTEBOOK = HERE / "tutorial.md", HERE / "tutorial.ipynb"
_BLOCK = re.compile(
    r"^```(?:python\n(>>> .*?)|\{literalinclude\} (\S+)\n:language: python\n:lines: (\d+)-\n)```\n",
    re.DOTALL | re.MULTILINE,
)


def cells(text: str) -> list[tuple[str, str]]:
    """Return (kind, source) of the cells: text, and the program of each block."""
    found, end = [], 0
    for block in _BLOCK.finditer(text):
        found += [("markdown", text[end : block.start()]), ("code", _program(block))]
        end = block.end()
    found.append(("markdown", text[end:]))
    return [(kind, source.strip()) for kind, source in found if source.strip()]


def _program(block: re.Match[str]) -> str:
    """Return an included file, or the examples without what they print: a notebook needs no file beside it."""
    examples, file, line = block.groups()
    if file:
        return "\n".join((HERE / file).read_text(encoding="utf-8").splitlines()[int(line) - 1 :])
    source = "".join(example.source for example in DocTestParser().get_examples(examples))
    return source.replace("from algorithm_1 import algorithm_1\n", "")  # a cell above defines it


def notebook(text: str) -> str:
    """Return the page as a notebook without outputs."""
    made: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(cells(text)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def run() -> None:
    """Run the cells of the notebook in order, as the book's build does."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}, cell {number}", "exec"), names)


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
