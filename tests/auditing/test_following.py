"""`--follow --state`: a state knows which lines it has seen, and a file that is rotated is read on in its place."""

import io
import json
import os
import sys
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest

from feint.auditing.readers import GrowingFile, open_growing_log
from feint.auditing.readers.lines_seen import SeenLines
from shell import typed

HEADER = "arm,reward\n"
ROWS = [f"{arm},{t % 3 / 7:.3f}\n" for t, arm in enumerate(np.random.default_rng(0).integers(2, size=60))]
OPTIONS = ("--follow", "--until-end", "--arms", "2")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.csv"


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.json"


def resumed(path, state, *options):
    """Run once more; return the exit code and what was said."""
    result = typed("audit", path, *OPTIONS, "--state", state, *options)
    return result.returncode, result.stdout + result.stderr


def kept(state):
    """Return a state without what it says about the file."""
    found = json.loads(state.read_text())
    found.pop("seen")
    return found


def whole(tmp_path, rows, *options):
    """Return the state of an audit of these rows in one file."""
    (tmp_path / "whole.csv").write_text(HEADER + "".join(rows))
    assert resumed(tmp_path / "whole.csv", tmp_path / "whole.json", *options)[0] == 0
    return kept(tmp_path / "whole.json")


def arms(batches):
    return [cell for batch in batches for cell in batch.table["arm"]]


def test_a_restart_within_an_instant_changes_nothing(path, state, tmp_path):
    """E is read only after an instant: here 40 pulls of arm 1 at one time, of which the first run sees a half."""
    rows = ["1,0,0.5\n", "2,1,0.5\n", *["3,1,0.5\n"] * 40]
    split = "--reference", "uniform"
    for seen in (22, 42):
        path.write_text("time," + HEADER + "".join(rows[:seen]))
        assert resumed(path, state, *split)[0] == 0
    path.write_text("time," + HEADER + "".join(rows) + "4,0,0.5\n")
    code, said = resumed(path, state, *split)
    assert (code, said.split(" (")[0]) == (1, "rejected at row 42")
    whole_path, whole_state = tmp_path / "whole.csv", tmp_path / "whole.json"
    whole_path.write_text(path.read_text())
    assert resumed(whole_path, whole_state, *split) == (code, said)
    assert kept(whole_state) == kept(state)


class TestAnotherFile:
    @pytest.mark.parametrize(
        ("now", "says"),
        [
            (HEADER + "".join(ROWS[:10]), "it has 11 lines, fewer than the 31 that the state has seen"),
            (HEADER, "it has 1 lines, fewer than the 31"),
            (
                HEADER + "".join(ROWS[1:]),
                "it does not begin with the 31 lines that the state has seen",
            ),
            (HEADER + "".join(ROWS[:29]) + "0,0.9\n" + "".join(ROWS[30:]), "it does not begin with the 31 lines"),
            ("arm,reward \n" + "".join(ROWS), "it does not begin with the 31 lines"),
            (HEADER + "\n" + "".join(ROWS), "it does not begin with the 31 lines"),
        ],
        ids=["shorter", "empty", "rotated", "edited", "header", "blank"],
    )
    def test_is_refused(self, now, says, path, state):
        path.write_text(HEADER + "".join(ROWS[:30]))
        assert resumed(path, state)[0] == 0
        before = state.read_bytes()
        path.write_text(now)
        code, said = resumed(path, state)
        assert code == 2
        assert said.startswith(f"feint: {path}: {says}")
        assert "--state" in said
        assert said.count("\n") == 1
        assert state.read_bytes() == before

    def test_json_lines_too(self, tmp_path, state):
        path = tmp_path / "log.jsonl"
        lines = [json.dumps({"arm": int(row[0]), "reward": t % 3}) + "\n" for t, row in enumerate(ROWS[:40])]
        path.write_text("".join(lines[:20]))
        assert resumed(path, state)[0] == 0
        path.write_text("".join(lines))
        code, said = resumed(path, state)
        assert (code, "in 40 rows" in said) == (0, True)
        path.write_text("".join(lines[1:]) * 2)
        assert "it does not begin with the 40 lines" in resumed(path, state)[1]

    def test_the_same_file_may_have_grown(self, path, state, tmp_path):
        """It may have had a last line without an end, empty lines between rows, or a quoted text over several lines."""
        rows = [*ROWS[:5], "\n", "\n", *ROWS[5:9], '1,"0.5\n\n7"\n', *ROWS[9:20]]
        text = HEADER + "".join(rows)
        expected = whole(tmp_path, rows, "--skip-bad")
        for cut in range(len(HEADER), len(text) + 1):
            if text[cut - 1] == "\n" or text[cut : cut + 1] == "\n":
                path.write_text(text[:cut])
                if text[:cut].count('"') != 1:  # otherwise a row is cut
                    assert resumed(path, state, "--skip-bad")[0] == 0
        assert kept(state) == expected

    def test_a_line_that_was_cut_is_another_one(self, path, state):
        path.write_text(HEADER + "".join(ROWS[:4]) + "1,0.1")
        assert resumed(path, state)[0] == 0
        path.write_text(HEADER + "".join(ROWS[:4]) + "1,0.15\n")
        assert "it does not begin with the 6 lines" in resumed(path, state)[1]

    def test_pipes_go_on_and_make_up_the_file(self, path, state, tmp_path, monkeypatch):
        for piece in (ROWS[:20], ROWS[20:40]):
            content = (HEADER + "".join(piece)).encode()
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
            assert resumed("-", state)[0] == 0
        path.write_text(HEADER + "".join(ROWS))
        assert resumed(path, state)[0] == 0
        assert kept(state) == whole(tmp_path, ROWS)


