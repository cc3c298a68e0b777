"""Which files a source means: a path, a pattern, a folder, or any of these at a URL that fsspec knows."""

import glob
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from feint.auditing.readers.remote_file import RemoteFile, RemoteFolder, is_url

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PATTERN = re.compile(r"[*?\[]")
_DIGITS = re.compile(r"(\d+)")


class Place(NamedTuple):
    """A file, and what its place says about its rows."""

    path: Path | RemoteFile
    name: str  # for messages
    keys: dict[str, str | None] = {}  # noqa: RUF012 - never changed; of folders such as day=2026-01-01
    inside: str | None = None  # the table of a database, or the file of an archive


def list_files(source: str | Path) -> list[Place]:
    """Return the files that a source means, those of patterns and folders in the order of their names.

    Numbers in names count as numbers: part-2 comes before part-10.
    """
    name = str(source)
    inside = None
    if not Path(name).exists() and "::" in name and not is_url(name.rpartition("::")[2]):
        name, _, inside = name.rpartition("::")
    if is_url(name):
        found = _list_remote(name)
    elif name != "-" and not Path(name).exists() and _PATTERN.search(name):
        matches = sorted((path for path in glob.glob(name, recursive=True)), key=natural_order)
        found = [place for path in matches for place in _list_local(path)]
        if not found:
            raise FileNotFoundError(f"There is no file that matches {name}.")
    else:
        found = _list_local(name)
    return [place._replace(inside=inside) for place in found]


def _list_local(name: str) -> list[Place]:
    path = Path(name)
    if not path.is_dir():
        return [Place(path, name, partition_keys(path.as_posix()))]
    files = [file for file in path.rglob("*") if file.is_file()]
    below = [file.relative_to(path).as_posix() for file in files]
    return _visible([Place(file, str(file), partition_keys(file.as_posix())) for file in files], below, name)


def _list_remote(url: str) -> list[Place]:
    folder = RemoteFolder(url)
    if _PATTERN.search(url):
        found = folder.glob()
        if not found:
            raise FileNotFoundError(f"There is no file that matches {url}.")
        found = sorted(found, key=lambda file: natural_order(file.name))
        return [Place(file, file.name, partition_keys(file.name)) for file in found]
    below = folder.files()
    if below is None:
        file = RemoteFile(url, folder.system, folder.root)
        return [Place(file, url, partition_keys(url))]
    return _visible([Place(file, file.name, partition_keys(file.name)) for file in below.values()], list(below), url)


def _visible(files: list[Place], below: list[str], folder: str) -> list[Place]:
    """Return the files of a folder in order, without hidden ones and markers such as _SUCCESS."""
    pairs = sorted(zip(below, files, strict=True), key=lambda pair: natural_order(pair[0]))
    found = [file for where, file in pairs if not any(part.startswith((".", "_")) for part in where.split("/"))]
    if not found:
        raise FileNotFoundError(f"There is no file in the folder {folder}.")
    return found


def partition_keys(path: str) -> dict[str, str | None]:
    """Return what the folders of a path say, as Hive names them.

    >>> partition_keys("day=2026-01-01/shop=a%20b/part-0.parquet")
    {'day': '2026-01-01', 'shop': 'a b'}
    """
    pairs = [part.split("=", 1) for part in path.split("/")[:-1] if "=" in part]
    return {unquote(key): None if value == _NO_VALUE else unquote(value) for key, value in pairs}


def natural_order(name: str) -> list[Any]:
    """Return a key that sorts names with the numbers in them as numbers.

    >>> sorted(["part-10", "part-2"], key=natural_order)
    ['part-2', 'part-10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]
