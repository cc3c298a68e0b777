"""Write a file or a folder whole or not at all, and never over one that is there unless asked; states as JSON."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let `write` fill a temporary file (or folder, such as a Zarr store) beside `path`, then move it there."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or overwrite it (`force`).")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: matplotlib and others choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(temporary)
        if temporary.is_file():
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
        if path.is_dir():  # a folder cannot be moved over another
            if not temporary.is_dir():
                raise IsADirectoryError(f"{path} is a folder; a file cannot take its place. Choose another name.")
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)


def save_state(state: dict[str, Any], path: str | Path, *, force: bool = False) -> None:
    """Write a state of plain JSON types."""
    text = json.dumps(state, indent=1, allow_nan=False)
    write_whole(Path(path), lambda name: name.write_text(text), force=force)


def load_state(path: str | Path) -> Any:
    """Read what `save_state` wrote, or whatever else is there: it is checked by who knows what it must be."""
    try:
        return json.loads(Path(path).read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a JSON file: {error}.") from None
