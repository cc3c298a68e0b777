"""`feint audit`: does the agent behind a log do what it claims?"""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.auditing.command_line import WrittenClaim
from feint.cli.audit_text import report_text
from feint.cli.claim_options import with_claim_options
from feint.cli.follow import check_command, follow_growing
from feint.cli.shared import FIGURES, CommandWithNames, app, check_output, naming_output, save_figure
from feint.cli.verdicts import exit_code, saying, write_now
from feint.support.files import write_whole
from feint.support.printable import printable

if TYPE_CHECKING:
    from feint.auditing import AuditReport, Claim

    _Save = Callable[[AuditReport, Path, bool], None]


@app.command(cls=CommandWithNames, epilog="References: {reference} or {mine}.")
@with_claim_options
def audit(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="One row per pull, in order: files, patterns, folders or URLs of .csv, .tsv, .parquet, .feather, "
            ".sqlite::TABLE, .jsonl or dsjson, also .gz, .zst, .bz2, .xz or .zip; or - for standard input.",
        ),
    ],
    follow: Annotated[
        bool, typer.Option("--follow", help="Read a log as it grows; print a line when it is rejected.")
    ] = False,
    until_end: Annotated[
        bool,
        typer.Option("--until-end", help="With --follow: stop at the end of the file instead of waiting for more."),
    ] = False,
    on_alarm: Annotated[
        str | None,
        typer.Option(help="With --follow: run this command when the log is rejected, with the report as JSON."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="With --follow: keep the state of the audit in this file (.json).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the evidence and the arms (.pdf, .png or .svg).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the whole report as one page (.html).")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --group: audit shards on the Dask cluster at this address, tcp://….")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="With --group: audit shards on this many local processes, started by Dask.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep finished shards in this folder, and continue from those already there.")
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="With --group: write all groups and their e-values (.csv).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite existing files of --plot, --html and --groups.")
    ] = False,
    **claimed: Any,
) -> None:
    """Test whether the agent behind a log does what it claims.

    Exit code 0: no evidence against the claim. 1: rejected. 2: the log or an
    option is wrong, or a file could not be written. 3: a bug in feint. A
    rejected log exits with 1, even if a file could not be written.
    """
    check_output(plot, FIGURES, force)
    check_output(html, (".html",), force)
    check_output(groups, (".csv",), force)
    claim = WrittenClaim(**claimed).claim(Path())
    if groups is not None and claim.names.group is None:
        raise ValueError("--groups writes the result of every group; name the column of groups with --group.")
    try:
        if follow:
            if plot or html or as_json or claim.names.group:
                raise ValueError(
                    "--follow prints a line when the log is rejected; leave out --plot, --html, --json and --group."
                )
            for given, option in ((scheduler, "--scheduler"), (workers, "--workers"), (out, "--out")):
                if given is not None:
                    raise ValueError(f"{option} is for complete logs; leave out {option} or --follow.")
            if len(logs) > 1:
                raise ValueError(
                    f"--follow reads one log as it grows, but {len(logs)} were given; follow each separately."
                )
            code = follow_growing(logs[0], claim, state, wait=not until_end, on_alarm=check_command(on_alarm))
        else:
            for given, option in ((state, "--state"), (on_alarm, "--on-alarm"), (until_end or None, "--until-end")):
                if given is not None:
                    raise ValueError(f"{option} needs --follow; add --follow, or leave {option} out.")
            files = ((plot, _save_plot), (html, partial(_save_page, ", ".join(logs))), (groups, _save_groups))
            code = _whole(logs, claim, (scheduler, workers, out), as_json, files, force)
    except KeyboardInterrupt:
        # Exit code 1 says "rejected" here; an interrupt must not.
        typer.echo("feint: interrupted, nothing was decided.", err=True)
        sys.exit(130)
    except (EOFError, SystemExit) as error:  # raised by a library: click and Python would exit with 1
        raise RuntimeError(f"unexpected {type(error).__name__}: {error}") from error
    raise typer.Exit(code)


def _whole(
    logs: list[str],
    claim: "Claim",
    where: tuple[str | None, int | None, Path | None],
    as_json: bool,
    files: "Sequence[tuple[Path | None, _Save]]",
    force: bool,
) -> int:
    """Print the verdict, then write the files, so that a failed write cannot hide it. Return the exit code."""
    from feint.auditing import pipeline
    from feint.auditing.sharded import Where
    from feint.support.progress import progress_bars

    with progress_bars() as progress:
        report = pipeline.audit_source(logs, claim, progress=progress, where=Where(*where))
    log = ", ".join(logs)
    if report.tested == 0:  # "no evidence" would be true but misleading
        raise ValueError(f"{log}: {' '.join(report.warnings)}")
    failures: list[str] = []
    with saying(failures), naming_output("Standard output"):  # Rich writes to it too
        write_now(json.dumps(report.to_json(), allow_nan=False) + "\n" if as_json else report_text(report))
    for path, save in files:
        if path is None:
            continue
        with saying(failures), naming_output(path):
            save(report, path, force)
            write_now("" if as_json else f"wrote {printable(str(path))}\n")
    return exit_code(report.rejected, failures)


def _save_plot(report: "AuditReport", path: Path, force: bool) -> None:
    save_figure(report.plot(), path, force)


def _save_page(log: str, report: "AuditReport", path: Path, force: bool) -> None:
    from feint.auditing.html_report import page

    text = page(report, log, shlex.join(["feint", *sys.argv[1:]]))
    write_whole(path, lambda name: name.write_text(text, encoding="utf-8"), force=force)


def _save_groups(report: "AuditReport", path: Path, force: bool) -> None:
    from feint.auditing.groups import write_groups

    write_whole(path, lambda name: write_groups(report.all_groups, name), force=force)
