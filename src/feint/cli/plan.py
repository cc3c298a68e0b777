"""`feint plan`: what it will take, from theory."""

from typing import TYPE_CHECKING, Annotated

import typer

from feint.cli.shared import app, read_bandit

if TYPE_CHECKING:
    from rich.table import Table

    from feint.bandit import Bandit
    from feint.theory import Plan


@app.command()
def plan(
    public: Annotated[str, typer.Option(help="Public means, as 0.6,0.3,0,0.2.")],
    private: Annotated[str, typer.Option(help="Private means, in the same order.")],
    epsilon: Annotated[float | None, typer.Option(help="KL budget a step; inf for no limit.")] = None,
    time: Annotated[float | None, typer.Option(help="Instead of --epsilon: find the one that is done by then.")] = None,
    delta: Annotated[float, typer.Option(help="Error at which to stop.")] = 0.001,
    sigma: Annotated[float | None, typer.Option(help="Short for --family gaussian:SIGMA; 1 if not given.")] = None,
    family: Annotated[
        str | None, typer.Option(help="Rewards: gaussian:SIGMA, bernoulli, poisson, exponential, or public,private.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Level of the observer's test.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """How long to confidence 1 - delta, how to share the boosts, what it costs and who could notice."""
    from feint.kinds import config_of
    from feint.theory import plan as make_plan
    from feint.theory import plan_epsilon

    bandit = read_bandit(public, private, sigma, family, None)
    if (epsilon is None) == (time is None):
        raise ValueError("Give --epsilon (a KL budget a step) or --time (to be done by), not both and not neither.")
    if epsilon is None:
        assert time is not None
        epsilon = plan_epsilon(bandit, time, delta)
    answer = make_plan(bandit, epsilon, delta, alpha=alpha)
    if as_json:
        import json

        fields = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in vars(answer).items()}
        fields["epsilon"] = "inf" if epsilon == float("inf") else epsilon
        families = [config_of(side, "family") for side in bandit.families]
        typer.echo(json.dumps({"public": bandit.public, "private": bandit.private, "families": families} | fields))
        return
    from rich.console import Console

    console = Console()
    for table in _plan_tables(bandit, answer):
        console.print(table)


def _plan_tables(bandit: "Bandit", answer: "Plan") -> "list[Table]":
    from rich import box
    from rich.table import Table

    low, median, high = answer.quantiles
    arms = Table(title=f"Plan for ε = {answer.epsilon:.4g} and δ = {answer.delta:g}", box=box.SIMPLE_HEAD)
    for name in ("arm", "public", "private", "share of boosts", "pulls"):
        arms.add_column(name, justify="right")
    roles = {bandit.best_public: " best public", bandit.best_private: " best private"}
    if bandit.best_public == bandit.best_private:
        roles = {bandit.best_public: " best public and private"}
    arms.add_column("")
    for a in range(bandit.n_arms):
        means = (f"{bandit.public[a]:g}", f"{bandit.private[a]:g}")
        arms.add_row(str(a), *means, f"{answer.weights[a]:.4f}", f"{answer.pulls[a]:,.0f}", roles.get(a, ""))
    facts = Table(box=None, show_header=False, pad_edge=True)
    facts.add_row("expected time", f"{answer.time:,.0f} pulls (± {answer.standard_error:,.0f} Monte Carlo)")
    facts.add_row("10, 50, 90 % points", f"{low:,.0f}, {median:,.0f}, {high:,.0f}")
    facts.add_row("exponent Γ*", f"{answer.gamma:.6g}, {answer.case}")
    facts.add_row("KL spent by then", f"{answer.kl_spent:,.4g}")
    facts.add_row(f"power of any level-{answer.alpha:g} test", f"at most {answer.power:.4g}")
    return [arms, facts]
