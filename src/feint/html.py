"""Small tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], notes: Sequence[str] = ()) -> str:
    """An HTML table with a caption and lines below it; every text is escaped."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return (
        f"<div><b>{escape(title)}</b><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )
