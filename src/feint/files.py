"""Write a file or a folder whole or not at all, and never over one that is there unless asked."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let `write` fill a temporary file (or folder, such as a Zarr store) beside `path`, then move it there."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or overwrite it with --force (force=True).")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: matplotlib and others choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(temporary)
        if temporary.is_file():
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
        if path.is_dir():  # a folder cannot be moved over another
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)
