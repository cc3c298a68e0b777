"""Checks that a scenario can be simulated: its means, its horizon, and the parts that the event-driven method needs."""

from typing import Any

from feint.agent.assembly import Assembly
from feint.bandit import Bandit
from feint.budgets import may_grow
from feint.goals import BestArm
from feint.registry import show_part
from feint.simulation.scenario import MOST
from feint.support.own_parts import read
from feint.support.printable import short_repr


def check_bandit(bandit: Bandit) -> None:
    """Check that rewards can be drawn around the means of this bandit."""
    if not isinstance(bandit, Bandit):
        raise ValueError(f"bandit is {short_repr(bandit)}; make one with feint.Bandit(public, private).")
    for side, means, family in zip(
        ("public", "private"), (bandit.public, bandit.private), bandit.families, strict=True
    ):
        low, high = family.draw_range if hasattr(family, "draw_range") else read(family, "mean_range")
        if not all(low <= mean <= high for mean in means):
            raise ValueError(
                f"The {side} means {list(means)} are outside the range that can be simulated for "
                f"{show_part(family, 'family')}, {low:g} to {high:g}: rounding would hide the noise, or draws would "
                "take too long. Rescale them."
            )


def check_events(agent: Assembly, budget: Any, observe: bool, delta: float | None = None) -> None:
    """Check that the event-driven method can run this agent with this budget; say why not."""
    public, private = agent.families
    obstacles = [
        (observe, "observe=True, whose test needs every step"),
        (
            delta is not None and not isinstance(agent.goal, BestArm),
            f"delta and the goal {show_part(agent.goal, 'goal')}, whose error it cannot bound",
        ),
        (agent.plain, "a part in plain Python; it needs kernels"),
        (
            not agent.follows_posterior,
            f"the reference {show_part(agent.reference, 'reference')}; it needs ThompsonSampling",
        ),
        (
            not agent.has_event_boosts,
            f"the explorer {show_part(agent.explorer, 'explorer')}, whose boosts it cannot bound",
        ),
        (
            not agent.has_sums,
            f"{show_part(public, 'family')} and {show_part(private, 'family')} rewards, whose sums it cannot draw",
        ),
        (may_grow(budget), f"the budget {show_part(budget, 'budget')}, which might grow"),
    ]
    for present, what in obstacles:
        if present:
            raise ValueError(f'method="event" does not go with {what}; use method="lazy".')


def check_most_pulls(bandit: Bandit, horizon: int) -> None:
    """Check that posteriors stay accurate for this many pulls."""
    for family in bandit.families:
        if horizon > getattr(family, "most_pulls", MOST):
            raise ValueError(
                f"horizon is {horizon:,}; posteriors of {show_part(family, 'family')} are accurate up to "
                f"{family.most_pulls:,} pulls; give a shorter one."
            )
