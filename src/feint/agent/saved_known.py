"""What an agent knows, as plain JSON types: saved, restored and checked."""

from typing import Any

import numpy as np

from feint.agent.step import Known, Problem, update
from feint.families.base import recall
from feint.numerics._validate import restore, restore_counts
from feint.references.base import memory_of, recall_memory
from feint.support.saved import check_form


def known_state(problem: Problem, known: Known) -> dict[str, Any]:
    """Return what `recall_known` needs to continue identically."""
    counts = {"pulls": known.pulls.tolist(), "boosts": known.boosts.tolist()}
    sums = {"public_sums": known.public.sums.tolist(), "private_sums": known.private.sums.tolist()}
    beyond = {name: array.tolist() for name, array in _beyond_sums(known).items()}
    memory = memory_of(problem.reference)
    return {**counts, **sums, **beyond, **({"memory": memory} if memory else {})}


def recall_known(
    problem: Problem, known: Known, families: tuple[Any, Any], feedback: Any, state: dict[str, Any]
) -> None:
    """Restore what was known; raise ValueError where the state is damaged."""
    check_form(state, known_state(problem, known))
    restore_counts(known.pulls, state["pulls"], "pulls")
    restore_counts(known.boosts, state["boosts"], "boosts")
    for name, array in _beyond_sums(known).items():
        (restore_counts if name == "seen" else restore)(array, state[name], name)
    seen = _beyond_sums(known).get("seen")
    if seen is not None and not ((np.minimum(known.pulls, 1) <= seen) & (seen <= known.pulls)).all():
        raise ValueError("The state is damaged: its pulls and its counts of seen rewards cannot come from an agent.")
    recall(known.public, families[0], state["public_sums"], "public_sums")
    recall(known.private, families[1], state["private_sums"], "private_sums")
    recall_memory(problem.reference, state.get("memory", []))
    if feedback is not None:  # what it keeps is part of the posterior
        for arm in np.flatnonzero(known.pulls):
            update(known, int(arm))
    _check_counts(known)


def _check_counts(known: Known) -> None:
    """Raise ValueError unless pulls and boosts can come from an agent."""
    pulls, boosts, time, n_arms = known.pulls, known.boosts, known.pulls.sum(), known.pulls.size
    in_order = (pulls == (np.arange(n_arms) < time)).all() if time < n_arms else (pulls >= 1).all()
    if not in_order or boosts.sum() != max(0, time - n_arms):
        raise ValueError("The state is damaged: its pulls and boosts cannot come from an agent.")


def _beyond_sums(known: Known) -> dict[str, Any]:
    """Return the arrays that a feedback keeps beside the sums of rewards, by name."""
    family = known.private.family
    return {name: getattr(family, name) for name in ("seen", "paired") if hasattr(family, name)}
