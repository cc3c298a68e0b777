"""Columns of a log as numbers; cells that are missing or not numbers are marked, never guessed."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from feint._types import BoolArray, FloatArray
from feint.auditing.readers.base import WORTH_ARROW, Texts
from feint.support.extras import is_there

_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}(\d{1,3})")
_DECIMALS = re.compile(r"[+-]?\d*\.?(\d*)(?:[eE]([+-]?\d+))?")
_ZONE_NAME = re.compile(r"\s*(UTC|GMT)$", re.IGNORECASE)
NEVER = np.iinfo(np.int64).max  # a moment that does not come, among whole numbers; NaN among others
_END_OF_TIME = 1e300  # a number that float64 cannot hold is not a time
_WORDS = {"true": 1.0, "false": 0.0}
_MISSING = {"", "na", "nan", "null", "none"}


class Column(NamedTuple):
    """The values (n,) of a column, NaN where there is none; `texts` shows what stood there."""

    values: FloatArray
    missing: BoolArray
    not_numeric: BoolArray
    texts: Any


def as_column(raw: Any) -> Column:
    """Return numbers from texts (CSV), or from what a Parquet file or an array holds."""
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "iufb":
        values = raw.astype(np.float64)
        return Column(values, np.isnan(values), np.zeros(values.size, dtype=bool), raw)
    found = _numbers_by_arrow([raw])
    return _column(raw, _parse_numbers(raw) if found is None else found[0])


def as_column_with_commas(raw: Any) -> Column:
    """Return `as_column` of texts whose decimal mark is a comma; a point, which may separate thousands, is refused."""
    if isinstance(raw, np.ndarray):
        return as_column(raw)
    cells = list(raw)
    pointed = np.array([isinstance(cell, str) and "." in cell for cell in cells], dtype=bool)
    column = as_column(
        [
            cell.replace(",", ".") if isinstance(cell, str) and not refused else cell
            for cell, refused in zip(cells, pointed, strict=True)
        ]
    )
    values = np.where(pointed, np.nan, column.values)
    return column._replace(values=values, not_numeric=column.not_numeric | pointed)


def as_columns(raws: list[Any]) -> list[Column]:
    """Return `as_column` of each; those that Arrow holds are read at once."""
    found = _numbers_by_arrow(raws) if raws and all(isinstance(raw, Texts) for raw in raws) else None
    if found is None:
        return [as_column(raw) for raw in raws]
    return [_column(raw, values) for raw, values in zip(raws, found, strict=True)]


def _column(raw: Any, values: FloatArray) -> Column:
    unread = np.isnan(values)
    missing = np.zeros(values.size, dtype=bool)
    if unread.any():
        missing[unread] = [_is_missing(raw[i]) for i in np.flatnonzero(unread)]
    return Column(values, missing, unread & ~missing, raw)


def _parse_numbers(raw: Any) -> FloatArray:
    """Return the numbers (n,), all at once where every text is a plain number: that takes a fifth of the time."""
    try:
        if _is_plain("".join(raw)):
            return np.array(list(map(float, raw)), dtype=np.float64)
    except (TypeError, ValueError):
        pass
    return np.array([_number(item) for item in raw], dtype=np.float64)


def _numbers_by_arrow(raws: list[Any]) -> FloatArray | None:
    """Return the numbers (columns, n) where every text is a plain number, otherwise None. Arrow reads them in a quarter
    of Python's time, to the same bits, and refuses whatever Python might read more into.
    """
    if not all(isinstance(raw, Texts) or len(raw) >= WORTH_ARROW for raw in raws) or not is_there("pyarrow"):
        return None
    import pyarrow as pa

    try:
        texts = [raw.arrow if isinstance(raw, Texts) else pa.array(raw, pa.string()) for raw in raws]
        found = pa.chunked_array(texts, pa.string()).cast(pa.float64()).combine_chunks()
    except (TypeError, ValueError):  # Arrow's own errors are of these
        return None
    # DLPack takes no detour over pandas, whose import would be a fifth of the audit of a short log.
    values = found.to_numpy(zero_copy_only=False) if found.null_count else np.from_dlpack(found)
    return cast(FloatArray, values).reshape(len(raws), -1)


def _is_missing(item: Any) -> bool:
    return item is None or item != item or (isinstance(item, str) and item.strip().lower() in _MISSING)


def _is_plain(text: str) -> bool:
    """Return whether Python reads no more into a text than a CSV file means: it takes 1_0 for 10, and ٣ for 3."""
    return text.isascii() and "_" not in text


def _number(item: Any) -> float:
    try:
        if isinstance(item, str):
            return (
                _WORDS[item.strip().lower()]
                if item.strip().lower() in _WORDS
                else float(item if _is_plain(item) else "")
            )
        return float(item)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def as_moment(item: Any) -> int | float | None:
    """Return a time as a number, from a number or an ISO 8601 date (UTC if it names no zone); otherwise None.

    Whole numbers stay whole, since nanoseconds since 1970 do not fit a float64. Dates become nanoseconds too.
    """
    if isinstance(item, bool) or _is_missing(item):
        return None
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, int | float):
        return item if abs(item) < _END_OF_TIME else None
    if isinstance(item, datetime):
        item = item.isoformat()
    if not isinstance(item, str) or not _is_plain(item):
        return None
    for read in (int, float):
        try:
            moment = read(item)
        except ValueError:
            continue
        return moment if abs(moment) < _END_OF_TIME else None
    try:
        date = datetime.fromisoformat(_ZONE_NAME.sub("+00:00", item.strip()))
    except ValueError:
        return None
    since = (date if date.tzinfo is not None else date.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    finer = _FINER_THAN_MICROSECONDS.search(item)  # which Python cuts off
    rest = int(finer.group(1).ljust(3, "0")) if finer else 0
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000 + rest


def as_moments(items: Sequence[Any]) -> npt.NDArray[Any]:
    """Return times as numbers, int64 if all are whole; a cell that is not a time counts as never."""
    found = [as_moment(item) for item in items]
    if all(moment is None or (isinstance(moment, int) and abs(moment) < NEVER) for moment in found):
        return np.array([NEVER if moment is None else moment for moment in found], dtype=np.int64)
    return np.array([math.nan if moment is None else float(moment) for moment in found])


def decimals(cell: Any) -> int:
    """Return how many digits after the point a number was printed with. Return 16 if that says nothing about rounding:
    a number that was never text may show a single digit.
    """
    text = cell if isinstance(cell, str) else repr(_number(cell))
    digits = _DECIMALS.fullmatch(text.strip())
    found = 16 if digits is None else max(0, len(digits[1] or "") - int(digits[2] or 0))
    return found if isinstance(cell, str) or found > 1 else 16
