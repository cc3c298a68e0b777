"""Where a store lies: a folder of this machine, or any URL that fsspec knows. Objects are written whole."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from feint.support.extras import need
from feint.support.files import write_whole

ROOT = "zarr.json"  # what makes a folder a store
_UNFINISHED = ".part"
_OURS = re.compile(r"(\w+/)?(zarr\.json|c([./]\d+)*)" + re.escape(_UNFINISHED))


class Target(Protocol):
    """A place for objects by key, such as "pulls/c.0.0.0.0.0.0.0"."""

    def exists(self) -> bool: ...

    def create(self, objects: Mapping[str, bytes]) -> None: ...

    def put(self, objects: Mapping[str, bytes]) -> None: ...

    def get(self, key: str) -> bytes | None: ...

    def get_many(self, keys: list[str]) -> dict[str, bytes]: ...

    def delete(self, keys: list[str]) -> None: ...

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]: ...

    def lock(self) -> Any: ...


def target_of(place: "str | os.PathLike[str]") -> Target:
    """Return the target at a folder, or at a URL such as s3://bucket/out.zarr."""
    name = os.fspath(place)
    if name.startswith("file://"):
        name = name.removeprefix("file://")
    return Remote(name) if "://" in name else Folder(Path(name))


class Folder:
    """A folder of this machine. A file appears under its name only when it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        """Return whether something is there."""
        return self.path.exists()

    def create(self, objects: Mapping[str, bytes]) -> None:
        """Write all objects at once, or none."""

        def fill(folder: Path) -> None:
            for key, data in objects.items():
                path = folder / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

        write_whole(self.path, fill)

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write each object whole or not at all."""
        for key, data in objects.items():
            path = self.path / key
            unfinished = path.with_name(path.name + _UNFINISHED)
            try:
                if self.path.is_dir():  # somebody may have deleted the folder of an array
                    path.parent.mkdir(parents=True, exist_ok=True)
                unfinished.write_bytes(data)
                unfinished.replace(path)
            except BaseException:  # Ctrl-C, too
                unfinished.unlink(missing_ok=True)
                raise

    def get(self, key: str) -> bytes | None:
        """Return an object; None if it does not exist."""
        try:
            # This takes a third of the time of pathlib, for the 10⁵ and more chunks of a large store.
            with open(f"{self.path}/{key}", "rb", buffering=0) as file:
                return file.readall()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def get_many(self, keys: list[str]) -> dict[str, bytes]:
        """Return the objects that exist."""
        return {key: data for key in keys if (data := self.get(key)) is not None}

    def delete(self, keys: list[str]) -> None:
        """Delete the objects that exist."""
        for key in keys:
            (self.path / key).unlink(missing_ok=True)

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield (name, bytes) of the files in a folder."""
        try:
            with os.scandir(self.path / folder) as entries:
                for entry in entries:
                    yield entry.name, entry.stat().st_size
        except FileNotFoundError:
            return

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Allow one writer at a time; the lock ends with the process, however that ends. Files that a killed writer
        left unfinished are removed.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        held = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            raise ValueError(f"Another process is writing {self}; wait for it, or choose another store.") from None
        try:
            for unfinished in self.path.rglob(f"*{_UNFINISHED}"):
                if unfinished.is_file() and _OURS.fullmatch(unfinished.relative_to(self.path).as_posix()):
                    unfinished.unlink()
            yield
        finally:
            os.close(held)


class Remote:
    """An object store, through fsspec. Writing an object is atomic there, so nothing more is needed."""

    def __init__(self, url: str) -> None:
        need("fsspec", url)
        import fsspec

        self.url = url.rstrip("/")
        try:
            self._system, self._root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise ValueError(f"{url} cannot be opened: {error}") from None

    def __str__(self) -> str:
        return self.url

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def exists(self) -> bool:
        """Return whether a store is there; what a killed creation left behind is not one."""
        return bool(self._system.exists(self._path(ROOT)))

    def create(self, objects: Mapping[str, bytes]) -> None:
        """Write all objects; the one that makes it a store comes last."""
        self.put({key: data for key, data in objects.items() if key != ROOT})
        self.put({ROOT: objects[ROOT]})

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write objects, together where the system can."""
        self._system.pipe({self._path(key): data for key, data in objects.items()})

    def get(self, key: str) -> bytes | None:
        """Return an object; None if it does not exist."""
        try:
            return bytes(self._system.cat_file(self._path(key)))
        except FileNotFoundError:
            return None

    def get_many(self, keys: list[str]) -> dict[str, bytes]:
        """Return the objects that exist, read together where the system can."""
        found = self._system.cat([self._path(key) for key in keys], on_error="omit") if keys else {}
        return {key: bytes(found[self._path(key)]) for key in keys if self._path(key) in found}

    def delete(self, keys: list[str]) -> None:
        """Delete the objects that exist."""
        for key in keys:
            if self._system.exists(self._path(key)):
                self._system.rm_file(self._path(key))

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield (name, bytes) of the objects in a folder."""
        self._system.invalidate_cache()
        for path, info in self._system.find(self._path(folder), detail=True).items():
            yield path.rsplit("/", 1)[1], int(info["size"])

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Do nothing: object stores have no locks, so start only one client. Two would write the same bytes twice."""
        yield
