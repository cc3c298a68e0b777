"""A log in chunks that are checked and tested at once: memory does not grow with its length."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from feint.auditing.arms import LogArms
from feint.auditing.available import read_available
from feint.auditing.columns import LogColumns
from feint.auditing.numbers import Column, as_column, as_column_with_commas, as_columns
from feint.auditing.readers import Batch, Log
from feint.auditing.readers.base import Texts
from feint.auditing.row_checks import Chunk
from feint.support.strict_json import parse_json

CELLS_PER_CHUNK = 60_000  # rows × columns, and rows × arms, in memory at once


def chunks(
    log: Log, columns: LogColumns, arms: LogArms, tick: Callable[[int], object], first: int = 1
) -> Iterator[Chunk]:
    """Yield the rows in order, few enough at once to fit into memory with all arms; `tick` is called with progress."""
    n_rows = max(1, CELLS_PER_CHUNK // max(len(columns.used()), arms.n))
    for batch in log.batches(columns.used(), n_rows, tick):
        yield make_chunk(columns, arms, batch, first)
        first += batch.n


def make_chunk(columns: LogColumns, arms: LogArms, batch: Batch, first: int) -> Chunk:
    table, malformed = batch.table, dict(batch.malformed)

    with_commas = columns.decimal == ","

    def column(name: str | None) -> Column | None:
        if name is None:
            return None
        return as_column_with_commas(table[name]) if with_commas else as_column(table[name])

    def cells(name: str | None) -> Any:
        found = None if name is None else table[name]
        return list(found) if isinstance(found, Texts) else found  # each cell is inspected, which is faster in a list

    if columns.listed is not None:
        probabilities = _columns_of_lists(cells(columns.listed), arms, malformed, columns.decimal)
    elif with_commas:
        probabilities = [as_column_with_commas(table[name]) for name in columns.probabilities]
    else:
        probabilities = as_columns([table[name] for name in columns.probabilities])
    available = None if columns.available is None else read_available(cells(columns.available), arms, malformed)
    return Chunk(
        rows=np.arange(first, first + batch.n),
        lines=batch.lines,
        arm=arms.column(table[columns.arm]),
        reward=column(columns.reward),
        propensity=column(columns.propensity),
        probabilities=probabilities,
        times=cells(columns.time),
        reward_times=cells(columns.reward_time),
        groups=cells(columns.group),
        malformed=malformed,
        stages=cells(columns.stage),
        available=available,
        units=[cells(name) for name in columns.units],
        contexts=_contexts([table[name] for name in columns.contexts], with_commas),
        order=cells(columns.order),
        file=batch.file,
        spare={name: cells(name) for name in columns.spare},
    )


def _contexts(cells: list[Any], with_commas: bool) -> list[Column]:
    """Return one column per feature: from one column each, or from a table in memory."""
    if cells and isinstance(cells[0], np.ndarray) and cells[0].ndim > 1:
        return [as_column(column) for column in cells[0].reshape(len(cells[0]), -1).T]
    return [as_column_with_commas(column) for column in cells] if with_commas else as_columns(cells)


def _columns_of_lists(cells: Any, arms: LogArms, malformed: dict[int, str], decimal: str) -> list[Column]:
    """Return one column per arm, from lists, from dictionaries by label (missing arms have 0), or from a table."""
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return [as_column(column) for column in cells.T]
    table: list[Any] = []
    names = dict.fromkeys(map(arms.key, arms.names()))
    for i, cell in enumerate(cells):
        found = as_list(cell, decimal)
        if isinstance(found, dict):
            unknown = [label for label in found if arms.key(str(label)) not in names]
            if unknown:
                malformed.setdefault(i, f"its probabilities name the arm {unknown[0]!r}, which is none of the arms")
            if len(by_key := {arms.key(str(label)): chance for label, chance in found.items()}) < len(found):
                malformed.setdefault(i, "its probabilities name an arm twice")
            found = [by_key.get(name, 0.0) for name in names]
        if not isinstance(found, list) or len(found) != arms.n:
            what = f"it has {len(found)} numbers" if isinstance(found, list) else "it is not a list"
            malformed.setdefault(i, f"the list of probabilities must have {arms.n} numbers; {what}")
            found = [None] * arms.n
        table.append(found)
    return [as_column([row[a] for row in table]) for a in range(arms.n)]


def as_list(cell: Any, decimal: str) -> Any:
    """Return a list, or one written as text: [0.9, 0.1], or numbers with blanks or semicolons between them."""
    if isinstance(cell, np.ndarray | tuple):
        return list(cell)
    if not isinstance(cell, str):
        return cell
    text = cell.strip().replace(decimal, ".")
    try:
        return parse_json(text)
    except ValueError:
        return text.strip("[](){}").replace(";", " ").replace(",", " ").split() or None
