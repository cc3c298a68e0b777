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
    """A table, shared with its owner rather than copied."""

    name: str = "the table"

    def __init__(self, source: Any) -> None:
        need("pyarrow", "The audit of a table")
        import pyarrow as pa

        with naming(self.name, pa.ArrowException, hint="; give every column one type"):
            self.table: Any = pa.table(source)
        self.columns = list(self.table.column_names)
        self.size: int | None = int(self.table.num_rows)

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        import pyarrow as pa

        with naming(self.name, pa.ArrowException):
            chosen = self.table.select(places(self.columns, columns))
            for batch in chosen.to_batches(max_chunksize=n_rows):
                if batch.num_rows:
                    yield batch_of(batch, columns)
                tick(batch.num_rows)


def is_table(source: Any) -> bool:
    """Return whether an object is a table in memory, which can be read again and again."""
    library = type(source).__module__.split(".")[0]
    if library in ("pandas", "polars"):
        return type(source).__name__ == "DataFrame"
    return hasattr(source, "__arrow_c_array__") or (library == "pyarrow" and hasattr(source, "num_rows"))


def is_stream(source: Any) -> bool:
    """Return whether an object hands over batches as Arrow does, perhaps only once."""
    return hasattr(source, "__arrow_c_stream__")
