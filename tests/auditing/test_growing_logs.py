"""Logs that grow while they are read."""

import io
import os

import numpy as np
import pytest

from feint.auditing.readers import open_growing_log, open_log
from reader_cases import CONTENTS, as_json_lines, decisions, read, write, zipped


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
