"""Run the `feint` command in this process, which saves a second of imports per command."""

import contextlib
import io
import subprocess
import sys

import pytest

from feint.cli import main


def typed(*arguments, cwd=None):
    """Run `feint` with these arguments and return what `subprocess.run` would."""
    command = ["feint", *map(str, arguments)]
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command)
        if cwd is not None:
            patch.chdir(cwd)
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), pytest.raises(SystemExit) as ended:
            main()
    return subprocess.CompletedProcess(command, ended.value.code or 0, stdout.getvalue(), stderr.getvalue())


def run_audit(*arguments):
    """Run `feint audit`; return the exit code and what it printed."""
    found = typed("audit", *arguments)
    return found.returncode, found.stdout + found.stderr


def write_csv(path, header, rows):
    """Write a log and return its path."""
    path.write_text(header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path
