"""A file that is being written, and perhaps rotated: renamed, with a new one in its place, or copied and truncated."""

import os
import stat
from time import sleep
from typing import BinaryIO

_BETWEEN_LOOKS = 0.2  # seconds


class GrowingFile:
    """The bytes of a file by its path. At its end, it is checked whether another file has taken its place. If neither
    that nor more bytes are there, `wait` says whether to look again until they are.

    A file that was truncated, and has since grown longer than it was, looks as if it had only grown.
    """

    def __init__(self, path: str, *, wait: bool = False) -> None:
        if os.path.isdir(path):
            raise IsADirectoryError(f"There is no file {path}: it is a directory; give one of the files in it.")
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no file {path}.")
        self.name, self._wait = path, wait
        self.rotated = False  # whether the bytes that `reopen` leads to are another file's
        self._file = self._open()
        self.is_regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)  # a named pipe is not

    def _open(self) -> BinaryIO:
        try:
            return open(self.name, "rb")
        except OSError as error:
            raise OSError(f"{self.name} cannot be read: {error.strerror}.") from None

    def read1(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, none at the end."""
        while True:
            data = self._file.read1(size)  # type: ignore[attr-defined]  # opened in binary mode, buffered
            if not data and self._is_replaced():
                self.rotated = True
                data = self._file.read1(size)  # type: ignore[attr-defined]  # written since the last look
            if data or self.rotated or not (self._wait and self.is_regular):
                return bytes(data)
            sleep(_BETWEEN_LOOKS)

    def _is_replaced(self) -> bool:
        if not self.is_regular:
            return False
        try:
            now = os.stat(self.name)
        except FileNotFoundError:  # renamed, and the new one is not there yet
            return False
        return not os.path.samestat(now, os.fstat(self._file.fileno())) or now.st_size < self._file.tell()

    def reopen(self) -> None:
        """Go on with the file that has the name now, from its start."""
        self.close()
        self._file, self.rotated = self._open(), False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "GrowingFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
