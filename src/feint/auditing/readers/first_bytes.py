"""What the first bytes of a log are: compressed, Parquet, Arrow, SQLite, or text."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"}
MOST_MAGIC = 16  # bytes that are enough to tell binary formats from text
_MAGIC = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"PK\x03\x04": "zip",
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
}  # fmt: skip
_ARROW = (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")  # a file, one of Feather's first version, a stream
_MARKS = {  # byte-order marks, the longer ones first
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip


def compression_of(head: bytes) -> str | None:
    """Return how bytes that start like this are compressed; None if they are not."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def is_parquet(head: bytes) -> bool:
    """Return whether bytes that start like this are Parquet."""
    return head.startswith(b"PAR1")


def is_arrow(head: bytes) -> bool:
    """Return whether bytes that start like this are Feather or another of Arrow's formats."""
    return head.startswith(_ARROW)


def is_sqlite(head: bytes) -> bool:
    """Return whether bytes that start like this are an SQLite database."""
    return head.startswith(b"SQLite format 3\0")


def may_be_text(head: bytes) -> bool:
    """Return whether bytes that start like this may be text: they are in none of the binary formats."""
    return compression_of(head) is None and not (is_parquet(head) or is_arrow(head) or is_sqlite(head))


def check_text(head: bytes, encoding: str) -> None:
    """Refuse a log whose first bytes are not text, whatever its name says."""
    compression = compression_of(head)
    if compression is not None:
        suffix = next(suffix for suffix, name in COMPRESSIONS.items() if name == compression)
        raise ValueError(f"it is compressed with {compression}; decompress it, or give it a name ending in {suffix}.")
    for found, name, suffix in (
        (is_parquet(head), "Parquet", ".parquet"),
        (is_arrow(head), "Arrow", ".feather"),
        (is_sqlite(head), "an SQLite database", ".sqlite"),
    ):
        if found:
            raise ValueError(f"it is {name}; give it a name ending in {suffix}.")
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if marked is not None and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError(f"its text is {marked}; say so with `encoding`, as {marked.lower()}.")
