"""`feint plan`: what theory says a run will take."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.fact_tables import fact_table, number_table
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
    from feint.planning import Plan, Unseen

_QUESTIONS = (
    "Give exactly one of --epsilon (a KL budget per step), --time (to finish by), --total with --horizon (a total KL "
    "budget) and --unseen with --horizon (the power that a test may have)."
)


@app.command(cls=CommandWithNames)
def plan(
    public: Annotated[str | None, typer.Option(help="Public means, such as 0.6,0.3,0,0.2.")] = None,
    private: Annotated[str | None, typer.Option(help="Private means, in the same order.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="KL budget per step, in nats: a number, inf, {budget} or {mine}.")
    ] = None,
    time: Annotated[
        float | None, typer.Option(help="Instead of --epsilon: find the budget that suffices to finish by this time.")
    ] = None,
    total: Annotated[float | None, typer.Option(help="Or a total KL budget, spent evenly until --horizon.")] = None,
    unseen: Annotated[
        float | None, typer.Option(help="Or the power that no test may exceed: find what can be learnt by --horizon.")
    ] = None,
    horizon: Annotated[float | None, typer.Option(help="Pulls, for --total and --unseen.")] = None,
    explorer: Annotated[
        str | None,
        typer.Option(help="Which arm to boost: {explorer}, if its shares of boosts are known; top-two if not given."),
    ] = None,
    goal: Annotated[str, typer.Option(help="What to learn of the private means: {goal} or {mine}.")] = "best-arm",
    reference: Annotated[
        str, typer.Option(help="What the observer expects: thompson-sampling, or the name of a family.")
    ] = USUAL_REFERENCE,
    delta: Annotated[float, typer.Option(help="Error at which to stop.")] = 0.001,
    sigma: Annotated[float | None, typer.Option(help="Short for --family gaussian:SIGMA; 1 if not given.")] = None,
    family: Annotated[str | None, typer.Option(help=FAMILY_HELP)] = None,
    feedback: Annotated[str | None, typer.Option(help=FEEDBACK_HELP)] = None,
    instance: Annotated[Path | None, typer.Option(help="Or a TOML or JSON file with public, private, family.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of the observer's test.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw confidence and evidence over time (.pdf, .png or .svg).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Say how long confidence 1 - delta takes, how to share the boosts, what it costs and when it is noticed."""
    from feint.budgets import Constant, TotalBudget
    from feint.planning import plan as make_plan
    from feint.planning import plan_epsilon, plan_unseen
    from feint.references import ThompsonSampling
    from feint.registry import parse
    from feint.registry.instance_files import usual_arguments

    bandit, expected = read_bandit(public, private, sigma, family, instance, reference, feedback)
    if isinstance(expected, ThompsonSampling) and expected.prior is not None:
        raise ValueError("A plan is for thompson-sampling with its usual prior; leave the prior out, or use feint run.")
    if expected != ThompsonSampling():
        raise ValueError("A plan is for the reference thompson-sampling; simulate others with feint run.")
    check_output(plot, FIGURES, force)
    if sum(value is not None for value in (epsilon, time, total, unseen)) != 1:
        raise ValueError(_QUESTIONS)
    if (horizon is None) == (total is not None or unseen is not None):
        raise ValueError("--horizon, a number of pulls, goes with --total or --unseen; give both, or neither.")
    answer: Plan | Unseen
    if unseen is not None:
        if plot is not None:
            raise ValueError("--plot draws a plan over time; leave it out with --unseen.")
        if explorer is not None:
            raise ValueError("--unseen finds out which arm to boost; leave --explorer out.")
        if goal != "best-arm":
            raise ValueError("--unseen is for the goal best-arm; leave --goal out.")
        answer = plan_unseen(bandit, unseen, alpha, _whole_pulls(horizon))
    else:
        chosen = parse(explorer or "top-two", "explorer", folder=Path(), known=usual_arguments(bandit))
        budget: Any = None
        aim = parse(goal, "goal", folder=Path())
        if epsilon is not None:
            found = parse(epsilon, "budget", folder=Path())
            budget = found.epsilon if isinstance(found, Constant) else found
        elif time is not None:
            budget = plan_epsilon(bandit, time, delta, explorer=chosen, goal=aim)
        elif total is not None:
            budget = TotalBudget(total, _whole_pulls(horizon))
        answer = make_plan(bandit, budget, delta, explorer=chosen, alpha=alpha, goal=aim)
    if as_json:
        typer.echo(_plan_json(answer))
    else:
        _print_plan(answer)
    if plot is not None:
        from feint.planning.figure import draw_plan

        # A Plan: --unseen with --plot was refused above.
        save_figure(draw_plan(bandit, answer), plot, force)  # type: ignore[arg-type]
        typer.echo(f"drew {plot}", err=as_json)


def _whole_pulls(horizon: float | None) -> int:
    if horizon is None or horizon != math.floor(horizon):
        raise ValueError(f"--horizon is {horizon}; give a whole number of pulls.")
    return int(horizon)


def _plan_json(answer: "Plan | Unseen") -> str:
    from feint.budgets import as_budget
    from feint.registry import config_of
    from feint.simulation.dataset import instance_of

    fields, bandit = asdict(answer), answer.bandit
    del fields["bandit"]
    fields["explorer"] = config_of(answer.explorer, "explorer")
    if "goal" in fields:
        fields["goal"] = config_of(getattr(answer, "goal"), "goal")  # noqa: B009 - an Unseen has none
    for name in ("epsilon", "budget"):
        if name in fields:
            value = getattr(answer, name)
            fields[name] = value if isinstance(value, float) else config_of(as_budget(value), "budget")
    return json.dumps(_json_value(instance_of(bandit) | fields))


def _json_value(value: Any) -> Any:
    """Return a value that JSON can hold: lists for arrays of NumPy, "inf" for ∞ and null for NaN."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {name: _json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value == math.inf else None
    return value


def _print_plan(answer: "Plan | Unseen") -> None:
    from rich.console import Console

    from feint.planning.facts import facts_of_plan, facts_of_unseen
    from feint.planning.plan import Plan

    found = facts_of_plan(answer) if isinstance(answer, Plan) else facts_of_unseen(answer)
    console = Console()
    console.print(fact_table(found.arms, found.title))
    console.print(number_table(found.numbers))