class TestRotation:
    """Rotate the file between two batches, or while its end is looked at; no test waits for time."""

    @pytest.fixture(autouse=True)
    def files(self):
        with ExitStack() as self.opened:
            yield

    def follow(self, path, n_rows=4):
        log = open_growing_log(self.opened.enter_context(GrowingFile(str(path))))
        return log, log.batches(["arm"], n_rows, lambda done: None)

    def renamed(self, path, text):
        path.rename(path.with_suffix(".1"))
        path.write_text(text)

    def truncated(self, path, text):
        with open(path, "r+") as file:
            file.truncate(0)
            file.write(text)

    @pytest.mark.parametrize("rows", [3, 5, 6, 3000], ids=["shorter", "as long", "longer", "much longer"])
    @pytest.mark.parametrize("how", ["renamed", "truncated"])
    def test_a_new_file_is_read_on(self, how, rows, path):
        path.write_text(HEADER + "a,1\n" * 5)
        log, batches = self.follow(path)
        found = [next(batches)]
        getattr(self, how)(path, HEADER + "b,1\n" * rows)
        found += batches
        assert arms(found) == ["a"] * 5 + ["b"] * rows
        assert log.seen.lines == 1 + rows
        again, rest = self.follow(path)
        again.resume(SeenLines(log.seen.lines, log.seen.digest))
        assert list(rest) == []

    @pytest.mark.parametrize("differs", ["at the start", "where reading stopped"])
    def test_a_long_file_that_is_truncated_and_outgrown_is_noticed(self, differs, path):
        path.write_text(HEADER + "a,1\n" * 5000)
        _, batches = self.follow(path, 10_000)
        found = [next(batches)]
        while len(arms(found)) < 5000:
            found.append(next(batches))
        same, other = "a,1\n" * 4999, "b,1\n"
        self.truncated(path, HEADER + (other + same if differs == "at the start" else same + other) + other)
        found += batches
        assert arms(found).count("b") == 2
        assert len(arms(found)) == 5000 + 5001

    def test_a_file_that_only_grows_is_one_file(self, path):
        path.write_text(HEADER + "a,1\n" * 3000)
        log, batches = self.follow(path, 100)
        found = [next(batches)]
        for _ in range(3):
            with open(path, "a") as file:
                file.write("b,1\n" * 2000)
            found.append(next(batches))
        found += batches
        assert arms(found) == ["a"] * 3000 + ["b"] * 6000
        assert log.seen.lines == 9001

    def test_rows_are_read_that_came_before_the_rotation_was_seen(self, path, monkeypatch):
        path.write_text(HEADER + "a,1\n")
        look, rotations = GrowingFile._is_renamed, []

        def rotated_meanwhile(file):
            if not rotations:
                rotations.append(1)
                with open(path, "a") as old:
                    old.write("a,2\n")
                self.renamed(path, HEADER + "b,1\n")
            return look(file)

        monkeypatch.setattr(GrowingFile, "_is_renamed", rotated_meanwhile)
        assert arms(self.follow(path)[1]) == ["a", "a", "b"]

    def test_again_and_again(self, path):
        path.write_text(HEADER + "a,1\n")
        _, batches = self.follow(path, 1)
        found = [next(batches)]
        for label in "bcd":
            self.renamed(path, HEADER + f"{label},1\n")
            found.append(next(batches))
        assert list(batches) == []
        assert arms(found) == ["a", "b", "c", "d"]

    def test_json_lines(self, tmp_path):
        path = tmp_path / "log.jsonl"
        path.write_text('{"arm": 0}\n{"arm": 1}\n')
        log, batches = self.follow(path, 1)
        found = [next(batches)]
        self.renamed(path, '{"arm": 2}\n')
        found += batches
        assert arms(found) == [0, 1, 2]
        assert [batch.lines.tolist() for batch in found] == [[1], [2], [1]]
        assert log.seen.lines == 1

    def test_another_encoding_or_other_columns_are_refused(self, path):
        for text, says in (("arm,gain\n0,1\n", "has the columns 'arm', 'gain', not those"), ("é,1\n", "0xe9")):
            path.write_text(HEADER + "0,1\n")
            _, batches = self.follow(path)
            next(batches)
            path.unlink()
            path.write_bytes(text.encode("latin-1"))
            with pytest.raises(ValueError, match=r"log\.csv: ") as refused:
                list(batches)
            assert says in str(refused.value)

    def test_a_file_that_is_gone_ends(self, path):
        path.write_text(HEADER + "0,1\n")
        _, batches = self.follow(path)
        next(batches)
        path.unlink()
        assert list(batches) == []

    @pytest.mark.parametrize("new", [ROWS[30:], [], None], ids=["rows", "a header", "nothing"])
    def test_a_restart_goes_on_in_the_new_file(self, new, path, state, tmp_path, monkeypatch):
        """The count of rows continues, and the agent's knowledge is that of all files together."""
        path.write_text(HEADER + "".join(ROWS[:30]))
        look, rotations = GrowingFile._is_renamed, []

        def rotated_once(file):
            if not rotations:
                rotations.append(1)
                self.renamed(path, "" if new is None else HEADER + "".join(new))
            return look(file)

        monkeypatch.setattr(GrowingFile, "_is_renamed", rotated_once)
        assert resumed(path, state)[0] == 0
        assert json.loads(state.read_text())["seen"]["lines"] == (0 if new is None else 1 + len(new))
        path.write_text(HEADER + "".join(ROWS[30:]) + "1,0.5\n")
        code, said = resumed(path, state)
        assert (code, "in 61 rows" in said) == (0, True)
        assert kept(state) == whole(tmp_path, [*ROWS, "1,0.5\n"])

    def test_a_named_pipe_is_no_file(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        into = os.open(tmp_path / "pipe", os.O_RDWR)
        os.write(into, HEADER.encode() + b"0,1\n")
        log, batches = self.follow(tmp_path / "pipe")
        log.resume(SeenLines(5, bytes(32)))
        assert arms([next(batches)]) == ["0"]
        assert log.seen.lines == 6
        os.close(into)


class TestStates:
    @pytest.mark.parametrize(
        "change",
        [
            {"rows": 31},
            {"rows": 29},
            {"observed": [15, 16]},
            {"observed": [15.0, 15.0]},
            {"observed": [45, -15]},
            {"observed": [30]},
            {"bad": {"missing": 1}},
            {"bad": {"missing": "x"}},
            {"impossible": [1, 0, 30]},
            {"seen": None},
            {"seen": {"lines": 31}},
            {"seen": {"lines": -1, "digest": "00" * 32}},
            {"seen": {"lines": True, "digest": "00" * 32}},
            {"seen": {"lines": 31, "digest": "00"}},
            {"seen": {"lines": 31, "digest": "x" * 64}},
            {"seen": {"lines": 30, "digest": "00" * 32}},
            {"feint_auditor": 1},
        ],
    )
    def test_that_contradict_themselves_are_refused(self, change, path, state):
        path.write_text(HEADER + "".join(ROWS[:30]))
        assert resumed(path, state)[0] == 0
        state.write_text(json.dumps(json.loads(state.read_text()) | change))
        code, said = resumed(path, state)
        assert code == 2, said
        assert said.startswith("feint: ")
        assert said.count("\n") == 1

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (("--batch", "5"), "its batch is 1, not 5"),
            (("--alpha", "0.01"), "its alpha is 0.05, not 0.01"),
            (("--sigma", "2"), "its family is 'Gaussian(sigma=1.0)', not 'Gaussian(sigma=2.0)'"),
            (("--prior", "0,1"), "its reference is 'ThompsonSampling(prior=None)', not "),
            (("--arms", "a,b"), "its arms is ['0', '1'], not ['a', 'b']"),
        ],
    )
    def test_of_another_claim_are_refused_with_what_differs(self, options, says, path, state):
        path.write_text(HEADER + "".join(ROWS[:30]))
        assert resumed(path, state)[0] == 0
        code, said = resumed(path, state, *options)
        assert code == 2
        assert f"The saved state is of another audit: {says}" in said

    def test_of_an_earlier_format_say_what_to_do(self, path, state):
        path.write_text(HEADER + "".join(ROWS[:30]))
        assert resumed(path, state)[0] == 0
        state.write_text(json.dumps(json.loads(state.read_text()) | {"feint_auditor": 2}))
        code, said = resumed(path, state)
        assert code == 2
        assert "it is of format 2, which another version of feint wrote; begin a new audit with another file" in said

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ("[" * 100_000, "it is nested too deeply"),
            ('{"rows": 1, "rows": 2}', "it has the key 'rows' twice"),
            ("1" * 5_000, "it has a whole number with thousands of digits"),
            ("\ud800", "is not a JSON file"),
        ],
        ids=["deep", "twice", "long", "bytes"],
    )
    def test_that_are_no_json_are_refused(self, content, says, path, state):
        path.write_text(HEADER + "".join(ROWS))
        state.write_bytes(content.encode("utf-8", "surrogatepass"))
        code, said = resumed(path, state)
        assert code == 2
        assert says in said

    def test_that_have_no_end_are_not_read(self, path, tmp_path):
        path.write_text(HEADER + "".join(ROWS))
        for name in ("/dev/zero", tmp_path):
            code, said = resumed(path, name)
            assert (code, "is not a file, so it holds no state" in said) == (2, True)
        with open(tmp_path / "large.json", "wb") as file:
            file.truncate(2**40)
        code, said = resumed(path, tmp_path / "large.json")
        assert (code, "bytes, more than any state has" in said) == (2, True)
