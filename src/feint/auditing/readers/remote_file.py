"""Files at URLs, through fsspec."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from feint.support.extras import MissingExtra, need

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}  # of fsspec


class _Status(NamedTuple):
    st_size: int


class RemoteFile:
    """A file at a URL, with as much of a path's interface as readers use."""

    def __init__(self, name: str, system: Any, path: str) -> None:
        self.name, self._system, self._path = name, system, path

    def stat(self) -> _Status:
        """Return its size."""
        with reading(self.name):
            return _Status(int(self._system.size(self._path) or 0))

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open it from its start."""
        with reading(self.name):
            stream: BinaryIO = self._system.open(self._path, mode)
        return stream


class RemoteFolder:
    """What lies at a URL: a file, a folder, or files that match a pattern."""

    def __init__(self, url: str) -> None:
        need("fsspec", url)
        import fsspec

        self.url = url
        scheme = url.partition("://")[0].lower()
        try:
            self.system, self.root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            extra = _EXTRAS.get(scheme)
            advice = f"pip install 'fsspec[{extra}]'" if extra else str(error)
            raise MissingExtra(f"{url} needs a library for {scheme}:// that is not installed: {advice}.") from None
        except ValueError as error:
            raise ValueError(f"{url} cannot be opened: {str(error).rstrip('.')}; correct the URL.") from None

    def glob(self) -> list[RemoteFile]:
        """Return the files that match the URL."""
        with reading(self.url):
            found = self.system.glob(self.root)
            return [self._file(path) for path in found if not self.system.isdir(path)]

    def files(self) -> dict[str, RemoteFile] | None:
        """Return the files below a folder by their places in it; None if it is not a folder."""
        with reading(self.url):
            if self.system.isfile(self.root):
                return None
            if not self.system.isdir(self.root):
                raise FileNotFoundError(f"There is no file {self.url}.")
            root = self.root.rstrip("/") + "/"
            return {path.removeprefix(root): self._file(path) for path in self.system.find(self.root)}

    def _file(self, path: str) -> RemoteFile:
        return RemoteFile(str(self.system.unstrip_protocol(path)), self.system, path)


def is_url(name: str) -> bool:
    """Return whether a name is a URL rather than a path.

    >>> is_url("s3://bucket/log.parquet"), is_url("log.csv")
    (True, False)
    """
    return _URL.match(name) is not None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Name the URL in the error if it cannot be read: every store has errors of its own kind."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no file {name}.") from error
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        raise OSError(f"{name} cannot be read: {reason}.") from error
