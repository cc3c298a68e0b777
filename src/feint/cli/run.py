"""`feint run`: simulate the user's own instance."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.fact_tables import fact_table
from feint.cli.shared import (
    FAMILY_HELP,
    FEEDBACK_HELP,
    FIGURES,
    CommandWithNames,
    app,
    check_output,
    read_bandit,
    save_figure,
)
from feint.registry import USUAL_REFERENCE

if TYPE_CHECKING:
    from feint.simulation.dataset import Runs


@app.command(cls=CommandWithNames)
def run(
    public: Annotated[str | None, typer.Option(help="Public means, such as 0.6,0.3,0,0.2.")] = None,
    private: Annotated[str | None, typer.Option(help="Private means, in the same order.")] = None,
    family: Annotated[str | None, typer.Option(help=FAMILY_HELP)] = None,
    feedback: Annotated[str | None, typer.Option(help=FEEDBACK_HELP)] = None,
    instance: Annotated[Path | None, typer.Option(help="Or a TOML or JSON file with public, private, family.")] = None,
    epsilon: Annotated[
        str, typer.Option(help="KL budget per step, in nats: a number, inf, {budget} or {mine}.")
    ] = "0.1",
    horizon: Annotated[str, typer.Option(help="Pulls per run, the initial round included; 1e5 is fine.")] = "10000",
    explorer: Annotated[str, typer.Option(help="Which arm to boost: {explorer} or {mine}.")] = "top-two",
    reference: Annotated[str, typer.Option(help="What the observer expects: {reference} or {mine}.")] = USUAL_REFERENCE,
    goal: Annotated[str, typer.Option(help="What to learn of the private means: {goal} or {mine}.")] = "best-arm",
    replications: Annotated[str, typer.Option(help="Number of runs.")] = "100",
    delta: Annotated[float | None, typer.Option(help="Stop a run at this posterior error.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Short for --family gaussian:SIGMA; 1 if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same numbers.")] = 0,
    observe: Annotated[bool, typer.Option("--observe", help="Run the observer's test beside the agent.")] = False,
    alpha: Annotated[float | None, typer.Option(help="Level of the observer's test; 0.05 if not given.")] = None,
    method: Annotated[str, typer.Option(help="How to simulate: lazy, eager, or event for very long runs.")] = "lazy",
    save: Annotated[Path | None, typer.Option(help="Write the runs as a Zarr store.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the error over time (.pdf, .png or .svg).")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the first run: arms, policy and evidence (.pdf, .png or .svg).")
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Write what the observer saw in the first run, for feint audit (.csv, .parquet)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Simulate the agent on your own instance."""
    from rich.console import Console

    from feint.budgets import as_budget
    from feint.registry import parse, parse_whole
    from feint.registry.instance_files import usual_arguments
    from feint.simulation.facts import facts_of_run
    from feint.simulation.scenario import RunOptions, Scenario
    from feint.simulation.simulate import run_simulation
    from feint.support.files import write_whole

    bandit, expected = read_bandit(public, private, sigma, family, instance, reference, feedback)
    check_output(save, (".zarr",), force)
    check_output(plot, FIGURES, force)
    check_output(log, (".csv", ".parquet"), force)
    check_output(picture, FIGURES, force)
    if alpha is not None and not observe and picture is None:
        raise ValueError("--alpha is the level of the observer's test; add --observe or --picture, or leave it out.")
    level = 0.05 if alpha is None else alpha
    pulls = parse_whole(horizon, "--horizon")
    chosen = parse(explorer, "explorer", folder=Path(), known=usual_arguments(bandit))
    budget = parse(epsilon, "budget", folder=Path(), known={"horizon": pulls})
    aim = parse(goal, "goal", folder=Path())
    options = RunOptions(
        horizon=pulls,
        replications=parse_whole(replications, "--replications"),
        seed=seed,
        delta=delta,
        method=method,  # type: ignore[arg-type] # it is checked there
        observe=observe,
        alpha=level,
    )
    runs = run_simulation(Scenario(bandit, chosen, expected, as_budget(budget), aim), options, sys.stderr.isatty())
    console, found = Console(stderr=as_json), facts_of_run(runs)
    if as_json:
        given = {"public": public, "private": private, "family": family, "instance": instance, "sigma": sigma}
        given |= {"epsilon": epsilon, "horizon": horizon, "explorer": explorer, "reference": reference}
        given |= {"feedback": feedback, "goal": goal}
        given |= {"replications": replications, "delta": delta, "seed": seed, "alpha": alpha, "method": method}
        print(json.dumps(found.to_json() | {"command": _command(given, observe)}, ensure_ascii=False))
    else:
        words = found.in_words()
        table = fact_table(words.arms, words.title)
        table.caption = "; ".join(words.arms.notes)
        console.print(table)
    if log is not None:
        from feint.agent.public_log import public_log, write_log

        rows = public_log(bandit, chosen, expected, epsilon=budget, horizon=pulls, seed=seed, delta=delta, goal=aim)
        write_whole(log, lambda name: write_log(rows, name), force=force)
        console.print(f"logged {log}", highlight=False, markup=False, soft_wrap=True)
    if save is not None:
        write_whole(save, lambda name: runs.dataset().to_zarr(name, mode="w", consolidated=False), force=force)
        console.print(f"saved {save}", highlight=False, markup=False, soft_wrap=True)
    if plot is not None:
        save_figure(_draw_figure(runs, epsilon), plot, force)
        console.print(f"drew {plot}", highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        from feint.agent.trace import Trace, draw_run, trace_run

        sure = math.nan if delta is None else float(runs.variables["stopping_time"][0])
        until = pulls if math.isnan(sure) else int(sure)
        one = trace_run(Trace(bandit, chosen, expected, epsilon=budget, seed=seed, goal=aim), until)
        save_figure(draw_run(one, level), picture, force)
        console.print(f"drew {picture}", highlight=False, markup=False, soft_wrap=True)


def _command(given: dict[str, Any], observe: bool) -> list[str]:
    """Return the arguments of `feint` that repeat this run: all options and their defaults, but no files to write."""
    if not observe:
        del given["alpha"]
    options = [text for name, value in given.items() if value is not None for text in (f"--{name}", str(value))]
    return ["run", *options, *(["--observe"] if observe else [])]


def _draw_figure(runs: "Runs", epsilon: str) -> Any:
    from feint.support.figure_style import COLOURS, band, new_figure, tidy

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
