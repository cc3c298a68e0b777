"""HTML tables for notebooks, and the escaping of other people's texts."""

import re
from collections.abc import Iterable, Sequence
from html import escape as escape_markup
from typing import Any

from feint.support.facts import ArmFacts
from feint.support.printable import printable


def escape(text: str) -> str:
    """Return `text` for a page: its markup and control characters are shown and have no effect."""
    return escape_markup(printable(text))


def shell_words(command: str) -> str:
    """Return a command for a page, which breaks its lines between words as long as these have room.

    >>> shell_words("feint audit")
    "<span class='word'>feint</span> <span class='word'>audit</span>"
    """
    return re.sub(r"\S+", lambda word: f"<span class='word'>{escape(word[0])}</span>", command)


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], notes: Sequence[str] = ()) -> str:
    """Return an HTML table with a title above and notes below; every text is escaped."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return (
        f"<div><b>{escape(title)}</b><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )


def facts_html(facts: ArmFacts) -> str:
    """Return facts as a notebook shows them."""
    return table(facts.title, *facts.arms.with_marks(), [": ".join(number) for number in facts.numbers])
