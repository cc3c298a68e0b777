"""Turn what a user names (families, explorer, reference) into what kernels take, for simulations and the agent."""

from typing import Any, NamedTuple

import numpy as np

from feint.agent.step import Known, Problem, space
from feint.explorers import TopTwoTransport, Tracking
from feint.explorers.base import PlainExplorer, explorer_settings
from feint.explorers.bounded_draws import EXACT
from feint.explorers.tilting import PlainTilting
from feint.explorers.together import chooses_together
from feint.families.base import belief, family_settings, fill_log_best, usual_prior
from feint.feedback.base import check_feedback
from feint.goals import BestArm
from feint.goals.base import goal_settings
from feint.numerics._jit import has_plain
from feint.references.base import expect, reference_prior, stepwise_settings
from feint.registry import show_part
from feint.support.own_parts import fresh, is_own


class Assembly(NamedTuple):
    """A checked description of an agent, from which any number of agents can be made."""

    n_arms: int
    families: Any
    explorer: Any
    reference: Any
    plain: bool  # whether something in it has no kernel
    together: bool  # whether that is an explorer alone, which can choose for many replications at once
    keeps_state: bool  # whether a part of the user's own may change while it runs
    own_samples: bool
    follows_posterior: bool
    has_bounds: bool
    has_event_boosts: bool  # whether the explorer offers what the event-driven method needs
    has_sums: bool  # whether the families do
    tilts: bool  # whether a step does more than boost one arm
    feedback: Any  # what is seen of private rewards; None for all of them
    goal: Any

    def instantiate(self) -> tuple[Problem, Known]:
        """Return an agent without knowledge and without a budget, made of fresh copies of the user's own parts."""
        public_family, private_family = self.families
        pulls = np.zeros(self.n_arms, dtype=np.int64)
        public = belief(public_family, reference_prior(self.reference, public_family), pulls)
        private = belief(private_family, usual_prior(private_family), pulls)
        if self.feedback is not None:
            private = private._replace(family=self.feedback.kernel(self.families, public.sums))
        known = Known(pulls, np.zeros(self.n_arms, dtype=np.int64), public, private)
        reference = stepwise_settings(self.reference, public_family, self.n_arms)
        goal = goal_settings(fresh(self.goal, self.n_arms), self.n_arms, private_family)
        explorer = explorer_settings(self.explorer, self.n_arms, _other_goal(self.goal, goal))
        if explorer is None:
            explorer = _plain_explorer(fresh(self.explorer, self.n_arms), known, reference)
        return Problem(explorer, reference, None, explorer.uses_posterior, goal), known


def assemble(
    n_arms: int,
    families: Any,
    explorer: Any,
    reference: Any,
    *,
    feedback: Any = None,
    goal: Any = BestArm(),  # noqa: B008 - frozen
) -> Assembly:
    """Check that these parts fit each other, and describe the agent that they make."""
    settings = stepwise_settings(reference, families[0], n_arms)
    reference_prior(reference, families[0])
    aim = goal_settings(goal, n_arms, families[1])
    compiled = explorer_settings(explorer, n_arms, _other_goal(goal, aim))
    others_plain = has_plain((settings, aim)) or not all(hasattr(side, "kernel") for side in families)
    plain = compiled is None or others_plain
    together = compiled is None and not others_plain and chooses_together(explorer)
    tilts = hasattr(explorer, "values") if compiled is None else hasattr(type(compiled), "fill_policy")
    # A region bounds boosts only.
    sides = [type(family_settings(side)) for side in families]
    has_bounds = not plain and not tilts and all(hasattr(side, "fill_region") for side in sides)
    has_event_boosts = any(hasattr(type(compiled), name) for name in ("fill_least_shares", "pass_boosts"))
    has_sums = has_bounds and all(hasattr(side, "draw_sum") for side in sides)
    keeps_state = plain or may_change(explorer, compiled) or may_change(reference, settings) or may_change(goal, aim)
    runs = plain, together, keeps_state, settings.own_samples, settings.follows_posterior
    can = has_bounds, has_event_boosts, has_sums, tilts
    made = Assembly(n_arms, families, explorer, reference, *runs, *can, feedback=feedback, goal=goal)
    if feedback is not None:
        _check_feedback(made)
    return made


def _check_feedback(agent: Assembly) -> None:
    """Refuse parts that do not work with the agent's feedback."""
    feedback = agent.feedback
    check_feedback(feedback, agent.n_arms, agent.families)
    best_arm = isinstance(agent.goal, BestArm)
    counts_pulls = isinstance(agent.explorer, Tracking | TopTwoTransport) and best_arm and not feedback.alike
    explorer = f"the explorer {show_part(agent.explorer, 'explorer')}"
    goal = f"the goal {show_part(agent.goal, 'goal')}"
    reference = f"the reference {show_part(agent.reference, 'reference')}"
    obstacles = {
        f"{goal}, which can be answered only if all private rewards are seen": not hasattr(agent.goal, "kernel"),
        f"{goal}, since its spread leaves the answer open": not best_arm and feedback.spread > 0.0,
        f"{explorer}, which earns by private rewards": agent.tilts,
        f"{explorer}, which assumes that a pull of every arm is worth the same": counts_pulls,
        f"{reference}, whose public rewards are the observer's own": agent.own_samples and feedback.reads_public,
    }
    for what, present in obstacles.items():
        if present:
            raise ValueError(f"The feedback {show_part(feedback, 'feedback')} does not go with {what}; choose another.")


def _other_goal(goal: Any, settings: Any) -> Any:
    """Return the settings of a goal, or None if it is the best arm, for which the engine has code of its own."""
    return None if isinstance(goal, BestArm) else settings


def may_change(part: Any, settings: Any) -> bool:
    """Return whether kernels could keep state in the settings of this part; those of the package do not."""
    return is_own(part) and _has_arrays(settings)


def _has_arrays(settings: Any) -> bool:
    return isinstance(settings, np.ndarray) or (isinstance(settings, tuple) and any(map(_has_arrays, settings)))


def _plain_explorer(explorer: Any, known: Known, reference: Any) -> PlainExplorer:
    """Wrap an explorer in plain Python, with the probabilities that it may ask for."""
    scratch = space(known.pulls.size)

    def private() -> Any:
        fill_log_best(known.private.family, known.private.posterior, known.private.ws, scratch.logs[EXACT])
        return np.exp(scratch.logs[EXACT])

    def expected() -> Any:
        expect(reference, known.public, int(known.pulls.sum()), scratch.pi, scratch.log_pi)
        return scratch.pi.copy()

    kind = PlainTilting if hasattr(explorer, "values") else PlainExplorer
    return kind(explorer, private, expected)
