"""Find the interpreters of the matrix, and make an environment with feint's wheel for each, by the standard library.

*lowest* is each direct dependency at the lower bound that pyproject.toml names, *newest* is what pip picks; in both,
pip picks everything else.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PINS = ROOT / "requirements" / "matrix"
ROOM = ROOT / "build" / "matrix"
SETS = ("lowest", "newest")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TOOLS = ("gmpy2", "hypothesis", "mpmath", "pytest")  # what the tests need besides


class Interpreter(NamedTuple):
    """A Python that was found."""

    version: str  # as 3.13
    command: str


def find_interpreters(asked: str) -> tuple[list[Interpreter], list[str]]:
    """Return the interpreters asked for, by default all that feint knows, and the names of those that are not there."""
    found, missing = [], []
    for name in asked.split() or [f"python{version}" for version in VERSIONS]:
        commands = filter(None, [shutil.which(name), *([] if asked else _of_pyenv(name))])
        one = next((Interpreter(version, command) for command in commands if (version := _version(command))), None)
        if one is None:
            missing.append(name)
        else:
            found.append(one)
    return found, missing


def _version(command: str) -> str | None:
    """Return the version that a command runs; None for a shim of pyenv behind which there is nothing."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([command, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def _of_pyenv(name: str) -> list[str]:
    """Return the pythons of one version that pyenv has, the newest first."""
    if shutil.which("pyenv") is None:
        return []
    listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True).stdout.split()
    ours = [version for version in listed if re.fullmatch(re.escape(name.removeprefix("python")) + r"\.\d+", version)]
    ours.sort(key=lambda version: int(version.rpartition(".")[2]), reverse=True)
    prefixes = [subprocess.run(["pyenv", "prefix", version], capture_output=True, text=True).stdout for version in ours]
    return [str(Path(prefix.strip()) / "bin" / "python") for prefix in prefixes]


def new_environment(interpreter: Interpreter, folder: Path) -> Path:
    """Make an empty environment; return its python."""
    subprocess.run([interpreter.command, "-m", "venv", "--clear", folder], check=True)
    return folder / "bin" / "python"


def pins_of(interpreter: Interpreter, which: str) -> Path:
    return PINS / f"python{interpreter.version}-{which}.txt"


def wanted(wheel: Path, which: str) -> list[str]:
    """Return what pip is asked for: the wheel with all its extras and the tools, for *lowest* with their bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *(text for texts in extras.values() for text in texts)]
    bounds = [_lowest(text) for text in direct if not text.startswith("feint[")] if which == "lowest" else []
    return [f"{wheel}[{','.join(extras)}]", *TOOLS, *bounds]


def _lowest(requirement: str) -> str:
    parts = re.fullmatch(r"([\w.-]+)\s*>=\s*([\w.]+)", requirement)
    if parts is None:
        raise SystemExit(
            f"pyproject.toml asks for {requirement!r}; write it as NAME>=VERSION, which has a lowest version."
        )
    return f"{parts[1]}=={parts[2]}"


def pip(python: Path, *arguments: str | Path) -> None:
    """Install without building anything: a version that has no wheel for an interpreter does not support it."""
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    subprocess.run([python, "-m", "pip", "install", *options, *arguments], check=True, capture_output=True, text=True)
