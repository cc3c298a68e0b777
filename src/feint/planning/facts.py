"""What a plan found, as facts in words: the terminal, the page and the notebook show them, each in its own way.

What is said is decided here alone. JSON has the numbers (`feint plan --json`).
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from feint.bandit import Bandit, roles
from feint.budgets import Constant, as_budget
from feint.goals import BestArm
from feint.registry import show_part
from feint.support.facts import ArmFacts, FactTable

if TYPE_CHECKING:
    from feint.planning.notice import Notice
    from feint.planning.plan import Plan
    from feint.planning.unseen import Unseen

_SURE = 0.99995  # a bound on a power that is printed as 1 says nothing


def facts_of_plan(plan: "Plan") -> ArmFacts:
    """Put a plan into words."""
    numbers = [
        ("expected time", f"{plan.time:,.0f} pulls (± {plan.standard_error:,.0f} Monte Carlo)"),
        *_points(plan),
        *([("never sure", f"{100 * plan.never:.2g} % of runs, left out of the means")] if plan.never else []),
        ("exponent Γ*", f"{plan.gamma:.6g}{_law(plan)}, {plan.case}"),
        (
            "w*",
            "the best shares of the boosts in the long run (δ → 0), for known means; an agent that is still learning "
            "boosts others too",
        ),
        ("KL spent by then", f"{_written_out(plan.kl_spent, 4)} nats"),
        *([("power of any test", f"at most {_bound(plan)} at level {plan.alpha:g}")] if plan.power < _SURE else []),
        (f"noticed at level {plan.alpha:g}", _notice(plan.observer)),
        ("noticed, private rewards known", _notice(plan.informed)),
    ]
    columns = {
        "boosted": [f"{share:.4f}" for share in plan.weights],
        "w*": [f"{share:.4f}" for share in plan.best_weights],
        "pulls": [f"{pulls:,.0f}" for pulls in plan.pulls],
        "nats": [_written_out(cost, 3) for cost in plan.costs],
    }
    asked = "" if isinstance(plan.goal, BestArm) else f" and the goal {show_part(plan.goal, 'goal')}"
    return ArmFacts(
        f"Plan for ε = {show_budget(plan.epsilon)} and δ = {plan.delta:g}{asked}", _arms(plan.bandit, columns), numbers
    )


def show_budget(epsilon: Any) -> str:
    """Return a budget in words; a constant one is a number."""
    budget = as_budget(epsilon)
    return f"{budget.epsilon:.4g}" if isinstance(budget, Constant) else show_part(budget, "budget")


def _law(plan: "Plan") -> str:
    """Return what the exponent says of the error, where the budget makes that short."""
    constant = isinstance(as_budget(plan.epsilon), Constant)
    return " in exp(−Γ*·√(ε·pulls)), about the error in the long run" if constant else ""


def _written_out(value: float, digits: int) -> str:
    """Return a number with so many digits, and large ones as people write them."""
    return f"{value:,.{digits}g}" if value < 10**digits else f"{value:,.0f}"


def _bound(plan: "Plan") -> str:
    error = plan.errors["power"]
    return f"{plan.power:.4g}" + (f" (± {error:.1g} Monte Carlo)" if error > 5e-4 else "")


def facts_of_unseen(plan: "Unseen") -> ArmFacts:
    """Put a plan of what can be learnt unseen into words."""
    numbers = [
        ("total KL", f"{plan.total:.4g} nats leave any level-{plan.alpha:g} test a power of at most {plan.power:g}"),
        ("error reached", f"{plan.error:.4g} (± {plan.standard_error:.2g} Monte Carlo)"),
        ("error without any boost", f"{plan.own_error:.4g}"),
        ("boosted", "the best shares of the boosts, by theory; gained: pulls beyond those of Thompson Sampling"),
        ("theory", "pulls gained by the first-order law, √(2·w·KL/d): too many if the total is small"),
        ("ways to spend it", _ways_text(plan)),
        ("a test that knew every boost", f"would have a power of about {plan.informed_power:.3g}"),
    ]
    columns = {
        "boosted": [f"{share:.4f}" for share in plan.weights],
        "pulls": [f"{pulls:,.1f}" for pulls in plan.pulls],
        "gained": [f"{round(gained, 1) + 0.0:+,.1f}" for gained in plan.gained],
        "theory": [f"{gained:,.1f}" for gained in plan.first_order],
    }
    title = f"Unseen for {plan.horizon:,} pulls, power at most {plan.power:g}"
    return ArmFacts(title, _arms(plan.bandit, columns), numbers)


def _ways_text(plan: "Unseen") -> str:
    """Return the pulls that each way gains in all, with a budget that rises and with one that is even."""
    gained: dict[str, list[str]] = {}
    for name, (pulls, _) in plan.ways.items():
        gained.setdefault(name.split(", ")[0], []).append(f"{pulls:.3g}")
    told = "; ".join(f"{who} {' or '.join(pulls)}" for who, pulls in gained.items())
    return f"pulls gained if ε rises over time, or stays the same: {told}"


def _arms(bandit: Bandit, columns: dict[str, list[str]]) -> FactTable:
    means = [[f"{mean:g}" for mean in side] for side in (bandit.public, bandit.private)]
    arms = [str(arm) for arm in range(bandit.n_arms)]
    return FactTable(
        head=("arm", "public", "private", *columns),
        rows=list(zip(arms, *means, *columns.values(), strict=True)),
        marks=[", ".join(roles(bandit, arm)) for arm in range(bandit.n_arms)],
    )


def _points(plan: "Plan") -> Iterator[tuple[str, str]]:
    """Yield the percentiles of the time, each with its relative error."""
    for share, point, error in zip((10, 50, 90), plan.quantiles, plan.errors["quantiles"], strict=True):
        pulls = f"{point:,.0f} pulls (± {100 * error / point:.0f} %)"
        yield f"{share} % of runs are sure by", pulls if point < math.inf else "never: too few runs become sure"


def _notice(notice: "Notice") -> str:
    """Return when an observer notices, and how sure the agent is by then."""
    if not notice.share:
        return "never"
    low, median, high = notice.quantiles
    never = f", in {100 * notice.share:.3g} % of runs" if notice.share < 1 else ""
    off = f" ± {notice.errors['quantiles'][1]:,.0f}" if median < math.inf else ""
    return (
        f"median {median:,.0f}{off} pulls ({low:,.0f} to {high:,.0f} in 80 %{never}), error by then {notice.error:.2g}"
    )
