"""Install a wheel made from the sdist into an empty environment; use the three verbs first, then every extra."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from feint.version import VERSION

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_wheel_and_sdist_work_in_an_empty_environment(tmp_path):
    dist, home = tmp_path / "dist", tmp_path / "home"
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT], check=True)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert (wheel.name, sdist.name) == (f"feint-{VERSION}-py3-none-any.whl", f"feint-{VERSION}.tar.gz")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pins = {line for name in ("app", "dev", "runtime") for line in _lines(name) if "==" in line}
    (tmp_path / "pins.txt").write_text("\n".join(sorted(pins)))
    subprocess.run([*pip, "--constraint", tmp_path / "pins.txt", wheel], check=True, env=environment)

    def feint(*arguments, code=0):
        done = subprocess.run(
            [home / "bin" / "feint", *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == code, done.stderr
        return done.stdout or done.stderr

    instance = ("--public", "0.6,0.3,0,0.2", "--private", "0.2,0.5,0.1,0", "--epsilon", "0.1")
    assert "best private arm found in 97" in feint("run", *instance, "--horizon", "3000", "--log", "log.csv")
    assert '"time"' in feint("plan", *instance, "--json")
    assert "rejected at row 223" in feint("audit", "log.csv", "--arms", "4", code=1)
    assert "pip install 'feint[plot]'" in feint("run", *instance, "--horizon", "10", "--plot", "a.pdf", code=2)
    where = subprocess.run(
        [python, "-c", "import feint; print(feint.__file__)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert Path(where.stdout.strip()).is_relative_to(home)
    assert (Path(where.stdout.strip()).parent / "py.typed").exists()

    subprocess.run([*pip, "--constraint", tmp_path / "pins.txt", f"{wheel}[all]"], check=True, env=environment)
    files = ("--plot", "a.pdf", "--save", "a.zarr", "--log", "log.parquet")
    feint("run", *instance, "--horizon", "3000", *files)
    assert {"a.pdf", "a.zarr"} < {path.name for path in tmp_path.iterdir()}
    assert "rejected at row 223" in feint("audit", "log.parquet", "--arms", "4", "--html", "a.html", code=1)
    subprocess.run([python, "-c", "import distributed, feint.app.page, feint.sweep"], check=True, env=environment)


def _lines(name):
    return (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
