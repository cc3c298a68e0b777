"""Facts as tables for a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from feint.support.printable import printable

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

    from feint.support.facts import FactTable


def plain(text: str) -> str:
    """Return a user's text so that Rich shows it as it is, without markup or control characters."""
    from rich.markup import escape

    return escape(printable(text))


def fact_table(facts: "FactTable", title: str | None = None, justify: "JustifyMethod" = "right") -> "Table":
    """Return a table; `justify` is that of its first column."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD)
    head, rows = facts.with_marks()
    for i, name in enumerate(head):
        table.add_column(plain(name), justify="left" if not name else "right" if i else justify)
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def number_table(numbers: Iterable[tuple[str, str]]) -> "Table":
    """Return a table of numbers and their names, one per row."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=True)
    for name, value in numbers:
        table.add_row(name, plain(value))
    return table
