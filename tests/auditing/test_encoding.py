"""Texts that are not UTF-8: read as they are said to be, or refused with their place; never two labels as one."""

import contextlib
import gzip
import io
import json
import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import feint
from feint.auditing.readers import open_growing_log, open_log
from feint.auditing.readers.decoding import TextDecoder, encoding_of
from shell import typed

LABELS = ("é", "ü", "–")  # the last is in cp1252, not in Latin-1


def rows(n=400):
    """Return honest pulls of two arms whose labels differ in one byte that is not UTF-8."""
    return [LABELS[arm] for arm in np.random.default_rng(0).integers(0, 2, n)]


def as_csv(mark=","):
    return mark.join(["arm", "p_é", "p_ü"]) + "\n" + "".join(mark.join([arm, "0.5", "0.5"]) + "\n" for arm in rows())


def as_json():
    lines = (json.dumps({"arm": arm, "p_é": 0.5, "p_ü": 0.5}, ensure_ascii=False) for arm in rows())
    return "".join(line + "\n" for line in lines)


TEXTS = {"log.csv": as_csv(), "log.tsv": as_csv("\t"), "log.jsonl": as_json()}


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8", "cp500"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_labels_are_read_in_the_encoding_that_is_named(name, packed, encoding, tmp_path):
    content = TEXTS[name].encode(encoding)
    path = tmp_path / (name + (".gz" if packed else ""))
    path.write_bytes(gzip.compress(content) if packed else content)
    report = feint.audit_log(path, encoding=encoding)
    assert [arm.label for arm in report.arms] == ["é", "ü"]
    assert [arm.observed for arm in report.arms] == [rows().count("é"), rows().count("ü")]
    assert not report.rejected


def test_a_name_need_not_tell_the_format(tmp_path):
    for content in (as_csv(), as_csv("\t"), as_json()):
        (tmp_path / "log").write_bytes(content.encode("utf-16"))
        assert open_log(tmp_path / "log", encoding="utf-16").columns == ["arm", "p_é", "p_ü"]


@pytest.mark.parametrize("name", [*TEXTS, "log.csv.gz"])
def test_other_bytes_are_refused_with_their_line_and_byte(name, tmp_path):
    text = TEXTS[name.removesuffix(".gz")].replace("p_é", "p_e").replace("p_ü", "p_u")
    content = text.encode("latin-1")
    at = min(content.index(b"\xe9"), content.index(b"\xfc"))
    line = content[:at].count(b"\n") + 1
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    says = f"{tmp_path / name}: line {line}: byte {at + 1} of the text, 0x{content[at]:02x}, is not UTF-8; name the"
    for skip in ([], ["--skip-bad"]):
        result = typed("audit", tmp_path / name, "--arms", "2", *skip)
        assert result.returncode == 2
        assert says in result.stderr
        assert "--encoding, such as latin-1" in result.stderr
    with pytest.raises(ValueError, match=r"0xe9|0xfc"):
        list(open_growing_log(io.BytesIO(content)).batches(["arm"], 10, lambda done: None))


def test_far_from_the_start_of_a_file(tmp_path):
    """The byte lies in another piece than the header, after line ends of every kind."""
    start = b"arm,reward\r\n" + b"0,1\n1,0\r0,1\r\n" * 40_000
    (tmp_path / "log.csv").write_bytes(start + b"\xe9,1\n")
    with pytest.raises(ValueError, match=f"line {1 + 3 * 40_000 + 1}: byte {len(start) + 1:,} of the text, 0xe9"):
        feint.audit_log(tmp_path / "log.csv", n_arms=2)


@pytest.mark.parametrize("encoding", ["latin-1", None])
def test_standard_input_and_pipes(encoding, tmp_path, monkeypatch):
    content = as_csv().encode("latin-1")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    named = [] if encoding is None else ["--encoding", encoding]
    found = [typed("audit", "-", *named)]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    found.append(typed("audit", "-", "--follow", *named))
    os.mkfifo(tmp_path / "pipe")
    for how in ([], ["--follow"]):
        writer = threading.Thread(target=_write, args=(tmp_path / "pipe", content))
        writer.start()
        found.append(typed("audit", tmp_path / "pipe", *how, *named))
        writer.join()
    assert [result.returncode for result in found] == [2 if encoding is None else 0] * 4
    for result in found:
        assert ("line 1: byte 7 of the text, 0xe9" in result.stderr) == (encoding is None)


def _write(path, content):
    with contextlib.suppress(BrokenPipeError):  # it was refused
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("encoding", "pieces", "says"),
    [
        ("utf-8", [b"a\r", b"\nb\r\xc3", b"(\n"], "line 3: byte 6 of the text, 0xc3, is not UTF-8"),
        ("utf-8", [b"a\nb\xe2", b"\x82"], "line 2: byte 4 of the text, 0xe2, is not UTF-8"),
        ("utf-16", ["a\nb".encode("utf-16"), b"c"], "line 2: byte 9 of the text, 0x63, is not utf-16"),
        ("utf-16", [b"arm,reward\n"], "line 1: byte 1 of the text, 0x61, is not utf-16; correct `encoding`"),
        ("cp1252", [b"a\n\x81"], "line 2: byte 3 of the text, 0x81, is not cp1252"),
        ("shift_jis", ["赤\n青".encode("shift_jis"), b"\xff\n"], "line 2: byte 6 of the text, 0xff, is not shift_jis"),
    ],
)
def test_places_in_pieces_of_a_stream(encoding, pieces, says):
    decoder = TextDecoder(encoding_of(encoding))
    *before, last = pieces
    for piece in before:
        decoder.decode(piece)
    with pytest.raises(ValueError, match="is not") as refused:
        decoder.decode(last, final=True)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize("name", ["klingon", "", "rot13", "hex", "idna", "punycode", "unicode_escape", "a\0b", "../x"])
def test_unknown_encodings_are_refused_in_a_sentence(name, tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\n0,1\n1,0\n")
    result = typed("audit", tmp_path / "log.csv", "--encoding", name)
    assert result.returncode == 2
    assert result.stderr.startswith(f"feint: --encoding is {name!r}, which is not a text encoding; give one, such as")
    assert result.stderr.count("\n") == 1


def test_what_is_no_text_has_no_encoding(tmp_path):
    table = pa.table({"arm": [0, 1], "reward": [0.1, 0.2]})
    parquet.write_table(table, tmp_path / "log.parquet")
    for source in (table, tmp_path / "log.parquet"):
        with pytest.raises(ValueError, match=r"`encoding` is 'latin-1', but the log is .*, which is not text"):
            feint.audit_log(source, encoding="latin-1")
