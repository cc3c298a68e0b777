"""`make test-matrix` tests feint's wheel with every Python found, with the lowest and the newest dependencies.

In each environment, with warnings as errors: the README's commands, one use of every part (`every_part.py`), and the
quick tests of numerics and families. The last lines say which passed, which failed, and which interpreters were not
found; the output of a cell is kept beside its environment.
"""

import argparse
import os
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from consoles import commands
from matrix.environments import ROOM, ROOT, SETS, Interpreter, find_interpreters, new_environment, pins_of, pip, wanted

README = "tests/test_guides.py::test_every_command_runs_and_prints_what_is_shown[README.md]"
TESTS = (README, "README.md", "tests/matrix/every_part.py", "tests/numerics", "tests/families")


class Cell(NamedTuple):
    """An interpreter and a set of versions."""

    interpreter: Interpreter
    which: str

    @property
    def name(self) -> str:
        return f"python{self.interpreter.version}-{self.which}"


def run_cell(cell: Cell, wheel: Path, fresh: bool) -> tuple[bool, str]:
    """Return whether all went well, and a line that says it."""
    began = time.monotonic()
    failed = _failure(cell, wheel, fresh)
    line = f"{cell.name}: {failed or 'passed'} ({time.monotonic() - began:.0f} s)"
    print(line, flush=True)
    return failed is None, line


def _failure(cell: Cell, wheel: Path, fresh: bool) -> str | None:
    """Return what failed, None if nothing did."""
    pins = pins_of(cell.interpreter, cell.which)
    if not fresh and not pins.exists():
        return f"failed, there is no {pins.relative_to(ROOT)}: run `make pins`, or FRESH=1 for what pip picks today"
    folder = ROOM / cell.name
    try:
        python = new_environment(cell.interpreter, folder)
        if fresh:
            pip(python, *wanted(wheel, cell.which))
        else:
            pip(python, "--no-deps", "--requirement", pins, wheel)
        # Pins may no longer agree with pyproject.toml.
        subprocess.run([python, "-m", "pip", "check"], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        return f"failed to install\n{error.stdout or ''}{error.stderr or ''}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONWARNINGS": "error", "FEINT_THREADS": "1"}
    log = folder / "log.txt"
    with log.open("w", encoding="utf-8") as output:
        for module, *arguments in (
            *_first_uses(),
            ("pytest", *TESTS, "-m", "not slow", "-p", "no:cacheprovider", "--durations", "10"),
        ):
            command = [python, "-m", module, *arguments]
            place = ROOT if module == "pytest" else folder
            code = subprocess.run(command, cwd=place, env=environment, stdout=output, stderr=output).returncode
            if code not in ((0, 1) if arguments[0] == "audit" else (0,)):
                return f"failed in {module} {arguments[0]}, see {log.relative_to(ROOT)}"
    return None


def _first_uses() -> list[list[str]]:
    """Return the README's commands, to compile their kernels: the test of what they print expects nothing else."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    return [shlex.split(command) for command, _ in commands(page) if command.startswith("feint ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--pythons", default="")
    parser.add_argument("--sets", default=" ".join(SETS))
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    found, missing = find_interpreters(options.pythons)
    if not found:
        raise SystemExit("No interpreter was found; name some with PYTHONS=….")
    cells = [Cell(interpreter, which) for which in options.sets.split() for interpreter in found]
    # A cell keeps one core busy but while it installs.
    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        results = list(pool.map(lambda cell: run_cell(cell, options.wheel.resolve(), options.fresh), cells))
    print(f"\nThe matrix, {'what pip picks today' if options.fresh else 'as pinned'}:")
    for _, line in results:
        print(f"  {line}")
    for name in missing:
        print(f"  {name}: not found, not run")
    raise SystemExit(not all(well for well, _ in results))


if __name__ == "__main__":
    main()
