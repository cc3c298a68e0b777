"""A log in chunks that are checked and tested at once: memory does not grow with its length."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from feint.auditing.checks import BadRow, Chunk, check
from feint.auditing.columns import Column, as_column, as_columns
from feint.auditing.layout import ANY_ARM, MOST_ARMS, Arms, Layout
from feint.auditing.readers import Batch, Log
from feint.auditing.readers.base import Texts
from feint.strict_json import parse_json

CELLS_A_CHUNK = 60_000  # rows × columns, and rows × arms, in memory at once


def chunks(log: Log, layout: Layout, arms: Arms, tick: Callable[[int], object], first: int = 1) -> Iterator[Chunk]:
    """The rows in order, so few at once that they fit into memory with all arms; `tick` is called with progress."""
    n_rows = max(1, CELLS_A_CHUNK // max(len(layout.used()), arms.n))
    for batch in log.batches(layout.used(), n_rows, tick):
        yield _chunk(layout, arms, batch, first)
        first += batch.n


def _chunk(layout: Layout, arms: Arms, batch: Batch, first: int) -> Chunk:
    table, malformed = batch.table, dict(batch.malformed)

    def column(name: str | None) -> Column | None:
        return None if name is None else as_column(table[name])

    def cells(name: str | None) -> Any:
        found = None if name is None else table[name]
        return list(found) if isinstance(found, Texts) else found  # each is looked at: quicker as Python's own

    if layout.listed is not None:
        probabilities = _listed(cells(layout.listed), arms, malformed)
    else:
        probabilities = as_columns([table[name] for name in layout.probabilities])
    return Chunk(
        np.arange(first, first + batch.n),
        batch.lines,
        arms.column(table[layout.arm]),
        column(layout.reward),
        column(layout.propensity),
        probabilities,
        cells(layout.time),
        cells(layout.reward_time),
        cells(layout.group),
        malformed,
    )


def _listed(cells: Any, arms: Arms, malformed: dict[int, str]) -> list[Column]:
    """Columns of one arm each from lists, from dictionaries by label (of which missing arms have 0), or a table."""
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return [as_column(column) for column in cells.T]
    table: list[Any] = []
    names = dict.fromkeys(arms.names())
    for i, cell in enumerate(cells):
        found = _as_list(cell)
        if isinstance(found, dict):
            unknown = [label for label in found if str(label) not in names]
            if unknown:
                malformed.setdefault(i, f"its probabilities name the arm {unknown[0]!r}, which is none of the arms")
            found = [found.get(name, 0.0) for name in names]
        if not isinstance(found, list) or len(found) != arms.n:
            what = f"it has {len(found)} numbers" if isinstance(found, list) else "it is no list"
            malformed.setdefault(i, f"the list of probabilities must have {arms.n} numbers; {what}")
            found = [None] * arms.n
        table.append(found)
    return [as_column([row[a] for row in table]) for a in range(arms.n)]


def _as_list(cell: Any) -> Any:
    """A list, also from its text: [0.9, 0.1], or numbers with blanks or semicolons between."""
    if isinstance(cell, np.ndarray | tuple):
        return list(cell)
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    try:
        return parse_json(text)
    except ValueError:
        return text.strip("[](){}").replace(";", " ").replace(",", " ").split() or None


def find_arms(log: Log, layout: Layout, n_arms: int | None, warnings: list[str], tick: Callable[[int], object]) -> Arms:
    """How many arms a log has and how they are called, where nothing else tells: a first pass. Bad rows must not."""
    labels: set[str] = set()
    keys: set[str] = set()  # of dictionaries of probabilities
    length, largest, first = 0, -1, 1
    bad: BadRow | None = None
    only = layout._replace(
        reward=None, propensity=None, probabilities=[], listed=None, time=None, reward_time=None, group=None
    )
    wanted = [name for name in (layout.arm, layout.listed) if name is not None]
    for batch in log.batches(wanted, max(1, CELLS_A_CHUNK // len(wanted)), tick):
        if layout.listed is not None:
            length = max(length, _length(batch.table[layout.listed], keys))
        chunk = _chunk(only, Arms(2), batch, first)
        found = check(chunk, Arms(ANY_ARM), lambda chunk, findings: None, None).bad
        if found and bad is None:
            bad = found[0]
        cells = (chunk.arm.texts[row.row - first] for row in found)
        labels.update(cell.strip() for cell in cells if isinstance(cell, str) and cell.strip())
        highest = np.max(np.nan_to_num(chunk.arm.values, nan=-1.0), initial=-1.0)
        largest = max(largest, int(min(highest, ANY_ARM)))
        if len(labels) > MOST_ARMS:
            break
        first += batch.n
    if layout.listed is not None:
        return _of_probabilities(keys, length, n_arms)
    if bad is not None and (largest >= 0 or not labels):  # numbers, and something else
        raise ValueError(f"{bad}, so the number of arms is unclear; correct it, or give `n_arms`.")
    count = len(labels) if labels else largest + 1
    if not 2 <= count <= MOST_ARMS:
        what = f"{count} different arms" if labels else "no arm from 1 on" if largest < 1 else f"arm {largest}"
        raise ValueError(f"The log has {what}, so the number of arms is unclear; give it with `n_arms`.")
    called = sorted(labels) if labels else None
    shown = f" ({', '.join(called[:6])}{', …' if count > 6 else ''})" if called else ""
    warnings.append(
        f"That there are {count} arms{shown} was taken from the log; the level α is exact where it was known before "
        "(`n_arms`)."
    )
    return Arms(count, called)


def _of_probabilities(keys: set[str], length: int, n_arms: int | None) -> Arms:
    """The arms that lists, or dictionaries, of probabilities have."""
    count = len(keys) or length
    if not 2 <= count <= MOST_ARMS:
        raise ValueError(f"The lists of probabilities have {count} numbers; there must be 2 to {MOST_ARMS:,} arms.")
    if n_arms is not None and n_arms != count:
        raise ValueError(f"`n_arms` is {n_arms}, but there are probabilities of {count} arms; leave it out.")
    return Arms(count, sorted(keys, key=_by_number) if keys else None)


def _length(cells: Any, keys: set[str]) -> int:
    """How many probabilities the lists have; the keys of dictionaries are noted."""
    longest = 0
    for cell in cells:
        found = _as_list(cell)
        if isinstance(found, dict):
            keys.update(map(str, found))
        elif isinstance(found, list):
            longest = max(longest, len(found))
    return longest


def _by_number(label: str) -> tuple[float, str]:
    return (float(label) if label.isdecimal() else float("inf"), label)
