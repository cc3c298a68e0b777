"""`feint reproduce`: the paper's figures and claims, and our own experiments."""

from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from feint.cli.shared import app
from feint.experiments import OWN_EXPERIMENTS, PAPER_FIGURES
from feint.support.progress import ticking

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset

    from feint.experiments.contract import Size
    from feint.experiments.findings import Finding


def _list_names(names: dict[str, str]) -> str:
    lines = (f"{name:15} {title}" for name, title in names.items())
    return "\n".join(("\n\b", *lines, ""))  # \b keeps the lines as they are


_HELP = f"""Rerun the paper's figures and its claims about them, or our own experiments.

An interrupted run continues where it stopped. Without a name, or with the name paper, the paper's figures are run:
{_list_names(PAPER_FIGURES)}
With the name all, these are run after them:
{_list_names(OWN_EXPERIMENTS)}
"""


@app.command(help=_HELP)
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Any of the names above, paper or all.", show_default="paper")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Short horizons and few seeds: a minute or two.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Enough seeds to decide the claims: within an hour on two cores.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for data, figures, claims and report.")] = Path("results"),
    seed: Annotated[int, typer.Option(help="Seed of every experiment.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a run in the folder that had other settings.")
    ] = False,
) -> None:
    """Run experiments and print their claims."""
    from rich.console import Console

    from feint.experiments import reference_table
    from feint.experiments.reproduce import reproduce as run

    if quick and full:
        raise typer.BadParameter(
            "a run is either --quick or --full; give one of them, or neither for a run of some minutes"
        )
    console = Console()
    size: Size = "quick" if quick else "full" if full else "usual"
    show = partial(ticking, True, unit="")
    claims = run(names or ["paper"], out, seed=seed, size=size, force=force, progress=show)
    if claims.keys() >= PAPER_FIGURES.keys():
        console.print(_reference_table(reference_table.run()))
    found = [claim for part in claims.values() for claim in part]
    for line in claim_lines(found):
        console.print(line, highlight=False, soft_wrap=True)
    where = f"{out / 'report.html'} and {out / 'claims.md'}"
    console.print(f"\n{where}{'' if size == 'usual' else f' (a {size} run)'}", highlight=False, soft_wrap=True)


_STYLES = {"shown": "green", "refuted": "red", "undecided": "yellow", "measured": "cyan"}
_NAME = 50  # columns of the longest name
_LINE = 69  # columns of a name and its interval


def claim_lines(claims: "list[Finding]") -> list[str]:
    """Return one line of at most 80 columns per claim, sorted by kind, then the number of each verdict per kind."""
    from rich.markup import escape

    from feint.experiments.claims_page import marked
    from feint.experiments.findings import KINDS, count_lines, family_words

    lines = []
    for kind, title in KINDS.items():
        of_kind = [claim for claim in claims if claim.kind == kind]
        lines += ["", f"[bold]{escape(title)}[/]"] if of_kind else []
        for claim in of_kind:
            style = _STYLES[claim.verdict]
            interval = claim.interval or f"{claim.measured:.4g}"
            width = min(_NAME, _LINE - len(interval))
            lines.append(f"[{style}]{claim.verdict:9}[/] {escape(marked(claim)):{width}} {interval}")
    lines += ["", *wrap(family_words(claims), 80)]
    lines.append("* exploratory: settings, range or statistic were changed after seeing data.")
    lines.append("Arms and instances of Figures 1 to 5 are numbered as in the paper, from 1.")
    return [*lines, *count_lines(claims)]


def _reference_table(data: "Dataset") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(
        title="What Thompson Sampling pulls, exactly and by Gauss–Hermite (GH)\n"
        "public means (0.6, 0.3, 0, 0.2), σ = 1, at three moments of a run\narms count from 0",
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
                cells += [f"{value:.4g}", _signed_percent(value / exact - 1)]
            table.add_row(str(arm), f"{int(moment['pulls'][a]):,}", f"{exact:.6g}", *cells)
        table.add_section()
    return table


def _signed_percent(share: float) -> str:
    return "< 0.01 %" if abs(share) < 1e-4 else f"{100 * share:+.2g} %"
