"""Make a new environment with feint's wheel and other packages in it."""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def make_environment(folder, *packages, extras=""):
    """Build the wheel and install it, with its `extras` as [a,b], beside `packages`; return the environment's folder of
    programs and the variables to run them with.
    """
    dist, home = folder / "dist", folder / "home"
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", dist, ROOT], check=True)
    (wheel,) = dist.glob("*.whl")
    venv.create(home, with_pip=True)
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, f"{wheel}{extras}", *packages], check=True, env=variables)
    return home / "bin", variables
