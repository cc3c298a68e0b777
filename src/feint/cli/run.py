"""`feint run`: the user's own instance."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.shared import (
    FAMILY_HELP,
    FIGURES,
    CommandWithNames,
    app,
    check_output,
    read_bandit,
    save_figure,
)

if TYPE_CHECKING:
    from rich.table import Table

    from feint.bandit import Bandit
    from feint.simulation.dataset import Runs


@app.command(cls=CommandWithNames)
def run(
    public: Annotated[str | None, typer.Option(help="Public means, as 0.6,0.3,0,0.2.")] = None,
    private: Annotated[str | None, typer.Option(help="Private means, in the same order.")] = None,
    family: Annotated[str | None, typer.Option(help=FAMILY_HELP)] = None,
    instance: Annotated[Path | None, typer.Option(help="Or a TOML or JSON file with public, private, family.")] = None,
    epsilon: Annotated[
        str, typer.Option(help="KL budget per step, in nats: a number, inf, {budget} or {mine}.")
    ] = "0.1",
    horizon: Annotated[str, typer.Option(help="Pulls per run, the initial round included; 1e5 is fine.")] = "10000",
    explorer: Annotated[str, typer.Option(help="Whom to boost: {explorer} or {mine}.")] = "top-two",
    reference: Annotated[
        str, typer.Option(help="What the observer expects: {reference} or {mine}.")
    ] = "thompson-sampling",
    replications: Annotated[str, typer.Option(help="Runs.")] = "100",
    delta: Annotated[float | None, typer.Option(help="Stop a run at this posterior error.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Short for --family gaussian:SIGMA; 1 if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same numbers.")] = 0,
    observe: Annotated[bool, typer.Option("--observe", help="Run the observer's test beside the agent.")] = False,
    alpha: Annotated[float | None, typer.Option(help="Level of that test; 0.05 if not given.")] = None,
    method: Annotated[str, typer.Option(help="How to simulate: lazy, eager, or event for very long runs.")] = "lazy",
    save: Annotated[Path | None, typer.Option(help="Write the runs as a Zarr store.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the error over time (.pdf, .png or .svg).")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the first run: arms, policy and evidence (.pdf, .png or .svg).")
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Write what the observer saw of the first run, for feint audit (.csv, .parquet)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Simulate the agent on your own instance."""
    from rich.console import Console

    from feint.registry import imply_family, is_family_of, parse, parse_whole
    from feint.registry.instances import usual_arguments
    from feint.simulation.simulate import run_simulation
    from feint.support.files import write_whole

    reference, implied = imply_family(reference)
    if implied is not None and family is None and sigma is None and instance is None:
        family = implied
    bandit = read_bandit(public, private, sigma, family, instance)
    if implied is not None and not is_family_of(implied, bandit.families[0]):
        raise ValueError(
            f"--reference {implied} contradicts the public rewards, {bandit.families[0]!r}; "
            f"write --reference {reference}."
        )
    check_output(save, (".zarr",), force)
    check_output(plot, FIGURES, force)
    check_output(log, (".csv", ".parquet"), force)
    check_output(picture, FIGURES, force)
    if alpha is not None and not observe and picture is None:
        raise ValueError("--alpha is the level of the observer's test; add --observe or --picture, or leave it out.")
    level = 0.05 if alpha is None else alpha
    pulls = parse_whole(horizon, "--horizon")
    chosen = parse(explorer, "explorer", folder=Path(), known=usual_arguments(bandit))
    expected = parse(reference, "reference", folder=Path())
    budget = parse(epsilon, "budget", folder=Path(), known={"horizon": pulls})
    runs = run_simulation(
        bandit,
        chosen,
        expected,
        budget,
        pulls,
        parse_whole(replications, "--replications"),
        seed=seed,
        delta=delta,
        method=method,  # type: ignore[arg-type] # it is checked there
        observe=observe,
        alpha=level,
        progress=sys.stderr.isatty(),
    )
    console = Console(stderr=as_json)
    if as_json:
        print(json.dumps(_as_json(runs), ensure_ascii=False))
    else:
        console.print(_summary(bandit, runs))
    if log is not None:
        from feint.agent.public_log import public_log, write_log

        table = public_log(bandit, chosen, expected, epsilon=budget, horizon=pulls, seed=seed, delta=delta)
        write_whole(log, lambda name: write_log(table, name), force=force)
        console.print(f"logged {log}", highlight=False, markup=False, soft_wrap=True)
    if save is not None:
        write_whole(save, lambda name: runs.dataset().to_zarr(name, mode="w", consolidated=False), force=force)
        console.print(f"saved {save}", highlight=False, markup=False, soft_wrap=True)
    if plot is not None:
        save_figure(_draw(runs, epsilon), plot, force)
        console.print(f"drew {plot}", highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        from feint.agent.trace import Trace, draw_run, trace_run

        sure = math.nan if delta is None else float(runs.variables["stopping_time"][0])
        until = pulls if math.isnan(sure) else int(sure)
        one = trace_run(Trace(bandit, chosen, expected, epsilon=budget, seed=seed), until)
        save_figure(draw_run(one, level), picture, force)
        console.print(f"drew {picture}", highlight=False, markup=False, soft_wrap=True)


def _summary(bandit: "Bandit", runs: "Runs") -> "Table":
    import numpy as np
    from rich import box
    from rich.table import Table

    pulls, boosts, log_error, recommendation = _end(runs)
    right = int((recommendation == bandit.best_private).sum())
    error = float(np.exp(log_error).mean())
    table = Table(
        title=f"{len(runs.which)} runs of {int(runs.times[-1]):,} pulls: best private arm found in {right},\n"
        f"its mean posterior error is {error:.2g} (log error {float(log_error.mean()):.3g} on average)",
        box=box.SIMPLE_HEAD,
    )
    for name in ("arm", "public", "private", "pulls", "± 95 %", "boosts", "recommended"):
        table.add_column(name, justify="right")
    half = 1.96 * pulls.std(0) / math.sqrt(len(pulls))
    for a in range(bandit.n_arms):
        marks = ("*" if a == bandit.best_public else "", "*" if a == bandit.best_private else "")
        table.add_row(
            str(a),
            f"{bandit.public[a]:g}{marks[0]}",
            f"{bandit.private[a]:g}{marks[1]}",
            f"{pulls[:, a].mean():,.1f}",
            f"{half[a]:,.1f}",
            f"{boosts[:, a].mean():,.1f}",
            str(int((recommendation == a).sum())),
        )
    notes = []
    for name, what in (("stopping_time", "stopped"), ("detection_time", "were detected")):
        if name in runs.variables:
            count, median = _median(runs.variables[name])
            notes.append(f"{count} runs {what}" + (f", median {median:,.0f} pulls" if count else ""))
    if "private_gain" in runs.variables:
        count, gain = _median(runs.variables["private_gain"][:, -1])
        notes += [f"median private gain over the reference itself {gain:,.1f}"] if count else []
    table.caption = "; ".join([*notes, "arms count from 0, * marks the best"])
    return table


def _end(runs: "Runs") -> list[Any]:
    """Return pulls, boosts, log error and recommendation at the last checkpoint."""
    return [runs.variables[name][:, -1] for name in ("pulls", "boosts", "log_error", "recommendation")]


def _median(values: Any) -> tuple[int, float | None]:
    """Return (how many runs have a number there, the median of these)."""
    import numpy as np

    there = values[~np.isnan(values)]
    return there.size, float(np.median(there)) if there.size else None


def _as_json(runs: "Runs") -> dict[str, Any]:
    """Return the summary in plain types: what was run, means over runs at the end, and medians of times."""
    from feint.registry import config_of

    pulls, boosts, log_error, recommendation = _end(runs)
    found: dict[str, Any] = {"runs": len(runs.which), "pulls": int(runs.times[-1])}
    families = [config_of(family, "family") for family in runs.bandit.families]
    found["instance"] = {"public": runs.bandit.public, "private": runs.bandit.private, "families": families}
    found["settings"] = runs.settings
    found["mean_log_error"] = float(log_error.mean())
    found["recommended"] = [int((recommendation == a).sum()) for a in range(runs.bandit.n_arms)]
    found["mean_pulls"] = pulls.mean(axis=0).tolist()
    found["mean_boosts"] = boosts.mean(axis=0).tolist()
    for name in ("stopping_time", "detection_time"):
        if name in runs.variables:
            found[name] = dict(zip(("runs", "median"), _median(runs.variables[name]), strict=True))
    return found


def _draw(runs: "Runs", epsilon: str) -> Any:
    from feint.support.style import COLOURS, band, new_figure, tidy

    figure = new_figure(7.2, 3.0)
    left, right = figure.subplots(1, 2)
    t = runs.times.astype(float)
    band(left, t, runs.variables["log_error"] / math.log(10), COLOURS[0], "")
    for a in range(runs.bandit.n_arms):
        band(right, t, runs.variables["pulls"][:, :, a].astype(float), COLOURS[a % len(COLOURS)], f"arm {a}")
    left.set(xscale="log", xlabel="time $t$", ylabel=r"$\log_{10}(1 - p^*_t)$, mean of runs")
    left.set_title(f"ε = {epsilon}", fontsize=10)
    right.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="pulls")
    right.legend(frameon=False, fontsize=8)
    tidy(left, right)
    return figure
