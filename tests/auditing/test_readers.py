"""Readers of logs: every format gives the same rows, and whatever is broken is said, never a library's traceback."""

import bz2
import datetime as dt
import gzip
import io
import json
import lzma
import os
import sys
import threading
import tracemalloc
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from feint.auditing import numbers
from feint.auditing.readers import open_growing_log, open_log

zipped = partial(gzip.compress, mtime=0)  # the same bytes in every process: they are in the names of tests

N = 57
ROWS = {
    "time": list(range(100, 100 + N)),
    "arm": [i % 3 for i in range(N)],
    "reward": [0.5 + i / 7 for i in range(N)],
    "note": [f"wörd {i}" for i in range(N)],
}
DECISION = {
    "_label_cost": -1.5,
    "_label_probability": 0.8,
    "_label_Action": 2,
    "_labelIndex": 1,
    "Timestamp": "2026-01-01T00:00:00Z",
    "EventId": "e1",
    "a": [2, 1, 3],
    "c": {"User": {"id": "x"}, "_multi": [{}, {}, {}]},
    "p": [0.8, 0.1, 0.1],
}


def as_json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def row_dicts():
    return [dict(zip(ROWS, cells, strict=True)) for cells in zip(*ROWS.values(), strict=True)]


def as_text(mark):
    lines = [mark.join(ROWS), *(mark.join(map(str, row.values())) for row in row_dicts())]
    return ("\n".join(lines) + "\n").encode()


def as_parquet(table, **options):
    buffer = io.BytesIO()
    parquet.write_table(pa.table(table), buffer, **options)
    return buffer.getvalue()


def decisions(n=N):
    rows = []
    for i in range(n):
        actions = [i % 3 + 1, (i + 1) % 3 + 1, (i + 2) % 3 + 1]
        label = {"_label_cost": -i / 4, "_label_Action": actions[0], "_labelIndex": actions[0] - 1}
        rows.append({**DECISION, **label, "a": actions, "Timestamp": i})
    return rows


