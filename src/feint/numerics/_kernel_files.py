"""Compiled kernels on disk: where they are kept, under which name, and whether a file is intact.

A name contains a digest of everything that the machine code depends on: the content of the package's sources, the CPU,
Python, Numba and NumPy. It contains no paths or dates. So compiled kernels are found again in a copied or moved
environment, in a read-only one, and by another user of the same installation. A file begins with a checksum of the
rest. A file that is empty, truncated, altered or in another format is ignored and written again.

Files are looked for first beside the package and then in the user's own folder. They are written beside the package if
that is writable, otherwise into the user's folder, and if neither is writable, nowhere. NUMBA_CACHE_DIR replaces both.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

from feint.support.files import write_whole
from feint.support.progress import say_once

_PACKAGE = Path(__file__).resolve().parents[1]
_WITHOUT_KERNELS = ("app", "cli", "plot", "registry", "sweep")  # an edit there leaves all kernels as they are
_FORMAT = b"feint kernel 1\n"
_CHECKSUM = hashlib.sha256
_FOLDER = "feint-kernels"
_BESIDE = _PACKAGE / "__pycache__" / _FOLDER
_state = {"stopped": False, "announced": False}


def load(name: str) -> bytes | None:
    """Return the content of the file of this name, or None if there is no intact one."""
    for folder in kernel_folders():
        try:
            data = (folder / source_digest() / name).read_bytes()
        except OSError:
            continue
        start = len(_FORMAT) + _CHECKSUM().digest_size
        if data[:start] == _FORMAT + _CHECKSUM(data[start:]).digest():
            return data[start:]
    return None


def keeps() -> bool:
    """Return whether kernels can be kept, as far as is known."""
    return not _state["stopped"] and writable_folder() is not None


def stop_keeping(reason: str) -> None:
    """Keep no more kernels, and say so once."""
    if not _state["stopped"]:
        _state["stopped"] = True
        say_once(
            "feint: compiled kernels are not kept, so every start compiles them again; set NUMBA_CACHE_DIR to a "
            f"writable folder with room ({reason})"
        )


def announce() -> None:
    """Make the next `save` that succeeds say that kernels are kept; until then, a disk might still fill up."""
    _state["announced"] = True


def save(name: str, content: bytes) -> None:
    """Keep `content` under this name; if that fails, say so once and keep no more."""
    folder = writable_folder()
    if folder is None:
        return
    try:
        data = _FORMAT + _CHECKSUM(content).digest() + content
        write_whole(folder / source_digest() / name, lambda path: path.write_bytes(data), force=True)
        if _state["announced"]:
            say_once("feint: compiled kernels are kept: the next start is quick")
    except OSError as error:
        stop_keeping(f"{folder}: {error.strerror or error}")


def kernel_folders() -> Iterator[Path]:
    """Yield the folders that may contain kernels, in the order in which they are searched."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen) / _FOLDER
        return
    yield _BESIDE
    user = _user_folder()
    if user is not None:
        yield user / _FOLDER


@cache
def writable_folder() -> Path | None:
    """Return the first folder that is writable; if there is none, say so once and return None."""
    reasons = []
    for folder in kernel_folders():
        try:
            current = folder / source_digest()
            current.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=current) as probe:  # a full disk shows only when something is written
                probe.write(bytes(2**16))
                probe.flush()
            return folder
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror or error}")
    stop_keeping("; ".join(reasons))
    return None


def remove(*, stale_only: bool) -> tuple[list[Path], list[Path]]:
    """Remove kept kernels: all of them, or those beside the package that its present sources cannot use.

    Return the folders that were removed, and those that could not be. Kernels in the user's own folder may serve
    another installation.
    """
    found = [path for folder in ([_BESIDE] if stale_only else kernel_folders()) for path in folder.glob("*")]
    unwanted = [path for path in found if not (stale_only and path.name == source_digest())]
    for path in unwanted:
        shutil.rmtree(path, ignore_errors=True)
    left = [path for path in unwanted if path.exists()]
    return [path for path in unwanted if path not in left], left


@cache
def source_digest() -> str:
    """Return a digest of the contents of all files of the package that may define a kernel."""
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        relative = path.relative_to(_PACKAGE)
        if relative.parts[0] not in _WITHOUT_KERNELS:
            content = path.read_bytes()
            found.update(f"{relative.as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


def _user_folder() -> Path | None:
    """Return the user's cache folder, or None if the user has no home."""
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
