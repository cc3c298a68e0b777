"""Kernels on disk are found wherever they were made, compiled again if damaged, and never change a verdict."""

import hashlib
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import feint
from cases import HANGS
from feint.numerics import _kernel_files
from shell import typed

PACKAGE = Path(feint.__file__).parent
PROBABILITIES = """
import numba.core.event as events
with events.install_recorder("numba:compile") as compiled:
    import feint
    print(feint.best_arm_probabilities([0.0, 1.0], [1.0, 1.0])[0].hex())
print("compiled" if compiled.buffer else "found")
"""


def environment_of(**changes):
    """Return this process's environment, with some variables set, or left out if None."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")} | changes
    return {key: str(value) for key, value in environment.items() if value is not None}


def run(*arguments, most_bytes=None, **changes):
    """Run Python; `most_bytes` is the largest size of a file, as if the disk were full."""

    def limit():
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    command = [sys.executable, "-B", *map(str, arguments)]  # -B: the limit is for kernels, not for bytecode
    return subprocess.run(
        command, env=environment_of(**changes), capture_output=True, text=True, preexec_fn=limit, timeout=HANGS
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Write a log that keeps its claim, a split of 50/50, and one that does not."""
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(3)
    for name, share in (("honest", 0.5), ("bent", 0.7)):
        arms = (rng.uniform(size=400) < share).astype(int)
        (folder / f"{name}.csv").write_text("arm\n" + "\n".join(map(str, arms)) + "\n")
    return folder


UNKNOWN = "import numba; numba.__version__ = '0.99.0'; from feint.__main__ import main; main()"


def assert_verdicts(logs, program=("-m", "feint"), **settings):
    """Check that an honest log is not rejected and a bent one is; return what else was said."""
    said = []
    for name, code, verdict in (("honest", 0, "no evidence"), ("bent", 1, "rejected at row")):
        done = run(*program, "audit", logs / f"{name}.csv", "--split", "0.5,0.5", **settings)
        assert done.returncode == code, done.stderr
        assert verdict in done.stdout
        said.append(done.stderr)
    return said


def kernels(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def is_whole(path):
    head = len(b"feint kernel 1\n")
    data = path.read_bytes()
    return data[:head] == b"feint kernel 1\n" and data[head : head + 32] == hashlib.sha256(data[head + 32 :]).digest()


DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
    "another version": lambda data: data.replace(b"kernel 1", b"kernel 0", 1),
}


@pytest.mark.slow
def test_damaged_files_are_compiled_anew(logs, tmp_path):
    assert_verdicts(logs, NUMBA_CACHE_DIR=tmp_path)
    made = kernels(tmp_path)
    assert made
    assert all(map(is_whole, made))
    damages = [list(DAMAGES.values())[i % len(DAMAGES)] for i in range(len(made))]
    for path, damage in zip(made, damages, strict=True):
        path.write_bytes(damage(path.read_bytes()))
    assert not any(map(is_whole, made))
    assert_verdicts(logs, NUMBA_CACHE_DIR=tmp_path)
    assert kernels(tmp_path) == made
    assert all(map(is_whole, made))


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_a_miss(damage, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    _kernel_files.writable_folder.cache_clear()
    try:
        _kernel_files.save("one", b"some machine code")
        assert _kernel_files.load("one") == b"some machine code"
        (path,) = kernels(tmp_path)
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
        assert _kernel_files.load("one") is None
        _kernel_files.save("one", b"some machine code")
        assert _kernel_files.load("one") == b"some machine code"
    finally:
        _kernel_files.writable_folder.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["no place", "full disk", "full while writing"])
