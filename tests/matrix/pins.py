"""`make pins`: write what pip picks today for each interpreter found and each set into requirements/matrix."""

import argparse
import json
import subprocess
from pathlib import Path

from matrix.environments import (
    PINS,
    ROOM,
    SETS,
    Interpreter,
    find_interpreters,
    new_environment,
    pins_of,
    pip,
    wanted,
)


def pin(interpreter: Interpreter, which: str, wheel: Path) -> None:
    """Resolve one set in an empty environment, and write it."""
    folder = ROOM / f"pins-{interpreter.version}-{which}"
    python = new_environment(interpreter, folder)
    report = folder / "report.json"
    pip(python, "--dry-run", "--ignore-installed", "--report", report, *wanted(wheel, which))
    packages = [package["metadata"] for package in json.loads(report.read_text(encoding="utf-8"))["install"]]
    lines = sorted(
        (f"{package['name']}=={package['version']}" for package in packages if package["name"] != "feint"),
        key=str.lower,
    )
    head = f"# Python {interpreter.version}, {which}: made by `make pins`, for `make test-matrix`."
    pins_of(interpreter, which).write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    print(f"{pins_of(interpreter, which).name}: {len(lines)} packages", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--pythons", default="")
    options = parser.parse_args()
    found, missing = find_interpreters(options.pythons)
    PINS.mkdir(exist_ok=True)
    for interpreter in found:
        for which in SETS:
            try:
                pin(interpreter, which, options.wheel.resolve())
            except subprocess.CalledProcessError as error:
                raise SystemExit(
                    f"python{interpreter.version}, {which}: pip finds no versions.\n{error.stderr}"
                ) from None
    for name in missing:
        print(f"{name} was not found: its pins are left as they are")


if __name__ == "__main__":
    main()
