"""The bytes of a log on disk, perhaps compressed, from the start as often as wanted."""

import gzip
import io
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

LONGEST_LINE = 2**24  # bytes; what is longer is no log, and would have to fit into memory
_HEAD = 2**16


class Spool:
    """A copy of a stream in a temporary file, which lives as long as this object."""

    def __init__(self, stream: BinaryIO | io.BufferedIOBase) -> None:
        handle, name = tempfile.mkstemp(prefix="feint-")
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        with open(handle, "wb") as file:
            shutil.copyfileobj(stream, file)


class Stored:
    """A file; `name` is what messages call it, and `spool` the temporary file that must not vanish before it."""

    def __init__(self, path: Path, name: str, compression: str | None, spool: Spool | None = None) -> None:
        self.path, self.name, self.compression, self.spool = path, name, compression, spool

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @contextmanager
    def open(self) -> Iterator["Bytes"]:
        with open(self.path, "rb") as raw, Bytes(raw, self.name, self.compression) as stream:
            yield stream

    @contextmanager
    def text(self) -> Iterator[tuple[io.TextIOWrapper, "Bytes"]]:
        """(the text, the bytes below it). Bytes that are no UTF-8 become �, which no number contains."""
        with self.open() as stream:
            yield io.TextIOWrapper(stream, newline="", encoding="utf-8-sig", errors="replace"), stream

    def head(self) -> bytes:
        with self.open() as stream:
            head = b""
            while len(head) < _HEAD and (more := stream.read(_HEAD)):
                head += more
            return head

    def unpacked(self) -> "Stored":
        """The same without compression, for what must be read out of order."""
        if self.compression is None:
            return self
        with self.open() as stream:
            spool = Spool(stream)
        return Stored(spool.path, self.name, None, spool)


class Bytes(io.BufferedIOBase):
    """Decompressed bytes. Whatever is wrong with the compressed ones becomes an OSError that says what to do."""

    def __init__(self, raw: BinaryIO, name: str, compression: str | None) -> None:
        self._raw, self.name, self._compression = raw, name, compression
        self._since_line_end = 0
        self._stream: Any = raw
        self._broken: tuple[type[Exception], ...] = ()
        if compression == "gzip":
            self._stream = gzip.GzipFile(fileobj=raw)
            self._broken = (EOFError, zlib.error, OSError)
        elif compression == "zstd":
            import pyarrow as pa

            self._stream = pa.CompressedInputStream(raw, "zstd")
            self._broken = (pa.ArrowException, OSError)

    def readable(self) -> bool:
        return True

    def position(self) -> int:
        """How many bytes of the file have been used."""
        return self._raw.tell()

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes, some at least unless it is the end."""
        try:
            return bytes(self._stream.read1(size))
        except self._broken as error:
            if isinstance(error, OSError) and error.errno is not None:  # the disk's fault
                raise
            raise OSError(
                f"{self.name} cannot be read: its {self._compression} data is damaged or cut short ({error}); "
                "copy or compress it again."
            ) from None

    def read1(self, size: int = -1, /) -> bytes:
        """`read` for text, whose lines must end."""
        data = self.read(size)
        self._since_line_end = 0 if b"\n" in data or b"\r" in data else self._since_line_end + len(data)
        if self._since_line_end > LONGEST_LINE:
            raise ValueError(f"a line is longer than {LONGEST_LINE:,} bytes; a log has one row a line.")
        return data

    def close(self) -> None:
        if self._stream is not self._raw and not self.closed:
            self._stream.close()
        super().close()
