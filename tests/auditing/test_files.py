"""Logs from files: every bad line is named, no row is lost, and memory does not grow."""

import datetime as dt
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import feint
from feint.auditing import Names, chunks
from feint.auditing.numbers import as_moment

HEADER = "time,arm,reward\n"
GOOD = ["1,0,0.5", "2,1,0.1", "3,0,0.7", "4,1,-0.2", "5,0,0.9", "6,0,0.3"]


def write(path, lines, header=HEADER):
    path.write_text(header + "\n".join(lines) + "\n")
    return path


@pytest.fixture(params=["csv", "parquet", "tsv", "semicolons"])
def claims_file(request, tmp_path):
    """Return (path, options, arms, probabilities) of a log with claims."""
    rng = np.random.default_rng(0)
    claims = rng.dirichlet([1.0, 1.0, 1.0], 700)
    arms = (rng.random((700, 1)) > claims.cumsum(1)).sum(1).clip(max=2)
    columns = {"arm": arms, "note": ["x"] * 700, **{f"p_{a}": claims[:, a] for a in range(3)}}
    if request.param == "parquet":
        parquet.write_table(pa.table(columns), tmp_path / "log.parquet", row_group_size=100)
        return tmp_path / "log.parquet", {}, arms, claims
    mark = {"csv": ",", "tsv": "\t", "semicolons": ";"}[request.param]
    path = tmp_path / ("log.tsv" if mark == "\t" else "log.csv")
    lines = [mark.join(columns)]
    lines += [mark.join([str(a), "x", *(repr(float(p)) for p in row)]) for a, row in zip(arms, claims, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path, {"delimiter": ";"} if mark == ";" else {}, arms, claims


@pytest.mark.parametrize("cells", [5, 1_000, 10**6])
def test_a_file_is_the_same_log_in_any_chunks(claims_file, cells, monkeypatch):
    path, options, arms, claims = claims_file
    monkeypatch.setattr(chunks, "CELLS_PER_CHUNK", cells)
    assert feint.audit_log(path, **options).to_json() == feint.audit(arms, probabilities=claims).to_json()


def test_the_columns_choose_the_mode(tmp_path):
    lines = ["0,0.1,0.5,0.5,0.5", "1,0.2,0.5,0.5,0.5", "1,0.3,0.5,0.5,0.5"]
    path = write(tmp_path / "a.csv", lines, "arm,reward,propensity,p_0,p_1\n")
    assert feint.audit_log(path).mode == "probabilities"
    assert feint.audit_log(path, mode="propensities").mode == "propensities"
    assert feint.audit_log(path, mode="rewards").mode == "rewards"
    few = write(tmp_path / "few.csv", ["0,0.1,0.5", "1,0.2,0.5"], "arm,reward,propensity\n")
    assert feint.audit_log(few).mode == "propensities"
    other = write(tmp_path / "b.csv", lines, "choice,gain,chance,x0,x1\n")
    names = Names(arm="choice", reward="gain", propensity="chance", prefix="x")
    report = feint.audit_log(other, names=names)
    assert report.to_json() == feint.audit_log(path).to_json()


@pytest.mark.parametrize(
    ("line", "says", "kind"),
    [
        ("7,,0.5", "line 5: arm is missing", "missing"),
        ("7,0,", "line 5: reward is missing", "missing"),
        ("7,0,NA", "line 5: reward is missing", "missing"),
        ("7,0,nan", "line 5: reward is missing", "missing"),
        ("7,x,0.5", "line 5: arm is 'x', not the arm's number from 0", "not a number"),
        ("7,0,high", "line 5: reward is 'high', not a number", "not a number"),
        ("7,0.5,0.5", "line 5: arm is '0.5', not a whole number", "not a number"),
        ("7,2,0.5", "line 5: arm 2 is out of range; with 2 arms", "arm out of range"),
        ("7,-1,0.5", "line 5: arm -1 is out of range", "arm out of range"),
        ("7,1e400,0.5", "line 5: arm inf is out of range", "arm out of range"),
        ("7,0,inf", "line 5: reward is 'inf'; it must be a finite", "impossible reward"),
        ("7,0", "line 5: it has 2 fields, the header 3", "malformed"),
        ("7,0,0.5,9", "line 5: it has 4 fields, the header 3", "malformed"),
        ("", "line 5: the line is empty", "malformed"),
        ("2.5,0,0.5", "line 5: time '2.5' lies before that of row 3", "unordered time"),
        (
            "soon,0,0.5",
            "line 5: time 'soon', neither a number nor a date".replace("time '", "time is '"),
            "unordered time",
        ),
        ('3.5,0,"0.5\n7,0,0.1"', "line 5: a quoted text goes on to line 6", "malformed"),
        ("3.5,0,\x00", "line 5: reward is", "not a number"),
        ("3.5,0,1_0", "line 5: reward is '1_0', not a number", "not a number"),
        ("3.5,0,maybe", "line 5: reward is 'maybe', not a number", "not a number"),
        ("3.5,٣,0.5", "line 5: arm is '٣', not the arm's number from 0", "not a number"),
        ("inf,0,0.5", "line 5: time is 'inf', neither", "unordered time"),
    ],
)
def test_bad_lines_are_named_or_counted(line, says, kind, tmp_path):
    path = write(tmp_path / "log.csv", [*GOOD[:3], line.replace("7,", "3.5,", 1), *GOOD[3:]])
    with pytest.raises(ValueError, match=r"log\.csv: line 5") as refused:
        feint.audit_log(path, n_arms=2)
    assert says in str(refused.value)
    report = feint.audit_log(path, n_arms=2, skip_bad=True)
    assert report.bad_rows == {kind: 1}
    assert says in report.bad_examples[0]
    assert report.rows == 7
    # The other rows count as if the bad one were not there.
    clean = feint.audit_log(write(tmp_path / "clean.csv", GOOD), n_arms=2)
    assert report.log_e_value == clean.log_e_value


def test_bytes_that_are_no_text_are_a_bad_row_where_the_encoding_has_them(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes((HEADER + "\n".join(GOOD[:3])).encode() + b"\n4,1,\xff\xfe0.5\n5,0,0.1\n")
    with pytest.raises(ValueError, match="line 5: byte 45 of the text, 0xff, is not UTF-8"):
        feint.audit_log(path, n_arms=2, skip_bad=True)
    with pytest.raises(ValueError, match=r"line 5: reward is 'ÿþ0\.5', not a number"):
        feint.audit_log(path, encoding="latin-1")
    assert feint.audit_log(path, encoding="latin-1", n_arms=2, skip_bad=True).bad_rows == {"not a number": 1}


def test_what_is_no_row_is_no_bad_row(tmp_path):
    """A byte-order mark, Windows line ends, spaces, and empty lines at the end are accepted."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (HEADER + " \n".join(GOOD)).replace("\n", "\r\n").encode() + b"\r\n\r\n\n")
    assert feint.audit_log(path).rows == 6
    assert feint.audit_log(path).log_e_value == feint.audit_log(write(tmp_path / "b.csv", GOOD)).log_e_value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("\n", "empty"),
        ("a,b\n1,2\n", "no column 'arm' among 'a', 'b'"),
        ("arm,x\n1,2\n", "no column p_0, p_1, … or propensity or reward"),
        ("arm;reward\n1;2\n", "`delimiter` ';'"),
        ("arm,arm,reward\n1,1,2\n", "'arm' appears twice"),
        ("arm,p_0,p_2\n0,0.5,0.5\n", "without gaps"),
        ("arm,p_0\n0,1\n", "the number of arms is unclear"),
        ("arm,reward\n", "number of arms is unclear"),
        ("arm,reward\n0,1\n0,2\n", "number of arms is unclear"),
        ("arm,reward\n0,1\n99999999999999999999,2\n", "number of arms is unclear"),
        ('arm,reward\n0,"' + "x" * 200_000 + "\n", "cannot be read: field larger"),
    ],
)
def test_files_that_are_no_log(text, says, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"log\.csv|arms is unclear") as refused:
        feint.audit_log(path)
    assert says in str(refused.value)


def test_other_files(tmp_path):
    for name, content, says in (
        ("log.doc", b"", "must be a .csv or a .parquet"),
        ("log.parquet", b"PAR1 nonsense", "cannot be read"),
        ("log.csv", None, "There is no file"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises((ValueError, OSError), match=says):
            feint.audit_log(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileNotFoundError):
        feint.audit_log(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"arm": [0, 1, None], "reward": [0.1, 0.2, 0.3]}, "row 3: arm is missing"),
        ({"arm": ["0", "1", "b"], "reward": [0.1, 0.2, 0.3]}, "row 3: arm is 'b', not the arm's number from 0"),
        ({"arm": [0, 1, 1], "reward": [0.1, 0.2, None]}, "row 3: reward is missing"),
        ({"arm": [0, 1, 1], "reward": [0.1, 0.2, 0.3], "time": [1, 3, 2]}, "row 3: time 2 lies before that of row 2"),
        ({"arm": [0, 1, 1], "reward": [0.1, 0.2, 0.3], "time": [1.5, 3, None]}, "row 3: time is None"),
        (
            {"arm": [0, 1, 1], "reward": [0.1, 0.2, 0.3], "timestamp": [dt.datetime(2026, 1, d) for d in (1, 3, 2)]},
            "row 3: time",
        ),
        ({"arm": [[0], [1], [1]], "reward": [0.1, 0.2, 0.3]}, r"row 1: arm is \[0\], not the arm's number from 0"),
        ({"arm": [0, 1, 1], "reward": [0.1, 0.2, 0.3], "time": [[1], [2], [3]]}, r"row 1: time is \[1\]"),
    ],
)
def test_bad_rows_of_parquet(columns, says, tmp_path):
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(ValueError, match=says):
        feint.audit_log(tmp_path / "log.parquet")


class TestTimes:
    def test_nanoseconds_do_not_collide(self, tmp_path):
        """Neighbours of 1.7e18 differ by less than a float64 can tell."""
        start = 1_700_000_000_000_000_000
        lines = [f"{start + i},{i % 2},0.{i}" for i in range(6)]
        assert feint.audit_log(write(tmp_path / "a.csv", lines)).rows == 6
        lines[3] = lines[2]
        tied = feint.audit_log(write(tmp_path / "a.csv", lines))
        assert "Rows with the same time as the row before: 1." in " ".join(tied.warnings)
        lines[3] = lines[1]
        with pytest.raises(ValueError, match="line 5: time '1700000000000000001' lies before"):
            feint.audit_log(write(tmp_path / "a.csv", lines))

    def test_dates(self, tmp_path):
        days = ["2026-01-01", "2026-01-01T00:00:01", "2026-01-01 00:00:01.5+00:00", "2026-01-01T03:00:00+02:00"]
        assert [as_moment(day) for day in days] == sorted(as_moment(day) for day in days)
        assert as_moment(days[3]) - as_moment(days[0]) == 3600 * 10**9
        assert as_moment("2026-01-01T00:00:00.123456782") - as_moment("2026-01-01T00:00:00.123456781") == 1
        for no_time in ("soon", "", "inf", "1e400", "nan", "1_0", "٣", None, True, [1]):
            assert as_moment(no_time) is None
        path = write(tmp_path / "a.csv", [f"{day},{i % 2},0.5" for i, day in enumerate(days)])
        assert feint.audit_log(path).rows == 4

    def test_times_that_repeat_are_counted(self, tmp_path):
        path = write(tmp_path / "a.csv", ["1,0,0.1", "1,1,0.2", "1,0,0.3"])
        assert "Rows with the same time as the row before: 2." in " ".join(feint.audit_log(path).warnings)
        assert "same time as the row before" not in " ".join(feint.audit_log(path, ignore_time=True).warnings)

    def test_order_is_kept_across_chunks(self, tmp_path, monkeypatch):
        monkeypatch.setattr(chunks, "CELLS_PER_CHUNK", 300)
        lines = [f"{t},{t % 2},0.5" for t in range(250)]
        lines[100] = "98,0,0.5"
        with pytest.raises(ValueError, match="line 102: time '98' lies before that of row 100"):
            feint.audit_log(write(tmp_path / "a.csv", lines))

    def test_a_bad_row_does_not_set_the_clock(self, tmp_path):
        lines = [*GOOD[:3], "99,7,0.5", *GOOD[3:]]
        report = feint.audit_log(write(tmp_path / "a.csv", lines), n_arms=2, skip_bad=True)
        assert report.bad_rows == {"arm out of range": 1}


def test_memory_does_not_grow_with_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CELLS_PER_CHUNK", 3_000)
    peaks = []
    rng = np.random.default_rng(1)
    for rows in (8_000, 80_000):  # a diagnosis looks at 6,000
        arms = np.r_[0:4, rng.choice(4, rows - 4, p=[0.94, 0.02, 0.02, 0.02])]
        path = write(tmp_path / f"{rows}.csv", [f"{t},{a},{0.1 * a}" for t, a in enumerate(arms)])
        feint.audit_log(path)
        tracemalloc.start()
        feint.audit_log(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000