CONTENTS = {
    "csv": as_text(","),
    "tsv": as_text("\t"),
    "jsonl": as_json_lines(row_dicts()),
    "ndjson": as_json_lines(row_dicts()),
    "parquet": as_parquet(ROWS, row_group_size=20),
}
PACK = {
    "": lambda data: data,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".gz": zipped,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def read(log, columns=None, n_rows=10, tick=lambda done: None):
    """(the table, the lines, the malformed rows by line or row) of all batches."""
    columns = log.columns if columns is None else columns
    table, lines, malformed, first = {name: [] for name in columns}, [], {}, 1
    for batch in log.batches(columns, n_rows, tick):
        assert list(batch.table) == columns
        assert 1 <= batch.n <= n_rows
        assert batch.lines is None or len(batch.lines) == batch.n
        for name, cells in batch.table.items():
            assert len(cells) == batch.n
            table[name] += cells.tolist() if isinstance(cells, np.ndarray) else cells
        lines += [] if batch.lines is None else batch.lines.tolist()
        where = range(first, first + batch.n) if batch.lines is None else batch.lines.tolist()
        malformed |= {where[i]: reason for i, reason in batch.malformed.items()}
        first += batch.n
    return table, lines, malformed


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def give_stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def temporary_files(folder):
    return list(Path(folder).iterdir())


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder of its own for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def check_rows(table, kind):
    typed = kind in ("parquet", "jsonl", "ndjson")
    assert table == (ROWS if typed else {name: [str(cell) for cell in cells] for name, cells in ROWS.items()})


class TestFormats:
    @pytest.mark.parametrize("packing", PACK)
    @pytest.mark.parametrize("kind", CONTENTS)
    @pytest.mark.parametrize("named", [True, False])
    def test_the_same_rows(self, kind, packing, named, tmp_path, temporary):
        path = write(tmp_path / (f"log.{kind}{packing}" if named else "log"), PACK[packing](CONTENTS[kind]))
        log = open_log(path if named else str(path))
        assert log.name == str(path)
        assert log.columns == list(ROWS)
        done = []
        table, lines, malformed = read(log, tick=done.append)
        check_rows(table, kind)
        assert lines == ([] if kind == "parquet" else list(range(1, N + 1) if "json" in kind else range(2, N + 2)))
        assert malformed == {}
        assert sum(done) == log.size == (N if kind == "parquet" else path.stat().st_size)
        assert read(log)[0] == table
        assert read(log, ["reward", "arm"], n_rows=1)[0] == {name: table[name] for name in ("reward", "arm")}
        del log
        assert temporary_files(temporary) == []

    @pytest.mark.parametrize("packing", PACK)
    @pytest.mark.parametrize("kind", CONTENTS)
    def test_standard_input(self, kind, packing, temporary, monkeypatch):
        give_stdin(monkeypatch, PACK[packing](CONTENTS[kind]))
        log = open_log("-")
        assert log.name == "standard input"
        for _ in range(2):
            check_rows(read(log)[0], kind)
        assert temporary_files(temporary)
        del log
        assert temporary_files(temporary) == []

    def test_a_named_pipe(self, tmp_path, temporary):
        path = tmp_path / "pipe.csv"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(CONTENTS["csv"],))
        writer.start()
        log = open_log(path)
        writer.join()
        check_rows(read(log)[0], "csv")

    def test_two_readers_of_one_log(self, tmp_path):
        """Batches that are read in turns do not disturb each other."""
        log = open_log(write(tmp_path / "log.csv.gz", zipped(CONTENTS["csv"])))
        first, second = (log.batches(["arm"], 10, lambda done: None) for _ in range(2))
        assert [a.table == b.table for a, b in zip(first, second, strict=True)] == [True] * 6

    def test_delimiters(self, tmp_path):
        path = write(tmp_path / "log.csv", CONTENTS["csv"].replace(b",", b";"))
        check_rows(read(open_log(path, ";"))[0], "csv")
        check_rows(read(open_log(write(tmp_path / "log", CONTENTS["tsv"]), "\\t"))[0], "csv")
        with pytest.raises(ValueError, match=r"log\.csv: its first line has one column.*`delimiter` ';' meant"):
            open_log(path)
        with pytest.raises(ValueError, match="single character"):
            open_log(path, ";;")

    def test_columns_that_appear_twice(self, tmp_path):
        buffer = io.BytesIO()
        twice = pa.table([[1], [2], [3]], names=["x", "arm", "x"])
        parquet.write_table(twice, buffer)
        path = write(tmp_path / "log.csv", "x,arm,x\n1,2,3\n")
        for log in (open_log(path), open_log(write(tmp_path / "a.parquet", buffer.getvalue())), open_log(twice)):
            assert log.columns == ["x", "arm", "x"]
            assert [int(arm) for arm in read(log, ["arm"])[0]["arm"]] == [2]
            with pytest.raises(ValueError, match=r"The column 'x' appears twice; rename one of them\."):
                read(log, ["arm", "x"])
            with pytest.raises(ValueError, match="There is no column 'y'"):
                read(log, ["y"])


