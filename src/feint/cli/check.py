"""`feint check`: does a policy draw its arms with the probabilities that it states?"""

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feint.cli.fact_tables import fact_table, number_table, plain
from feint.cli.shared import CommandWithNames, app, naming_output, numbers
from feint.cli.verdicts import exit_code, saying, write_now

if TYPE_CHECKING:
    from feint.auditing import PolicyReport


@app.command(cls=CommandWithNames)
def check(
    policy: Annotated[
        str, typer.Argument(help="Your policy, FILE.py:NAME or MODULE:NAME: a class, a function or an object.")
    ],
    public: Annotated[str, typer.Option(help="Mean rewards of the arms, such as 0.7,0.5,0.3.")],
    family: Annotated[str | None, typer.Option(help="Rewards: {family} or {mine}; gaussian if not given.")] = None,
    steps: Annotated[str, typer.Option(help="The maximum number of steps.")] = "20000",
    alpha: Annotated[float, typer.Option(help="An honest policy is rejected with at most this probability.")] = 0.001,
    precision: Annotated[
        float | None,
        typer.Option(help="Also stop once every mean departure is known to be at most this, such as 0.02."),
    ] = None,
    contexts: Annotated[
        str | None, typer.Option(help="Contexts, FILE.py:NAME or MODULE:NAME: a list, an array or a function.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of rewards and contexts.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Test whether a policy draws its arms with the probabilities that it states.

    Exit code 0: no evidence against it. 1: rejected. 2: the policy failed, or
    an option is wrong. 3: a bug in feint.
    """
    from feint.auditing import check_policy
    from feint.bandit import Bandit
    from feint.families import Gaussian
    from feint.registry import find_own, parse, parse_whole

    means = numbers(public, "--public")
    rewards = Gaussian() if family is None else parse(family, "family", folder=Path())
    # Private means play no part, but they must not tie.
    bandit = Bandit(means, range(len(means)), family=(rewards, Gaussian()))
    found = find_own(policy, "The policy", Path())
    given: Any = None if contexts is None else find_own(contexts, "--contexts", Path())
    try:
        with redirect_stdout(sys.stderr):  # what the policy prints is not part of the report
            report = check_policy(
                found,
                bandit,
                steps=parse_whole(steps, "--steps"),
                alpha=alpha,
                precision=precision,
                contexts=given,
                seed=seed,
            )
    except KeyboardInterrupt:
        typer.echo("feint: interrupted, nothing was decided.", err=True)
        sys.exit(130)
    failures: list[str] = []
    with saying(failures), naming_output("Standard output"):
        write_now(json.dumps(report.to_json(), allow_nan=False) + "\n" if as_json else _text(report))
    raise typer.Exit(exit_code(report.rejected, failures))


def _text(report: "PolicyReport") -> str:
    """Return the report as a terminal shows it."""
    from rich.console import Console
    from rich.padding import Padding

    from feint.auditing.facts import caret
    from feint.auditing.policies.facts import facts_of_check

    facts, console = facts_of_check(report, caret), Console()
    colour = "red" if report.rejected else "green"
    with console.capture() as text:
        console.print(f"\n [bold {colour}]{plain(facts.verdict)}[/]", highlight=False)
        console.print(Padding(f"{facts.meaning}\n", (0, 0, 0, 1)), highlight=False)
        console.print(number_table(facts.numbers))
        console.print(fact_table(facts.arms))
        for note in facts.arms.notes:
            console.print(Padding(note, (0, 0, 0, 1)), highlight=False)
    return text.get()
