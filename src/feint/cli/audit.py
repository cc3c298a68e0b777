"""`feint audit`: does the agent behind a log do what it claims?"""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.audit_text import report_text
from feint.cli.shared import FIGURES, CommandWithNames, app, check_output, in_options, naming_output, save_figure
from feint.errors import is_users
from feint.files import write_whole
from feint.printable import printable

if TYPE_CHECKING:
    from feint.auditing import AuditReport
    from feint.auditing.claimed import Claimed

_REJECTED, _NOT_WRITTEN = 1, 2  # wrong input ends with 2, in `main`


@app.command(cls=CommandWithNames, epilog="References: {reference} or {mine}.")
def audit(
    log: Annotated[
        str,
        typer.Argument(help="One row a pull, in order: .csv, .tsv, .parquet, .jsonl or dsjson, also .gz or .zst; -."),
    ],
    reference: Annotated[
        str,
        typer.Option(
            help="What is claimed where nothing is logged, NAME[:ARGUMENTS] of a reference below; normal, beta and the "
            "like are thompson-sampling with that --family."
        ),
    ] = "thompson-sampling",
    family: Annotated[
        str | None, typer.Option(help="Public rewards: {family} or {mine}; gaussian if not given.")
    ] = None,
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
    encoding: Annotated[str | None, typer.Option(help="Of a text file, as latin-1; UTF-8 if not given.")] = None,
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

    Exit code 0: no evidence against the claim. 1: rejected. 2: the log or an option is wrong, or a file could not be
    written; the verdict is printed before files are, and a rejected log ends with 1 all the same.
    """
    from feint.auditing import Names
    from feint.auditing.claim_text import read_arms, read_claim, read_share
    from feint.auditing.claimed import Claimed
    from feint.auditing.claims import Options
    from feint.references.past import Timing

    check_output(plot, FIGURES, force)
    check_output(html, (".html",), force)
    names = Names(arm, reward, propensity, prefix, probabilities, time, reward_time, group)
    claimed, rewards = read_claim(reference, family, sigma, prior, split, clip, Path())
    options = Options(tolerance, floor, read_share(within), propensity_draws)
    timing = Timing(delay, batch, reward_time is not None, discount)
    what = Claimed.of(claimed, None, rewards, initial_round, timing, options)
    common = {"names": names, "mode": mode, "n_arms": read_arms(arms), "alpha": alpha, "skip_bad": skip_bad}
    try:
        if follow:
            if plot or html or as_json or group:
                raise ValueError(
                    "--follow prints a line when the log is rejected; leave --plot, --html, --json, --group out."
                )
            code = _follow(log, delimiter, encoding, what, common | {"ignore_time": ignore_time}, state)
        else:
            if state is not None:
                raise ValueError("--state is where --follow keeps what it saw; leave it out.")
            common |= {"ignore_time": ignore_time, "delimiter": delimiter, "encoding": encoding}
            code = _whole(log, what, common, as_json, plot, html, force)
    except KeyboardInterrupt:
        # Exit code 1 says "rejected" here; an interrupt must not.
        typer.echo("feint: interrupted, nothing was decided.", err=True)
        sys.exit(130)
    except (EOFError, SystemExit) as error:  # of a library: click and Python would end with 1
        raise RuntimeError(f"{type(error).__name__} where none belongs: {error}") from error
    raise typer.Exit(code)


def _whole(
    log: str, what: "Claimed", common: dict[str, Any], as_json: bool, plot: Path | None, html: Path | None, force: bool
) -> int:
    """Print the verdict, then write the files: what cannot be written must not hide it. Return the exit code."""
    from feint.auditing.running import audit_claimed
    from feint.progress import progress_bars

    with progress_bars() as progress:
        report = audit_claimed(log, what, **common, progress=progress)
    if report.tested == 0:  # "no evidence" would be true, and misleading
        raise ValueError(f"{log}: {' '.join(report.warnings)}")
    failures: list[str] = []
    with _saying(failures), naming_output("Standard output"):  # Rich writes to it too
        _write(json.dumps(report.to_json(), allow_nan=False) + "\n" if as_json else report_text(report))
    for path, save in ((plot, _save_plot), (html, _save_page)):
        if path is None:
            continue
        with _saying(failures), naming_output(path):
            save(report, log, path, force)
            _write("" if as_json else f"wrote {printable(str(path))}\n")
    return _exit_code(report.rejected, failures)


def _save_plot(report: "AuditReport", log: str, path: Path, force: bool) -> None:
    save_figure(report.plot(), path, force)


def _save_page(report: "AuditReport", log: str, path: Path, force: bool) -> None:
    from feint.auditing.page import page

    text = page(report, log, shlex.join(["feint", *sys.argv[1:]]))
    write_whole(path, lambda name: name.write_text(text, encoding="utf-8"), force=force)


@contextmanager
def _saying(failures: list[str]) -> Iterator[None]:
    """Say what could not be written, note it and go on: the verdict stands."""
    try:
        yield
    except (OSError, ValueError) as error:
        if not is_users(error):
            raise
        failures.append(in_options(str(error)))
        typer.echo(f"feint: {failures[-1]}", err=True)


def _exit_code(rejected: bool, failures: list[str]) -> int:
    """1 where the log is rejected, whatever else went wrong: that is what 1 says."""
    return _REJECTED if rejected else _NOT_WRITTEN if failures else 0


def _write(text: str) -> None:
    """Print at once. Into a closed pipe nothing more can be said, and the exit code still holds."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails at its end, with 120
        if not isinstance(error, BrokenPipeError):
            raise OSError(f"Standard output cannot be written: {error.strerror}.") from None


def _follow(
    log: str, delimiter: str | None, encoding: str | None, what: "Claimed", common: dict[str, Any], state: Path | None
) -> int:
    """Print the verdict as soon as there is one, then keep the state. Return the exit code."""
    from feint.auditing.readers import GrowingFile, follow, standard_input
    from feint.auditing.running import follow_log, followed_state
    from feint.files import load_state, save_state

    before = load_state(state) if state is not None and state.exists() else None
    said = rejected = isinstance(before, dict) and before.get("rejected_at") is not None
    failures: list[str] = []
    with standard_input() if log == "-" else GrowingFile(log) as stream:
        source = follow(stream, delimiter, encoding)
        for auditor in follow_log(source, what, state=before, **common):
            rejected = auditor.rejected_at is not None
            words = f"(claim: {printable(auditor.claim.words())}; α = {auditor.alpha:g})"
            with _saying(failures):
                if rejected and not said:
                    said = True
                    _write(f"rejected at row {auditor.rejected_at} {words}\n")
                if state is not None:
                    with naming_output(state):
                        save_state(followed_state(auditor, source), state, force=True)
            if failures:
                break
        else:
            with _saying(failures):
                _write(
                    "" if said else f"no evidence against the claim in {auditor.rows:,} rows (α = {auditor.alpha:g})\n"
                )
    return _exit_code(rejected, failures)