def test_without_room_feint_compiles_says_so_once_and_works(case, logs, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    settings = {
        "no place": {"NUMBA_CACHE_DIR": nowhere / "cache"},
        "full disk": {"NUMBA_CACHE_DIR": tmp_path / "full", "most_bytes": 2**10},
        "full while writing": {"NUMBA_CACHE_DIR": tmp_path / "fills", "most_bytes": 2**16},
    }[case]
    for said in assert_verdicts(logs, **settings):
        assert len(re.findall("feint: compiled kernels are not kept", said)) == 1, said
        if case != "full while writing":  # the first kernels may fit
            assert "are kept" not in said
        assert said.find("are kept") <= said.find("are not kept")
    assert all(map(is_whole, kernels(tmp_path / "fills")))


NOT_KEPT = "feint: compiled kernels are not kept, so every start compiles them again; set NUMBA_CACHE_DIR to a "


@pytest.mark.slow
def test_with_an_unknown_numba_a_full_disk_is_said_once(logs, tmp_path):
    for said in assert_verdicts(logs, ("-c", UNKNOWN), NUMBA_CACHE_DIR=tmp_path / "full", most_bytes=2**10):
        assert said.startswith(NOT_KEPT)
        assert said.count("\n") == 1


BY_PUBLIC_DOORS = """
from feint.numerics._public_doors import compile_kernel

def add(x): return x + 1
def double(x): return 2 * x

add.__module__ = double.__module__ = "feint"
add, double = compile_kernel(add, {}), compile_kernel(double, {})
print(add(1), add(1), add(0.5), double(4), double(4))
"""


@pytest.mark.parametrize(
    ("most_bytes", "reason"), [(0, "File too large"), (None, "Numba finds no folder that it can write"), (2**20, None)]
)
def test_numbas_own_cache_says_once_why_it_keeps_nothing(most_bytes, reason, tmp_path):
    nowhere = tmp_path / "nowhere"
    for name in ("__pycache__", "nowhere"):
        (tmp_path / name).write_text("")
    script = tmp_path / "script.py"
    script.write_text(BY_PUBLIC_DOORS)
    folder = nowhere if most_bytes is None else tmp_path / "cache"
    for _ in range(2):
        done = run(script, most_bytes=most_bytes, NUMBA_CACHE_DIR=folder, XDG_CACHE_HOME=nowhere)
        assert done.stdout == "2 2 1.5 8 8\n", done.stderr
        if reason is None:
            assert done.stderr == ""
        else:
            assert done.stderr.startswith(NOT_KEPT)
            assert done.stderr.endswith(f"{reason})\n")
            assert done.stderr.count("\n") == 1
    assert bool(kernels(tmp_path / "cache")) == (reason is None)


PLAIN = """
import numba.core.event as events
with events.install_recorder("numba:compile") as compiled:
    import feint
    class Mine:
        def choose(self, view, uniforms):
            return int(view.private_probabilities.argmax())
    class Expected:
        def log_probabilities(self, view):
            import numpy as np
            return np.log(np.full(view.pulls.size, 1 / view.pulls.size))
    bandit = feint.Bandit([0.6, 0.3], [0.2, 0.5])
    for reference in (feint.ThompsonSampling(), Expected()):
        runs = feint.simulate(bandit, Mine(), reference=reference, epsilon=0.1, horizon=20, replications=1)
        print(runs.pulls.values.tolist())
print("compiled" if compiled.buffer else "found")
"""


def test_parts_in_plain_python_use_kernels_that_are_kept():
    """A class in plain Python has nothing to compile: all kernels are feint's, over feint's types."""
    first, again = (run("-c", PLAIN).stdout.splitlines() for _ in range(2))
    assert again == [*first[:-1], "found"]


def test_what_is_removed_is_what_is_gone(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    beside, user = tmp_path / "beside", tmp_path / "user" / "feint-kernels"
    monkeypatch.setattr(_kernel_files, "_BESIDE", beside)
    monkeypatch.setattr(_kernel_files, "_user_folder", lambda: tmp_path / "user")
    for folder in (beside / "old", beside / _kernel_files.source_digest(), user / "old"):
        folder.mkdir(parents=True)
    assert _kernel_files.remove(stale_only=True) == ([beside / "old"], [])
    with monkeypatch.context() as patch:
        patch.setattr(_kernel_files.shutil, "rmtree", lambda path, ignore_errors: None)  # another user's
        done = typed("warm", "--clear")
        assert done.returncode == 2
        assert f"{beside / _kernel_files.source_digest()}" in done.stderr
    done = typed("warm", "--clear")
    assert (done.returncode, done.stderr) == (0, "feint: removed 2 folders of kernels\n")
    assert kernels(tmp_path) == list(beside.iterdir()) == list(user.iterdir()) == []


@pytest.fixture
def copy(tmp_path):
    """Make a copy of the package, without kernels."""
    folder = tmp_path / "somewhere"
    shutil.copytree(PACKAGE, folder / "feint", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_moved_installation_that_cannot_be_written_finds_its_kernels(copy, tmp_path):
    first = run("-c", PROBABILITIES, PYTHONPATH=copy, XDG_CACHE_HOME=tmp_path / "home")
    assert first.stdout.endswith("compiled\n"), first.stderr
    moved = copy.rename(tmp_path / "elsewhere")
    for path in moved.rglob("*"):
        os.utime(path, (1, 1))
    again = run("-c", PROBABILITIES, PYTHONPATH=moved, XDG_CACHE_HOME=tmp_path / "other", most_bytes=0)
    assert again.stdout == first.stdout.replace("compiled", "found"), again.stderr
    assert not kernels(tmp_path / "home")
    assert not kernels(tmp_path / "other")


@pytest.mark.slow
def test_an_edit_of_a_source_is_noticed_and_one_of_a_command_is_not(copy, tmp_path):
    def found():
        return run("-c", PROBABILITIES, PYTHONPATH=copy, XDG_CACHE_HOME=tmp_path).stdout.split()[-1]

    def edit(*parts):
        path = copy.joinpath("feint", *parts)
        path.write_text(path.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")

    assert found() == "compiled"
    edit("cli", "warm.py")
    assert found() == "found"
    edit("numerics", "normal.py")
    assert found() == "compiled"


@pytest.mark.slow
def test_a_users_folder_is_written_only_where_the_package_cannot_be(copy, tmp_path):
    (copy / "feint" / "__pycache__").mkdir()
    (copy / "feint" / "__pycache__" / "feint-kernels").write_text("in the way")
    done = run("-c", PROBABILITIES, PYTHONPATH=copy, XDG_CACHE_HOME=tmp_path / "home")
    assert done.stdout.endswith("compiled\n"), done.stderr
    assert kernels(tmp_path / "home")
    assert run("-c", PROBABILITIES, PYTHONPATH=copy, XDG_CACHE_HOME=tmp_path / "home").stdout.endswith("found\n")


def test_without_a_home_there_is_no_users_folder(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert len(list(_kernel_files.kernel_folders())) == 1


def test_without_a_compiler_a_sentence_says_so():
    done = run("-m", "feint", "plan", "--public", "0.6,0.3", "--private", "0.2,0.5", NUMBA_DISABLE_JIT=1)
    assert done.returncode == 2
    assert done.stderr.startswith("feint: NUMBA_DISABLE_JIT is set")
    assert done.stderr.count("\n") == 1


def test_folders_without_kernels_have_none():
    """Their files are left out of the digest."""
    for folder in _kernel_files._WITHOUT_KERNELS:
        for path in (PACKAGE / folder).rglob("*.py"):
            assert "feint.numerics._jit" not in path.read_text(encoding="utf-8"), path


@pytest.mark.slow
def test_eight_processes_on_a_cold_cache_with_twenty_kills(tmp_path):
    """What a killed process leaves is never half a kernel, and the next ones compile what is missing."""
    moments = random.Random(7)
    environment = environment_of(NUMBA_CACHE_DIR=tmp_path)

    def start():
        command = [sys.executable, "-c", PROBABILITIES]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    answer = run("-c", PROBABILITIES, NUMBA_CACHE_DIR=tmp_path / "alone").stdout.split()[0]
    running, kills = [start() for _ in range(8)], 0
    while kills < 20:
        try:
            running[0].wait(moments.uniform(0.0, 12.0))  # only chooses a moment
        except subprocess.TimeoutExpired:
            kills += 1
            running[0].kill()
            running[0].communicate()
            running = [*running[1:], start()]
        else:
            out, err = running[0].communicate()
            assert out.split()[:1] == [answer], err
            shutil.rmtree(tmp_path / "feint-kernels", ignore_errors=True)
            running = [*running[1:], start()]
    for process in running:
        out, err = process.communicate(timeout=HANGS)
        assert out.split()[:1] == [answer], err
    done = run("-c", PROBABILITIES, NUMBA_CACHE_DIR=tmp_path)
    assert done.stdout == f"{answer}\nfound\n", done.stderr
    assert all(map(is_whole, kernels(tmp_path / "feint-kernels")))
