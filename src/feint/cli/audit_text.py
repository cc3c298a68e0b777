"""The report of `feint audit` as text for a terminal."""

from typing import TYPE_CHECKING

from feint.cli.shared import in_options
from feint.support.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table

    from feint.auditing import AuditReport
    from feint.auditing.facts import Facts, FactTable

_MOST_ARMS, _MOST_GROUPS = 100, 10  # in the tables


def report_text(report: "AuditReport") -> str:
    """Return the report as a terminal shows it."""
    from rich.console import Console

    from feint.auditing.facts import caret, facts_of

    console = Console()
    with console.capture() as text:  # into a closed pipe, Rich itself would end with exit code 1
        _print(console, report, facts_of(report, caret))
    return text.get()


def _plain(text: str) -> str:
    """Return a foreign text so that it shows as it is: no markup of Rich's, no control characters."""
    from rich.markup import escape

    return escape(printable(text))


def _print(console: "Console", report: "AuditReport", facts: "Facts") -> None:
    from rich.padding import Padding

    colour = "red" if facts.tone == "rejected" else "green"
    scope = f" of {report.rows:,}" if report.rejected else ""
    if report.left_out:
        scope += f", {report.left_out:,} rows left out"
    console.print(f"\n [bold {colour}]{facts.verdict}[/]{scope} (α = {report.alpha:g})", highlight=False)
    console.print(Padding(f"claim: {_plain(facts.claim)}\n", (0, 0, 0, 1)), highlight=False)
    console.print(_numbers(facts, report.left_out))
    if facts.explanation is not None:
        console.print(_table(facts.explanation, justify="left"))
    chosen = sorted(report.arms, key=lambda arm: -abs(arm.observed if arm.excess is None else arm.excess))
    arms = _rows_of(facts.arms, sorted(arm.arm for arm in chosen[:_MOST_ARMS]))
    console.print(_table(arms._replace(head=tuple(name.replace(" intervals,", "") for name in arms.head))))
    if len(report.arms) > _MOST_ARMS:
        least = f"The {_MOST_ARMS} of {len(report.arms):,} arms that depart most are shown; --json lists all."
        console.print(f" {least}\n", highlight=False)
    if facts.groups is not None:
        if facts.groups.rows:
            console.print(_table(_rows_of(facts.groups, list(range(min(_MOST_GROUPS, len(facts.groups.rows)))))))
        console.print(f" {facts.groups.says}\n", highlight=False)
    for warning in facts.warnings:
        console.print(Padding(f"[yellow]![/] {_plain(in_options(warning))}", (0, 0, 0, 1)), highlight=False)
    for example in facts.bad_rows.notes if facts.bad_rows is not None else ():
        console.print(f"   left out, {printable(example)}", highlight=False, markup=False)


def _numbers(facts: "Facts", left_out: int) -> "Table":
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=True)
    for name, value in facts.numbers:
        table.add_row(name, _plain(value))
    if facts.bad_rows is not None:
        kinds = ", ".join(f"{kind}: {count}" for kind, count in facts.bad_rows.rows)
        table.add_row("bad rows left out", f"{left_out:,} ({kinds})")
    return table


def _rows_of(facts: "FactTable", chosen: list[int]) -> "FactTable":
    return facts._replace(rows=[facts.rows[i] for i in chosen], marks=[facts.marks[i] for i in chosen])


def _table(facts: "FactTable", justify: "JustifyMethod" = "right") -> "Table":
    """Return a table; `justify` aligns its first column. A star at the end of a row is its mark."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for i, name in enumerate(facts.head):
        table.add_column(_plain(name), justify="right" if i else justify)
    marked = any(facts.marks)
    for i, row in enumerate(facts.rows):
        *cells, last = (_plain(cell) for cell in row)
        star = (" *" if facts.marks[i] else "  ") if marked else ""
        table.add_row(*cells, last + star)
    return table
