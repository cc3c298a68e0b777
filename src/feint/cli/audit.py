"""`feint audit`: does the agent behind a log do what it claims?"""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.shared import FIGURES, app, check_output, in_options, numbers, save_figure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from feint.auditing import AuditReport

_REJECTED = 1  # wrong input ends with 2, in `main`


@app.command()
def audit(
    log: Annotated[Path, typer.Argument(help="A .csv or .parquet file, one row a pull, in order.")],
    reference: Annotated[
        str, typer.Option(help="Posteriors claimed where nothing is logged: normal, beta, poisson or exponential.")
    ] = "normal",
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of normal rewards; 1 if not given.")] = None,
    prior: Annotated[
        str | None,
        typer.Option(help="normal: MEAN,SD (flat if not given); beta: SUCCESSES,FAILURES (1,1); else SHAPE,RATE."),
    ] = None,
    initial_round: Annotated[
        bool, typer.Option(help="Whether every arm was pulled once first: then the first rows are not tested.")
    ] = True,
    alpha: Annotated[float, typer.Option(help="A true claim is rejected with at most this probability.")] = 0.05,
    arms: Annotated[int | None, typer.Option(help="Number of arms; else the log tells.")] = None,
    mode: Annotated[str | None, typer.Option(help="Test probabilities, propensities or rewards.")] = None,
    arm: Annotated[str, typer.Option(help="Column of arms, which count from 0.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of public rewards.")] = "reward",
    propensity: Annotated[str, typer.Option(help="Column of the pulled arm's probability.")] = "propensity",
    prefix: Annotated[str, typer.Option(help="Columns of all probabilities: this and the arm's number.")] = "p_",
    time: Annotated[str | None, typer.Option(help="Column of times; else time or timestamp, if there.")] = None,
    ignore_time: Annotated[bool, typer.Option("--ignore-time", help="Do not check that times grow.")] = False,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file; a comma if not given.")] = None,
    tolerance: Annotated[float, typer.Option(help="How far probabilities may be from summing to 1.")] = 1e-6,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out and count them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the evidence and the arms (.pdf, .png or .svg).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a --plot file that exists.")] = False,
) -> None:
    """Test whether the agent behind a log does what it claims.

    Exit code 0: no evidence against the claim. 1: rejected. 2: the log or an option is wrong.
    """
    from rich.console import Console

    from feint.auditing import Names, audit_log
    from feint.progress import progress_bars

    check_output(plot, FIGURES, force)
    with progress_bars() as progress:
        try:
            report = audit_log(
                log,
                names=Names(arm, reward, propensity, prefix, time),
                ignore_time=ignore_time,
                mode=mode,
                n_arms=arms,
                reference=_reference(prior),
                family=_family(reference, sigma),
                initial_round=initial_round,
                alpha=alpha,
                tolerance=tolerance,
                skip_bad=skip_bad,
                delimiter=delimiter,
                progress=progress,
            )
        except KeyboardInterrupt:
            # Exit code 1 says "rejected" here; an interrupt must not.
            typer.echo("feint: interrupted, nothing was decided.", err=True)
            sys.exit(130)
    if report.tested == 0:  # "no evidence" would be true, and misleading
        raise ValueError(f"{log}: {' '.join(report.warnings)}")
    if plot is not None:
        save_figure(report.plot(), plot, force)
    if as_json:
        typer.echo(json.dumps(report.to_json(), allow_nan=False))
    else:
        console = Console()
        _print(console, report)
        if plot is not None:
            console.print(f"drew {plot}", highlight=False, markup=False, soft_wrap=True)
    if report.rejected:
        raise typer.Exit(_REJECTED)


def _family(name: str, sigma: float | None) -> Any:
    from feint.instances import family_of

    if sigma is not None:
        if name not in ("normal", "gaussian"):
            raise ValueError(f"--sigma is about normal rewards, not --reference {name}; leave it out.")
        return family_of(f"{name}:{sigma}")
    return family_of(name)


def _reference(prior: str | None) -> Any:
    from feint.references import ThompsonSampling

    if prior is None:
        return ThompsonSampling()
    values = numbers(prior, "--prior")
    if len(values) != 2:
        raise ValueError(f"--prior is {prior!r}; give two numbers, as 0,1 (mean and sd) or 1,1 (successes, failures).")
    return ThompsonSampling((values[0], values[1]))


def _print(console: "Console", report: "AuditReport") -> None:
    colour = "red" if report.rejected else "green"
    what = f"of {report.rows:,}" if report.rejected else "the claim"
    if report.left_out:
        what += f", {report.left_out:,} rows left out"
    console.print(f"\n [bold {colour}]{report.verdict}[/] {what} (α = {report.alpha:g})", highlight=False)
    console.print(f" claim: {report.claim}\n", highlight=False)
    console.print(_facts(report))
    console.print(_arms(report))
    for warning in report.warnings:
        console.print(f" [yellow]![/] {in_options(warning)}", highlight=False)
    for example in report.bad_examples:
        console.print(f"   left out, {example}", highlight=False, markup=False)


def _facts(report: "AuditReport") -> "Table":
    from rich.table import Table

    facts = Table(box=None, show_header=False, pad_edge=True)
    first = " (the first have no posterior)" if report.rows > report.left_out + report.tested else ""
    facts.add_row("pulls tested", f"{report.tested:,} of {report.rows:,}{first}")
    facts.add_row("e-value", f"{_power(report.log_e_value)} now, {_power(report.highest_log_e_value)} at its highest")
    facts.add_row("anytime p-value", _power(-report.highest_log_e_value))
    if report.boosted_arm is not None:
        size = "" if report.boosted_epsilon is None else f", ε ≈ {report.boosted_epsilon:g}"
        facts.add_row(
            "most likely boosted", f"arm {report.boosted_arm}{size}" + ("" if report.rejected else ", if any")
        )
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
    for name in ("arm", "observed", "expected", "observed − expected", report.confidence):
        table.add_column(name, justify="right")
    for arm in report.arms:
        if arm.expected is None or arm.excess is None or arm.low is None or arm.high is None:
            table.add_row(str(arm.arm), f"{arm.observed:,}", "not logged", "", "")
            continue
        interval = f"{arm.low:+,.1f} … {arm.high:+,.1f}{' *' if arm.departs else '  '}"
        table.add_row(str(arm.arm), f"{arm.observed:,}", f"{arm.expected:,.1f}", f"{arm.excess:+,.1f}", interval)
    return table


def _power(log_value: float) -> str:
    """exp(log_value), readable however large or small."""
    if math.log(1e-4) < log_value < math.log(1e5):
        value = math.exp(log_value)
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    exponent = math.floor(log_value / math.log(10))
    digits = f"{10 ** (log_value / math.log(10) - exponent):.1f}"
    return f"1.0·10^{exponent + 1}" if digits == "10.0" else f"{digits}·10^{exponent}"
