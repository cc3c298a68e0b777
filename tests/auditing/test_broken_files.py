"""Files with flipped, lost and inserted bytes are refused in words, and quick readers read what careful ones read."""

import datetime as dt
import io
import itertools

import numpy as np
import pyarrow as pa
import pytest

from feint.auditing import numbers
from feint.auditing.readers import open_growing_log, open_log
from reader_cases import CONTENTS, PACK, as_json_lines, as_parquet, decisions, write

INSERTED = (b"\0", b'"', b"\n", b"\r", b"{", b"[", b",", b"\xff", b"e9999", b"null", b"1" * 5_000)


def corrupted(data, rng):
    """Return the content truncated, or with bytes flipped, deleted, doubled or inserted."""
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
    """Return what was raised and how many rows there were; anything but a ValueError or an OSError is not caught."""
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
    """Return everything that the reader says about a file, however it is cut into batches."""
    found = []
    for batch in open_log(path).batches(columns, 1000, lambda done: None):
        rows = zip(*(list(batch.table[name]) for name in columns), strict=True)
        found += [(int(batch.lines[i]), row, batch.malformed.get(i)) for i, row in enumerate(rows)]
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("broken", ["", "1,2", "1,2,3,4", " 5 , ü ,−1", "1,,", ",,", "3,nan,1_0"])
@pytest.mark.parametrize("arrow", [True, False], ids=["Arrow", "no Arrow"])
def test_what_is_split_at_once_is_what_the_careful_reader_reads(tmp_path, monkeypatch, end, broken, arrow):
    """Blocks of seven lines, most of them plain, are compared with what the standard library reads from all of them."""
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


@pytest.mark.parametrize(
    "odd", ["", '"1",2,3', "1,2", "1,2,3,4", "1,2,3\r", "1,\0,3", "ü,2,é", '"1', "\ufeff1,2,3", " 5 ,,nan"]
)
def test_blocks_of_bytes_are_what_the_careful_reader_reads(tmp_path, monkeypatch, odd):
    """Arrow splits blocks of a few lines from bytes until one is odd; the standard library reads all of them."""
    from feint.auditing.readers import delimited, plain_blocks

    monkeypatch.setattr(plain_blocks, "WORTH_ARROW", 3 * 3)
    monkeypatch.setattr(plain_blocks, "_FIRST_BYTES", 64)
    monkeypatch.setattr(delimited, "MOST_CELLS", 10 * 3)
    rows = [f"{i},{i / 7},x{i}" for i in range(60)]
    for at, begin, end in itertools.product((0, 1, 29, 60), ("", "\ufeff"), ("", "\n")):
        path = tmp_path / "log.csv"
        path.write_text(
            begin + '"a",b,c\n' + "\n".join([*rows[:at], odd, *rows[at:]]) + end, encoding="utf-8", newline=""
        )
        outcomes = []
        for blocks in (plain_blocks.plain_blocks, lambda *given: iter(())):
            with monkeypatch.context() as patch:
                patch.setattr(delimited, "plain_blocks", blocks)
                try:
                    outcomes.append(_cells(path, ["c", "a"]))
                except ValueError as error:
                    outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
    path.write_text("a,b,c\n" + "\n".join(rows), encoding="utf-8")
    with open_log(path)._file.open() as stream:
        found = plain_blocks.plain_blocks(stream, ",", 3, [2], 10)
        assert [text for cells, _ in found for text in cells[0]] == [f"x{i}" for i in range(60)]


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
