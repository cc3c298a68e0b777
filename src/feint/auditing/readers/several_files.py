"""Several files as one log, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from feint.auditing.readers.base import Batch, Log, Tick, places
from feint.auditing.readers.listing import Place


class SeveralFiles:
    """Files in the order given. Keys of their folders (`day=2026-01-01`) are columns, unless a file has them itself.

    A file is opened to learn its columns and again when its rows are wanted, so that the number of files does not
    matter. Pipes, which have been copied, stay open.
    """

    def __init__(self, files: Sequence[Place], open_file: Callable[[Place], Log]) -> None:
        self._files, self._open = files, open_file
        first, last = files[0].name, files[-1].name
        self.name = first if len(files) == 1 else f"{len(files):,} files ({first} … {last})"
        self._pipes: dict[str, Log] = {}
        columns: dict[str, None] = {}
        twice: list[str] = []
        sizes = []
        for file in files:
            log = open_file(file)
            twice += [name for name in dict.fromkeys(log.columns) if log.columns.count(name) > 1 and name not in twice]
            columns |= dict.fromkeys([*log.columns, *file.keys])
            sizes.append(log.size)
            if isinstance(file.path, Path) and not file.path.is_file():
                self._pipes[file.name] = log
        self.columns = [*columns, *twice]  # whoever wants a name that a file has twice is told so
        self.size: int | None = sum(size or 0 for size in sizes) or None

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        places(self.columns, columns)
        for file in self._files:
            log = self._pipes.get(file.name) or self._open(file)
            stored = [name for name in columns if name in log.columns]
            missing = [name for name in columns if name not in log.columns and name not in file.keys]
            if missing:
                raise ValueError(f"{file.name} has no column {missing[0]!r}, which other files have.")
            # With nothing but keys of folders wanted, any column tells how many rows there are.
            for batch in log.batches(stored or log.columns[:1], n_rows, tick):
                table = {name: batch.table[name] if name in stored else [file.keys[name]] * batch.n for name in columns}
                yield batch._replace(table=table, file=file.name if len(self._files) > 1 else None)
