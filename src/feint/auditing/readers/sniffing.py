"""Which format a log has, by its name or by its first bytes."""

from pathlib import Path

FORMATS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".dsjson": "json",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MARKS = {  # byte-order marks, the longer ones first
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip
_WANTED = "a log must be a .csv or a .parquet file, TSV, JSON lines or dsjson"


def by_name(path: Path) -> tuple[str | None, str | None]:
    """(format, compression), None where the name does not tell."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    inner = path if compression is None else path.with_suffix("")
    return FORMATS.get(inner.suffix.lower()), compression


def compression_of(head: bytes) -> str | None:
    """How bytes that start so are compressed."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def is_parquet(head: bytes) -> bool:
    """Whether bytes that start so are Parquet."""
    return head.startswith(b"PAR1")


def format_of(head: bytes, encoding: str) -> str:
    """The format of a log that starts so; `encoding` is that of its text, if it is one."""
    if is_parquet(head):
        return "parquet"
    check_text(head, encoding)
    text = head.decode(encoding, "replace").lstrip()
    if not text:
        raise ValueError(f"it is empty; {_WANTED}.")
    if text.startswith("{"):
        return "json"
    if text.startswith("["):
        raise ValueError("it is a JSON list; write its objects one a line, without brackets and commas around them.")
    if "\0" in text:
        raise ValueError(f"it is neither text nor Parquet; {_WANTED}.")
    first = text.splitlines()[0]
    return "tsv" if "\t" in first and "," not in first else "csv"


def check_text(head: bytes, encoding: str) -> None:
    """Refuse what is no text that starts so, whatever its name says."""
    compression = compression_of(head)
    if compression is not None:
        suffix = next(suffix for suffix, name in COMPRESSIONS.items() if name == compression)
        raise ValueError(f"it is compressed with {compression}; decompress it, or let its name end in {suffix}.")
    if is_parquet(head):
        raise ValueError("it is Parquet; let its name end in .parquet.")
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if marked is not None and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError(f"its text is {marked}; say so with `encoding`, as {marked.lower()}.")