class TestBadRows:
    def test_delimited(self, tmp_path):
        text = '\ufeffa,b\r\n1,2\r\n\r\n3\n"4\n5",6\n7,8,9\nÿ,0\n\n\n10,11\n\n\n'
        path = write(tmp_path / "log.csv", text)
        for n_rows in (1, 2, 3, 100):
            table, lines, malformed = read(open_log(path), n_rows=n_rows)
            assert lines == [2, 3, 4, 5, 7, 8, 9, 10, 11]
            assert table["a"] == ["1", "", "3", "4\n5", "7", "ÿ", "", "", "10"]
            assert malformed == {
                3: "the line is empty",
                4: "it has 1 fields, the header 2",
                5: "a quoted text goes on to line 6; is its quote closed where it should?",
                7: "it has 3 fields, the header 2",
                9: "the line is empty",
                10: "the line is empty",
            }

    def test_json_lines(self, tmp_path):
        deep = "[" * 100_000
        lines = [
            '\ufeff{"arm": 1, "p": [0.5, 0.5], "context": {"user": "a", "more": {"x": 1}}}',
            "",
            '{"arm": 2, "late": true}',
            '{"arm": 3',
            "[1, 2]",
            "7",
            "null",
            f'{{"arm": {deep}',
            f'{{"arm": {"[" * 50}1{"]" * 50}}}',
            '{"arm": ' + "1" * 5_000 + "}",
            '{"context.user": 1, "context": {"user": 2}}',
            '{"arm": 1, "context": {"user": 1, "user": 2}}',
            '{"arm": NaN}',
        ]
        content = "\n".join(lines).encode() + b"\r\n \n\n"
        for n_rows in (1, 3, 100):
            log = open_log(write(tmp_path / "log.jsonl", content))
            assert log.columns == ["arm", "p", "context.user", "context.more", "late"]
            table, numbers, malformed = read(log, n_rows=n_rows)
            assert numbers == list(range(1, 14))
            assert malformed == {
                2: "the line is empty",
                4: "it is no JSON: Expecting ',' delimiter at character 10",
                5: "it is a list, not a JSON object",
                6: "it is a number, not a JSON object",
                7: "it is null, not a JSON object",
                8: "it is nested too deeply",
                9: "it is nested too deeply",
                10: "it has a whole number of thousands of digits",
                11: "it has 'context.user' twice, as a key and inside an object",
                12: "it has the key 'user' twice",
            }
            assert table["arm"][:3] == [1, None, 2]
            assert table["p"][:3] == [[0.5, 0.5], None, None]
            assert table["context.user"][0] == "a"
            assert table["context.more"][0] == {"x": 1}
            assert table["late"][2] is True

    def test_keys_that_come_late_are_no_columns(self, tmp_path):
        rows = [{"arm": 0}] * 999 + [{"arm": 0, "b": 1}, {"arm": 0, "c": 1}]
        log = open_log(write(tmp_path / "log.jsonl", as_json_lines(rows)))
        assert log.columns == ["arm", "b"]
        assert read(log, n_rows=1_000)[0] == {"arm": [0] * 1_001, "b": [None] * 999 + [1, None]}

    def test_many_empty_lines_take_no_memory(self, tmp_path):
        for name, start, row in (("a.csv", "arm,b\n", "1,2"), ("a.jsonl", "", '{"arm": 1}')):
            path = write(tmp_path / name, start + row + "\n" * 200_000)
            assert read(open_log(path), ["arm"], 1_000)[2] == {}
            write(path, start + row + "\n" * 200_001 + row)
            log = open_log(path)
            tracemalloc.start()
            bad = sum(len(batch.malformed) for batch in log.batches(["arm"], 1_000, lambda done: None))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert bad == 200_000
            assert peak < 2_000_000


