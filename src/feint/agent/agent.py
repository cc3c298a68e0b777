"""A live agent, for rewards that come from elsewhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.agent.answers import answer_now, log_best_arms
from feint.agent.assembly import assemble
from feint.agent.saved_known import known_state, recall_known
from feint.agent.step import (
    Known,
    Problem,
    Space,
    add_rewards,
    decide,
    draw_arm,
    most_pulled,
    space,
    update,
)
from feint.budgets import BudgetPieces, Epsilon, as_budget
from feint.explorers import Explorer, TopTwo
from feint.explorers.base import Uniforms
from feint.families import Families
from feint.feedback import Feedback
from feint.goals import BestArm, Goal
from feint.goals.best_arm import BestArmKernel
from feint.numerics._jit import kernel
from feint.numerics._validate import checked_number, is_whole
from feint.numerics.sorting import find_largest
from feint.numerics.streams import ARM, RandomStream, check_word
from feint.references import Reference, ThompsonSampling
from feint.registry import config_of, families_for, families_from_config, from_config, show_part
from feint.support.files import load_state, save_state
from feint.support.own_parts import call, read
from feint.support.saved import check_form

_VERSION = 2
_PART = {"kind": ""}
_FORM = {  # the form of the part of a state that says how the agent is made
    "n_arms": 0, "explorer": _PART, "reference": _PART, "epsilon": _PART, "families": [], "seed": 0, "replication": 0,
}  # fmt: skip


@kernel
def _decide(problem: Problem, known: Known, s: Space, t: int, uniforms: Uniforms) -> int:
    return decide(problem, known, s, t, uniforms)


def add_pull(known: Known, arm: int, public: float, private: float) -> None:
    """Record a pull and its two rewards, and update what is known of the arm."""
    add_rewards(known, arm, public, private)
    update(known, arm)


_add_pull = kernel(add_pull)


class Agent:
    """The agent of `simulate`, one pull at a time.

    For the same seed and rewards its pulls are the simulator's. Each arm is pulled once first, in order.

    Parameters
    ----------
    n_arms
        K, at least 2.
    explorer, reference
        Which arm to boost and what the observer expects: from the package, or your own (docs/extending.md), which the
        agent copies.
    goal
        What is to be learnt of the private means, as in `simulate`.
    epsilon
        KL budget per step: a number, math.inf, `PowerLaw`, `TotalBudget`, or anything with `at(t)`.
    sigma, family
        How rewards are distributed: a family, or a pair for public and private rewards; `sigma` is short for
        `family=Gaussian(sigma)`. Without either, the family that the reference is about, or Gaussian(1).
    feedback
        What the agent sees of its private rewards, if not all of them: `Sometimes` or `Linked`.
    seed, replication
        Which random stream to draw from.

    Examples
    --------
    >>> agent = Agent(2, epsilon=0.1)
    >>> for public, private in [(1.0, 0.0), (0.2, 0.5), (0.9, 0.1)]:
    ...     agent.update(agent.pull(), public, private)
    >>> agent.pulls.sum()
    np.int64(3)
    >>> bool(agent.probabilities().sum().round(12) == 1)
    True
    """

    # As in `simulate`, each option stands alone and has a usual value.
    def __init__(
        self,
        n_arms: int,
        explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
        reference: Reference = ThompsonSampling(),  # noqa: B008 - frozen
        *,
        goal: Goal = BestArm(),  # noqa: B008 - frozen
        epsilon: Epsilon,
        sigma: float | None = None,
        family: Families | None = None,
        feedback: Feedback | None = None,
        seed: int = 0,
        replication: int = 0,
    ) -> None:
        if not is_whole(n_arms, 2):
            raise ValueError(f"n_arms is {n_arms!r}; an agent needs a whole number of arms, 2 or more.")
        check_word(seed, "seed")
        check_word(replication, "replication")
        budget = as_budget(epsilon)
        self._families = families_for(reference, family, sigma)
        self._feedback = feedback
        assembly = assemble(int(n_arms), self._families, explorer, reference, feedback=feedback, goal=goal)
        self._problem, self._known = assembly.instantiate()
        self._budget = BudgetPieces(budget, int(n_arms))
        self._choose, self._add_pull = (decide, add_pull) if assembly.plain else (_decide, _add_pull)
        self._config: dict[str, Any] = {
            "n_arms": int(n_arms),
            "explorer": config_of(explorer, "explorer"),
            "reference": config_of(reference, "reference"),
            "epsilon": config_of(budget, "budget"),
            "goal": config_of(goal, "goal"),
            "families": [config_of(side, "family") for side in self._families],
            "seed": int(seed),
            "replication": int(replication),
        }
        if feedback is not None:
            self._config["feedback"] = config_of(feedback, "feedback")
        self._words = f"{show_part(explorer, 'explorer')} behind {show_part(reference, 'reference')}"
        self._stream = RandomStream(int(seed), int(replication))
        self._space = space(int(n_arms))
        self._boosted: int | None = None  # decided for the coming pull, counted when it is made

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return int(self._known.pulls.size)

    @property
    def time(self) -> int:
        """The number of pulls made."""
        return int(self._known.pulls.sum())

    @property
    def pulls(self) -> Any:
        """The pulls of each arm."""
        return self._known.pulls.copy()

    @property
    def boosts(self) -> Any:
        """The boosts of each arm."""
        return self._known.boosts.copy()

    def probabilities(self) -> FloatArray:
        """Return the distribution of the next pull; in the initial round it is a single arm."""
        self._decide()
        return self._space.policy.copy()

    def reference_probabilities(self) -> FloatArray:
        """Return what the observer expects of the next pull; in the initial round it is the same single arm."""
        self._decide()
        return self._space.pi.copy()

    @property
    def boosted_arm(self) -> int | None:
        """The arm that the next pull boosts; None in the initial round."""
        self._decide()
        return self._boosted

    def pull(self) -> int:
        """Return the arm to pull now. Asking again before `update` gives the same arm."""
        self._decide()
        if self.time < self.n_arms:
            return self.time
        u = float(self._stream.uniforms([self.time])[0, ARM])
        assert self._boosted is not None
        return int(draw_arm(self._space.policy, self._boosted, most_pulled(self._known.pulls), u))

    def update(self, arm: int, public: float, private: float | None = None) -> None:
        """Record a pull and its two rewards; `private` is left out where the feedback leaves it unseen. With
        `ObservedUCB`, `public` is the observer's sample.
        """
        if not is_whole(arm, 0, self.n_arms - 1):
            raise ValueError(
                f"arm is {arm!r}; with {self.n_arms} arms it must be a whole number from 0 to {self.n_arms - 1}. "
                "Nothing was recorded."
            )
        if self._feedback is not None:
            self._feedback.check_private(private, self.time < self.n_arms)
        is_unseen = private is None and self._feedback is not None
        seen = _checked_reward(public, "public", self._families[0])
        kept = math.nan if is_unseen else _checked_reward(private, "private", self._families[1])
        if self.time < self.n_arms and arm != self.time:
            raise ValueError(
                f"The initial round pulls every arm once in order, so arm {self.time} comes next, not {arm}. "
                "Nothing was recorded."
            )
        self._decide()
        if self._boosted is not None:
            self._known.boosts[self._boosted] += 1
        self._add_pull(self._known, int(arm), seen, kept)
        self._boosted = None

    @property
    def best_arm(self) -> int:
        """The arm most likely to be the best private one, after the initial round, whatever the goal."""
        return int(find_largest(log_best_arms(self._known)))

    @property
    def answer(self) -> BoolArray:
        """Whether each arm belongs to the answer, (K,); for `BestArm` it is `best_arm` alone."""
        return answer_now(self._problem.goal, self._known)[0]

    @property
    def confidence(self) -> float:
        """The posterior probability that `answer` is right; for `BestArm` that of `best_arm`."""
        return -math.expm1(self.log_error)

    @property
    def log_error(self) -> float:
        """log(1 − confidence), exact even where the error is tiny."""
        return answer_now(self._problem.goal, self._known)[1]

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        return {"feint_agent": _VERSION, **self._config, **known_state(self._problem, self._known)}

    @classmethod
    def from_state(
        cls,
        state: dict[str, Any],
        *,
        explorer: Explorer | None = None,
        reference: Reference | None = None,
        epsilon: Epsilon | None = None,
        family: Families | None = None,
        goal: Goal | None = None,
    ) -> Agent:
        """Return the agent that `state` describes; pass parts of your own again."""
        if not isinstance(state, dict) or state.get("feint_agent") != _VERSION:
            raise ValueError(f"This is not the state of an agent of version {_VERSION}; save it with Agent.save.")
        check_form(state, _FORM)
        agent = cls(
            state["n_arms"],
            from_config(state["explorer"], "explorer", explorer),
            from_config(state["reference"], "reference", reference),
            goal=from_config(state.get("goal", {"kind": BestArm.name}), "goal", goal),
            epsilon=from_config(state["epsilon"], "budget", epsilon),
            family=families_from_config(state["families"], family),
            feedback=from_config(state["feedback"], "feedback") if "feedback" in state else None,
            seed=state["seed"],
            replication=state["replication"],
        )
        recall_known(agent._problem, agent._known, agent._families, agent._feedback, state)
        return agent

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the state as JSON, whole or not at all."""
        save_state(self.state(), path, force=force)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        explorer: Explorer | None = None,
        reference: Reference | None = None,
        epsilon: Epsilon | None = None,
        family: Families | None = None,
        goal: Goal | None = None,
    ) -> Agent:
        """Read what `save` wrote; pass parts of your own again, as to `from_state`."""
        state = load_state(path)
        return cls.from_state(state, explorer=explorer, reference=reference, epsilon=epsilon, family=family, goal=goal)

    def __repr__(self) -> str:
        return f"<Agent of {self.n_arms} arms after {self.time:,} pulls: {self._words}>"

    def _repr_html_(self) -> str:
        from feint.support.html import table

        known, ready = self._known, self.time >= self.n_arms
        rows = [
            (a, known.pulls[a], known.boosts[a], *(f"{side.means[a]:.4g}" for side in (known.public, known.private)))
            for a in range(self.n_arms)
        ]
        named = ", ".join(str(a) for a in np.flatnonzero(self.answer)) if ready else ""
        what = "best private arm" if isinstance(self._problem.goal, BestArmKernel) else "answer"
        notes = [f"{what}: {named or 'none'}, log error {self.log_error:.4g}"] if ready else []
        return table(repr(self)[1:-1], ("arm", "pulls", "boosts", "public mean", "private mean"), rows, notes)

    def _decide(self) -> None:
        """Fix the boosted arm and the policy of the coming pull."""
        t = self.time
        if self._boosted is not None:
            return
        if t < self.n_arms:
            self._space.policy[:] = 0.0
            self._space.policy[t] = 1.0
            self._space.pi[:] = self._space.policy
            return
        leader, challenger, selection, _ = (float(u) for u in self._stream.uniforms([t])[0])
        problem = self._problem._replace(budget=self._budget.settings(t, t + 1))
        self._boosted = int(self._choose(problem, self._known, self._space, t, (leader, challenger, selection)))


def _checked_reward(reward: Any, name: str, family: Any) -> float:
    what = f"Nothing was recorded: the {name} reward must be {read(family, 'rewards')}"
    return checked_number(reward, what, lambda number: call(family, "accepts", None, number))
