"""Readers of logs: every format gives the same rows, and whatever is broken is said, never a library's traceback."""

import datetime as dt
import io
import os
import sys
import threading
import tracemalloc
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from feint.auditing.readers import open_growing_log, open_log
from reader_cases import CONTENTS, DECISION, PACK, ROWS, N, as_json_lines, as_parquet, decisions, read, write, zipped


def give_stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def temporary_files(folder):
    return list(Path(folder).iterdir())


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Use a new folder for temporary files."""
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
                5: "a quoted text goes on to line 6; is its quote closed where it should be?",
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
                4: "it is not JSON: Expecting ',' delimiter at character 10",
                5: "it is a list, not a JSON object",
                6: "it is a number, not a JSON object",
                7: "it is null, not a JSON object",
                8: "it is nested too deeply",
                9: "it is nested too deeply",
                10: "it has a whole number with thousands of digits",
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
            ({"_label_probability": "0.8"}, "not a number"),
            ({"_label_cost": None}, "not a number"),
            ({"p": [0.8, True, 0.1]}, "not a number"),
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
            assert "it is not a decision with an outcome: it lacks _label_cost" in reason

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
            ("log.jsonl", b"a,b\n1,2\n", "line 1: it is not JSON"),
            ("log.parquet", b"", "cannot be read: Parquet file size is 0 bytes"),
            ("log.parquet", b"PAR1 nonsense", "cannot be read"),
            ("log", b"", "it is empty; a log must be a .csv or a .parquet"),
            ("log", b"\x89PNG\r\n\x1a\n\x00\x00", "neither text nor Parquet"),
            ("log.json.gz", zipped(b""), "it is empty"),
            ("log", b'[{"arm": 1}]', "it is a JSON list"),
            ("log.csv", "arm,b\n1,2\n".encode("utf-16"), "its text is UTF-16; say so with `encoding`, as utf-16"),
            ("log.csv", "arm,b\n1,2\n".encode("utf-32"), "its text is UTF-32; say so with `encoding`, as utf-32"),
            ("log.csv", zipped(b"a,b\n"), "compressed with gzip; decompress it, or give it a name ending in .gz"),
            ("log.gz", zipped(zipped(b"a,b\n")), "compressed with gzip"),
            ("log.csv", CONTENTS["parquet"], "give it a name ending in .parquet"),
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


class TestMemory:
    """The peak of memory is the same for many more rows."""

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
            # Twice, since other threads of the process may allocate meanwhile.
            peaks.append(min(self.peak(path, rows, name == "followed") for _ in range(2)))
        assert peaks[1] < peaks[0] + 100_000

    def peak(self, path, rows, followed):
        """Return the most bytes that were in use while the log was read."""
        with open(path, "rb") as stream:
            log = open_growing_log(stream) if followed else open_log(path)
            tracemalloc.start()
            n = sum(batch.n for batch in log.batches(["arm", "reward"], 500, lambda done: None))
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert n == rows
        return most

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
