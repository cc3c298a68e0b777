"""Write docs/tutorial.ipynb from docs/tutorial.md: `python docs/notebook.py`. The book's build runs its cells."""

import json
import re
from doctest import DocTestParser
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, NOTEBOOK = HERE / "tutorial.md", HERE / "tutorial.ipynb"
_INCLUDED = re.compile(r"```\{literalinclude\} (\S+)\n:language: python\n:lines: (\d+)-\n```")


def cells(text: str) -> list[tuple[str, str]]:
    """Return (kind, source) of the cells: text, and the examples of each block without what they print."""
    text = _INCLUDED.sub(_include, text)
    found = []
    for number, part in enumerate(re.split(r"^```python\n(>>> .*?)^```\n", text, flags=re.DOTALL | re.MULTILINE)):
        if number % 2:
            part = "".join(example.source for example in DocTestParser().get_examples(part))
        if part.strip():
            found.append(("code" if number % 2 else "markdown", part.strip()))
    return found


def _include(match: re.Match[str]) -> str:
    lines = (HERE / match[1]).read_text(encoding="utf-8").splitlines()[int(match[2]) - 1 :]
    return "\n".join(["```python", *lines, "```"])


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
