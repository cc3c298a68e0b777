"""The formats of logs: to add one, write its reader and describe it here."""

from collections.abc import Callable
from pathlib import PurePath, PurePosixPath
from typing import NamedTuple

from feint.auditing.readers.arrow_file import ArrowFileLog
from feint.auditing.readers.base import Log
from feint.auditing.readers.delimited import DelimitedLog, delimiter_of
from feint.auditing.readers.first_bytes import COMPRESSIONS, check_text, is_arrow, is_parquet, is_sqlite
from feint.auditing.readers.json_lines import JsonLinesLog
from feint.auditing.readers.parquet import ParquetLog
from feint.auditing.readers.sqlite import SqliteLog
from feint.auditing.readers.stored_file import Stored

_WANTED = "a log must be a .csv or a .parquet file, TSV, JSON lines or dsjson"


class Format(NamedTuple):
    """How a format is recognised and opened."""

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[Stored, str | None], Log]  # of a file, with the delimiter that was given
    begins: Callable[[bytes], bool] | None = None  # whether a file that is not text starts like this
    begins_text: Callable[[str], bool] | None = None
    parts: bool = False  # whether a file has several tables, of which FILE::TABLE names one


def _has_tabs(text: str) -> bool:
    first = text.splitlines()[0]
    return "\t" in first and "," not in first


# The first that fits is taken.
FORMATS = (
    Format("parquet", (".parquet", ".pq"), lambda file, delimiter: ParquetLog(file), begins=is_parquet),
    Format(
        "arrow", (".feather", ".arrow", ".arrows", ".ipc"), lambda file, delimiter: ArrowFileLog(file), begins=is_arrow
    ),
    Format(
        "sqlite", (".sqlite", ".sqlite3", ".db"), lambda file, delimiter: SqliteLog(file), begins=is_sqlite, parts=True
    ),
    Format(
        "json",
        (".jsonl", ".ndjson", ".json", ".dsjson"),
        lambda file, delimiter: JsonLinesLog(file),
        begins_text=lambda text: text.startswith("{"),
    ),
    Format(
        "tsv",
        (".tsv",),
        lambda file, delimiter: DelimitedLog(file, delimiter_of(delimiter, "\t")),
        begins_text=_has_tabs,
    ),
    Format(
        "csv",
        (".csv", ".txt"),
        lambda file, delimiter: DelimitedLog(file, delimiter_of(delimiter, ",")),
        begins_text=lambda text: True,
    ),
)


def by_name(name: str) -> tuple[Format | None, str | None]:
    """Return (format, compression), None where the name does not tell."""
    path: PurePath = PurePosixPath(name.replace("\\", "/"))
    compression = COMPRESSIONS.get(path.suffix.lower())
    inner = path if compression is None else path.with_suffix("")
    return next((found for found in FORMATS if inner.suffix.lower() in found.suffixes), None), compression


def format_of(head: bytes, encoding: str) -> Format:
    """Return the format of a log that starts like this; `encoding` is that of its text, if it is one."""
    for found in FORMATS:
        if found.begins is not None and found.begins(head):
            return found
    check_text(head, encoding)
    text = head.decode(encoding, "replace").lstrip()
    if not text:
        raise ValueError(f"it is empty; {_WANTED}.")
    if text.startswith("["):
        raise ValueError("it is a JSON list; write its objects one per line, without brackets and commas around them.")
    if "\0" in text and not text.startswith("{"):
        raise ValueError(f"it is neither text nor Parquet; {_WANTED}.")
    return next(found for found in FORMATS if found.begins_text is not None and found.begins_text(text))
