"""Tables in memory: pandas, Polars, Arrow, or whatever hands itself over as Arrow does."""

from collections.abc import Iterator
from typing import Any, Protocol

from feint.auditing.readers.arrow_batches import batch_of
from feint.auditing.readers.base import Batch, Tick, naming, places
from feint.support.extras import need


class ArrowTable(Protocol):
    """A table of pandas, Polars, Arrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class TableLog:
    """A table, shared with its owner rather than copied. A stream is read into memory, as it can be read only once."""

    name: str = "the table"

    def __init__(self, source: Any) -> None:
        need("pyarrow", "The audit of a table")
        import pyarrow as pa

        with naming(self.name, pa.ArrowException, hint="; give every column one type"):
            self._table = pa.table(source)
        self.columns = list(self._table.column_names)
        self.size: int | None = int(self._table.num_rows)

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        import pyarrow as pa

        with naming(self.name, pa.ArrowException):
            chosen = self._table.select(places(self.columns, columns))
            for batch in chosen.to_batches(max_chunksize=n_rows):
                if batch.num_rows:
                    yield batch_of(batch, columns)
                tick(batch.num_rows)


def is_table(source: Any) -> bool:
    """Return whether Arrow can read an object."""
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return True
    return type(source).__module__.startswith("pandas") and type(source).__name__ == "DataFrame"  # before pandas 2.2
