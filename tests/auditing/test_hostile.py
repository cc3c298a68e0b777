"""Audits of logs that were made to break them: the verdict is shown, and exit code 1 means a rejection alone."""

import errno
import io
import json
import socket
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import feint
from feint.auditing.html_report import page
from feint.auditing.readers import open_growing_log, open_log
from feint.auditing.readers.base import places
from feint.registry.instance_files import load_bandit
from feint.support.printable import printable
from shell import typed

HEADER = "arm,p_0,p_1\n"
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Return logs by the exit code with which their audit ends."""
    folder = tmp_path_factory.mktemp("logs")
    found = {}
    for code, share in ((0, 0.5), (1, 0.95)):
        arms = np.random.default_rng(0).random(300) < share
        found[code] = folder / f"{code}.csv"
        found[code].write_text(HEADER + "".join(f"{int(arm)},0.5,0.5\n" for arm in arms))
    return found


def fail(*arguments, **options):
    raise FULL


class TestVerdictComesFirst:
    @pytest.mark.parametrize("code", [0, 1])
    @pytest.mark.parametrize("how", [[], ["--json"]])
    def test_a_figure_and_a_page_that_cannot_be_written(self, how, code, logs, tmp_path, monkeypatch):
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
        plot, html = tmp_path / "a.png", tmp_path / "a.html"
        result = typed("audit", logs[code], "--plot", plot, "--html", html, *how)
        assert result.returncode == (code or 2)
        if how:
            assert json.loads(result.stdout)["rejected"] == bool(code)
        else:
            assert ("rejected at row" if code else "no evidence against the claim") in result.stdout
            assert "observed − expected" in result.stdout
            assert "wrote" not in result.stdout
        assert [line for line in result.stderr.splitlines() if "written" in line] == [
            f"feint: {path} cannot be written: No space left on device." for path in (plot, html)
        ]
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("code", [0, 1])
    def test_one_file_that_fails_does_not_stop_the_other(self, code, logs, tmp_path, monkeypatch):
        monkeypatch.setattr("feint.cli.audit.save_figure", fail)
        result = typed("audit", logs[code], "--plot", tmp_path / "a.png", "--html", tmp_path / "a.html")
        assert result.returncode == (code or 2)
        assert result.stdout.endswith(f"wrote {tmp_path / 'a.html'}\n")
        assert "rejected" in (tmp_path / "a.html").read_text() or code == 0

    def test_without_matplotlib(self, logs, tmp_path, monkeypatch):
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        result = typed("audit", logs[1], "--plot", tmp_path / "a.png")
        assert result.returncode == 1
        assert "rejected at row" in result.stdout
        assert f"feint: {tmp_path / 'a.png'} cannot be written: No module named 'matplotlib" in result.stderr

    @pytest.mark.parametrize("code", [0, 1])
    def test_a_state_that_cannot_be_written(self, code, logs, tmp_path, monkeypatch):
        monkeypatch.setattr("feint.support.files.write_whole", fail)
        result = typed("audit", logs[code], "--follow", "--until-end", "--state", tmp_path / "s.json")
        assert result.stderr.endswith(f"feint: {tmp_path / 's.json'} cannot be written: No space left on device.\n")
        # The state is written before the first row: an audit that can keep nothing does not begin.
        assert (result.returncode, result.stdout) == (2, "")

    def test_a_state_that_can_no_longer_be_written(self, logs, tmp_path, monkeypatch):
        from feint.support.files import write_whole

        written = []

        def until_full(path, write, **options):
            if written:
                raise FULL
            written.append(path)
            write_whole(path, write, **options)

        monkeypatch.setattr("feint.support.files.write_whole", until_full)
        result = typed("audit", logs[1], "--follow", "--state", tmp_path / "s.json")
        assert result.returncode == 1
        assert result.stdout.startswith("rejected at row")
        assert result.stderr.endswith(f"feint: {tmp_path / 's.json'} cannot be written: No space left on device.\n")

    @pytest.mark.parametrize("how", [[], ["--json"], ["--follow", "--until-end"]])
    @pytest.mark.parametrize("code", [0, 1])
    def test_standard_output_is_full(self, code, how, logs):
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "feint", "audit", str(logs[code]), *how]
            result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert result.returncode == (code or 2)
        assert result.stderr.endswith("feint: Standard output cannot be written: No space left on device.\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EOFError("marshal data too short"), 3),
        (MemoryError(), 3),
        (RecursionError("deep"), 3),
        (SystemExit(1), 3),
        (SystemExit("help"), 3),
        (KeyboardInterrupt(), 130),
        (StopIteration(), 3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("where", ["audit_source", "follow_log"])
def test_whatever_breaks_inside_is_no_rejection(error, code, where, logs, monkeypatch):
    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr(f"feint.auditing.pipeline.{where}", broken)
    result = typed("audit", logs[1], *(["--follow"] if where == "follow_log" else []))
    assert result.returncode == code
    assert result.stdout == ""


class TestControlCharacters:
    RED = "\x1b[31mred\r"
    BIDI = "b\u202elue"
    CONTROLS = "\x1b\r\x07\x9b\u202e"

    @pytest.fixture
    def log(self, tmp_path):
        path = tmp_path / "log\x1b[2J.csv"
        group = "u\x9b1m"
        rows = f"{self.RED.strip()},{group},0.5,0.5\n" * 60
        path.write_text(f"arm,user,p_{self.RED.strip()},p_{self.BIDI}\n{rows}", encoding="utf-8")
        return path

    def test_in_a_report(self, log, tmp_path):
        result = typed("audit", log, "--group", "user", "--plot", tmp_path / "\x1b[0m.png")
        assert result.returncode == 1
        assert not set(self.CONTROLS) & set(result.stdout + result.stderr)
        for shown in (r"\x1b[31mred", r"b\u202elue", r"u\x9b1m", r"wrote", r"\x1b[0m.png"):
            assert shown in result.stdout

    @pytest.mark.parametrize(
        "options",
        [
            ["--arms", "\x1b[1mx,y"],
            ["--arm", "\x1b[1mx"],
            ["--group", "\x9b1m"],
            ["--mode", "rewards"],
            ["--time", "user"],
        ],
        ids=str,
    )
    def test_in_errors(self, options, log):
        result = typed("audit", log, *options)
        assert result.returncode == 2
        assert r"log\x1b[2J.csv" in result.stderr
        assert not set(self.CONTROLS) & set(result.stderr)

    def test_in_warnings_and_rows_left_out(self, tmp_path):
        path = tmp_path / "log.csv"
        path.write_text("arm,reward,p_x\x1b[1m\n" + "\x1ba,1,1\nb,0,1\n" * 3 + "c\x1b\x07,0,1\n" * 2, encoding="utf-8")
        shown = typed("audit", path, "--mode", "rewards", "--arms", "\x1ba,b", "--skip-bad", "--prior", "0,1")
        assert shown.returncode == 0, shown.stderr
        assert r"p_x\x1b[1m" in shown.stdout
        assert r"c\x1b\x07" in shown.stdout
        assert not set(self.CONTROLS) & set(shown.stdout)

    def test_programs_get_the_data_and_pages_show_it(self, log):
        result = typed("audit", log, "--json")
        assert [arm["label"] for arm in json.loads(result.stdout)["arms"]] == ["\x1b[31mred", self.BIDI]
        text = page(feint.audit_log(log), str(log), f"feint audit {log}")
        assert not set(self.CONTROLS) & set(text)
        assert r"\x1b[31mred" in text
        assert r"b\u202elue" in text

    def test_what_can_be_seen_stays(self):
        for text in ("größer 赤 🙂 ε", "a\u00a0b", "prix\u202f:\u3000"):
            assert printable(text) == text
        assert printable("\x00\x1b\x7f\x85\u2028\u200f\ufeff\ud800\n\t") == (
            r"\x00\x1b\x7f\x85\u2028\u200f\ufeff\ud800\n\t"
        )


class TestWithoutEnd:
    @pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/dev/full"])
    @pytest.mark.parametrize("how", [[], ["--follow"]])
    def test_devices_are_answered(self, name, how):
        result = typed("audit", name, "--arms", "2", *how)
        assert result.returncode == 2
        assert result.stderr.startswith(f"feint: {name}: ")
        assert "is longer than 16,777,216" in result.stderr or "is not UTF-8" in result.stderr

    def test_a_socket_and_a_folder(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "s"))
            for how in ([], ["--follow"]):
                for path in (tmp_path / "s", tmp_path):
                    result = typed("audit", path, *how)
                    assert result.returncode == 2
                    assert str(path) in result.stderr
                    assert result.stderr.count("\n") == 1

    def test_a_stream_without_line_ends_is_refused_before_its_end(self):
        class Endless:
            given = 0

            def read1(self, size=-1):
                self.given += 2**20
                assert self.given < 2**26
                return b"x" * 2**20

        with pytest.raises(ValueError, match="a line is longer"):
            open_growing_log(Endless())

    def test_a_disk_that_is_too_small_for_a_copy_is_named(self, tmp_path, monkeypatch):
        (tmp_path / "log").symlink_to("/dev/full")
        monkeypatch.setattr("feint.auditing.readers.stored_file.own_folder", lambda parent: nullcontext(tmp_path))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"arm,reward\n0,1\n")))
        with pytest.raises(OSError, match=r"standard input cannot be read: there is no room for a copy of it in"):
            open_log("-")


class Counted(str):
    """A column name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_the_work_for_columns_grows_with_their_number():
    """Looking for each of 10,000 columns among all others would take 36 s for 3 rows."""
    from feint.auditing.claim import Claim
    from feint.auditing.columns import choose_columns

    columns = [Counted(name) for name in ("arm", *(f"p_{a}" for a in range(2_000)))]
    Counted.compared = 0
    wanted = [str(name) for name in columns]
    assert places(columns, wanted) == list(range(2_001))
    assert len(choose_columns(columns, Claim()).probabilities) == 2_000
    assert Counted.compared < 20 * len(columns)