class TestDecisions:
    @pytest.mark.parametrize("packing", PACK)
    def test_rows(self, packing, tmp_path):
        content = PACK[packing](as_json_lines(decisions()))
        for name in ("log.dsjson", "log.json", "log.jsonl", "log"):
            log = open_log(write(tmp_path / (name + packing), content))
            assert log.columns == ["arm", "reward", "propensity", "probabilities", "time"]
            table, lines, malformed = read(log)
            assert lines == list(range(1, N + 1))
            assert malformed == {}
            assert table["arm"] == [str(i % 3 + 1) for i in range(N)]
            assert table["reward"] == [i / 4 for i in range(N)]
            assert str(table["reward"][0]) == "0.0"
            assert table["propensity"] == [0.8] * N
            assert table["probabilities"][1] == {"2": 0.8, "3": 0.1, "1": 0.1}
            assert table["time"] == list(range(N))

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"_label_Action": 3}, "_label_Action is 3, but a starts with 2"),
            ({"_labelIndex": 2}, "_labelIndex, from 0, is 2, but a, from 1, starts with 2"),
            ({"_labelIndex": [2]}, "_labelIndex, from 0, is no number"),
            ({"_label_probability": 0.1}, "_label_probability is 0.1, but p starts with 0.8"),
            ({"_label_probability": float("nan")}, "_label_probability is nan"),
            ({"_label_probability": "0.8"}, "no number"),
            ({"_label_cost": None}, "no number"),
            ({"p": [0.8, True, 0.1]}, "no number"),
            ({"a": [2, 1]}, "not lists of the same length"),
            ({"a": [], "p": []}, "not lists of the same length"),
            ({"a": 2}, "not lists of the same length"),
            ({"a": [2, 2, 3]}, "each once"),
            ({"a": [2, 0, 1]}, "from 1"),
            ({"a": [2, [1], 3]}, "from 1"),
            ({"pdrop": 0.5}, "pdrop"),
            ({"_skipLearn": True}, "_skipLearn"),
            ({"_outcomes": []}, "several slots"),
        ],
    )
    def test_rows_that_contradict_themselves(self, change, says, tmp_path):
        log = open_log(write(tmp_path / "log.json", as_json_lines([DECISION, {**DECISION, **change}, DECISION])))
        _, _, malformed = read(log)
        assert list(malformed) == [2]
        assert says in malformed[2]

    def test_what_is_no_decision(self, tmp_path):
        others = [{"EventId": "e1", "v": 1}, {"pdrop": 0.1}, {"_outcome": 1}]
        log = open_log(write(tmp_path / "log.json", as_json_lines([others[0], DECISION, *others[1:]])))
        table, _, malformed = read(log)
        assert table["arm"] == [None, "2", None, None]
        assert list(malformed) == [1, 3, 4]
        for reason in malformed.values():
            assert "it is no decision with an outcome: it lacks _label_cost" in reason

    def test_single_precision_is_no_contradiction(self, tmp_path):
        row = {**DECISION, "p": [0.800000011920929, 0.1, 0.1], "pdrop": 0}
        assert read(open_log(write(tmp_path / "log.json", as_json_lines([row]))))[2] == {}


