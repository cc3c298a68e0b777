"""Any common log as batches of raw columns, one file per format: `open_log`, and `open_growing_log` for pipes.

The audit, its command and its page import this folder.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from feint.auditing.readers.arrow_log import open_arrow
from feint.auditing.readers.base import Batch, Log, naming
from feint.auditing.readers.decoding import encoding_of
from feint.auditing.readers.delimited import delimiter_of
from feint.auditing.readers.first_bytes import check_text, compression_of
from feint.auditing.readers.followed_log import FollowedLog
from feint.auditing.readers.formats import Format, by_name, format_of
from feint.auditing.readers.growing_file import GrowingFile
from feint.auditing.readers.listing import Place, list_files
from feint.auditing.readers.remote_file import RemoteFile
from feint.auditing.readers.several_files import SeveralFiles
from feint.auditing.readers.stored_file import Stored, spooled
from feint.auditing.readers.table import ArrowTable

__all__ = [
    "Batch",
    "FollowedLog",
    "GrowingFile",
    "Log",
    "Source",
    "list_places",
    "naming",
    "open_growing_log",
    "open_log",
    "open_place",
    "standard_input",
]

Source = str | Path | ArrowTable | Iterable[Any]


def open_log(source: Source, delimiter: str | None = None, encoding: str | None = None) -> Log:
    """Open a log from paths, from standard input ("-"), or from what Python hands over as Arrow.

    A path is a file, a pattern, a folder or a URL; several are read one after the other. A file is CSV, TSV, Parquet,
    Feather, a table of SQLite, JSON lines or dsjson, as it is or compressed; its name tells which, or else its content.
    What can be read only once is copied to a temporary file. `delimiter` is for CSV and TSV, `encoding` (UTF-8) for all
    texts.
    """
    delimiter_of(delimiter, ",")
    codec = encoding_of(encoding)
    paths = _given_paths(source)
    if paths is None:
        if (log := open_arrow(source)) is None:
            raise ValueError(
                "A log is a path, several paths, a table or dataset of pandas, Polars or Arrow, or batches of Arrow; "
                f"got {type(source).__name__}."
            )
        _check_no_text(encoding, "a table")
        return log
    files = [place for path in paths for place in list_files(path)]
    if len(files) == 1 and not files[0].keys:
        return _open_file(files[0], delimiter, encoding, codec)
    _check_different(files)
    return SeveralFiles(files, lambda place: _open_file(place, delimiter, encoding, codec))


def list_places(source: Source) -> list[Place] | None:
    """Return the files of a source in the order in which they are read, where each can be opened again and again;
    otherwise None.
    """
    paths = _given_paths(source)
    files = [] if paths is None else [place for path in paths for place in list_files(path)]
    again = all(isinstance(place.path, RemoteFile) or place.path.is_file() for place in files)
    return files if files and again else None


def open_place(place: Place, delimiter: str | None = None, encoding: str | None = None) -> Log:
    """Open one of several files."""
    return _open_file(place, delimiter, encoding, encoding_of(encoding))


def _given_paths(source: Any) -> list[str | Path] | None:
    """Return the paths that were given; None if it is something else."""
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | Path) for item in source):
        return [*source]
    return None


def _check_different(files: list[Place]) -> None:
    """Refuse rows that would count twice, and what cannot be opened twice."""
    seen: set[tuple[str, str | None]] = set()
    for place in files:
        if place.name == "-":
            raise ValueError("Standard input (-) cannot be one of several files; give it alone.")
        where = str(place.path.resolve()) if isinstance(place.path, Path) else place.name
        if (where, place.inside) in seen:
            raise ValueError(f"{place.name} is given twice; its rows would count twice.")
        seen.add((where, place.inside))


def _open_file(place: Place, delimiter: str | None, encoding: str | None, codec: str) -> Log:
    file, kind = _stored(place, codec)
    with naming(file.name):
        if kind is None and file.compression is None and (found := compression_of(file.head())):
            file = Stored(file.path, file.name, found, codec, file.spool, place.inside)
        head = file.head()
        if kind is None:
            kind = format_of(head, codec)
        elif kind.begins is None:
            check_text(head, codec)
        if place.inside is not None and not (kind.parts or file.compression == "zip"):
            raise ValueError(f"it has no part {place.inside!r}: only databases and zip archives have parts.")
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
        raise ValueError(f"`encoding` is {encoding!r}, but the log is {what}, which is not text; leave it out.")


def _stored(place: Place, encoding: str) -> tuple[Stored, Format | None]:
    """Return (the file, its format if its name tells)."""
    path, name = place.path, place.name
    if name == "-":
        with naming("standard input"):
            spool = spooled(standard_input(), "standard input", encoding)
        return Stored(spool.path, "standard input", None, encoding, spool), None
    kind, compression = by_name(name)
    if isinstance(path, RemoteFile):
        return Stored(path, name, compression, encoding, inside=place.inside), kind
    if not path.exists():
        raise FileNotFoundError(f"There is no file {name}.")
    if path.is_file():
        return Stored(path, name, compression, encoding, inside=place.inside), kind
    with naming(name), open(path, "rb") as stream:  # a named pipe, say
        spool = spooled(stream, name, encoding)
    return Stored(spool.path, name, compression, encoding, spool), kind
