"""Write files and folders whole or not at all, and overwrite nothing unless asked; save states as JSON.

An unfinished file lies in a folder of its own beside its destination, under a name that nobody else uses. The writer
holds a lock on that folder, which ends with the process, however that ends. Whoever can take the lock therefore knows
that the writer is dead, and removes what it left.
"""

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from feint.support.strict_json import parse_json

_UNFINISHED = ".feint-unfinished-"
_REPLACED = "-replaced"
_LEFTOVER = re.compile(re.escape(_UNFINISHED) + "[0-9a-f]{16}")
_LARGEST_STATE = 2**28  # bytes; a larger file is not a state, and might not fit into memory


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let `write` make a file (or folder, such as a Zarr store) of the same name elsewhere, then move it to `path`."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or overwrite it (`force`).")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with own_folder(path.parent) as folder:
            unfinished = folder / path.name
            write(unfinished)
            if unfinished.is_file():
                with open(unfinished, "rb") as file:
                    os.fsync(file.fileno())
            if path.is_dir():
                _replace_folder(path, unfinished, folder)
            else:
                os.replace(unfinished, path)
    except OSError as error:
        # The error of a full disk names no file, and the name of the unfinished one means nothing to the user.
        if error.errno is None or not (error.filename is None or _UNFINISHED in str(error.filename)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace_folder(path: Path, unfinished: Path, folder: Path) -> None:
    """Replace a folder by another, which cannot be moved over it directly."""
    if not unfinished.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file cannot take its place. Choose another name.")
    # Outside the folder that the next process removes if this one is killed right here.
    old = folder.with_name(folder.name + _REPLACED)
    path.rename(old)
    unfinished.rename(path)
    old.rename(unfinished)


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """Make a folder in `parent` for files of this process, and remove it at the end. If the process is killed, the next
    one removes it. Only this user can look into it.
    """
    remove_leftovers(parent)
    while True:
        folder = parent / f"{_UNFINISHED}{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        held = _lock(folder, wait=True)
        if held is not None or folder.exists():  # otherwise another process took it for a leftover before it was locked
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def remove_leftovers(parent: Path) -> None:
    """Remove what killed writers left in a folder; leave what may belong to a living one."""
    try:
        with os.scandir(parent) as entries:
            found = [Path(entry.path) for entry in entries if _LEFTOVER.fullmatch(entry.name)]
    except OSError:  # there is nothing, or nothing that this user may see
        return
    for folder in found:
        held = _lock(folder, wait=False)
        if held is not None:
            _finish_replacing(folder)
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _finish_replacing(folder: Path) -> None:
    """Complete the replacement in which the writer was killed: the new folder takes its place, and the old one goes."""
    old = folder.with_name(folder.name + _REPLACED)
    if old.is_dir():
        for unfinished in folder.iterdir():
            if not (folder.parent / unfinished.name).exists():
                unfinished.rename(folder.parent / unfinished.name)
        shutil.rmtree(old, ignore_errors=True)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder until the descriptor that is returned is closed. Return None if the folder is gone, if another
    process holds the lock, or where locks do not exist (Windows, some network disks).
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    locked = False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        locked = os.path.samestat(os.fstat(held), os.lstat(folder))
    except OSError:
        pass
    finally:
        if not locked:
            os.close(held)
    return held if locked else None


def save_state(state: dict[str, Any], path: str | Path, *, force: bool = False) -> None:
    """Write a state of plain JSON types."""
    text = json.dumps(state, indent=1, allow_nan=False)
    write_whole(Path(path), lambda name: name.write_text(text, encoding="utf-8"), force=force)


def load_state(path: str | Path) -> Any:
    """Read what `save_state` wrote, or any other JSON: callers check what they get."""
    file = Path(path)
    if file.exists() and not file.is_file():  # reading a device might never end
        raise ValueError(f"{path} is not a file, so it holds no state; give the path of a file.")
    if file.stat().st_size > _LARGEST_STATE:
        raise ValueError(f"{path} has {file.stat().st_size:,} bytes, more than any state has; give another file.")
    try:
        return parse_json(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a JSON file: {error}.") from None


def read_fields(path: Path, what: str) -> tuple[Any, str]:
    """Return the content of a .toml or .json file, and its text; `what` says what it must have."""
    import tomllib  # imported here, since `feint --help` does not need it

    if path.suffix not in (".toml", ".json"):
        raise ValueError(f"{path} must be a .toml or a .json file with {what}.")
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text) if path.suffix == ".toml" else parse_json(text), text
    except RecursionError:  # from TOML
        raise ValueError(f"{path} cannot be read: it is nested too deeply.") from None
    except ValueError as error:  # from TOML, JSON or UTF-8
        raise ValueError(f"{path} cannot be read: {error}.") from None
