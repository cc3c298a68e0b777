"""Every command of README and of every guide is typed here, in order, with warnings as errors; it prints what is shown.

A command that cannot be typed in a test is named in `NOT_TYPED`, with the reason.
"""

import re
import shlex
import sqlite3
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from consoles import assert_shown, commands
from shell import typed

ROOT = Path(__file__).parents[1]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
COMMANDS = {name: list(commands(text)) for name, text in PAGES.items()}
NOT_TYPED = {  # by what the command contains
    "make ": "it runs these tests, or all of the paper; .ci/run and the slow tests do so",
    "pip install": "it would change the environment of these tests; test_extras.py is about the extras",
    "feint app": "it serves until it is ended; tests/app starts it",
    "open_bandit.py": "its data are those of a package that is not installed; stand-ins are audited instead",
    "s3://": "there is no such bucket; auditing/test_sources.py reads URLs",
    "tcp://": "there is no such cluster; tests/sweep starts one",
}
SLOW = "sweeps.md", "tutorial.md", "warehouses.md"


def blocks(page, kind):
    """Return the blocks of a kind on a page."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGES[page], re.DOTALL | re.M)


def write_log(path, n_arms, **more):
    """Write an honest log of uniform draws."""
    path.parent.mkdir(exist_ok=True)
    arms, rewards = np.arange(300) % n_arms, np.zeros(300)
    arms[n_arms:] = np.random.default_rng(1).integers(n_arms, size=300 - n_arms)
    columns = {"arm": arms, "reward": rewards, **{name: np.full(300, value) for name, value in more.items()}}
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


def stand_in_for_open_bandit(folder):
    for policy in ("random", "bts"):
        write_log(folder / "logs" / f"{policy}-men.csv", 34, propensity=1 / 34)


def write_study(folder):
    (study,) = blocks("sweeps.md", "toml")
    (folder / "study.toml").write_text(study, encoding="utf-8")
    (own,) = [block for block in blocks("sweeps.md", "python") if block.startswith("class ")]
    (folder / "mine.py").write_text(own)


def write_warehouse(folder):
    import pyarrow.csv
    import pyarrow.parquet

    for name in ("monday.csv", "tuesday.csv", "logs/part.csv"):
        write_log(folder / name, 3, shop="a", user="u", p_0=1 / 3, p_1=1 / 3, p_2=1 / 3)
    table = pyarrow.csv.read_csv(folder / "logs" / "part.csv")
    (folder / "logs" / "part.csv").unlink()
    for number in (2, 10):
        pyarrow.parquet.write_table(table, folder / "logs" / f"part-{number}.parquet")
    with zipfile.ZipFile(folder / "logs.zip", "w") as archive:
        archive.write(folder / "monday.csv", "monday.csv")
    with sqlite3.connect(folder / "shop.sqlite") as database:
        database.execute("CREATE TABLE pulls (arm INTEGER, reward REAL, p_0 REAL, p_1 REAL, p_2 REAL)")
        rows = zip(*(table[name].to_pylist() for name in ("arm", "reward", "p_0", "p_1", "p_2")), strict=True)
        database.executemany("INSERT INTO pulls VALUES (?, ?, ?, ?, ?)", rows)


PREPARE = {
    "public-logs.md": stand_in_for_open_bandit,
    "sweeps.md": write_study,
    "warehouses.md": write_warehouse,
}


def reason(command):
    """Return why a command is not typed, or None."""
    return next((why for part, why in NOT_TYPED.items() if part in command), None)


def run(command, shown, folder, whole=False):
    """Type a command, and compare what it prints with what is shown; a warning would end it with 3."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "python":
        subprocess.run([sys.executable, "-W", "error", *arguments], cwd=folder, check=True)
        return
    assert program == "feint", command
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = typed(*arguments, cwd=folder)
    refuted = re.search(r"^\s*(\S+: )?rejected at|is a seed$", "\n".join(shown), re.M)
    verdicts = {0, 1} if arguments[0] in ("audit", "check") and not shown else {1 if refuted else 0}
    assert done.returncode in verdicts, f"{command}\n{done.stdout}{done.stderr}"
    assert "Warning" not in done.stderr
    assert_shown(shown, done.stdout, whole=whole and bool(shown))


def cases():
    """Yield the commands of each page; those of docs/audit.md one by one, since many compile kernels of their own."""
    for page, found in COMMANDS.items():
        todo = [(command, shown) for command, shown in found if reason(command) is None]
        for case in [[one] for one in todo] if page == "audit.md" else [todo] if todo else []:
            name = case[0][0] if page == "audit.md" else page
            yield pytest.param(page, case, id=name, marks=[pytest.mark.slow] * (page in SLOW))


@pytest.fixture(scope="module")
def audit_logs(tmp_path_factory):
    """Return a folder with the logs of docs/audit.md, which its first command makes."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "docs").symlink_to(ROOT / "docs")
    run(*COMMANDS["audit.md"][0], folder)
    return folder


@pytest.mark.parametrize(("page", "typed_in_order"), list(cases()))
def test_every_command_runs_and_prints_what_is_shown(page, typed_in_order, tmp_path, monkeypatch, request):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("feint.cli.follow.shutil.which", lambda program: program)  # as if there were `mail`
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    PREPARE.get(page, lambda folder: None)(tmp_path)
    needs_logs = page == "audit.md" and not typed_in_order[0][0].startswith("python")
    folder = request.getfixturevalue("audit_logs") if needs_logs else tmp_path
    for command, shown in typed_in_order:
        run(command, shown, folder, whole=page == "README.md")


def test_what_is_not_typed_is_there():
    every = [command for found in COMMANDS.values() for command, _ in found]
    assert all(any(part in command for command in every) for part in NOT_TYPED)
    assert sum(reason(command) is None for command in every) > 60


def test_what_is_unseen_is_planned_without_a_warning(tmp_path):
    """A divergence of 1e-310 nats overflowed where a leap's length was computed."""
    ((command, shown),) = [found for found in COMMANDS["tutorial.md"] if "--unseen" in found[0]]
    run(command, shown, tmp_path)
