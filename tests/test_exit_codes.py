"""Exit code 1 means that `feint audit` or `feint check` rejects, and nothing else."""

import os
import subprocess
import sys

import pytest
import typer

from feint.cli.shared import app
from shell import typed

INTERNAL = "feint: internal error, {}; please report it (FEINT_DEBUG=1 shows the traceback)\n"


@pytest.fixture
def broken(monkeypatch):
    """Make a command raise what it is given."""
    commands = list(app.registered_commands)
    raised = []

    @app.command("break")
    def fail() -> None:
        raise raised[0]

    yield raised
    app.registered_commands[:] = commands


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(28, "No space left on device"), 2, "feint: No space left on device.\n"),
        (EOFError("cut"), 3, INTERNAL.format("EOFError: cut")),
        (MemoryError(), 3, INTERNAL.format("MemoryError: ")),
        (RecursionError("too deep"), 3, INTERNAL.format("RecursionError: too deep")),
        (KeyError("a\x1b[2K"), 3, INTERNAL.format("KeyError: 'a\\x1b[2K'")),
        (SystemExit(1), 3, ""),
        (SystemExit("words"), 3, ""),
        (SystemExit(130), 130, ""),
        (KeyboardInterrupt(), 130, "feint: interrupted\n"),
        (typer.Abort(), 130, "feint: interrupted\n"),
        (typer.Exit(1), 1, ""),
        (typer.Exit(0), 0, ""),
    ],
    ids=repr,
)
def test_whatever_is_raised_ends_with_its_code(broken, error, code, said):
    broken.append(error)
    done = typed("break")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.parametrize("words", [["--nothing"], ["nothing"], ["run", "--nothing"], ["run", "--horizon"], ["audit"]])
def test_a_wrong_command_line_is_one_line(words):
    done = typed(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("feint: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_option_names_the_help():
    assert typed("run", "--nothing").stderr.endswith(" See feint run --help.\n")


def test_no_words_show_the_help():
    assert "Usage: feint" in typed().stdout


def test_a_debugger_sees_the_traceback(broken, monkeypatch):
    monkeypatch.setenv("FEINT_DEBUG", "1")
    broken.append(ZeroDivisionError("here"))
    done = typed("break")
    assert done.returncode == 3
    assert "Traceback" in done.stderr


def test_a_reader_that_leaves_is_no_error():
    """The end of the pipe is closed before anything is printed."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "feint", "run", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("module", ["typer", "feint.cli"])
def test_what_cannot_be_imported_is_no_rejection(module, tmp_path):
    """In a damaged installation the bytecode of a module is cut, or a dependency cannot be imported."""
    finder = (
        "import sys\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise EOFError('marshal data too short')\n"
        "sys.meta_path.insert(0, Broken())\n"
        "from feint.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", finder], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == (
        "feint: cannot start, EOFError: marshal data too short; reinstall feint and its dependencies\n"
    )


@pytest.mark.parametrize(
    ("streams", "of_honest"),
    [(">&- 2>&-", 0), (">&- <&-", 0), (">/dev/null 2>/dev/full", 0), (">/dev/full 2>&1", 2), ("2>&1 | true", 0)],
)
def test_streams_that_cannot_be_written_leave_the_exit_code(streams, of_honest, tmp_path):
    """A rejection ends with 1 even where nothing can be printed; a report that could not be written ends with 2."""
    for name, rows in (("honest", "a\nb\nb\na\na\nb\n"), ("bent", "a\nb\n" * 60)):
        (tmp_path / f"{name}.csv").write_text("arm\n" + rows)
    follow = "--follow --until-end"
    cases = [("honest", "", of_honest), ("honest", follow, of_honest), ("bent", "", 1), ("bent", follow, 1)]
    for name, options, code in [*cases, ("missing", "", 2)]:
        words = f"-m feint audit {name}.csv --arms a,b --split 0.5,0.5 {options} {streams}; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", f"{sys.executable} {words}"], cwd=tmp_path, capture_output=True)
        assert done.returncode == code, (name, options)
