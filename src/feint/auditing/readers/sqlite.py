"""Tables of SQLite, in the order of their rows' ids."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from feint.auditing.readers.base import Batch, Tick, naming, places
from feint.auditing.readers.stored_file import Stored

_HINT = "; is it a complete SQLite database?"
_SHOWN = 6


class SqliteLog:
    """A table or view of a database, which is opened for reading only."""

    def __init__(self, file: Stored) -> None:
        with naming(file.name, sqlite3.Error, hint=_HINT):
            self._file = file.unpacked(to_disk=True)
            with closing(self._connect()) as base:
                self._table = _choose_table(base, self._file.inside)
                self.name = file.name if self._file.inside is None else f"{file.name}::{self._table}"
                self.columns = [row[1] for row in base.execute(f"PRAGMA table_info({_quoted(self._table)})")]
                count = base.execute(f"SELECT count(*) FROM {_quoted(self._table)}").fetchone()
                self.size: int | None = int(count[0])
                self._order = self._order_of_rows(base)

    def batches(self, columns: list[str], n_rows: int, tick: Tick) -> Iterator[Batch]:
        with naming(self.name, sqlite3.Error, hint=_HINT), closing(self._connect()) as base:
            places(self.columns, columns)
            wanted = ", ".join(map(_quoted, columns))
            rows = base.execute(f"SELECT {wanted} FROM {_quoted(self._table)}{self._order}")
            while found := rows.fetchmany(n_rows):
                cells = map(list, zip(*found, strict=True))
                yield Batch(dict(zip(columns, cells, strict=True)), len(found), None, {})
                tick(len(found))

    def _connect(self) -> Any:
        assert isinstance(self._file.path, Path)
        return sqlite3.connect(f"{self._file.path.absolute().as_uri()}?mode=ro", uri=True)

    def _order_of_rows(self, base: Any) -> str:
        """Return the order to ask for; views and tables without ids have their own."""
        if "rowid" in map(str.lower, self.columns):
            return ""
        try:
            base.execute(f"SELECT rowid FROM {_quoted(self._table)} LIMIT 1").fetchone()
        except sqlite3.OperationalError:
            return ""
        view = base.execute("SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = ?", (self._table,)).fetchone()
        return "" if view else " ORDER BY rowid"


def _choose_table(base: Any, wanted: str | None) -> str:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    tables = [str(row[0]) for row in base.execute(query)]
    listed = ", ".join(tables[:_SHOWN]) + (", …" if len(tables) > _SHOWN else "")
    if wanted is None and len(tables) == 1:
        return tables[0]
    if not tables:
        raise ValueError("its database has no tables.")
    if wanted is None:
        raise ValueError(f"it has the tables {listed}; name one of them, as FILE.sqlite::{tables[0]}.")
    if wanted not in tables:
        raise ValueError(f"it has no table {wanted!r}; it has {listed}.")
    return wanted


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
