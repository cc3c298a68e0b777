"""The report of `feint audit` as text for a terminal."""

from typing import TYPE_CHECKING

from feint.cli.shared import in_options
from feint.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from feint.auditing import AuditReport
    from feint.auditing.diagnosis import Diagnosis

_MOST_ARMS = 100  # in the table of arms


def report_text(report: "AuditReport") -> str:
    """Return the report as a terminal shows it."""
    from rich.console import Console

    console = Console()
    with console.capture() as text:  # into a closed pipe, Rich itself would end with exit code 1
        _print(console, report)
    return text.get()


def _plain(text: str) -> str:
    """Return a text of others as it is: no markup of Rich's, no control characters."""
    from rich.markup import escape

    return escape(printable(text))


def _print(console: "Console", report: "AuditReport") -> None:
    from rich.padding import Padding

    colour = "red" if report.rejected else "green"
    what = f"of {report.rows:,}" if report.rejected else "the claim"
    if report.left_out:
        what += f", {report.left_out:,} rows left out"
    console.print(f"\n [bold {colour}]{report.verdict}[/] {what} (α = {report.alpha:g})", highlight=False)
    console.print(Padding(f"claim: {_plain(report.claim)}\n", (0, 0, 0, 1)), highlight=False)
    console.print(_facts(report))
    if report.diagnosis is not None:
        console.print(_explanations(report.diagnosis))
    console.print(_arms(report))
    if len(report.arms) > _MOST_ARMS:
        least = f"The {_MOST_ARMS} of {len(report.arms):,} arms that depart most are shown; --json lists all."
        console.print(f" {least}\n", highlight=False)
    if report.groups:
        console.print(_groups(report))
        console.print(f" {_named(report)}\n", highlight=False)
    for warning in report.warnings:
        console.print(Padding(f"[yellow]![/] {_plain(in_options(warning))}", (0, 0, 0, 1)), highlight=False)
    for example in report.bad_examples:
        console.print(f"   left out, {printable(example)}", highlight=False, markup=False)


def _facts(report: "AuditReport") -> "Table":
    from rich.table import Table

    from feint.auditing.diagnosis import BOOSTED, SHARE, UNCLEAR

    facts = Table(box=None, show_header=False, pad_edge=True)
    first = " (the first have no posterior)" if report.rows > report.left_out + report.tested else ""
    facts.add_row("pulls tested", f"{report.tested:,} of {report.rows:,}{first}")
    facts.add_row("e-value", f"{_power(report.log_e_value)} now, {_power(report.highest_log_e_value)} at its highest")
    facts.add_row("anytime p-value", _power(-report.highest_log_e_value))
    kind = None if report.diagnosis is None else report.diagnosis.kind
    # Where something else explains the log, this would name the wrong reason.
    if report.boosted_arm is not None and kind in (None, BOOSTED, SHARE, UNCLEAR):
        size = "" if report.boosted_epsilon is None else f", ε ≈ {report.boosted_epsilon:g}"
        arm = _plain(report.arms[report.boosted_arm].label)
        facts.add_row("most likely boosted", f"arm {arm}{size}" + ("" if report.rejected else ", if any"))
    if report.smallest_log_probability is not None:
        facts.add_row("smallest π of a pull", f"{_power(report.smallest_log_probability)}, row {report.smallest_row:,}")
    if report.bad_rows:
        kinds = ", ".join(f"{kind}: {count:,}" for kind, count in report.bad_rows.items())
        facts.add_row("bad rows left out", f"{report.left_out:,} ({kinds})")
    return facts


def _arms(report: "AuditReport") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    known = any(arm.expected is not None for arm in report.arms)  # else propensities alone were logged
    heads = ("expected", "observed − expected", report.confidence.replace(" intervals,", ""))
    for name in ("arm", "observed", *(heads if known else ())):
        table.add_column(name, justify="right")
    chosen = sorted(report.arms, key=lambda arm: -abs(arm.observed if arm.excess is None else arm.excess))
    for arm in sorted(chosen[:_MOST_ARMS], key=lambda arm: arm.arm):
        cells = [_plain(arm.label), f"{arm.observed:,}"]
        if arm.expected is not None and arm.excess is not None and arm.low is not None and arm.high is not None:
            interval = f"{arm.low:+,.1f} … {arm.high:+,.1f}{' *' if arm.departs else '  '}"
            cells += [f"{arm.expected:,.1f}", f"{arm.excess:+,.1f}", interval]
        table.add_row(*cells)
    return table


def _explanations(diagnosis: "Diagnosis") -> "Table":
    from rich import box
    from rich.table import Table

    from feint.auditing.diagnosis import UNCLEAR

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(diagnosis.words if diagnosis.kind == UNCLEAR else "what explains the log best")
    for name in ("share of the evidence", "rows"):
        table.add_column(name, justify="right")
    for found in diagnosis.explanations[:5]:
        table.add_row(_plain(found.words), f"{100 * found.share:.0f} %", f"{found.first_row:,} … {found.last_row:,}")
    return table


def _groups(report: "AuditReport") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("group", "pulls tested", "e-value"):
        table.add_column(name, justify="right")
    for group in report.groups[:10]:
        star = " *" if group.named else "  "
        table.add_row(_plain(group.group), f"{group.tested:,}", _power(group.log_e_value) + star)
    return table


def _named(report: "AuditReport") -> str:
    named = sum(group.named for group in report.groups)
    least = "at least " if named == len(report.groups) < report.n_groups else ""  # the worst are listed only
    return f"{report.n_groups:,} groups, {least}{named} named (*) by e-BH at α = {report.alpha:g}"


def _power(log_value: float) -> str:
    """exp(log_value) as every terminal can show it."""
    from feint.auditing.report import digits_and_exponent

    digits, exponent = digits_and_exponent(log_value)
    return digits if exponent is None else f"{digits}·10^{exponent}"
