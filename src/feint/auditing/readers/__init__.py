"""Any common log as batches of raw columns, one file per format: `open_log`, and `open_growing_log` for pipes.

The audit, its command and its page import this folder.
"""

import sys
from pathlib import Path
from typing import BinaryIO

from feint.auditing.readers.base import Batch, Log, naming
from feint.auditing.readers.decoding import encoding_of
from feint.auditing.readers.delimited import delimiter_of
from feint.auditing.readers.first_bytes import check_text, compression_of
from feint.auditing.readers.followed_log import FollowedLog
from feint.auditing.readers.formats import Format, by_name, format_of
from feint.auditing.readers.growing_file import GrowingFile
from feint.auditing.readers.stored_file import Stored, spooled
from feint.auditing.readers.table import ArrowTable, TableLog, is_table

__all__ = [
    "Batch",
    "FollowedLog",
    "GrowingFile",
    "Log",
    "Source",
    "naming",
    "open_growing_log",
    "open_log",
    "standard_input",
]

Source = str | Path | ArrowTable


def open_log(source: Source, delimiter: str | None = None, encoding: str | None = None) -> Log:
    """Open a log from a path, from standard input ("-"), or from a table of pandas, Polars or Arrow.

    A file is CSV, TSV, Parquet, JSON lines or dsjson, as it is or compressed (.gz, .zst); its name tells which, or
    else its content. What can be read only once is copied to a temporary file. `delimiter` is for CSV and TSV,
    `encoding` (UTF-8) for all texts.
    """
    delimiter_of(delimiter, ",")
    codec = encoding_of(encoding)
    if is_table(source):
        _check_no_text(encoding, "a table")
        return TableLog(source)
    if not isinstance(source, str | Path):
        raise ValueError(f"A log is a path, or a table of pandas, Polars or Arrow; got {type(source).__name__}.")
    file, kind = _stored(source, codec)
    with naming(file.name):
        head = file.head()
        if kind is None and file.compression is None and (found := compression_of(head)):
            file = Stored(file.path, file.name, found, codec, file.spool)
            head = file.head()
        if kind is None:
            kind = format_of(head, codec)
        elif kind.begins is None:
            check_text(head, codec)
    if kind.begins is not None:
        _check_no_text(encoding, kind.name.capitalize())
    return kind.open(file, delimiter)


def open_growing_log(
    stream: BinaryIO | GrowingFile, delimiter: str | None = None, encoding: str | None = None
) -> FollowedLog:
    """Open a log that grows: CSV, TSV or JSON lines. Its batches come as the lines do, and only once."""
    delimiter_of(delimiter, ",")
    return FollowedLog(stream, delimiter, encoding)


def standard_input() -> BinaryIO:
    """Return the bytes of standard input."""
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise ValueError("There is no standard input; give the path of a file.")
    return stream


def _check_no_text(encoding: str | None, what: str) -> None:
    if encoding is not None:
        raise ValueError(f"`encoding` is {encoding!r}, but the log is {what}, which is no text; leave it out.")


def _stored(source: str | Path, encoding: str) -> tuple[Stored, Format | None]:
    """Return (the file, its format if its name tells)."""
    path, name = Path(source), str(source)
    if name == "-":
        with naming("standard input"):
            spool = spooled(standard_input(), "standard input", encoding)
        return Stored(spool.path, "standard input", None, encoding, spool), None
    if path.is_dir():
        raise FileNotFoundError(f"There is no file {name}: it is a directory; give one of the files in it.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {name}.")
    kind, compression = by_name(path)
    if path.is_file():
        return Stored(path, name, compression, encoding), kind
    with naming(name), open(path, "rb") as stream:  # a named pipe, say
        spool = spooled(stream, name, encoding)
    return Stored(spool.path, name, compression, encoding, spool), kind
