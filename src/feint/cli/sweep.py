"""`feint sweep`: run a study of many cells from a file into a store, and show what it found."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from feint.cli.shared import FIGURES, app, check_output, save_figure
from feint.support.printable import printable

_WIDEST = 10_000  # characters per line of a table that is not folded

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset

    from feint.sweep.summary import Row


class _RunsByDefault(TyperGroup):
    """`feint sweep study.toml` is `feint sweep run study.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


commands = typer.Typer(cls=_RunsByDefault, no_args_is_help=True)
app.add_typer(commands, name="sweep", help="Run a study of many cells into a store, here or on a cluster, or show one.")


@commands.command("run")
def run(
    study: Annotated[
        Path, typer.Argument(help="A TOML file with bandits, explorers, epsilons, horizon (docs/sweeps.md).")
    ],
    out: Annotated[str, typer.Option(help="Store to write or to continue: a folder, or a URL such as s3://….")],
    scheduler: Annotated[str | None, typer.Option(help="Run on the Dask cluster at this address, tcp://….")] = None,
    workers: Annotated[int | None, typer.Option(help="Or on this many local processes, started by Dask.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Also rerun what failed before.")] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Check only the sizes of the files that are there, not their checksums.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done and how long it may take.")
    ] = False,
) -> None:
    """Run what is missing from a study; after an interrupt, the same command continues. `run` can be left out."""
    import warnings

    from feint.sweep import SweepWarning
    from feint.sweep.study_file import load_study

    sweep = load_study(study)
    if dry_run:
        plan = sweep.plan(out, scheduler, workers=workers, retry_failed=retry_failed, verify=not no_verify)
        typer.echo(str(plan))
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SweepWarning)
        try:
            runs = sweep.run(
                out,
                scheduler,
                workers=workers,
                retry_failed=retry_failed,
                verify=not no_verify,
                progress=sys.stderr.isatty(),
            )
        except KeyboardInterrupt:
            typer.echo("feint: interrupted; what is recorded stays, and the same command continues.", err=True)
            sys.exit(130)
    done = int(runs["complete"].sum())
    typer.echo(f"{done:,} replications are in {out}; see them with: feint sweep show {out}")
    failures = [str(warning.message) for warning in caught if issubclass(warning.category, SweepWarning)]
    for message in failures:
        typer.echo(f"feint: {printable(message.replace('`retry_failed`', '--retry-failed'))}", err=True)
    if failures:
        raise typer.Exit(2)


@commands.command("show")
def show(
    store: Annotated[str, typer.Argument(help="A store of feint sweep, finished or not.")],
    plot: Annotated[Path | None, typer.Option(help="Draw error against time by budget (.pdf, .png or .svg).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Print what a sweep found: time to δ, log error, pulls."""
    from rich.console import Console

    from feint.sweep import draw_sweep, open_sweep
    from feint.sweep.summary import summarise

    check_output(plot, FIGURES, force)
    data = open_sweep(store)
    console, rows = Console(), list(summarise(data))
    wide = console.options.update(width=_WIDEST)
    table = _sweep_table(data, rows, " ")
    if console.measure(table, options=wide).maximum > console.width:
        table = _sweep_table(data, rows, "\n")
    if not console.is_terminal:  # a file or a pipe has no width, so labels need no folding
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table)
    if plot is not None:
        save_figure(draw_sweep(data), plot, force)
        console.print(f"drew {plot}", highlight=False, markup=False, soft_wrap=True)


def _sweep_table(data: "Dataset", rows: "list[Row]", before_interval: str) -> "Table":
    """Return a table with one section per bandit; what is the same everywhere stands in the title. `before_interval`
    is a blank to put intervals beside their medians, or a new line to put them below.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from feint.sweep.axes import AXES

    def show(text: str) -> str:
        return escape(printable(text))

    timed = "stopping_time" in data
    varied = [d for d, axis in enumerate(AXES) if d and data.sizes[axis] > 1]
    same = [f"{axis} {rows[0].labels[d]}" for d, axis in enumerate(AXES) if data.sizes[axis] == 1]
    runs = sorted({row.replications for row in rows})
    alike = len(runs) == 1 and not any(row.failure for row in rows)
    if alike:
        same.insert(0, f"{runs[0]:,} runs each")
    title = [f"{len(rows)} cells at {int(data['time'][-1]):,} pulls", *same]
    table = Table(title=show(", ".join(title)), box=box.SIMPLE_HEAD)
    for d in varied:
        table.add_column(AXES[d], overflow="fold")
    if not alike:
        table.add_column("runs", justify="right")
    for name in (*(["time to δ"] if timed else []), "log₁₀ error", "pulls"):
        table.add_column(name, justify="right", no_wrap=True)
    bandit = "" if data.sizes["bandit"] > 1 else rows[0].labels[0]
    for row in rows:
        if row.labels[0] != bandit:
            bandit = row.labels[0]
            table.add_section()
            table.add_row(f"[bold]{show(bandit)}[/]")
        cells = [show(row.labels[d]) for d in varied]
        if not alike:
            cells.append(f"{row.replications:,}" + (" !" if row.failure else ""))
        decades = None if row.log_error is None else tuple(value / math.log(10) for value in row.log_error)
        numbers: list[tuple[tuple[float, ...] | None, str]] = [(row.time, ",.0f")] if timed else []
        numbers += [(decades, ".2f"), (row.pulls, ",.0f")]
        table.add_row(*cells, *(_interval(found, form, before_interval) for found, form in numbers))
    notes = ["medians of runs with 95 % intervals, from six runs on", "pulls are those of the best private arm"]
    if timed:
        notes.append("∞: δ was not reached by the last pull")
    notes += [f"! {', '.join(row.labels)}: {row.failure}" for row in rows if row.failure][:5]
    table.caption = "\n".join(map(show, notes))
    return table


def _interval(found: "tuple[float, ...] | None", form: str, between: str) -> str:
    if found is None:
        return "–"
    median, low, high = (format(value, form).replace("inf", "∞").replace("-", "−") for value in found)
    if median == low == high or (low, high) == ("−∞", "∞"):
        return median
    return f"{median}{between}({low}…{high})"
