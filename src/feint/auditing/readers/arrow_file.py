"""Arrow's own files: Feather and other IPC files, and IPC streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from feint.auditing.readers.arrow_batches import INCOMPLETE, batch_of
from feint.auditing.readers.base import Batch, Tick, naming, places
from feint.auditing.readers.stored_file import Stored
from feint.support.extras import need


class ArrowFileLog:
    """A Feather or Arrow IPC file, or a stream of Arrow's batches that was written to a file."""

    def __init__(self, file: Stored) -> None:
        need("pyarrow", file.name)
        from pyarrow import ArrowException

        self.name = file.name
        with naming(self.name, ArrowException, hint=INCOMPLETE):
            head = file.head()
            if head.startswith(b"FEA1"):
                raise ValueError("it is Feather of version 1; write it again as version 2, or as Parquet.")
            self._file, self._is_file = file.unpacked(), head.startswith(b"ARROW1")
            with self._open() as reader:
                self.columns = list(reader.schema.names)
                self.size: int | None = reader.num_record_batches if self._is_file else None

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        import pyarrow as pa

        with naming(self.name, pa.ArrowException, hint=INCOMPLETE), self._open() as reader:
            where = places(self.columns, columns)
            stored = map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader
            for batch in stored:
                for start in range(0, batch.num_rows, n_rows):
                    yield batch_of(batch.select(where).slice(start, n_rows), columns)
                tick(1)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow as pa

        path = self._file.path
        with pa.memory_map(str(path)) if isinstance(path, Path) else path.open() as source:
            yield pa.ipc.open_file(source) if self._is_file else pa.ipc.open_stream(source)