def test_objects_of_many_probabilities_are_looked_up(monkeypatch):
    from feint.auditing import chunks
    from feint.auditing.arms import LogArms

    calls = []
    names = LogArms.names
    monkeypatch.setattr(LogArms, "names", lambda arms: calls.append(1) or names(arms))
    cells = [{f"x{a}": 1 / 50 for a in range(50)}] * 20
    assert len(chunks._columns_of_lists(cells, LogArms(50, [f"x{a}" for a in range(50)]), {}, ".")) == 50
    assert len(calls) == 1


def test_a_terminal_shows_the_arms_that_depart_most(tmp_path):
    n = 150
    text = "arm," + ",".join(f"p_{a}" for a in range(n)) + "\n"
    path = tmp_path / "log.csv"
    path.write_text(text + "".join(f"{a},{','.join([repr(1 / n)] * n)}\n" for a in (7, 149, 149)))
    shown = typed("audit", path).stdout
    assert "The 100 of 150 arms that depart most are shown; --json lists all." in shown
    table = [line.split()[0] for line in shown.splitlines() if line.split()[1:2] in (["0"], ["1"], ["2"])]
    assert len(table) == 100
    assert {"7", "149"} <= set(table)
    assert len(json.loads(typed("audit", path, "--json").stdout)["arms"]) == n


