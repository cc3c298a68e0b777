"""Logs in several files, folders, URLs, archives and databases: the same rows, whatever holds them."""

import bz2
import gzip
import io
import json
import lzma
import os
import sqlite3
import threading
import zipfile

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

import feint
from feint.auditing.readers import arrow_log, open_log
from shell import typed

N = 600
BENT = 400  # from this row on arm 1 is drawn with 0.8
_RNG = np.random.default_rng(28)
ARMS = np.where(np.arange(N) < BENT, _RNG.random(N) < 0.5, _RNG.random(N) < 0.8).astype(int)
TABLE = pa.table({"arm": ARMS, "user": [f"u{i % 7}" for i in range(N)], "p_0": np.full(N, 0.5), "p_1": np.full(N, 0.5)})


def as_csv(table):
    lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    return ("\n".join(lines) + "\n").encode()


def write_parts(folder, pieces=3, name="part-{}.csv"):
    """Write the log in pieces, in order, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    size, paths = N // pieces, []
    for i in range(pieces):
        path = folder / name.format(i)
        piece = TABLE.slice(i * size, None if i == pieces - 1 else size)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            parquet.write_table(piece, path)
        else:
            path.write_bytes(as_csv(piece))
        paths.append(path)
    return paths


def command(*words):
    return typed("audit", *map(str, words))


@pytest.fixture(scope="module")
def expected():
    """Return the audit of the whole table in memory, with its cause and its diagnosis."""
    report = feint.audit_log(TABLE)
    assert report.rejected
    assert report.diagnosis is not None
    return report


def check_same(report, expected):
    assert report.to_json() == expected.to_json()


class TestSeveralFiles:
    def test_in_the_order_given(self, tmp_path, expected):
        paths = write_parts(tmp_path)
        check_same(feint.audit_log(paths), expected)
        check_same(feint.audit_log([str(path) for path in paths]), expected)
        backwards = feint.audit_log(paths[::-1])
        assert (backwards.rows, backwards.rejected_at) != (expected.rows, expected.rejected_at)

    def test_patterns_and_folders_in_the_order_of_numbers(self, tmp_path, expected):
        write_parts(tmp_path / "log", pieces=12)  # part-10 comes after part-2
        (tmp_path / "log" / "_SUCCESS").write_bytes(b"")
        (tmp_path / "log" / ".part-0.csv.crc").write_bytes(b"\0\1")
        check_same(feint.audit_log(tmp_path / "log"), expected)
        check_same(feint.audit_log(str(tmp_path / "log" / "part-*.csv")), expected)

    def test_a_file_whose_name_looks_like_a_pattern(self, tmp_path, expected):
        path = tmp_path / "log[1].csv"
        path.write_bytes(as_csv(TABLE))
        check_same(feint.audit_log(path), expected)

    def test_pipes(self, tmp_path, expected):
        """A shell makes pipes of <(…), each of which can be read only once."""
        names, paths = ["a.csv", "b.csv", "c.csv"], write_parts(tmp_path / "log")
        writers = []
        for name, path in zip(names, paths, strict=True):
            os.mkfifo(tmp_path / name)
            writers.append(threading.Thread(target=(tmp_path / name).write_bytes, args=(path.read_bytes(),)))
            writers[-1].start()
        check_same(feint.audit_log([tmp_path / name for name in names]), expected)
        for writer in writers:
            writer.join()

    def test_files_of_different_formats(self, tmp_path, expected):
        first = write_parts(tmp_path)[0]
        parquet.write_table(TABLE.slice(N // 3), tmp_path / "rest.parquet")
        check_same(feint.audit_log([first, tmp_path / "rest.parquet"]), expected)

    def test_partitions_become_columns(self, tmp_path):
        write_parts(tmp_path / "log", 2, "user=u%20{}/p.parquet")
        report = feint.audit_log(tmp_path / "log", group="user")
        assert {group.group for group in report.groups} == {f"u{i}" for i in range(7)}, "the file's own column counts"
        write_parts(tmp_path / "log", 2, "shop=a%20{}/q.parquet")
        for folder in (tmp_path / "log").glob("user=*"):
            (folder / "p.parquet").unlink()
        report = feint.audit_log(tmp_path / "log", group="shop")
        assert sorted((group.group, group.tested) for group in report.all_groups) == [("a 0", 300), ("a 1", 300)]
        check_same(feint.audit_log(str(tmp_path / "log" / "shop=*" / "*.parquet"), group="shop"), report)
        check_same(feint.audit_log(sorted((tmp_path / "log").glob("*/*")), group="shop"), report)
        (tmp_path / "log" / "shop=a%201").rename(tmp_path / "log" / "shop=__HIVE_DEFAULT_PARTITION__")
        [log] = [open_log(tmp_path / "log")]
        cells = [cell for batch in log.batches(["shop"], 1000, lambda done: None) for cell in batch.table["shop"]]
        assert sorted(set(cells), key=str) == [None, "a 0"]
        assert len(cells) == N

    def test_the_command(self, tmp_path, expected):
        paths = write_parts(tmp_path / "log")
        for words in (paths, [tmp_path / "log"], [str(tmp_path / "log" / "*.csv")]):
            done = command(*words, "--json")
            assert done.returncode == 1, done.stderr
            assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_json()))
        assert command(*paths, "--group", "user").returncode == 1

    def test_what_is_refused(self, tmp_path):
        paths = write_parts(tmp_path / "log")
        (tmp_path / "empty").mkdir()
        (tmp_path / "other.csv").write_text("arm,p_0\n0,0.5\n")
        lines = paths[1].read_text().splitlines()
        (tmp_path / "bad.csv").write_text("\n".join([*lines[:5], "x,u1,0.5,0.5", *lines[6:]]))
        for words, sentence in {
            (paths[0], paths[0]): "is given twice; its rows would count twice",
            (paths[0], str(tmp_path / "log" / "*")): "is given twice",
            (paths[0], "-"): "Standard input (-) cannot be one of several files",
            (paths[0], tmp_path / "none.csv"): "There is no file",
            (tmp_path / "no*.csv",): "There is no file that matches",
            (tmp_path / "empty",): "There is no file in the folder",
            (paths[0], tmp_path / "other.csv"): "other.csv has no column 'p_1', which other files have",
            (paths[0], tmp_path / "bad.csv"): "bad.csv, line 6: arm is 'x'",
            (paths[0], paths[1], "--follow"): "--follow reads one log as it grows, but 2 were given",
        }.items():
            done = command(*words)
            assert done.returncode == 2, (words, done.stderr)
            assert sentence in " ".join(done.stderr.split()), done.stderr

    def test_rows_are_counted_over_all_files(self, tmp_path):
        paths = write_parts(tmp_path, name="part-{}.parquet")
        bad = TABLE.slice(200, 200).to_pylist()
        bad[3]["p_0"] = 7.0
        parquet.write_table(pa.Table.from_pylist(bad), paths[1])
        with pytest.raises(ValueError, match=r"part-1\.parquet, row 204 of all: "):
            feint.audit_log(paths)


def once(tables):
    yield from tables


class TestWhatPythonHandsOver:
    @pytest.mark.parametrize(
        "make",
        [
            lambda folder: TABLE.to_reader(max_chunksize=50),
            lambda folder: iter(TABLE.to_batches(max_chunksize=50)),
            lambda folder: TABLE.to_batches(max_chunksize=50),
            lambda folder: once([TABLE.slice(0, 100), TABLE.slice(100)]),
            lambda folder: dataset.dataset(write_parts(folder, name="p{}.parquet")),
            lambda folder: dataset.dataset(write_parts(folder)[0].parent, format="csv"),
            lambda folder: pd.read_csv(write_parts(folder, 1)[0], chunksize=70),
            lambda folder: [frame for _, frame in TABLE.to_pandas().groupby(np.arange(N) // 100)],
            lambda folder: pl.from_arrow(TABLE).lazy(),
            lambda folder: pl.scan_csv(folder / "p*.csv") if write_parts(folder) else None,
            lambda folder: pl.from_arrow(TABLE).iter_slices(77),
            lambda folder: pl.from_arrow(TABLE).lazy().collect_batches(chunk_size=90),
        ],
    )
    def test_the_same_audit(self, make, tmp_path, expected):
        check_same(feint.audit_log(make(tmp_path)), expected)

    def test_numbers_of_arms_are_looked_up_if_batches_are_short(self):
        few = TABLE.select(["arm"])
        report = feint.audit_log(few.to_reader(max_chunksize=50), reference=feint.Split())
        assert "was taken from the log" in " ".join(report.warnings)
        assert report.tested == N

    def test_long_batches_are_read_once(self, monkeypatch, expected):
        monkeypatch.setattr(arrow_log, "MOST_KEPT", 1000)
        read = []

        def batches():
            for batch in TABLE.to_batches(max_chunksize=50):
                read.append(batch.num_rows)
                yield batch

        report = feint.audit_log(batches())
        assert sum(read) == N
        assert (report.rejected_at, report.log_e_value) == (expected.rejected_at, expected.log_e_value)
        assert report.diagnosis is None
        assert report.cause is None
        assert "its batches can be read only once" in report.warnings[-1]
        assert "its batches" not in " ".join(feint.audit_log(batches(), explain=False).warnings)
        with pytest.raises(ValueError, match=r"the batches: batches can be read only once.*give `n_arms`"):
            feint.audit_log((batch.select(["arm"]) for batch in batches()), reference=feint.Split())
        for known in ({"reference": feint.Split(), "n_arms": 2}, {"reference": feint.Split([0.5, 0.5])}):
            assert feint.audit_log((batch.select(["arm"]) for batch in batches()), **known).tested == N

    def test_what_is_refused(self):
        for source, sentence in (
            (iter([]), "the batches: there are none"),
            (iter([{"arm": 1}]), "batch 1 is of type dict; give batches of Arrow"),
            ([TABLE, "log.csv"], "batch 2 is the path 'log.csv'; give a list that has paths only"),
            (iter([TABLE, TABLE.select(["arm"])]), "batch 2 has no column 'p_0', which the first one has"),
            ([], "A log is a path"),
            (["log.csv", 3], "A log is a path"),
        ):
            with pytest.raises(ValueError, match=sentence):
                feint.audit_log(source)

    def test_columns_by_name(self):
        renamed = TABLE.rename_columns(["choice", "who", "q_0", "q_1"])
        report = feint.audit_log(renamed, arm="choice", group="who", prefix="q_")
        same = feint.audit_log(renamed, names=feint.auditing.Names(arm="choice", group="who", prefix="q_"))
        check_same(report, same)
        with pytest.raises(ValueError, match="`names` is given, and so is group; give one or the other"):
            feint.audit_log(renamed, group="who", names=feint.auditing.Names())


def archive(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            zipped.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


class TestCompressions:
    PACK = {  # noqa: RUF012
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zip": lambda data: archive(log_csv=data),
        ".gz": gzip.compress,
    }

    @pytest.mark.parametrize("suffix", PACK)
    def test_the_same_audit(self, suffix, tmp_path, expected):
        data = self.PACK[suffix](as_csv(TABLE))
        for name in (f"log.csv{suffix}", f"log{suffix}", "log"):
            (tmp_path / name).write_bytes(data)
            check_same(feint.audit_log(tmp_path / name), expected)
        whole = tmp_path / f"log.parquet{suffix}"
        parquet.write_table(TABLE, tmp_path / "log.parquet")
        whole.write_bytes(self.PACK[suffix]((tmp_path / "log.parquet").read_bytes()))
        check_same(feint.audit_log(whole), expected)

    @pytest.mark.parametrize("suffix", PACK)
    def test_damaged_ones_are_refused(self, suffix, tmp_path):
        data = self.PACK[suffix](as_csv(TABLE))
        cut, plain = tmp_path / f"cut.csv{suffix}", tmp_path / f"plain.csv{suffix}"
        cut.write_bytes(data[: len(data) // 2])
        plain.write_bytes(as_csv(TABLE))
        (tmp_path / "named.csv").write_bytes(data)
        for path, says in ((cut, "damaged or cut short"), (plain, "damaged or cut short"), ("named.csv", "compressed")):
            done = command(tmp_path / path)
            assert done.returncode == 2
            assert says in done.stderr

    def test_an_archive_of_several_files(self, tmp_path, expected):
        path = tmp_path / "logs.zip"
        path.write_bytes(archive(a_csv=as_csv(TABLE), b_csv=b"arm\n"))
        check_same(feint.audit_log(f"{path}::a.csv"), expected)
        for source, says in (
            (path, "it has 2 files: a.csv, b.csv; name one of them, as FILE.zip::a.csv"),
            (f"{path}::c.csv", "it has no file 'c.csv'; it has 2 files: a.csv, b.csv"),
        ):
            done = command(source)
            assert (done.returncode, says in done.stderr) == (2, True), done.stderr
        path.write_bytes(archive())
        assert "it has no files" in command(path).stderr


def write_database(path, **tables):
    with sqlite3.connect(path) as base:
        for name, table in tables.items():
            columns = ", ".join(f'"{column}"' for column in table.column_names)
            base.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" * table.num_columns)
            base.executemany(f'INSERT INTO "{name}" VALUES ({marks})', [[*row.values()] for row in table.to_pylist()])
    base.close()
    return path


class TestDatabases:
    def test_a_table(self, tmp_path, expected):
        other = pa.table({"x": [1]})
        for name in ("log.sqlite", "log.db", "log"):
            path = write_database(tmp_path / name, pulls=TABLE, others=other)
            check_same(feint.audit_log(f"{path}::pulls"), expected)
        check_same(feint.audit_log(write_database(tmp_path / "one.sqlite", pulls=TABLE)), expected)
        done = command(f"{tmp_path / 'log.sqlite'}::pulls", "--json")
        assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_json()))

    def test_rows_come_in_the_order_in_which_they_were_written(self, tmp_path):
        """An index must not decide the order: SQLite may answer from one that has all columns that are wanted."""
        path = write_database(tmp_path / "log.sqlite", pulls=TABLE)
        with sqlite3.connect(path) as base:
            base.execute("CREATE INDEX by_arm ON pulls (arm)")
        base.close()
        cells = [batch.table["arm"] for batch in open_log(path).batches(["arm"], 100, lambda done: None)]
        assert np.concatenate(cells).tolist() == ARMS.tolist()

    def test_a_view(self, tmp_path, expected):
        path = write_database(tmp_path / "log.sqlite", pulls=TABLE)
        with sqlite3.connect(path) as base:
            base.execute("CREATE VIEW ordered AS SELECT * FROM pulls ORDER BY rowid")
        base.close()
        check_same(feint.audit_log(f"{path}::ordered"), expected)

    def test_what_is_refused(self, tmp_path):
        path = write_database(tmp_path / "log.sqlite", pulls=TABLE, others=TABLE)
        text = tmp_path / "text.sqlite"
        text.write_bytes(as_csv(TABLE))
        cut = tmp_path / "cut.sqlite"
        cut.write_bytes(path.read_bytes()[:5000])
        named = tmp_path / "named.csv"
        named.write_bytes(path.read_bytes())
        plain = tmp_path / "plain.csv"
        plain.write_bytes(as_csv(TABLE))
        for source, says in (
            (path, "it has the tables pulls, others; name one of them, as FILE.sqlite::pulls"),
            (f"{path}::nothing", "it has no table 'nothing'; it has pulls, others"),
            (text, "text.sqlite cannot be read: file is not a database"),
            (cut, "cannot be read"),
            (write_database(tmp_path / "empty.sqlite", pulls=TABLE.slice(0, 0)), "the log has no rows"),
            (f"{plain}::pulls", "only databases and zip archives have parts"),
            (named, "it is an SQLite database; give it a name ending in .sqlite"),
            (f"{tmp_path / 'missing.sqlite'}::pulls", "There is no file"),
        ):
            done = command(source)
            assert (done.returncode, says in done.stderr) == (2, True), (source, done.stderr)
        assert not (tmp_path / "missing.sqlite").exists()


class TestArrowFiles:
    @pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
    def test_feather(self, compression, tmp_path, expected):
        for name in ("log.feather", "log.arrow", "log"):
            feather.write_feather(TABLE, tmp_path / name, compression=compression, chunksize=70)
            check_same(feint.audit_log(tmp_path / name), expected)

    def test_streams(self, tmp_path, expected):
        path = tmp_path / "log.arrows"
        with pa.ipc.new_stream(path, TABLE.schema) as writer:
            writer.write_table(TABLE, max_chunksize=70)
        check_same(feint.audit_log(path), expected)
        path.with_suffix(".arrows.gz").write_bytes(gzip.compress(path.read_bytes()))
        check_same(feint.audit_log(path.with_suffix(".arrows.gz")), expected)

    def test_broken_ones_are_refused(self, tmp_path):
        feather.write_feather(TABLE, tmp_path / "whole.feather")
        data = (tmp_path / "whole.feather").read_bytes()
        (tmp_path / "cut.feather").write_bytes(data[: len(data) // 2])
        (tmp_path / "text.feather").write_bytes(as_csv(TABLE))
        (tmp_path / "named.csv").write_bytes(data)
        (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(100))
        for name, says in (
            ("cut.feather", "is it complete? Copy or write it again"),
            ("text.feather", "is it complete? Copy or write it again"),
            ("named.csv", "it is Arrow; give it a name ending in .feather"),
            ("old.feather", "Feather of version 1; write it again as version 2"),
        ):
            done = command(tmp_path / name)
            assert (done.returncode, says in done.stderr) == (2, True), (name, done.stderr)


class TestUrls:
    @pytest.fixture
    def memory(self):
        system = fsspec.filesystem("memory")
        yield system
        system.store.clear()
        system.pseudo_dirs[:] = [""]

    def test_a_store_in_memory(self, memory, tmp_path, expected):
        for path in write_parts(tmp_path, 12, "shop=a/part-{}.csv"):
            memory.pipe(f"/logs/shop=a/{path.name}", path.read_bytes())
        buffer = io.BytesIO()
        parquet.write_table(TABLE, buffer)
        memory.pipe("/one/log.parquet", buffer.getvalue())
        memory.pipe("/one/log.csv.gz", gzip.compress(as_csv(TABLE)))
        feather.write_feather(TABLE, tmp_path / "log.feather")
        memory.pipe("/one/log.feather", (tmp_path / "log.feather").read_bytes())
        memory.pipe("/one/log.sqlite", write_database(tmp_path / "log.sqlite", pulls=TABLE).read_bytes())
        for url in (
            "memory://logs", "memory://logs/shop=a/part-*.csv", "memory://one/log.parquet", "memory://one/log.csv.gz",
            "memory://one/log.feather", "memory://one/log.sqlite::pulls",
        ):  # fmt: skip
            check_same(feint.audit_log(url), expected)
        assert {group.group for group in feint.audit_log("memory://logs", group="shop").all_groups} == {"a"}

    def test_a_local_store(self, tmp_path, expected):
        write_parts(tmp_path / "log")
        check_same(feint.audit_log(f"file://{tmp_path}/log"), expected)
        check_same(feint.audit_log(f"file://{tmp_path}/log/part-*.csv"), expected)
        done = command(f"file://{tmp_path}/log", "--json")
        assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_json()))

    def test_what_is_refused(self, memory, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
        monkeypatch.setitem(__import__("sys").modules, "gcsfs", None)
        memory.pipe("/one/cut.parquet", b"PAR1 and no more")
        for url, says in (
            ("memory://nothing.csv", "There is no file memory://nothing.csv"),
            ("memory://no*.csv", "There is no file that matches memory://no*.csv"),
            ("s3://bucket/log.csv", "needs a library for s3:// that is not installed: pip install 'fsspec[s3]'"),
            ("gs://bucket/log.csv", "needs a library for gs:// that is not installed: pip install 'fsspec[gs]'"),
            ("nowhere://log.csv", "nowhere://log.csv cannot be opened"),
            ("memory://one/cut.parquet", "memory://one/cut.parquet cannot be read"),
        ):
            done = command(url)
            assert (done.returncode, says in done.stderr) == (2, True), (url, done.stderr)