class TestTables:
    @pytest.mark.parametrize(
        "make",
        [
            pd.DataFrame,
            pl.DataFrame,
            pa.table,
            lambda rows: pa.table(rows).to_batches()[0],
            lambda rows: pa.concat_tables([pa.table(rows).slice(0, 20), pa.table(rows).slice(20)]),
        ],
    )
    def test_the_same_rows(self, make):
        log = open_log(make(ROWS))
        assert (log.name, log.columns, log.size) == ("the table", list(ROWS), N)
        done = []
        assert read(log, tick=done.append) == (ROWS, [], {})
        assert sum(done) == N
        assert read(log, ["arm"], 7)[0] == {"arm": ROWS["arm"]}

    def test_numbers_are_not_copied(self):
        rewards = np.arange(1_000.0)
        log = open_log(pa.table({"reward": rewards}))
        cells = next(log.batches(["reward"], 1_000, lambda done: None)).table["reward"]
        assert np.shares_memory(cells, rewards)

    def test_older_pandas(self, monkeypatch):
        monkeypatch.delattr(pd.DataFrame, "__arrow_c_stream__")
        assert read(open_log(pd.DataFrame(ROWS)))[0] == ROWS

    def test_types(self, tmp_path):
        day, moment = dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
        since = 1_767_312_000 * 10**9  # date -d 2026-01-02T00:00Z +%s
        columns = {
            "whole": (pa.array([1, None]), [1, None]),
            "dictionary": (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
            "bool": (pa.array([True, None]), [True, None]),
            "decimal": (pa.array([Decimal("1.5"), None]), [Decimal("1.5"), None]),
            "list": (pa.array([[0.5, 0.5], None]), [[0.5, 0.5], None]),
            "day": (pa.array([day, None]), [since, None]),
            "far": (pa.array([dt.datetime(9999, 1, 1), None]), [253_370_764_800 * 10**9, None]),
        }
        for unit in ("s", "ms", "us", "ns"):
            columns[unit] = (pa.array([moment, None], pa.timestamp(unit, "UTC")), [since, None])
        table = pa.table({name: column for name, (column, _) in columns.items()})
        expected = {name: cells for name, (_, cells) in columns.items()}
        assert read(open_log(table))[0] == expected
        assert read(open_log(write(tmp_path / "log.parquet", as_parquet(table))))[0] == expected
        frame = pl.DataFrame({"c": pl.Series(["x", "y"], dtype=pl.Categorical), "t": [moment, None], "d": [day, None]})
        assert read(open_log(frame))[0] == {"c": ["x", "y"], "t": [since, None], "d": [since, None]}

    def test_what_is_no_table(self):
        for source in (3, None, [1], {"arm": [1]}, b"log.csv"):
            with pytest.raises(ValueError, match="A log is a path"):
                open_log(source)
        with pytest.raises(ValueError, match="the table cannot be read"):
            open_log(pd.DataFrame({"arm": [1, "x"]}, dtype=object))


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "content", "says"),
        [
            ("log.csv", b"", "it is empty; its first line must name the columns"),
            ("log.jsonl", b"\n \n", "it is empty; every line must be a JSON object"),
            ("log.jsonl", b"a,b\n1,2\n", "line 1: it is no JSON"),
            ("log.parquet", b"", "cannot be read: Parquet file size is 0 bytes"),
            ("log.parquet", b"PAR1 nonsense", "cannot be read"),
            ("log", b"", "it is empty; a log must be a .csv or a .parquet"),
            ("log", b"\x89PNG\r\n\x1a\n\x00\x00", "neither text nor Parquet"),
            ("log.json.gz", zipped(b""), "it is empty"),
            ("log", b'[{"arm": 1}]', "it is a JSON list"),
            ("log.csv", "arm,b\n1,2\n".encode("utf-16"), "its text is UTF-16; say so with `encoding`, as utf-16"),
            ("log.csv", "arm,b\n1,2\n".encode("utf-32"), "its text is UTF-32; say so with `encoding`, as utf-32"),
            ("log.csv", zipped(b"a,b\n"), "compressed with gzip; decompress it, or let its name end in .gz"),
            ("log.gz", zipped(zipped(b"a,b\n")), "compressed with gzip"),
            ("log.csv", CONTENTS["parquet"], "let its name end in .parquet"),
            ("log.csv.gz", b"a,b\n1,2\n", "its gzip data is damaged or cut short"),
            ("log.csv.zst", b"a,b\n1,2\n", "its zstd data is damaged or cut short"),
            ("log.csv", b"a," + b"b" * 2**25, "a line is longer than 16,777,216 bytes"),
        ],
    )
    def test_files(self, name, content, says, tmp_path):
        path = write(tmp_path / name, content)
        with pytest.raises((ValueError, OSError)) as refused:
            read(open_log(path))
        assert str(refused.value).startswith(str(path))
        assert says in str(refused.value)

    @pytest.mark.parametrize("packing", [".gz", ".zst"])
    @pytest.mark.parametrize("kind", CONTENTS)
    def test_cut_short(self, kind, packing, tmp_path):
        whole = PACK[packing](CONTENTS[kind])
        path = tmp_path / f"log.{kind}{packing}"
        for end in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 5):
            with pytest.raises(OSError, match="damaged or cut short") as refused:
                read(open_log(write(path, whole[:end])))
            assert str(path) in str(refused.value)

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"There is no file .*log\.csv"):
            open_log(tmp_path / "log.csv")
        (tmp_path / "log.csv").mkdir()
        with pytest.raises(FileNotFoundError, match="There is no file in the folder"):
            open_log(tmp_path / "log.csv")
        with pytest.raises(FileNotFoundError):
            open_log("a\0b")


