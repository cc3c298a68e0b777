"""The shape of the house: few loose modules, folders that say who imports them, one name for one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import feint

PACKAGE = Path(feint.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}

# Names that several modules have because they mean the same in all of them.
EXPERIMENTS = {"claims", "plot", "run", "steps"}  # of which `experiments.contract` says what they are
COMMANDS = {"audit", "check", "main", "plan", "reproduce", "run", "sweep"}  # and what they call
OF_A_TYPE = {"displace", "fill_log_bounds", "recentre"}  # `by_type`, and what it finds for normal rewards
COMPILERS = {"compile_kernel", "compile_part"}  # for a known Numba, and for any
MODULES = {
    "base",  # the contract of its folder
    "plain",  # parts of its folder in plain Python
    "facts",  # what its folder found, in words
    "report",
    *COMMANDS,
    "detection",  # an experiment, and the picture of such runs
    "earning",  # the theory, and an experiment
    "best_arm",  # the goal, and its probabilities
    "top_arms",
}


def places(names_of):
    """Return the modules in which each name is, for names that several have."""
    found = defaultdict(list)
    for path, tree in TREES.items():
        for name in names_of(path, tree):
            found[name].append(path.relative_to(PACKAGE).as_posix())
    return {name: where for name, where in found.items() if len(where) > 1}


def defined(kind):
    return lambda path, tree: [node.name for node in tree.body if isinstance(node, kind)]


def test_at_most_eight_loose_modules():
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_a_file_is_read_in_one_sitting():
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in TREES}
    assert max(lines.values()) <= 320, max(lines, key=lines.get)


def test_every_folder_says_who_imports_it():
    for path, tree in TREES.items():
        if path.name == "__init__.py" and path.parent != PACKAGE:
            assert "import" in ast.get_docstring(tree), path


def test_classes_have_names_of_their_own():
    assert places(defined(ast.ClassDef)) == {}


def test_functions_of_one_name_mean_the_same():
    found = places(defined(ast.FunctionDef))
    assert {name for name in found if not name.startswith("_")} == EXPERIMENTS | OF_A_TYPE | COMPILERS | {
        "audit", "main", "plan", "reproduce"
    }  # fmt: skip
    assert all(path.startswith(("experiments/", "cli/")) for name in EXPERIMENTS for path in found[name])


def test_modules_of_one_name_mean_the_same():
    assert set(places(lambda path, tree: [path.stem])) - {"__init__"} == MODULES - {"main"}
