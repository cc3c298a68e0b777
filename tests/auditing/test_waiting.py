"""`--follow` on a log that grows: it waits, reads on after rotation, and ends at the alarm. No test waits for time.

In the place of every sleep, something happens to the file; when nothing more is planned, someone presses Ctrl-C.
"""

import json
import shlex
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from feint.auditing.readers import growing_file
from shell import typed

HEADER = "arm,p_0,p_1\n"
FAIR = "0,0.5,0.5\n1,0.5,0.5\n"
BENT = "1,0.9,0.1\n"
# Forty rows in no order: strict alternation would be rejected.
MIXED = "".join(f"{arm},0.5,0.5\n" for arm in np.random.default_rng(0).integers(2, size=40))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.csv"


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.json"


@pytest.fixture
def meanwhile(monkeypatch):
    """Say what happens during the next sleeps."""
    planned = []

    def sleep(seconds):
        if not planned:
            raise KeyboardInterrupt
        planned.pop(0)()

    monkeypatch.setattr(growing_file, "sleep", sleep)
    return planned


def follow(path, *options):
    result = typed("audit", path, "--follow", *options)
    said = [line for line in result.stderr.splitlines(keepends=True) if "compiling kernels" not in line]
    return result.returncode, result.stdout, "".join(said)


def append(path, text):
    def act():
        with open(path, "a") as file:
            file.write(text)

    return act


def rotate(path, text):
    def act():
        path.rename(path.with_suffix(".1"))
        path.write_text(text)

    return act


class TestFiles:
    def test_what_is_written_later_is_read(self, path, state, meanwhile):
        path.write_text(HEADER + FAIR)
        meanwhile += [append(path, FAIR * 2), lambda: None, append(path, "0,0."), append(path, "5,0.5\n1,0.5,0.5")]
        code, out, err = follow(path, "--state", state)
        assert (code, out, err) == (130, "", "feint: interrupted, nothing was decided.\n")
        kept = json.loads(state.read_text())
        assert (kept["rows"], kept["observed"]) == (7, [4, 3])  # the last line has no end yet

    def test_the_end_is_the_end_if_that_was_asked_for(self, path, meanwhile):
        path.write_text(HEADER + FAIR)
        meanwhile += [append(path, BENT * 50)]
        code, out, _ = follow(path, "--until-end")
        assert (code, out) == (0, "no evidence against the claim in 2 rows (α = 0.05)\n")

    def test_the_alarm_is_the_end(self, path, state, meanwhile):
        path.write_text(HEADER + FAIR * 10)
        late = []
        meanwhile += [append(path, BENT * 20), lambda: late.append("it waited on")]
        code, out, err = follow(path, "--state", state)
        assert (code, err, late) == (1, "", [])
        assert out.startswith("rejected at row ")
        assert out.count("\n") == 1
        row = json.loads(state.read_text())["rejected_at"]
        assert out.startswith(f"rejected at row {row} ")
        assert follow(path, "--state", state) == (1, "", "")  # once said, it stands

    def test_a_file_that_begins_empty_and_one_with_a_header(self, path, state, meanwhile):
        path.write_text("")
        meanwhile += [append(path, HEADER)]
        assert follow(path, "--state", state)[0] == 130
        assert json.loads(state.read_text())["rows"] == 0
        meanwhile += [append(path, FAIR)]
        assert follow(path, "--state", state)[0] == 130
        assert json.loads(state.read_text())["rows"] == 2

    def test_rotation(self, path, state, meanwhile):
        path.write_text(HEADER + FAIR)
        meanwhile += [append(path, FAIR), rotate(path, HEADER + FAIR * 3), append(path, FAIR)]
        assert follow(path, "--state", state)[0] == 130
        kept = json.loads(state.read_text())
        assert (kept["rows"], kept["seen"]["lines"]) == (12, 9)

    def test_a_restart_after_a_rotation_to_an_empty_file(self, path, state, meanwhile):
        """The state is about the new file before that has any line."""
        path.write_text(HEADER + FAIR)
        meanwhile += [rotate(path, "")]
        assert follow(path, "--state", state)[0] == 130
        assert json.loads(state.read_text())["seen"]["lines"] == 0
        path.write_text(HEADER + FAIR)
        code, out, _ = follow(path, "--state", state, "--until-end")
        assert (code, out) == (0, "no evidence against the claim in 4 rows (α = 0.05)\n")

    def test_a_file_that_is_away_for_a_while(self, path, meanwhile):
        path.write_text(HEADER + FAIR)
        meanwhile += [path.unlink, lambda: None, lambda: path.write_text(HEADER + BENT * 20)]
        assert follow(path)[0] == 1

    def test_truncated_in_place(self, path, state, meanwhile):
        path.write_text(HEADER + MIXED)
        meanwhile += [lambda: path.write_text(HEADER + FAIR)]
        assert follow(path, "--state", state)[0] == 130
        assert json.loads(state.read_text())["rows"] == 42


