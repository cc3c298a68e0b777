"""A file that is being written, and perhaps rotated: renamed, with a new one in its place, or copied and truncated."""

import os
import stat
from time import sleep

_BETWEEN_LOOKS = 0.2  # seconds
_COMPARED = 4096  # bytes


class GrowingFile:
    """The bytes of the file at a path. At its end, it is checked whether another file has taken its place. If there is
    neither another file nor more bytes, `wait` says whether to keep looking.

    A file that was truncated may have grown longer than it was before anyone looks. So at every look the first and the
    last bytes that were read are compared with those that the file has now.
    """

    def __init__(self, path: str, *, wait: bool = False) -> None:
        if os.path.isdir(path):
            raise IsADirectoryError(f"There is no file {path}: it is a directory; give one of the files in it.")
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no file {path}.")
        self.name, self._wait = path, wait
        self._open()
        self.is_regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)  # a named pipe is not

    def _open(self) -> None:
        try:
            self._file = open(self.name, "rb", buffering=0)  # noqa: SIM115 - `close` closes it
        except OSError as error:
            raise OSError(f"{self.name} cannot be read: {error.strerror}.") from None
        self.rotated = False  # whether `reopen` leads to another file's bytes
        self._first = self._last = b""  # of the bytes that were read

    def read1(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, none at the end."""
        while True:
            data = self._read(size)
            if not data and self._is_renamed():
                self.rotated = True
                data = self._read(size)  # written since the last look
            if data or self.rotated or not (self._wait and self.is_regular):
                return data
            sleep(_BETWEEN_LOOKS)

    def _read(self, size: int) -> bytes:
        """Return the next bytes, none if the file was truncated since the last ones."""
        data = self._file.read(size)
        if not self.is_regular:
            return data
        end = self._file.tell()
        before = end - len(data) - len(self._last)
        if self._at(0, self._first) != self._first or self._at(before, self._last) != self._last:
            self.rotated = True
            return b""
        self._file.seek(end)
        self._first += data[: _COMPARED - len(self._first)]
        self._last = (self._last + data)[-_COMPARED:]
        return data

    def _at(self, position: int, expected: bytes) -> bytes:
        """Return what the file has where it had these bytes."""
        self._file.seek(position)
        return self._file.read(len(expected))

    def _is_renamed(self) -> bool:
        if not self.is_regular:
            return False
        try:
            return not os.path.samestat(os.stat(self.name), os.fstat(self._file.fileno()))
        except FileNotFoundError:  # renamed, and the new one is not there yet
            return False

    def reopen(self) -> None:
        """Continue with the file that has the name now, from its start."""
        self.close()
        self._open()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "GrowingFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
