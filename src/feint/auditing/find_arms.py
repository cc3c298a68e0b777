"""How many arms a log has and what they are called: by its columns, by the claim, or by looking."""

from collections.abc import Callable
from typing import Any

import numpy as np

from feint.auditing.arms import ANY_ARM, LogArms, are_numbers, as_whole, given_labels
from feint.auditing.chunks import CELLS_PER_CHUNK, as_list, make_chunk
from feint.auditing.claim import MOST_ARMS, Claim
from feint.auditing.columns import LogColumns
from feint.auditing.readers import Log
from feint.auditing.readers.base import Progress
from feint.auditing.row_checks import BadRow, Times, check_rows
from feint.numerics._validate import is_whole
from feint.references.base import has_context_per_arm
from feint.references.split import Split

_FIRST_ROWS = 1_000


def find_arms(log: Log, columns: LogColumns, claim: Claim, warnings: list[str], progress: Progress | None) -> LogArms:
    """Return the arms of a log; without `progress` the log can be read only once."""
    n_arms: Any = claim.n_arms
    listed = getattr(log, "width", 0) if columns.listed else 0  # arrays know it, files only when they are read
    width = listed or len(columns.probabilities)
    if width > MOST_ARMS:
        raise ValueError(f"There are {width:,} columns of probabilities; there must be 2 to {MOST_ARMS:,} arms.")
    if width:
        given = n_arms if n_arms is None or is_whole(n_arms, 0) else len(given_labels(n_arms) or [])
        if given is not None and given != width:
            raise ValueError(f"`n_arms` is {n_arms!r}, but there are {width} columns of probabilities; leave it out.")
        if columns.labels is None:
            return LogArms(width, given_labels(n_arms))
        if (labels := given_labels(n_arms)) is not None and set(labels) != set(columns.labels):
            raise ValueError(f"`n_arms` is {n_arms!r}, but the columns of probabilities are for {columns.labels}.")
        return LogArms(width, columns.labels)
    labels = given_labels(n_arms)
    if columns.contexts and has_context_per_arm(claim.reference):
        features = len(str(claim.names.context).split(","))
        count = getattr(log, "context_arms", 0) or len(columns.contexts) // features
        if n_arms is not None and count != (n_arms if labels is None else len(labels)):
            raise ValueError(f"`n_arms` is {n_arms!r}, but there are contexts of {count} arms; leave it out.")
        return LogArms(count, columns.labels if labels is None else labels)
    if labels is not None:
        return LogArms(len(labels), labels)
    if n_arms is not None:
        if not is_whole(n_arms, 2, MOST_ARMS):
            raise ValueError(f"`n_arms` is {n_arms!r}; it must be a whole number of arms from 2 to {MOST_ARMS:,}.")
        if columns.listed is None:
            return LogArms(int(n_arms))
    if claim.skip_bad and columns.listed is None:
        raise ValueError("If bad rows are left out, they must not decide how many arms there are: give `n_arms`.")
    if progress is None:
        raise ValueError("The number of arms cannot be found while a log grows: give `n_arms`.")
    weights = claim.reference.weights if isinstance(claim.reference, Split) else None
    if weights is not None and columns.listed is None and _begins_with_numbers(log, columns):
        return LogArms(len(weights))
    return _count_arms(log, columns, n_arms, warnings, progress("counting arms", log.size or 0))


def _begins_with_numbers(log: Log, columns: LogColumns) -> bool:
    """Return whether the arms of a log's first rows are whole numbers; the audit checks those of all."""
    for batch in log.batches([columns.arm], _FIRST_ROWS, lambda done: None):
        values = LogArms(ANY_ARM).column(batch.table[columns.arm]).values
        return bool((values == np.floor(values)).all())  # false for NaN
    return False


def _count_arms(
    log: Log, columns: LogColumns, n_arms: int | None, warnings: list[str], tick: Callable[[int], object]
) -> LogArms:
    """Count the arms of a log and find their names in a first pass; bad rows must not decide."""
    labels: set[str] = set()
    keys: set[str] = set()  # of dictionaries of probabilities
    length, largest, first = 0, -1, 1
    bad: BadRow | None = None
    only = columns._replace(
        reward=None, propensity=None, probabilities=[], listed=None, time=None, reward_time=None, group=None,
        stage=None, available=None, units=(), contexts=[], order=None,
    )  # fmt: skip
    wanted = [name for name in (columns.arm, columns.listed) if name is not None]
    for batch in log.batches(wanted, max(1, CELLS_PER_CHUNK // len(wanted)), tick):
        if columns.listed is not None:
            length = max(length, _list_length(batch.table[columns.listed], keys, columns.decimal))
        chunk = make_chunk(only, LogArms(2), batch, first)
        found = check_rows(chunk, LogArms(ANY_ARM), lambda chunk, findings: None, Times()).bad
        if found and bad is None:
            bad = found[0]
        cells = (chunk.arm.texts[row.row - first] for row in found)
        labels.update(cell.strip() for cell in cells if isinstance(cell, str) and cell.strip())
        highest = np.max(np.nan_to_num(chunk.arm.values, nan=-1.0), initial=-1.0)
        largest = max(largest, int(min(highest, ANY_ARM)))
        if len(labels) > MOST_ARMS:
            break
        first += batch.n
    if columns.listed is not None:
        if bad is not None and not keys and not length:
            raise ValueError(f"{bad}. No row says how many arms there are; correct the log.")
        return _of_probabilities(keys, length, n_arms)
    if bad is not None and (largest >= 0 or not labels):  # numbers, and something else
        raise ValueError(f"{bad}, so the number of arms is unclear; correct it, or give `n_arms`.")
    count = len(labels) if labels else largest + 1
    if not 2 <= count <= MOST_ARMS:
        what = f"{count} different arms" if labels else "no arm above 0" if largest < 1 else f"arm {largest}"
        raise ValueError(f"The log has {what}, so the number of arms is unclear; give it with `n_arms`.")
    called = sorted(labels) if labels else None
    shown = f" ({', '.join(called[:6])}{', …' if count > 6 else ''})" if called else ""
    warnings.append(
        f"The number of arms, {count}{shown}, was taken from the log; the level α is exact if it was known beforehand "
        "(`n_arms`)."
    )
    return LogArms(count, called)


def _of_probabilities(keys: set[str], length: int, n_arms: int | None) -> LogArms:
    """Return the arms that lists, or dictionaries, of probabilities have."""
    keys = set(map(as_whole, keys)) if are_numbers(keys) else keys
    count = len(keys) or length
    if not 2 <= count <= MOST_ARMS:
        raise ValueError(f"The lists of probabilities have {count} numbers; there must be 2 to {MOST_ARMS:,} arms.")
    if n_arms is not None and n_arms != count:
        raise ValueError(f"`n_arms` is {n_arms}, but there are probabilities of {count} arms; leave it out.")
    return LogArms(count, sorted(keys, key=_by_number) if keys else None)


def _list_length(cells: Any, keys: set[str], decimal: str) -> int:
    """Return how many probabilities the lists have; add the keys of dictionaries to `keys`."""
    longest = 0
    for cell in cells:
        found = as_list(cell, decimal)
        if isinstance(found, dict):
            keys.update(map(str, found))
        elif isinstance(found, list):
            longest = max(longest, len(found))
    return longest


def _by_number(label: str) -> tuple[float, str]:
    return (float(label) if label.isdecimal() else float("inf"), label)
