"""Compiled kernels on disk: where they are kept, under which name, and whether what is found there is whole.

A name holds a digest of everything that the machine code depends on: the content of the package's sources, the CPU,
Python, Numba and NumPy. Paths and dates are not in it, so that a copied or moved environment, another user of the same
installation and a read-only one find what was compiled before. A file begins with a checksum of the rest: one that is
empty, cut, altered or of another format is as good as none, and is written anew.

Files are looked for beside the package first and then in the user's own folder; they are written beside the package if
that can be written, else into the user's folder, else nowhere. NUMBA_CACHE_DIR replaces both.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

from feint.files import write_whole
from feint.progress import say_once

_PACKAGE = Path(__file__).resolve().parents[1]
_WITHOUT_KERNELS = ("app", "cli", "registry", "sweep")  # an edit there leaves all kernels as they are
_FORMAT = b"feint kernel 1\n"
_CHECKSUM = hashlib.sha256
_FOLDER = "feint-kernels"
_BESIDE = _PACKAGE / "__pycache__" / _FOLDER


def load(name: str) -> bytes | None:
    """Return the content of the file of this name; None if there is none that is whole."""
    for place in places():
        try:
            data = (place / source_digest() / name).read_bytes()
        except OSError:
            continue
        start = len(_FORMAT) + _CHECKSUM().digest_size
        if data[:start] == _FORMAT + _CHECKSUM(data[start:]).digest():
            return data[start:]
    return None


def save(name: str, content: bytes) -> None:
    """Keep `content` under this name, or say once that it is not kept."""
    place = writable_place()
    if place is None:
        return
    try:
        data = _FORMAT + _CHECKSUM(content).digest() + content
        write_whole(place / source_digest() / name, lambda path: path.write_bytes(data), force=True)
    except OSError as error:
        say_once(f"feint: compiled kernels are not kept in {place}: {error.strerror or error}")


def places() -> Iterator[Path]:
    """Yield the folders in which kernels may lie, in the order in which they are looked at."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen) / _FOLDER
        return
    yield _BESIDE
    user = _user_folder()
    if user is not None:
        yield user / _FOLDER


@cache
def writable_place() -> Path | None:
    """Return the first place that takes files; if there is none, say so once and return None."""
    reasons = []
    for place in places():
        try:
            folder = place / source_digest()
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder) as probe:  # a full disk shows only when something is written
                probe.write(bytes(2**16))
                probe.flush()
            return place
        except OSError as error:
            reasons.append(f"{place}: {error.strerror or error}")
    say_once(
        "feint: compiled kernels are not kept, so every start compiles them again; set NUMBA_CACHE_DIR to a folder "
        f"that can be written ({'; '.join(reasons)})"
    )
    return None


def remove(*, stale_only: bool) -> int:
    """Remove kept kernels: all of them, or those beside the package that its present sources cannot use.

    Returns the number of folders removed. What lies in the user's own folder may serve another installation.
    """
    removed = 0
    for place in [_BESIDE] if stale_only else places():
        for folder in place.glob("*"):
            if not (stale_only and folder.name == source_digest()):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


@cache
def source_digest() -> str:
    """Return a digest of the content of every file of the package that a kernel may come from."""
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        relative = path.relative_to(_PACKAGE)
        if relative.parts[0] not in _WITHOUT_KERNELS:
            content = path.read_bytes()
            found.update(f"{relative.as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


def _user_folder() -> Path | None:
    """Return the folder for caches of this user; None where the user has no home."""
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
