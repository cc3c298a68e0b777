"""Compare what pyproject.toml declares with what is imported and with what the matrix pins."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def spelt(name):
    """Return a distribution's name in the one spelling of packaging's rules."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared():
    """Return (name, lower bound) of every requirement, those of extras included."""
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    texts = [text for group in groups for text in group if not text.startswith("feint[")]
    return {spelt(name): bound for name, bound in (text.split(">=") for text in texts)}


def imported():
    """Return the top-level modules that the package imports, anywhere in its files."""
    found = set()
    for path in (ROOT / "src" / "feint").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"feint"}


def test_what_is_imported_is_declared_and_the_other_way_round():
    homes = packages_distributions()
    assert {spelt(homes[module][0]) for module in imported()} == set(declared())


@pytest.mark.parametrize("path", sorted((ROOT / "requirements" / "matrix").glob("*.txt")), ids=lambda path: path.stem)
def test_pins_of_the_matrix_hold_what_is_declared(path):
    """`make pins` writes them anew when bounds change."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pins = {spelt(name): version for name, version in (line.split("==") for line in lines)}
    for name, bound in declared().items():
        pinned, least = ([int(part) for part in re.findall(r"\d+", text)] for text in (pins[name], bound))
        least += [0] * (len(pinned) - len(least))
        assert pinned >= least
        if path.stem.endswith("-lowest"):
            assert pinned == least
