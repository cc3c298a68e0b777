"""Write a file whole or not at all, and never over one that is there unless asked."""

import os
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, then move it there in one step."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or allow overwriting it (--force).")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: matplotlib and others choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
