"""Streams of decompressed bytes."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from typing import Any, BinaryIO

from feint.support.extras import need

_SHOWN = 6


def open_compressed(
    raw: BinaryIO, name: str, compression: str | None, member: str | None = None
) -> tuple[Any, tuple[type[Exception], ...]]:
    """Return (the decompressed bytes, the errors that say that they are damaged); `member` is a file of an archive."""
    if compression == "gzip":
        return gzip.GzipFile(fileobj=raw), (EOFError, zlib.error, OSError)
    if compression == "bzip2":
        return bz2.BZ2File(raw), (EOFError, OSError)
    if compression == "xz":
        return lzma.LZMAFile(raw), (EOFError, lzma.LZMAError)
    if compression == "zip":
        return _open_zip(raw, member), (EOFError, zlib.error, zipfile.BadZipFile, lzma.LZMAError)
    if compression == "zstd":
        need("pyarrow", name)
        import pyarrow as pa

        return pa.CompressedInputStream(raw, "zstd"), (pa.ArrowException, OSError)
    return raw, ()


def _open_zip(raw: BinaryIO, member: str | None) -> Any:
    try:
        archive = zipfile.ZipFile(raw)
        hidden = ("__MACOSX/", ".")
        members = [info.filename for info in archive.infolist() if not info.is_dir()]
        members = [found for found in members if not found.startswith(hidden)]
        if member is not None and member not in members:
            raise ValueError(f"it has no file {member!r}; it has {_members_text(members)}.")
        if member is None and len(members) != 1:
            advice = f"; name one of them, as FILE.zip::{members[0]}" if members else ""
            raise ValueError(f"it has {_members_text(members)}{advice}.")
        return archive.open(member or members[0])
    except zipfile.BadZipFile as error:
        raise ValueError(f"its zip data is damaged or cut short ({error}); copy or compress it again.") from None
    except (NotImplementedError, RuntimeError) as error:  # an unknown method of compression, or a password
        raise ValueError(f"its zip archive cannot be unpacked here ({error}); unpack it first.") from None


def _members_text(members: list[str]) -> str:
    if not members:
        return "no files"
    return f"{len(members)} files: {', '.join(members[:_SHOWN])}{', …' if len(members) > _SHOWN else ''}"
