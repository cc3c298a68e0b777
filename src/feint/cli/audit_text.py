"""The report of `feint audit` as text for a terminal."""

from typing import TYPE_CHECKING

from feint.cli.fact_tables import fact_table, number_table, plain
from feint.cli.shared import in_options
from feint.support.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table

    from feint.auditing import AuditReport
    from feint.auditing.facts import Facts
    from feint.support.facts import FactTable

_MOST_ARMS, _MOST_GROUPS = 100, 10  # in the tables


def report_text(report: "AuditReport") -> str:
    """Return the report as a terminal shows it."""
    from rich.console import Console

    from feint.auditing.facts import caret, facts_of

    console = Console()
    with console.capture() as text:  # if the pipe is closed, Rich itself would exit with code 1
        _print_report(console, report, facts_of(report, caret))
    return text.get()


def _print_report(console: "Console", report: "AuditReport", facts: "Facts") -> None:
    from rich.padding import Padding

    colour = "red" if facts.tone == "rejected" else "green"
    scope = f" of {report.rows:,}" if report.rejected else ""
    if report.left_out:
        scope += f", {report.left_out:,} rows left out"
    console.print(f"\n [bold {colour}]{facts.verdict}[/]{scope} (α = {report.alpha:g})", highlight=False)
    console.print(Padding(f"claim: {plain(facts.claim)}\n", (0, 0, 0, 1)), highlight=False)
    console.print(_number_lines(facts, report.left_out))
    if facts.explanation is not None:
        console.print(_rich_table(facts.explanation, justify="left"))
        for suggestion in facts.explanation.notes[1:]:  # the first says how the table was made, as does the guide
            console.print(Padding(f"{plain(suggestion)}\n", (0, 0, 0, 1)), highlight=False)
    chosen = sorted(report.arms, key=lambda arm: -abs(arm.observed if arm.excess is None else arm.excess))
    arms = _rows_of(facts.arms, sorted(arm.arm for arm in chosen[:_MOST_ARMS]))
    console.print(_rich_table(arms._replace(head=tuple(name.replace(" intervals,", "") for name in arms.head))))
    if len(report.arms) > _MOST_ARMS:
        least = f"The {_MOST_ARMS} of {len(report.arms):,} arms that depart most are shown; --json lists all."
        console.print(f" {least}\n", highlight=False)
    if facts.groups is not None:
        if facts.groups.rows:
            console.print(_rich_table(_rows_of(facts.groups, list(range(min(_MOST_GROUPS, len(facts.groups.rows)))))))
        console.print(f" {facts.groups.says}\n", highlight=False)
    for warning in facts.warnings:
        console.print(Padding(f"[yellow]![/] {plain(in_options(warning))}", (0, 0, 0, 1)), highlight=False)
    for example in facts.bad_rows.notes if facts.bad_rows is not None else ():
        console.print(f"   left out, {printable(example)}", highlight=False, markup=False)


def _number_lines(facts: "Facts", left_out: int) -> "Table":
    if facts.bad_rows is None:
        return number_table(facts.numbers)
    kinds = ", ".join(f"{kind}: {count}" for kind, count in facts.bad_rows.rows)
    return number_table([*facts.numbers, ("bad rows left out", f"{left_out:,} ({kinds})")])


def _rows_of(facts: "FactTable", chosen: list[int]) -> "FactTable":
    return facts._replace(rows=[facts.rows[i] for i in chosen], marks=[facts.marks[i] for i in chosen])


def _rich_table(facts: "FactTable", justify: "JustifyMethod" = "right") -> "Table":
    """Return a table, in which a star at the end of a row is its mark."""
    if any(facts.marks):
        stars = (" *" if mark else "  " for mark in facts.marks)
        facts = facts._replace(rows=[(*row[:-1], row[-1] + star) for row, star in zip(facts.rows, stars, strict=True)])
    return fact_table(facts._replace(marks=()), justify=justify)