class Pipe:
    """A pipe into which pieces are written one by one, each after the last was read."""

    def __init__(self):
        self.out, self.into = os.pipe()

    def __enter__(self):
        self.stream = open(self.out, "rb")
        return self

    def __exit__(self, *args):
        self.stream.close()
        if self.into is not None:
            os.close(self.into)

    def write(self, data):
        os.write(self.into, data)

    def end(self):
        os.close(self.into)
        self.into = None


class TestFollow:
    def test_rows_come_as_they_are_written(self):
        """Every batch is asked for before more is written: it would hang if it waited for more."""
        with Pipe() as pipe:
            pipe.write(b"\xef\xbb\xbfarm,rew")
            pipe.write(b"ard\r\n1,2\r\n3,")
            log = open_growing_log(pipe.stream)
            assert (log.name, log.columns, log.size) == ("standard input", ["arm", "reward"], None)
            done = []
            batches = log.batches(["reward", "arm"], 1_000, done.append)
            found = [next(batches)]
            pipe.write(b'4\n\n5,6\n7,"8')
            found.append(next(batches))
            pipe.write("\nö".encode()[:2])
            pipe.write("ö".encode()[1:] + b'"\n9,10')
            found.append(next(batches))
            pipe.end()
            found += batches
            with pytest.raises(ValueError, match="standard input can be read only once"):
                next(log.batches(["arm"], 10, lambda done: None))
        assert [batch.table["arm"] for batch in found] == [("1",), ("3", "", "5"), ("7",), ("9",)]
        assert [batch.table["reward"] for batch in found] == [("2",), ("4", "", "6"), ("8\nö",), ("10",)]
        assert [batch.lines.tolist() for batch in found] == [[2], [3, 4, 5], [6], [8]]
        assert [list(batch.malformed) for batch in found] == [[], [1], [0], []]
        assert sum(done) == 42

    def test_objects_come_as_they_are_written(self):
        with Pipe() as pipe:
            pipe.write(b'\n{no\n{"arm": 1, "c": {"u": 2}}\n{"ar')
            log = open_growing_log(pipe.stream)
            assert log.columns == ["arm", "c.u"]
            batches = log.batches(["arm", "c.u"], 1_000, lambda done: None)
            first = next(batches)
            pipe.write(b'm": 2, "late": 3}\n')
            second = next(batches)
            pipe.write(b'{"arm": 4}')
            pipe.end()
            third = next(batches)
            assert list(batches) == []
        assert first.table == {"arm": [None, None, 1], "c.u": [None, None, 2]}
        assert list(first.malformed) == [0, 1]
        assert first.malformed[1].endswith("double quotes at character 2")
        assert second.table == {"arm": [2], "c.u": [None]}
        assert third.table == {"arm": [4], "c.u": [None]}
        assert [batch.lines.tolist() for batch in (first, second, third)] == [[1, 2, 3], [4], [5]]

    @pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "bad.csv"])
    def test_pieces_of_any_size_are_the_same_log(self, kind, tmp_path):
        bad = b'a,b\r\n1,2\r3,4\n\n\n"5\r\n6",7\n8\n"9\n\n'
        path = write(tmp_path / f"log.{kind}", CONTENTS.get(kind, bad))
        whole, rng = path.read_bytes(), np.random.default_rng(0)
        for limit in (1, 7, 100, 10**6):

            class Trickle(io.BytesIO):
                def read1(self, size=-1, limit=limit):
                    return super().read1(int(rng.integers(1, limit + 1)))

            assert read(open_growing_log(Trickle(whole)), n_rows=9) == read(open_log(path))
        with open(path, "rb") as stream:
            log = open_growing_log(stream)
            assert log.name == str(path)
            assert read(log) == read(open_log(path))
        with open(path, "rb", buffering=0) as raw:
            assert read(open_growing_log(raw)) == read(open_log(path))

    def test_decisions(self, tmp_path):
        content = as_json_lines(decisions())
        log = open_growing_log(io.BytesIO(content))
        assert read(log) == read(open_log(write(tmp_path / "log.dsjson", content)))

    def test_delimiter(self):
        assert read(open_growing_log(io.BytesIO(b"a;b\n1;2\n"), ";"))[0] == {"a": ["1"], "b": ["2"]}

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "it is empty"),
            (b"\n\n", "it is empty"),
            (zipped(b"a,b\n"), "decompress it"),
            (CONTENTS["parquet"], "it is Parquet"),
            (b"a\0b\n", "neither text"),
            (b'{"a\n' * 2_000, "every line must be a JSON object"),
            (b'a,"' + b"b" * 200_000, "field larger than field limit"),
            (b"a," + b"b" * 2**25, "a line is longer"),
        ],
    )
    def test_refused(self, content, says):
        with pytest.raises(ValueError, match="standard input") as refused:
            open_growing_log(io.BytesIO(content))
        assert says in str(refused.value)