def test_arms_that_cannot_be_while_their_number_is_unknown(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n0,1\n-1,0\n1,1\n")
    says = "line 3: arm -1 is out of range; arms count from 0, so the number of arms is unclear"
    assert says in typed("audit", path).stderr


def test_more_columns_than_arms_can_be_are_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm," + ",".join(f"p_{a}" for a in range(10_001)) + "\n0\n")
    assert "There are 10,001 columns of probabilities; there must be 2 to 10,000" in typed("audit", path).stderr


def test_probabilities_whose_sum_overflows_are_no_warning_of_a_library(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,p_0,p_1\n0,1e308,1e308\n")
    assert "line 2: a probability is 1e+308; it must lie between 0 and 1" in typed("audit", path).stderr


def test_priors_of_many_arms_are_no_name_of_a_file(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n0,1\n1,0\n")
    options = ("--reference", "beta", "--arms", "100", "--no-initial-round", "--prior", ";".join(["1.5,2.5"] * 100))
    assert typed("audit", path, *options).returncode == 0


def test_an_option_is_called_as_it_was_typed(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n0,1\n1,0\n1,1\n")
    assert typed("audit", path, "--clip", "0.9").stderr.startswith(
        "feint: --clip, the least probability of an arm, must"
    )
    assert "--clip is 0.4, which 3 arms" in typed("audit", path, "--clip", "0.4", "--arms", "3").stderr


def test_instances_have_every_key_once(tmp_path):
    path = tmp_path / "bandit.json"
    path.write_text('{"public": [0, 1], "private": [1, 0], "public": [1, 0]}')
    with pytest.raises(ValueError, match=r"bandit\.json cannot be read: it has the key 'public' twice"):
        load_bandit(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="it is nested too deeply"):
        load_bandit(path)


def test_a_study_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "study.toml").write_text("x = " + "[" * 3_000 + "]" * 3_000)
    done = typed("sweep", "study.toml", "--out", "out.zarr", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "feint: study.toml cannot be read: it is nested too deeply.\n")


@pytest.mark.parametrize("sigma", ["1e308", "1e201", "1e-201", "1e-320"])
def test_a_sigma_whose_sums_overflow_is_refused(sigma):
    """A simulation with σ = 1e308 would never end."""
    done = typed("run", "--public", "0,0", "--private", "0,0", "--sigma", sigma, "--horizon", "10")
    assert done.returncode == 2
    assert done.stderr.endswith("rescale the rewards, so that it lies between 1e-200 and 1e200.\n")
