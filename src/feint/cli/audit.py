"""`feint audit`: does the agent behind a log do what it claims?"""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.shared import FIGURES, app, check_output, in_options, save_figure
from feint.files import write_whole
from feint.options import arms_of, claimed_of, share_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from feint.auditing import AuditReport
    from feint.auditing.claimed import Claimed
    from feint.auditing.diagnosis import Diagnosis

_REJECTED = 1  # wrong input ends with 2, in `main`


@app.command()
def audit(
    log: Annotated[
        str,
        typer.Argument(help="One row a pull, in order: .csv, .tsv, .parquet, .jsonl or dsjson, also .gz or .zst; -."),
    ],
    reference: Annotated[
        str,
        typer.Option(
            help="What is claimed where nothing is logged: Thompson Sampling with normal, beta, poisson or exponential "
            "posteriors; uniform; softmax:TEMPERATURE; epsilon-greedy:EPSILON."
        ),
    ] = "normal",
    sigma: Annotated[
        str | None, typer.Option(help="Standard deviation of normal rewards; 1 if not given; or unknown.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="normal: MEAN,SD (flat if not given), with an unknown sigma MEAN,PULLS,SHAPE,SCALE; beta: "
            "SUCCESSES,FAILURES (1,1); else SHAPE,RATE. Of every arm: with ; between, or a file with a line an arm."
        ),
    ] = None,
    split: Annotated[str | None, typer.Option(help="A split test: the arms' shares, as 0.5,0.5.")] = None,
    clip: Annotated[float | None, typer.Option(help="No arm has a smaller probability than this.")] = None,
    batch: Annotated[int, typer.Option(help="The posterior moves after every so many rows.")] = 1,
    delay: Annotated[int, typer.Option(help="A reward is known so many rows later.")] = 0,
    reward_time: Annotated[str | None, typer.Option(help="Column of the times from which rewards are known.")] = None,
    discount: Annotated[float, typer.Option(help="What is known fades by this factor with every row.")] = 1.0,
    group: Annotated[
        str | None, typer.Option(help="Column: one agent for every value, each with its own past.")
    ] = None,
    initial_round: Annotated[
        bool, typer.Option(help="Whether every arm was pulled once first: then the first rows are not tested.")
    ] = True,
    propensity_draws: Annotated[
        int | None, typer.Option(help="The propensities are shares of so many Monte Carlo draws.")
    ] = None,
    floor: Annotated[
        float, typer.Option(help="Smaller probabilities are read as this, for logs that were rounded.")
    ] = 0.0,
    within: Annotated[str, typer.Option(help="Each probability is claimed within this share only, as 1%.")] = "0",
    alpha: Annotated[float, typer.Option(help="A true claim is rejected with at most this probability.")] = 0.05,
    arms: Annotated[
        str | None, typer.Option(help="Number of arms, or their labels with commas; else the log tells.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="Test probabilities, propensities or rewards.")] = None,
    arm: Annotated[str, typer.Option(help="Column of arms: numbers from 0, or labels.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of public rewards.")] = "reward",
    propensity: Annotated[str, typer.Option(help="Column of the pulled arm's probability.")] = "propensity",
    prefix: Annotated[
        str, typer.Option(help="Columns of all probabilities: this and the arm's number or label.")
    ] = "p_",
    probabilities: Annotated[str, typer.Option(help="Column with a list of all probabilities.")] = "probabilities",
    time: Annotated[str | None, typer.Option(help="Column of times; else time or timestamp, if there.")] = None,
    ignore_time: Annotated[bool, typer.Option("--ignore-time", help="Do not check that times grow.")] = False,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file; a comma if not given.")] = None,
    tolerance: Annotated[float, typer.Option(help="How far probabilities may be from summing to 1.")] = 1e-6,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out and count them.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Read a log as it grows; one line when it is rejected.")
    ] = False,
    state: Annotated[Path | None, typer.Option(help="With --follow: where to keep what was seen (.json).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the evidence and the arms (.pdf, .png or .svg).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write all that was found as one page (.html).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --plot and --html files that exist.")] = False,
) -> None:
    """Test whether the agent behind a log does what it claims.

    Exit code 0: no evidence against the claim. 1: rejected. 2: the log or an option is wrong.
    """
    from feint.auditing import Names
    from feint.auditing.claimed import Claimed
    from feint.auditing.claims import Options
    from feint.references.past import Timing

    check_output(plot, FIGURES, force)
    check_output(html, (".html",), force)
    names = Names(arm, reward, propensity, prefix, probabilities, time, reward_time, group)
    claimed, family = claimed_of(reference, sigma, prior, split, clip)
    options = Options(tolerance, floor, share_of(within), propensity_draws)
    timing = Timing(delay, batch, reward_time is not None, discount)
    what = Claimed.of(claimed, None, family, initial_round, timing, options)
    common = {"names": names, "mode": mode, "n_arms": arms_of(arms), "alpha": alpha, "skip_bad": skip_bad}
    try:
        if follow:
            if plot or html or as_json or group:
                raise ValueError(
                    "--follow prints a line when the log is rejected; leave --plot, --html, --json, --group out."
                )
            rejected = _follow(log, delimiter, what, common | {"ignore_time": ignore_time}, state)
        else:
            if state is not None:
                raise ValueError("--state is where --follow keeps what it saw; leave it out.")
            rejected = _whole(log, what, common, ignore_time, delimiter, as_json, plot, html, force)
    except KeyboardInterrupt:
        # Exit code 1 says "rejected" here; an interrupt must not.
        typer.echo("feint: interrupted, nothing was decided.", err=True)
        sys.exit(130)
    if rejected:
        raise typer.Exit(_REJECTED)


def _whole(
    log: str, what: "Claimed", common: dict[str, Any], ignore_time: bool, delimiter: str | None, as_json: bool,
    plot: Path | None, html: Path | None, force: bool,
) -> bool:  # fmt: skip
    from feint.auditing.running import audit_claimed
    from feint.progress import progress_bars

    with progress_bars() as progress:
        report = audit_claimed(log, what, **common, ignore_time=ignore_time, delimiter=delimiter, progress=progress)
    if report.tested == 0:  # "no evidence" would be true, and misleading
        raise ValueError(f"{log}: {' '.join(report.warnings)}")
    if plot is not None:
        save_figure(report.plot(), plot, force)
    if html is not None:
        from feint.auditing.page import page

        text = page(report, str(log), shlex.join(["feint", *sys.argv[1:]]))
        write_whole(html, lambda name: Path(name).write_text(text, encoding="utf-8"), force=force)
    _say(report, as_json, [path for path in (plot, html) if path is not None])
    return report.rejected


def _say(report: "AuditReport", as_json: bool, written: list[Path]) -> None:
    """Print what was found."""
    from rich.console import Console

    if as_json:
        _write(json.dumps(report.to_json(), allow_nan=False) + "\n")
        return
    console = Console()
    with console.capture() as text:  # into a closed pipe, Rich itself would end with exit code 1
        _print(console, report)
        for path in written:
            console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
    _write(text.get())


def _write(text: str) -> None:
    """Into a closed pipe nothing more can be said, and the exit code still holds."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _follow(log: str, delimiter: str | None, what: "Claimed", common: dict[str, Any], state: Path | None) -> bool:
    from feint.auditing.readers import follow
    from feint.auditing.running import follow_log
    from feint.files import load_state, save_state

    before = load_state(state) if state is not None and state.exists() else None
    said = isinstance(before, dict) and before.get("rejected_at") is not None
    rejected, last = said, None
    stream = sys.stdin.buffer if log == "-" else open(log, "rb")  # noqa: SIM115 - closed below
    with stream:
        # A file is read from its start again; a pipe goes on where the last one ended.
        for auditor in follow_log(follow(stream, delimiter), what, state=before, from_start=log != "-", **common):
            last = auditor
            if auditor.rejected_at is not None and not said:
                said = rejected = True
                _write(
                    f"rejected at row {auditor.rejected_at} (claim: {auditor.claim.words()}; α = {auditor.alpha:g})\n"
                )
            if state is not None:
                save_state(auditor.state(), state, force=True)
    if not said and last is not None:
        _write(f"no evidence against the claim in {last.rows:,} rows (α = {last.alpha:g})\n")
    return rejected


def _print(console: "Console", report: "AuditReport") -> None:
    from rich.markup import escape
    from rich.padding import Padding

    colour = "red" if report.rejected else "green"
    what = f"of {report.rows:,}" if report.rejected else "the claim"
    if report.left_out:
        what += f", {report.left_out:,} rows left out"
    console.print(f"\n [bold {colour}]{report.verdict}[/] {what} (α = {report.alpha:g})", highlight=False)
    console.print(Padding(f"claim: {escape(report.claim)}\n", (0, 0, 0, 1)), highlight=False)
    console.print(_facts(report))
    if report.diagnosis is not None:
        console.print(_explanations(report.diagnosis))
    console.print(_arms(report))
    if report.groups:
        console.print(_groups(report))
        console.print(f" {_named(report)}\n", highlight=False)
    for warning in report.warnings:
        console.print(Padding(f"[yellow]![/] {escape(in_options(warning))}", (0, 0, 0, 1)), highlight=False)
    for example in report.bad_examples:
        console.print(f"   left out, {example}", highlight=False, markup=False)


def _facts(report: "AuditReport") -> "Table":
    from rich.markup import escape
    from rich.table import Table

    from feint.auditing.diagnosis import UNCLEAR
    from feint.auditing.diagnosis_experts import BOOSTED, SHARE

    facts = Table(box=None, show_header=False, pad_edge=True)
    first = " (the first have no posterior)" if report.rows > report.left_out + report.tested else ""
    facts.add_row("pulls tested", f"{report.tested:,} of {report.rows:,}{first}")
    facts.add_row("e-value", f"{_power(report.log_e_value)} now, {_power(report.highest_log_e_value)} at its highest")
    facts.add_row("anytime p-value", _power(-report.highest_log_e_value))
    kind = None if report.diagnosis is None else report.diagnosis.kind
    # Where something else explains the log, this would name the wrong reason.
    if report.boosted_arm is not None and kind in (None, BOOSTED, SHARE, UNCLEAR):
        size = "" if report.boosted_epsilon is None else f", ε ≈ {report.boosted_epsilon:g}"
        arm = escape(report.arms[report.boosted_arm].label)
        facts.add_row("most likely boosted", f"arm {arm}{size}" + ("" if report.rejected else ", if any"))
    if report.smallest_log_probability is not None:
        facts.add_row("smallest π of a pull", f"{_power(report.smallest_log_probability)}, row {report.smallest_row:,}")
    if report.bad_rows:
        kinds = ", ".join(f"{kind}: {count:,}" for kind, count in report.bad_rows.items())
        facts.add_row("bad rows left out", f"{report.left_out:,} ({kinds})")
    return facts


def _arms(report: "AuditReport") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    known = any(arm.expected is not None for arm in report.arms)  # else propensities alone were logged
    heads = ("expected", "observed − expected", report.confidence.replace(" intervals,", ""))
    for name in ("arm", "observed", *(heads if known else ())):
        table.add_column(name, justify="right")
    for arm in report.arms:
        cells = [escape(arm.label), f"{arm.observed:,}"]
        if arm.expected is not None and arm.excess is not None and arm.low is not None and arm.high is not None:
            interval = f"{arm.low:+,.1f} … {arm.high:+,.1f}{' *' if arm.departs else '  '}"
            cells += [f"{arm.expected:,.1f}", f"{arm.excess:+,.1f}", interval]
        table.add_row(*cells)
    return table


def _explanations(diagnosis: "Diagnosis") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from feint.auditing.diagnosis import UNCLEAR

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(diagnosis.words if diagnosis.kind == UNCLEAR else "what explains the log best")
    for name in ("share of the evidence", "rows"):
        table.add_column(name, justify="right")
    for found in diagnosis.explanations[:5]:
        table.add_row(escape(found.words), f"{100 * found.share:.0f} %", f"{found.first_row:,} … {found.last_row:,}")
    return table


def _groups(report: "AuditReport") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("group", "pulls tested", "e-value"):
        table.add_column(name, justify="right")
    for group in report.groups[:10]:
        star = " *" if group.named else "  "
        table.add_row(escape(group.group), f"{group.tested:,}", _power(group.log_e_value) + star)
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
