"""Parquet."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from feint.auditing.readers.arrow_batches import INCOMPLETE, batch_of
from feint.auditing.readers.base import Batch, Tick, naming, places
from feint.auditing.readers.stored_file import Stored
from feint.support.extras import need

_BUFFER = 2**20  # bytes per column


class ParquetLog:
    """A Parquet file; one that was compressed as a whole is decompressed to a temporary file.

    `group_sizes` are the rows of its row groups; of these, `chosen` are read, or all.
    """

    chosen: Sequence[int] | None = None

    def __init__(self, file: Stored) -> None:
        need("pyarrow", file.name)
        from pyarrow import ArrowException

        self.name = file.name
        with naming(self.name, ArrowException, hint=INCOMPLETE):
            self._file = file.unpacked()
            with self._open() as parquet:
                self.columns = list(parquet.schema_arrow.names)
                self.size: int | None = int(parquet.metadata.num_rows)
                groups = range(parquet.metadata.num_row_groups)
                self.group_sizes = [int(parquet.metadata.row_group(i).num_rows) for i in groups]

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        from pyarrow import ArrowException

        with naming(self.name, ArrowException, hint=INCOMPLETE), self._open() as parquet:
            places(self.columns, columns)
            for batch in parquet.iter_batches(n_rows, self.chosen, columns):
                if batch.num_rows:
                    yield batch_of(batch, columns)
                tick(batch.num_rows)

    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile

        path = self._file.path
        # Without these it reads row groups ahead, and memory grows with the file.
        return ParquetFile(path if isinstance(path, Path) else path.open(), pre_buffer=False, buffer_size=_BUFFER)