class TestMemory:
    """Peaks of many more rows are the same."""

    @pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.csv.zst", "log.jsonl", "followed", "log.dsjson"])
    def test_text(self, name, tmp_path):
        peaks = []
        for rows in (2_000, 20_000) if name == "log.dsjson" else (20_000, 100_000):
            if name == "log.dsjson":
                content = as_json_lines([DECISION]) * rows
            elif name == "log.jsonl":
                content = b'{"arm": 1, "reward": 0.25, "context": {"user": "x"}}\n' * rows
            else:
                content = b"arm,reward,user\n" + b"1,0.25,x\n" * rows
            path = write(tmp_path / name, PACK[next((p for p in PACK if p and name.endswith(p)), "")](content))
            with open(path, "rb") as stream:
                log = open_growing_log(stream) if name == "followed" else open_log(path)
                tracemalloc.start()
                n = sum(batch.n for batch in log.batches(["arm", "reward"], 500, lambda done: None))
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
            assert n == rows
        assert peaks[1] < peaks[0] + 100_000

    def test_parquet(self, tmp_path):
        peaks = []
        for rows in (30_000, 300_000):
            table = pa.table({"arm": np.zeros(rows, dtype=int), "reward": np.random.default_rng(0).random(rows)})
            log = open_log(write(tmp_path / "log.parquet", as_parquet(table, row_group_size=10_000)))
            del table
            before = pa.total_allocated_bytes()
            used = [pa.total_allocated_bytes() - before for _ in log.batches(["arm", "reward"], 500, lambda done: None)]
            assert len(used) == rows // 500
            peaks.append(max(used))
        assert peaks[1] < peaks[0] + 100_000


INSERTED = (b"\0", b'"', b"\n", b"\r", b"{", b"[", b",", b"\xff", b"e9999", b"null", b"1" * 5_000)


