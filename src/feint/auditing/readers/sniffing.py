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
_PARQUET = b"PAR1"
_UTF_8, _UTF_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_WANTED = "a log must be a .csv or a .parquet file, TSV, JSON lines or dsjson"


def by_name(path: Path) -> tuple[str | None, str | None]:
    """(format, compression), None where the name does not tell."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    inner = path if compression is None else path.with_suffix("")
    return FORMATS.get(inner.suffix.lower()), compression


def compression_of(head: bytes) -> str | None:
    """How bytes that start so are compressed."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def format_of(head: bytes) -> str:
    """The format of a log that starts so."""
    if head.startswith(_PARQUET):
        return "parquet"
    check_text(head)
    text = head.removeprefix(_UTF_8).lstrip()
    if not text:
        raise ValueError(f"it is empty; {_WANTED}.")
    if text.startswith(b"{"):
        return "json"
    if text.startswith(b"["):
        raise ValueError("it is a JSON list; write its objects one a line, without brackets and commas around them.")
    if b"\0" in head:
        raise ValueError(f"it is neither text nor Parquet; {_WANTED}.")
    first = text.splitlines()[0]
    return "tsv" if b"\t" in first and b"," not in first else "csv"


def check_text(head: bytes) -> None:
    """Refuse what is no text that starts so, whatever its name says."""
    compression = compression_of(head)
    if compression is not None:
        suffix = next(suffix for suffix, name in COMPRESSIONS.items() if name == compression)
        raise ValueError(f"it is compressed with {compression}; decompress it, or let its name end in {suffix}.")
    if head.startswith(_PARQUET):
        raise ValueError("it is Parquet; let its name end in .parquet.")
    if head.startswith(_UTF_16):
        raise ValueError("its text is UTF-16; save it as UTF-8.")
