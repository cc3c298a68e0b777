"""Batches of Arrow as batches of cells."""

from typing import Any

from feint.auditing.readers.base import Batch

INCOMPLETE = "; is it complete? Copy or write it again"  # what to do about an error of Arrow
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


def batch_of(batch: Any, columns: list[str]) -> Batch:
    """Return the wanted columns of an Arrow batch."""
    return Batch({name: _column_cells(batch.column(name)) for name in columns}, batch.num_rows, None, {})


def _column_cells(column: Any) -> Any:
    """Return a NumPy array if a column is numeric and complete, otherwise a list; times are nanoseconds since 1970."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind):
        return _scaled(column.cast(pa.int64()), _NANOSECONDS[kind.unit])
    if pa.types.is_date(kind):
        return _scaled(column.cast(pa.date32()).cast(pa.int32()), _DAY)
    if column.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _scaled(column: Any, factor: int) -> list[int | None]:
    """Return Python's own numbers: nanoseconds of the year 2300 do not fit into 64 bits."""
    return [None if item is None else item * factor for item in column.to_pylist()]
