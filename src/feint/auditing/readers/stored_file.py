"""The bytes of a log on disk, perhaps compressed, which can be read again and again."""

import errno
import io
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from feint.auditing.readers.compressed import open_compressed
from feint.auditing.readers.decoding import TextDecoder
from feint.auditing.readers.first_bytes import MOST_MAGIC, may_be_text
from feint.auditing.readers.remote_file import RemoteFile
from feint.support.files import own_folder

LONGEST_LINE = 2**24  # bytes; what has longer lines is not a log, and a line must fit into memory
_HEAD = _PIECE = 2**16  # bytes
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Spool:
    """A copy of bytes in a temporary file, which lives as long as this object."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        removing = ExitStack()
        folder = Path(tempfile.gettempdir())
        self.path = removing.enter_context(own_folder(folder)) / "log"
        weakref.finalize(self, removing.close)
        try:
            with open(self.path, "wb") as file:
                file.writelines(pieces)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise OSError(f"there is no room for a copy of it in {folder}; save it to a file first") from None


def spooled(stream: BinaryIO, name: str, encoding: str) -> Spool:
    """Copy what can be read only once.

    What does not decode, or never ends a line, is refused as it comes: a device or a pipe may have no end.
    """
    return Spool(_check_decoding(Bytes(stream, name, None), TextDecoder(encoding)))


def _check_decoding(stream: "Bytes", decoder: TextDecoder) -> Iterator[bytes]:
    head = b""
    while len(head) < MOST_MAGIC and (more := stream.read1(_PIECE)):
        head += more
    text = may_be_text(head)
    data, read = head, stream.read1 if text else stream.read
    while data:
        if text:
            decoder.decode(data)
        yield data
        data = read(_PIECE)


class Stored:
    """A file; `name` is what messages call it, `encoding` is that of its text.

    `spool` is the temporary file that must not vanish before it, `inside` a table or file inside it.
    """

    def __init__(
        self,
        path: Path | RemoteFile,
        name: str,
        compression: str | None,
        encoding: str,
        spool: Spool | None = None,
        inside: str | None = None,
    ) -> None:
        self.path, self.name, self.compression, self.encoding, self.spool = path, name, compression, encoding, spool
        self.inside = inside

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @contextmanager
    def open(self) -> Iterator["Bytes"]:
        with self.path.open("rb") as raw, Bytes(raw, self.name, self.compression, self.inside) as stream:
            yield stream

    @contextmanager
    def text(self) -> Iterator[tuple[io.TextIOWrapper, "Bytes"]]:
        """Yield (the text, the bytes below it)."""
        with self.open() as stream:
            try:
                yield io.TextIOWrapper(stream, newline="", encoding=self.encoding, errors="strict"), stream
            except UnicodeError:  # the error does not know the line
                self._refuse()
                raise

    def _refuse(self) -> None:
        """Read again from the start, to say where it is not text."""
        decoder = TextDecoder(self.encoding)
        with self.open() as stream:
            while data := stream.read(_PIECE):
                decoder.decode(data)
        decoder.decode(b"", final=True)

    def head(self) -> bytes:
        with self.open() as stream:
            head = b""
            while len(head) < _HEAD and (more := stream.read(_HEAD)):
                head += more
            return head

    def unpacked(self, to_disk: bool = False) -> "Stored":
        """Return the same file without compression, for what must be read out of order, or from a disk."""
        if self.compression is None and (isinstance(self.path, Path) or not to_disk):
            return self
        with self.open() as stream:
            spool = Spool(iter(lambda: stream.read(_PIECE), b""))
        inside = None if self.compression == "zip" else self.inside
        return Stored(spool.path, self.name, None, self.encoding, spool, inside)


class Bytes(io.BufferedIOBase):
    """Decompressed bytes. Whatever is wrong with the compressed ones becomes an OSError that says what to do."""

    def __init__(self, raw: BinaryIO, name: str, compression: str | None, member: str | None = None) -> None:
        self._raw, self.name, self._compression = raw, name, compression
        self._since_line_end = 0
        self._given_back = b""
        self._stream, self._broken = open_compressed(raw, name, compression, member)

    def readable(self) -> bool:
        return True

    def position(self) -> int:
        """Return how many bytes of the file have been used."""
        return self._raw.tell()

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes, and at least one unless it is the end."""
        if self._given_back:
            end = len(self._given_back) if size is None or size < 0 else size
            data, self._given_back = self._given_back[:end], self._given_back[end:]
            return data
        try:
            return bytes(self._stream.read1(size))
        except self._broken as error:
            if isinstance(error, OSError) and error.errno is not None:  # the disk is at fault
                raise
            raise OSError(
                f"{self.name} cannot be read: its {self._compression} data is damaged or cut short ({error}); "
                "copy or compress it again."
            ) from None

    def give_back(self, data: bytes) -> None:
        """Take back what was read last, to be read again."""
        self._given_back = data + self._given_back

    def read1(self, size: int = -1, /) -> bytes:
        """Read as `read` does, but text, whose lines must end."""
        data = self.read(size)
        self._since_line_end = 0 if b"\n" in data or b"\r" in data else self._since_line_end + len(data)
        if self._since_line_end > LONGEST_LINE:
            raise ValueError(f"a line is longer than {LONGEST_LINE:,} bytes; a log has one row per line.")
        return data

    def close(self) -> None:
        if self._stream is not self._raw and not self.closed:
            self._stream.close()
        super().close()
