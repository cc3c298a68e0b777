"""One step of Algorithm 1 of the paper; the live agent and the eager engine both call it.

Everything here is a part, compiled into its callers; with an explorer, a reference or a family in plain Python the same
functions run as Python. The draw cuts (0, 1) into intervals: the boosted arm first, then the others in index order, and
the most pulled arm D last. D takes nearly every step, so the lazy engine tests whether u lies above everything else.
"""

from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.budgets import epsilon_at
from feint.explorers.base import BOUND_ROWS, SCRATCH_ROWS, Uniforms, View, choose, fill_policy
from feint.explorers.bounded_draws import EXACT, LOG_ROWS, fill_exact_bounds
from feint.families.base import Belief, fill_log_best, set_posterior
from feint.feedback.base import add_private, private_mean
from feint.numerics._jit import inlined, part, shared, shared_inlined
from feint.numerics.sorting import find_largest
from feint.references.base import expect


class Problem(NamedTuple):
    """The agent's parts: settings for kernels, or their plain stand-ins."""

    explorer: Any
    reference: Any
    budget: Any
    uses_posterior: bool  # whether the explorer reads the private probabilities
    goal: Any


class Known(NamedTuple):
    """What the agent knows after some pulls; arrays (K,)."""

    pulls: IntArray
    boosts: IntArray
    public: Belief
    private: Belief


class Space(NamedTuple):
    """Space for one decision, owned by the caller."""

    bounds: FloatArray  # (BOUND_ROWS, K) of the private probabilities
    logs: FloatArray  # (LOG_ROWS, K) and their logarithms
    pi: FloatArray  # (K,) the reference's probabilities
    log_pi: FloatArray  # (K,)
    policy: FloatArray  # (K,) the agent's
    explorer: FloatArray  # (SCRATCH_ROWS, K) for the explorer


def space(n_arms: int) -> Space:
    """Allocate the space for decisions among `n_arms` arms."""
    rows = (BOUND_ROWS, n_arms), (LOG_ROWS, n_arms), n_arms, n_arms, n_arms, (SCRATCH_ROWS, n_arms)
    return Space(*(np.empty(shape) for shape in rows))


@shared_inlined
def view_of(known: Known, scratch: FloatArray, t: int) -> View:
    """Return what an explorer sees after t pulls."""
    public, private = known.public, known.private
    families = public.family, private.family
    return View(t, known.pulls, known.boosts, public.means, private.means, *families, scratch, private)


@shared
def decide(problem: Problem, known: Known, s: Space, t: int, uniforms: Uniforms) -> int:
    """Carry out lines 3 to 8 after t pulls, t ≥ K: return the boosted arm and leave the policy in `s.policy`."""
    boosted = choose_exactly(problem, known, s, t, uniforms)  # lines 3–6
    set_policy(problem, known, s, t, boosted)  # lines 7 and 8
    return boosted


@shared
def choose_exactly(problem: Problem, known: Known, s: Space, t: int, uniforms: Uniforms) -> int:
    """Return the arm to boost, from exact private probabilities where the explorer asks for them."""
    if problem.uses_posterior:
        fill_log_best(known.private.family, known.private.posterior, known.private.ws, s.logs[EXACT])
        fill_exact_bounds(s.logs, s.bounds)
    return choose(problem.explorer, view_of(known, s.explorer, t), s.bounds, uniforms)


@shared
def set_policy(problem: Problem, known: Known, s: Space, t: int, boosted: int) -> None:
    """Fill `s.policy` with the probabilities of the (t + 1)-th pull when the arm `boosted` is boosted."""
    expect(problem.reference, known.public, t, s.pi, s.log_pi)
    view = view_of(known, s.explorer, t)
    fill_policy(problem.explorer, view, s.pi, s.log_pi, boosted, epsilon_at(problem.budget, t + 1), s.policy)


@part
def draw_arm(policy: FloatArray, boosted: int, dominant: int, u: float) -> int:
    """Return the arm whose interval contains u (line 9)."""
    before = 0.0
    if boosted != dominant:
        before = policy[boosted]
        if u < before:
            return boosted
    for a in range(policy.size):
        if a not in (boosted, dominant):
            before += policy[a]
            if u < before:
                return a
    return dominant


@shared_inlined
def add_rewards(known: Known, arm: int, public: float, private: float) -> None:
    """Record a pull and its two rewards (line 10); the private one is NaN if it was not seen (`feedback`). The
    posterior waits for `update`, until something asks for it.
    """
    known.pulls[arm] += 1
    known.public.sums[arm] += public
    add_private(known.private.family, known.private, arm, public, private)


@shared_inlined
def update_means(known: Known, arm: int) -> None:
    """Compute the mean public reward of an arm and the estimate of its private mean from its count and sums."""
    known.public.means[arm] = known.public.sums[arm] / known.pulls[arm]
    known.private.means[arm] = private_mean(known.private.family, known.private, arm)


@shared_inlined
def update(known: Known, arm: int) -> None:
    """Compute the means and posteriors of an arm from its count and sums."""
    update_means(known, arm)
    set_posterior(known.public.family, known.public, arm)
    set_posterior(known.private.family, known.private, arm)


@part
def most_pulled(pulls: IntArray) -> int:
    """Return D, the first of the arms with the most pulls."""
    return find_largest(pulls)


@inlined
def still_most_pulled(pulls: IntArray, dominant: int, pulled: int) -> int:
    """Return D after one more pull of the arm `pulled`, where D was `dominant` before."""
    ahead = pulls[pulled] - pulls[dominant]
    return pulled if ahead > 0 or (ahead == 0 and pulled < dominant) else dominant


@inlined
def likeliest(logs: FloatArray) -> int:
    """Return the arm with the largest private probability, the first of equals, from the row EXACT of `logs`."""
    return find_largest(logs[EXACT])