class Pipe:
    """Standard input that gives these pieces, and fails if it is read after the alarm."""

    def __init__(self, *pieces, then):
        self.pieces, self.then = [piece.encode() for piece in pieces], then
        self.name = "<stdin>"

    def read1(self, size=-1):
        if not self.pieces:
            raise self.then
        return self.pieces.pop(0)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class TestPipes:
    def piped(self, monkeypatch, *pieces, then):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pipe(*pieces, then=then)))

    def test_end_at_the_alarm_at_once(self, state, monkeypatch):
        self.piped(monkeypatch, HEADER + FAIR, BENT * 30, then=AssertionError("it reads on"))
        code, out, err = follow("-", "--state", state)
        assert (code, err) == (1, "")
        assert out.startswith("rejected at row ")
        assert json.loads(state.read_text())["rows"] == 32

    def test_have_a_state_from_the_header_on(self, state, monkeypatch):
        self.piped(monkeypatch, HEADER, then=KeyboardInterrupt())
        assert follow("-", "--state", state)[0] == 130
        kept = json.loads(state.read_text())
        assert (kept["rows"], kept["seen"]["lines"]) == (0, 1)


NOTE = """
import pathlib, sys
place, *words = sys.argv[1:]
with open(place, "a", encoding="utf-8") as file:
    file.write(repr(words) + "\\n" + sys.stdin.read() + "\\n")
"""


class TestAlarms:
    @pytest.fixture
    def command(self, tmp_path):
        (tmp_path / "note.py").write_text(NOTE)
        return shlex.join([sys.executable, str(tmp_path / "note.py"), str(tmp_path / "noted")])

    def test_run_the_command_once_with_the_report(self, path, state, command, tmp_path):
        path.write_text(HEADER + FAIR + BENT * 30)
        for _ in range(2):
            assert follow(path, "--state", state, "--on-alarm", command)[0] == 1
        words, report = (tmp_path / "noted").read_text().splitlines()
        assert words == "[]"
        found = json.loads(report)
        assert (found["rejected"], found["severity"], found["feint_audit"]) == (True, "alarm", 2)
        assert found["rejected_at"] == json.loads(state.read_text())["rejected_at"]

    def test_no_shell_reads_the_command(self, path, command, tmp_path):
        path.write_text(HEADER + BENT * 30)
        dangerous = f"; touch {tmp_path / 'hacked'} $(touch {tmp_path / 'hacked'}) | cat"
        assert follow(path, "--on-alarm", f"{command} {shlex.quote(dangerous)} ; touch {tmp_path / 'hacked'}")[0] == 1
        assert not (tmp_path / "hacked").exists()
        words, _ = (tmp_path / "noted").read_text().splitlines()
        assert words == repr([dangerous, ";", "touch", str(tmp_path / "hacked")])

    def test_an_honest_log_runs_nothing(self, path, command, tmp_path):
        path.write_text(HEADER + MIXED)
        assert follow(path, "--until-end", "--on-alarm", command)[0] == 0
        assert not (tmp_path / "noted").exists()

    def test_a_command_that_fails_is_named_and_the_verdict_stands(self, path, state):
        path.write_text(HEADER + BENT * 30)
        failing = f"{shlex.quote(sys.executable)} -c 'raise SystemExit(7)'"
        code, out, err = follow(path, "--state", state, "--on-alarm", failing)
        assert code == 1
        assert out.startswith("rejected at row ")
        assert "--on-alarm" in err
        assert err.endswith("ended with exit code 7.\n")
        assert json.loads(state.read_text())["rejected_at"] is not None

    @pytest.mark.parametrize("command", ["", "nobody-has-this --x", "'", " "])
    def test_one_that_cannot_be_run_is_refused_before_the_work(self, command, path):
        path.write_text(HEADER + BENT * 30)
        code, out, err = follow(path, "--on-alarm", command)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"feint: --on-alarm is {command!r}")
