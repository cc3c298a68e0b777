"""The `feint` command. Heavy imports wait inside the commands, so that --help answers at once."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feint.version import VERSION

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset

app = typer.Typer(
    name="feint",
    help="Deceptive exploration in multi-armed bandits: explore, plan and audit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"feint {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("results"),
    force: Annotated[bool, typer.Option("--force", help="Draw figures again that are there already.")] = False,
) -> None:
    """Reproduce what is there of the paper's figures and tables."""
    from rich.console import Console

    from feint.experiments import boost_curve, reference_table
    from feint.files import write_whole

    console = Console()
    console.print(_reference_table(reference_table.run()))
    figure = boost_curve.plot(boost_curve.run())

    def save(path: Path) -> None:
        figure.savefig(path, dpi=200)

    for suffix in ("pdf", "png"):
        path = out / f"boost.{suffix}"
        if path.exists() and not force:
            console.print(f"[dim]kept[/]   {path} (there already; --force draws it again)", highlight=False)
        else:
            write_whole(path, save, force=force)
            console.print(f"[green]wrote[/]  {path}", highlight=False)
    console.print(
        "\nThis is the boost figure (q* against q-hat) and the reference-probability table. "
        "The paper's four simulated figures need the simulation engine, which is not part of this version.",
        highlight=False,
    )


def _reference_table(data: "Dataset") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(
        title="What Thompson Sampling pulls, exactly and by Gauss–Hermite (GH)\n"
        "public means (0.6, 0.3, 0, 0.2), σ = 1, at three moments of a run",
        box=box.SIMPLE_HEAD,
    )
    rules = [f"GH {n}" for n in data["nodes"].values]
    for name in ("arm", "pulls", "exact", *(part for rule in rules for part in (rule, "off by"))):
        table.add_column(name, justify="right", no_wrap=True)
    for state in range(data.sizes["state"]):
        moment = data.isel(state=state)
        for a, arm in enumerate(moment["arm"].values):
            exact = float(moment["exact"][a])
            cells = []
            for value in moment["gauss_hermite"][:, a].values:
                cells += [f"{value:.4g}", _percent(value / exact - 1)]
            table.add_row(str(arm), f"{int(moment['pulls'][a]):,}", f"{exact:.6g}", *cells)
        table.add_section()
    return table


def _percent(share: float) -> str:
    return "< 0.01 %" if abs(share) < 1e-4 else f"{100 * share:+.2g} %"


def main() -> None:
    """Run the command; wrong input ends with one clear line and exit code 2, never a traceback."""
    try:
        app()
    except (ValueError, OSError) as error:
        typer.echo(f"feint: {error}", err=True)
        sys.exit(2)
