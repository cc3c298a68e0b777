"""JSON lines: one object per line.

The columns are the keys of the first objects. An object inside an object is taken apart, once: {"context": {"user": 1}}
has the column `context.user`. Lists stay lists; a key that a row lacks is None.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from feint.auditing.readers import dsjson
from feint.auditing.readers.base import EMPTY_LINE, Batch, Tick, empty_lines, naming, places
from feint.auditing.readers.stored_file import Stored
from feint.support.strict_json import parse_json

ROWS_FOR_COLUMNS = 1_000
_MOST_TEXT = 2**22  # characters in memory at once
_DEEPEST = 10  # lists in lists in a cell
_KINDS = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}

Convert = Callable[[dict[str, Any]], dict[str, Any]]


class JsonLinesLog:
    """A file of JSON objects, or of Vowpal Wabbit's decisions."""

    def __init__(self, file: Stored) -> None:
        self.name = file.name
        self.size: int | None = file.size
        self._file = file
        with naming(self.name), file.text() as (text, _):
            self.columns, self._convert = columns_of(islice(text, ROWS_FOR_COLUMNS))

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        with naming(self.name), self._file.text() as (text, stream):
            places(self.columns, columns)
            done = 0

            def take() -> list[str]:
                nonlocal done
                lines, length = [], 0
                for line in islice(text, n_rows):
                    lines.append(line)
                    length += len(line)
                    if length > _MOST_TEXT:
                        break
                tick(stream.position() - done)
                done = stream.position()
                return lines

            yield from lines_to_batches(self._convert, columns, 0, n_rows, take)


def columns_of(lines: Iterable[str]) -> tuple[list[str], Convert]:
    """Return (the columns, how a row becomes cells), by the first lines."""
    columns: dict[str, None] = {}
    wrong, decisions = "", False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse_row(line)
            columns |= dict.fromkeys(flatten(row))
            decisions = decisions or dsjson.is_decision(row)
        except ValueError as error:
            wrong = wrong or f"line {number}: {error}"
    if decisions:
        return [*dsjson.COLUMNS, *["time"] * (dsjson.TIME in columns)], dsjson.decision
    if not columns:
        raise ValueError(f'{wrong or "it is empty"}; every line must be a JSON object, such as {{"arm": 0}}.')
    return list(columns), flatten


def lines_to_batches(
    convert: Convert, wanted: list[str], line: int, n_rows: int, take: Callable[[], list[str]]
) -> Iterator[Batch]:
    """Yield batches of the lines that `take` gives, none at the end; `line` of them came before."""
    waiting = 0  # empty lines: bad rows if another row follows, nothing at the end of a file
    while texts := take():
        end = next((i for i in range(len(texts), 0, -1) if texts[i - 1].strip()), 0)
        if end:
            yield from empty_lines(wanted, None, line, waiting, n_rows)
            waiting = 0
            rows: list[list[Any]] = []
            malformed = {}
            for i in range(end):
                try:
                    row = convert(parse_row(texts[i]))
                    cells = [row.get(name) for name in wanted]
                    _check_depth(cells)
                except ValueError as error:
                    malformed[i] = str(error)
                    cells = [None] * len(wanted)
                rows.append(cells)
            table = dict(zip(wanted, map(list, zip(*rows, strict=True)), strict=True))
            yield Batch(table, end, np.arange(line + 1, line + end + 1), malformed, line + end)
        waiting += len(texts) - end
        line += len(texts)


def parse_row(line: str) -> dict[str, Any]:
    """Return the object on a line; a ValueError says why there is none."""
    try:
        row = parse_json(line)
    except json.JSONDecodeError as error:
        reason = (
            f"it is not JSON: {error.msg.removesuffix(' at')} at character {min(error.pos, len(line.rstrip())) + 1}"
        )
        raise ValueError(reason if line.strip() else EMPTY_LINE) from None
    if not isinstance(row, dict):
        raise ValueError(f"it is {_KINDS.get(type(row), 'a number')}, not a JSON object")
    return row


def flatten(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the objects inside it taken apart."""
    if dict not in map(type, row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        inside = {f"{name}.{key}": cell for key, cell in value.items()} if isinstance(value, dict) else {name: value}
        for key, cell in inside.items():
            if key in flat:
                raise ValueError(f"it has {key!r} twice, as a key and inside an object")
            flat[key] = cell
    return flat


def _check_depth(cells: list[Any]) -> None:
    """Refuse deep lists: they are not data, and code that walks through them would end with a RecursionError."""
    for _ in range(_DEEPEST):
        cells = [item for cell in cells if type(cell) in (list, dict) for item in cell]
        if not cells:
            return
    raise ValueError("it is nested too deeply")
