"""Facts in words: the terminal, the page and the notebook show them, each in its own way."""

from collections.abc import Sequence
from typing import NamedTuple


class FactTable(NamedTuple):
    """A table, and in `says` a sentence about it; `marks` has a word for each row that stands out, otherwise ""."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    marks: Sequence[str] = ()
    says: str = ""
    notes: Sequence[str] = ()  # details

    def with_marks(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return (head, rows), with the marks as the last column if there are any."""
        if not self.marks:
            return self.head, self.rows
        return (*self.head, ""), [(*row, mark) for row, mark in zip(self.rows, self.marks, strict=True)]


class ArmFacts(NamedTuple):
    """What a plan or a run found: numbers, as (what, answer), and a table of the arms."""

    title: str
    arms: FactTable
    numbers: Sequence[tuple[str, str]] = ()
