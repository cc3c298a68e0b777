"""Any common log as batches of raw columns: `open_log` for files and tables, `follow` for a pipe; one format a file."""

import sys
from pathlib import Path
from typing import Any, BinaryIO

from feint.auditing.readers.base import Batch, Log, naming
from feint.auditing.readers.delimited import DelimitedLog, delimiter_of
from feint.auditing.readers.following import FollowedLog
from feint.auditing.readers.json_lines import JsonLinesLog
from feint.auditing.readers.parquet import ParquetLog
from feint.auditing.readers.sniffing import by_name, check_text, compression_of, format_of
from feint.auditing.readers.stored import Spool, Stored
from feint.auditing.readers.table import TableLog, is_table

__all__ = ["Batch", "Log", "follow", "naming", "open_log"]


def open_log(source: str | Path | Any, delimiter: str | None = None) -> Log:
    """A log from a path, from standard input ("-"), or from a table of pandas, Polars or Arrow.

    A file is CSV, TSV, Parquet, JSON lines or dsjson, as it is or compressed (.gz, .zst); its name tells which, else
    its content. What can be read only once is copied to a temporary file. `delimiter` is for CSV and TSV.
    """
    delimiter_of(delimiter, ",")
    if is_table(source):
        return TableLog(source)
    if not isinstance(source, str | Path):
        raise ValueError(f"A log is a path, or a table of pandas, Polars or Arrow; got {type(source).__name__}.")
    file, kind = _stored(source)
    with naming(file.name):
        head = file.head()
        if kind is None and file.compression is None and (found := compression_of(head)):
            file = Stored(file.path, file.name, found, file.spool)
            head = file.head()
        if kind is None:
            kind = format_of(head)
        elif kind != "parquet":
            check_text(head)
    if kind == "parquet":
        return ParquetLog(file)
    if kind == "json":
        return JsonLinesLog(file)
    return DelimitedLog(file, delimiter_of(delimiter, "\t" if kind == "tsv" else ","))


def follow(stream: BinaryIO, delimiter: str | None = None) -> Log:
    """A log from a pipe that grows: CSV, TSV or JSON lines. Its batches come as the lines do, and only once."""
    delimiter_of(delimiter, ",")
    return FollowedLog(stream, delimiter)


def _stored(source: str | Path) -> tuple[Stored, str | None]:
    """(the file, its format if its name tells)."""
    path, name = Path(source), str(source)
    if name == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise ValueError("There is no standard input; give the path of a file.")
        with naming("standard input"):
            spool = Spool(stream)
        return Stored(spool.path, "standard input", None, spool), None
    if path.is_dir():
        raise FileNotFoundError(f"There is no file {name}: it is a directory; give one of the files in it.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {name}.")
    kind, compression = by_name(path)
    if path.is_file():
        return Stored(path, name, compression), kind
    with naming(name), open(path, "rb") as stream:  # a named pipe, say
        spool = Spool(stream)
    return Stored(spool.path, name, compression, spool), kind
