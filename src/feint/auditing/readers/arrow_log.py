"""What Python hands over in batches of Arrow: streams, datasets, lazy frames, and iterables of tables."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from feint.auditing.readers.arrow_batches import batch_of
from feint.auditing.readers.base import Batch, Log, Tick, naming, places
from feint.auditing.readers.table import TableLog, is_stream, is_table
from feint.support.extras import need

MOST_KEPT = 2**26  # bytes of batches that can be read only once

_Read = Callable[[list[str], int], Iterable[Any]]  # (columns, rows per batch) → batches


class ArrowLog:
    """Tables, one after the other, as often as `read` can give them."""

    size: int | None = None

    def __init__(self, name: str, columns: list[str], read: _Read) -> None:
        self.name, self.columns, self._read = name, columns, read

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        import pyarrow as pa

        with naming(self.name, pa.ArrowException):
            places(self.columns, columns)
            for number, item in enumerate(self._read(columns, n_rows), 1):
                table = _as_table(item, number)
                for name in columns:
                    if name not in table.column_names:
                        raise ValueError(f"batch {number} has no column {name!r}, which the first one has.")
                for batch in table.select(columns).to_batches(max_chunksize=n_rows):
                    if batch.num_rows:
                        yield batch_of(batch, columns)


class OnePass:
    """Batches that can be read only once. They are kept while they fit into `MOST_KEPT` bytes, and then read again."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._coming = enumerate(batches, 1)
        self._kept: list[Any] = []
        self._bytes = 0
        self.is_whole = True  # whether all that has been read is kept
        self.first = next(self._take(), None)

    def read(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Yield what is kept, and then what comes."""
        if not self.is_whole:
            raise ValueError(
                f"batches can be read only once, and more than {MOST_KEPT // 2**20} MB of them are not kept; give "
                "`n_arms`, so that nothing must be looked up first, or give a file or a dataset."
            )
        yield from self._drop_if_long(list(self._kept))
        for table in self._take():
            yield from self._drop_if_long([table])

    def _drop_if_long(self, tables: list[Any]) -> list[Any]:
        if self._bytes > MOST_KEPT:
            self.is_whole = False
            self._kept.clear()
        return tables

    def _take(self) -> Iterator[Any]:
        for number, item in self._coming:
            table = _as_table(item, number)
            self._bytes += table.nbytes
            self._kept.append(table)
            yield table


class OnePassLog(ArrowLog):
    """A log of batches that can be read only once."""

    def __init__(self, name: str, batches: Iterator[Any]) -> None:
        self._once = OnePass(batches)
        if self._once.first is None:
            raise ValueError(f"{name}: there are none, so the columns are unknown.")
        super().__init__(name, list(self._once.first.column_names), self._once.read)

    @property
    def can_be_read_again(self) -> bool:
        """Return whether a second pass is possible."""
        return self._once.is_whole


def open_arrow(source: Any) -> Log | None:
    """Return the log that a Python object hands over; None if it is not a log."""
    if is_table(source):
        return TableLog(source)
    if is_stream(source):
        need("pyarrow", "The audit of a stream")
        import pyarrow as pa

        name = "the stream"
        with naming(name, pa.ArrowException):
            return OnePassLog(name, iter(pa.RecordBatchReader.from_stream(source)))
    origin = type(source).__module__
    if origin.startswith("pyarrow.") and hasattr(source, "to_batches") and hasattr(source, "schema"):
        return _open_dataset(source)
    if origin.startswith("polars.") and hasattr(source, "collect_schema"):
        return _open_lazy_frame(source)
    if isinstance(source, Iterable) and not isinstance(source, str | bytes | dict):
        return _open_iterable(source)
    return None


def _open_dataset(dataset: Any) -> Log:
    def read(columns: list[str], n_rows: int) -> Iterable[Any]:
        # Without these limits it reads files ahead, and memory grows with them.
        found: Iterable[Any] = dataset.to_batches(
            columns=columns, batch_size=n_rows, batch_readahead=1, fragment_readahead=1
        )
        return found

    return ArrowLog("the dataset", list(dataset.schema.names), read)


def _open_lazy_frame(frame: Any) -> Log:
    if not hasattr(frame, "collect_batches"):  # Polars before 1.34
        return TableLog(frame.collect())
    need("pyarrow", "The audit of a lazy frame")

    def read(columns: list[str], n_rows: int) -> Iterable[Any]:
        found: Iterable[Any] = frame.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True)
        return found

    return ArrowLog("the lazy frame", list(frame.collect_schema().names()), read)


def _open_iterable(source: Iterable[Any]) -> Log | None:
    name = "the batches"
    batches = iter(source)
    if batches is source:
        need("pyarrow", "The audit of batches")
        return OnePassLog(name, batches)
    first = next(batches, None)
    if not is_table(first):
        return None
    return ArrowLog(name, list(_as_table(first, 1).column_names), lambda columns, n_rows: source)


def _as_table(item: Any, number: int) -> Any:
    if isinstance(item, str | Path):
        raise ValueError(f"batch {number} is the path {str(item)!r}; give a list that has paths only.")
    if not is_table(item):
        raise ValueError(
            f"batch {number} is of type {type(item).__name__}; give batches of Arrow, or tables of pandas or Polars."
        )
    return TableLog(item).table
