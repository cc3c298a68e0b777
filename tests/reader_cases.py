"""Write logs in every format with the same rows, and read them."""

import bz2
import gzip
import io
import json
import lzma
from functools import partial

import numpy as np
import pyarrow as pa
from pyarrow import parquet

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
    """Return (the table, the lines, the malformed rows by line or row) of all batches."""
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