def corrupted(data, rng):
    """Truncated, or with bytes flipped, deleted, doubled, inserted."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(1, 30))
        match rng.integers(0, 6):
            case 0:
                del data[at:]
            case 1:
                data[at : at + 1] = rng.bytes(1)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                data[at:at] = rng.bytes(length)
            case 5:
                data[at:at] = INSERTED[rng.integers(len(INSERTED))]
    return bytes(data)


FUZZED = {name: content for name, content in CONTENTS.items() if name != "ndjson"}
FUZZED["dsjson"] = as_json_lines(decisions(8))
FUZZED["types.parquet"] = as_parquet(
    {
        "arm": pa.array(["a", "b", None] * 9).dictionary_encode(),
        "p": [[0.5, 0.5]] * 27,
        "time": [dt.datetime(2026, 1, 1)] * 27,
        "c": [{"x": 1}] * 27,
    }
)


def fuzz(cases, folder, seed=0):
    """(what was raised, how many rows there were); anything but a ValueError or an OSError comes out."""
    rng = np.random.default_rng(seed)
    errors, n_rows = [], 0
    for case in range(cases):
        kind = list(FUZZED)[case % len(FUZZED)]
        packing = list(PACK)[case // len(FUZZED) % len(PACK)]
        inside = rng.random() < 0.5  # or else the compressed bytes
        content = PACK[packing](corrupted(FUZZED[kind], rng) if inside else FUZZED[kind])
        content = content if inside else corrupted(content, rng)
        named = rng.random() < 0.7
        path = write(folder / (f"log.{kind}{packing}" if named else "log"), content)
        for make in (lambda path=path: open_log(path), lambda content=content: open_growing_log(io.BytesIO(content))):
            try:
                log = make()
                wanted = [name for name in log.columns if log.columns.count(name) == 1]
                n_rows += sum(batch.n for batch in log.batches(wanted, 7, lambda done: None))
            except (ValueError, OSError) as error:
                errors.append(error)
    return errors, n_rows


def test_broken_files_are_refused_in_words(tmp_path):
    errors, n_rows = fuzz(500, tmp_path)
    assert 100 < len(errors) < 900
    assert {type(error) for error in errors} == {ValueError, OSError}
    assert all(str(error).startswith((str(tmp_path), "standard input")) for error in errors)
    assert n_rows > 1_000


def _cells(path, columns):
    """Everything that the reader says of a file, whatever its batches."""
    found = []
    for batch in open_log(path).batches(columns, 1000, lambda done: None):
        rows = zip(*(list(batch.table[name]) for name in columns), strict=True)
        found += [(int(batch.lines[i]), row, batch.malformed.get(i)) for i, row in enumerate(rows)]
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("broken", ["", "1,2", "1,2,3,4", " 5 , ü ,−1", "1,,", ",,", "3,nan,1_0"])
@pytest.mark.parametrize("arrow", [True, False], ids=["Arrow", "no Arrow"])
def test_what_is_split_at_once_is_what_the_careful_reader_reads(tmp_path, monkeypatch, end, broken, arrow):
    """Blocks of seven lines, most of them plain, against the standard library's on all of them."""
    from feint.auditing.readers import delimited

    monkeypatch.setattr(delimited, "MOST_CELLS", 7 * 3)
    monkeypatch.setattr(delimited, "is_there", lambda library: arrow)
    rows = [f"{i},{i / 7},x{i}" for i in range(30)]
    for at in (3, 13, 14, 30):  # inside a block, at a block's end, at the next one's start, at the end
        lines = ["a,b,c", *rows[:at], *([broken] * 2), *rows[at:]]
        path = tmp_path / f"{at}.csv"
        last = "" if at == 13 else end  # a last line without an end counts too
        path.write_text(end.join(lines) + last, encoding="utf-8", newline="")
        split = _cells(path, ["c", "b"])
        with monkeypatch.context() as patch:
            patch.setattr(delimited, "_split_plainly", lambda *arguments: None)
            assert split == _cells(path, ["c", "b"])
        assert [row[0] for row in split] == list(range(2, 2 + len(split)))


@pytest.mark.parametrize("arrow", [True, False], ids=["Arrow", "no Arrow"])
@pytest.mark.parametrize("n", [1, 10_000])  # Arrow is asked for long columns only
def test_numbers_are_the_same_with_arrow_and_without(monkeypatch, arrow, n):
    """Python alone would read 10 into 1_0 and 3 into ٣; a column with one such cell is read cell by cell."""
    monkeypatch.setattr(numbers, "is_there", lambda library: arrow)
    plain = ["0.1", "-2e-3", "7", "0.30000000000000004", "inf"]
    for odd, value in {"1_0": np.nan, "٣": np.nan, "true": 1.0, " 5 ": 5.0, "": np.nan, "x": np.nan}.items():
        found = numbers.as_column([*plain, odd] * n)
        expected = [0.1, -0.002, 7.0, 0.30000000000000004, np.inf, value]
        np.testing.assert_array_equal(found.values, expected * n)
        assert found.missing[5] == (odd == "")
        assert found.not_numeric[5] == (odd in ("1_0", "٣", "x"))
    np.testing.assert_array_equal(
        numbers.as_column(plain * n).values, [0.1, -0.002, 7.0, 0.30000000000000004, np.inf] * n
    )
