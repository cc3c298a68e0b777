"""Files are written whole or not at all, and what a killed writer leaves is removed by the next one."""

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import feint
from feint.experiments.reproduce import MANIFEST, prepare_folder
from feint.support.files import remove_leftovers, write_whole


def test_files_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "a.txt"

    def fail(name):
        name.write_text("half")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        write_whole(path, fail)
    assert list(path.parent.iterdir()) == []
    write_whole(path, lambda name: name.write_text("whole"))
    with pytest.raises(FileExistsError, match="`force`"):
        write_whole(path, lambda name: name.write_text("other"))
    assert path.read_text() == "whole"
    write_whole(path, lambda name: name.write_text("other"), force=True)
    assert path.read_text() == "other"
    for content in ("first", "second"):  # folders too
        write_whole(tmp_path / "store", lambda name, text=content: _fill_folder(name, text), force=True)
        assert (tmp_path / "store" / "part").read_text() == content
    with pytest.raises(RuntimeError, match="interrupted"):
        write_whole(tmp_path / "store", _fail_in_folder, force=True)
    assert (tmp_path / "store" / "part").read_text() == "second"
    assert {entry.name for entry in tmp_path.iterdir()} == {"new", "store"}


def _fill_folder(name, text):
    name.mkdir()
    (name / "part").write_text(text)


def _fail_in_folder(name):
    name.mkdir()
    raise RuntimeError("interrupted")


# Each writes a half, says so, and goes on when it is told to.
WRITERS = {
    "file": """
def write(name):
    with open(name, "w") as file:
        file.write("half")
        file.flush()
        pause()
        file.write(", whole")
""",
    "figure": """
from matplotlib.figure import Figure

def write(name):
    Figure().savefig(name)
    pause()
""",
    "folder": """
def write(name):
    name.mkdir()
    (name / "half").write_text("half")
    pause()
    (name / "whole").write_text("whole")
""",
}
WRITING = """
import sys
from pathlib import Path
from feint.support.files import write_whole

def pause():
    print("half", flush=True)
    input()

{writer}
write_whole(Path(sys.argv[1]), write, force=True)
"""


@contextmanager
def writing(path, kind="file"):
    """Return a process that is in the middle of writing `path`."""
    code = WRITING.format(writer=WRITERS[kind])
    process = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "half\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("kind", "name"), [("file", "a.json"), ("figure", "a.png"), ("folder", "a.zarr")])
def test_the_next_writer_removes_what_a_killed_one_left(kind, name, tmp_path):
    with writing(tmp_path / name, kind):
        assert len(list(tmp_path.iterdir())) == 1
    assert len(list(tmp_path.iterdir())) == 1
    write_whole(tmp_path / "b.txt", lambda name: name.write_text("whole"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.txt"]


def test_agents_remove_what_killed_ones_left(tmp_path):
    agent = feint.Agent(2, epsilon=0.1)
    with writing(tmp_path / "agent.json"):
        pass
    agent.save(tmp_path / "agent.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.json"]


def test_what_a_living_writer_has_not_finished_stays(tmp_path):
    path = tmp_path / "a.txt"
    with writing(path) as process:
        write_whole(path, lambda name: name.write_text("other"), force=True)
        assert path.read_text() == "other"
        process.communicate("\n")
        assert process.returncode == 0
    assert path.read_text() == "half, whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("moved", [False, True], ids=["before the new one came", "before the old one went"])
def test_a_replacement_in_which_the_writer_was_killed_is_completed(moved, tmp_path):
    unfinished = tmp_path / ".feint-unfinished-0123456789abcdef"
    for folder, text in ((unfinished.with_name(unfinished.name + "-replaced"), "old"), (unfinished / "runs", "new")):
        folder.mkdir(parents=True)
        (folder / "data").write_text(text)
    if moved:
        (unfinished / "runs").rename(tmp_path / "runs")
    write_whole(tmp_path / "other", lambda path: path.write_text("another"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "runs"]
    assert (tmp_path / "runs" / "data").read_text() == "new"


def test_what_is_not_ours_stays(tmp_path):
    """Similar names, files, and links to folders elsewhere stay."""
    precious = tmp_path / "precious"
    (precious / "kept").mkdir(parents=True)
    folder = tmp_path / "folder"
    (folder / ".feint-unfinished-mine").mkdir(parents=True)
    (folder / ".feint-unfinished-0123456789abcdef").write_text("a file")
    (folder / ".feint-unfinished-0123456789abcde0").symlink_to(precious)
    before = sorted(folder.iterdir())
    remove_leftovers(folder)
    assert sorted(folder.iterdir()) == before
    assert (precious / "kept").is_dir()


def test_many_writers_of_one_file(tmp_path):
    """All writers succeed, and each time the file is complete and from one of them."""
    path = tmp_path / "a.txt"
    texts = [str(number) * 10_000 for number in range(8)]

    def write(text):
        for _ in range(20):
            write_whole(path, lambda name: name.write_text(text), force=True)
            assert path.read_text() in texts

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, texts))
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_folder_that_is_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    """Between being made and being locked, nothing shows that its writer lives."""
    mkdir, made = Path.mkdir, []

    def swept_at_once(self, *arguments, **options):
        mkdir(self, *arguments, **options)
        if self.parent == tmp_path:
            made.append(self)
            if len(made) == 1:
                remove_leftovers(tmp_path)

    monkeypatch.setattr(Path, "mkdir", swept_at_once)
    write_whole(tmp_path / "a.txt", lambda name: name.write_text("whole"))
    assert len(made) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    """Without locks, as on Windows, nothing proves that a writer is dead."""
    with writing(tmp_path / "a.txt"):
        pass
    (leftover,) = tmp_path.iterdir()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    write_whole(tmp_path / "a.txt", lambda name: name.write_text("whole"))
    assert sorted(tmp_path.iterdir()) == [leftover, tmp_path / "a.txt"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a.txt", lambda name: name.write_text("whole"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("x" * 251 + ".txt")
    write_whole(path, lambda name: name.write_text("whole"))
    assert path.read_text() == "whole"


def test_a_full_disk_leaves_nothing_and_names_the_file(tmp_path):
    def fill(name):
        name.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*a\.txt'$"):
        write_whole(tmp_path / "a.txt", fill)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_names_the_file(tmp_path, monkeypatch):
    def refuse(path, *arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(PermissionError, match=r"Permission denied: '.*/a\.txt'$"):
        write_whole(tmp_path / "a.txt", lambda name: name.write_text("whole"))


def test_a_run_killed_before_its_first_file_is_no_foreign_folder(tmp_path):
    with writing(tmp_path / MANIFEST):
        pass
    prepare_folder(tmp_path, 0, "quick", False)
    assert [entry.name for entry in tmp_path.iterdir()] == [MANIFEST]
