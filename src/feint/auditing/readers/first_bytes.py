"""What the first bytes of a log are: compressed, Parquet, or text."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MARKS = {  # byte-order marks, the longer ones first
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip


def compression_of(head: bytes) -> str | None:
    """Return how bytes that start like this are compressed; None if they are not."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def is_parquet(head: bytes) -> bool:
    """Return whether bytes that start like this are Parquet."""
    return head.startswith(b"PAR1")


def check_text(head: bytes, encoding: str) -> None:
    """Refuse a log whose first bytes are no text, whatever its name says."""
    compression = compression_of(head)
    if compression is not None:
        suffix = next(suffix for suffix, name in COMPRESSIONS.items() if name == compression)
        raise ValueError(f"it is compressed with {compression}; decompress it, or let its name end in {suffix}.")
    if is_parquet(head):
        raise ValueError("it is Parquet; let its name end in .parquet.")
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if marked is not None and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError(f"its text is {marked}; say so with `encoding`, as {marked.lower()}.")
