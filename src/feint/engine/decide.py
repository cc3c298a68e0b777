"""One step's exact decision: whom to boost, and with which probabilities to pull. Agent and engine share it."""

import math
from typing import NamedTuple

import numpy as np

from feint.budgets import epsilon_at
from feint.engine.policy import fill_policy
from feint.engine.posterior import LOG_ROWS, REFERENCE_ROWS, exact_private, exact_reference
from feint.explorers.base import BOUND_ROWS, FloatArray, IntArray, View
from feint.explorers.dispatch import choose
from feint.numerics._jit import inlined, kernel
from feint.numerics.best_arm_kernel import Workspace, workspace


class Problem(NamedTuple):
    """Explorer, reference, budget and σ as kernels take them."""

    kind: int
    uses_posterior: bool
    parameters: FloatArray
    bonus: float
    spread: float
    sigma: float
    scale: float
    exponent: float
    last: float


class Known(NamedTuple):
    """What the agent knows after some pulls, arrays (K,): counts and sums, and the posteriors made of them."""

    pulls: IntArray
    boosts: IntArray
    public_sums: FloatArray
    private_sums: FloatArray
    public_means: FloatArray
    private_means: FloatArray
    sds: FloatArray  # σ/√N_a, of both posteriors
    index_means: FloatArray  # of the reference's indices
    index_sds: FloatArray


class Scratch(NamedTuple):
    """Space for one decision, owned by the caller."""

    ws: Workspace
    exact_private: FloatArray  # (BOUND_ROWS, K)
    region_private: FloatArray  # (BOUND_ROWS, K)
    exact_reference: FloatArray  # (REFERENCE_ROWS, K)
    region_reference: FloatArray  # (REFERENCE_ROWS, K)
    policy: FloatArray  # (K,)
    logs: FloatArray  # (LOG_ROWS, K)
    cuts: FloatArray  # (3, K): per boosted arm the two cuts of its region, and the ε they hold for
    explorer: FloatArray  # (3, K) for the explorers


def known(n_arms: int) -> Known:
    """Nothing known yet."""
    counts = np.zeros((2, n_arms), dtype=np.int64)
    floats = [np.zeros(n_arms) for _ in range(7)]
    return Known(counts[0], counts[1], *floats)


def scratch(n_arms: int) -> Scratch:
    """Allocate the space for decisions among `n_arms` arms."""
    return Scratch(
        workspace(n_arms),
        np.empty((BOUND_ROWS, n_arms)),
        np.empty((BOUND_ROWS, n_arms)),
        np.empty((REFERENCE_ROWS, n_arms)),
        np.empty((REFERENCE_ROWS, n_arms)),
        np.empty(n_arms),
        np.empty((LOG_ROWS, n_arms)),
        np.empty((3, n_arms)),
        np.empty((3, n_arms)),
    )


@inlined
def set_means(k: Known, a: int) -> None:
    """Posterior means of arm a from its count and sums."""
    k.public_means[a] = k.public_sums[a] / k.pulls[a]
    k.private_means[a] = k.private_sums[a] / k.pulls[a]


@inlined
def set_posterior(problem: Problem, k: Known, a: int) -> None:
    """Means and standard deviations of arm a from its count and sums."""
    set_means(k, a)
    k.sds[a] = problem.sigma / math.sqrt(k.pulls[a])
    k.index_means[a] = k.public_means[a]
    k.index_sds[a] = problem.spread * k.sds[a]


@inlined
def set_indices(problem: Problem, k: Known, t: int) -> None:
    """Indices that depend on time: UCB's bonus (`references.base`)."""
    if problem.bonus > 0.0:
        for a in range(k.pulls.size):
            k.index_means[a] = k.public_means[a] + problem.bonus * k.sds[a] * math.sqrt(math.log(t))


@kernel
def choose_exactly(problem: Problem, k: Known, s: Scratch, uniforms: tuple[float, float, float, float]) -> int:
    """The arm to boost, from exact private probabilities where the explorer asks for them."""
    if problem.uses_posterior:
        exact_private(k.private_means, k.sds, s.ws, s.exact_private, s.logs)
    view = View(k.pulls, k.boosts, k.public_means, k.private_means, s.explorer)
    return choose(problem.kind, problem.parameters, view, s.exact_private, uniforms)


@kernel
def set_policy(problem: Problem, k: Known, s: Scratch, t: int, arm: int) -> None:
    """The probabilities with which the (t + 1)-th pull is drawn when `arm` is boosted, into `s.policy`."""
    set_indices(problem, k, t)
    exact_reference(k.index_means, k.index_sds, s.ws, s.exact_reference)
    fill_policy(s.exact_reference, arm, epsilon_at(t + 1, problem.scale, problem.exponent, problem.last), s.policy)


@inlined
def most_pulled(pulls: IntArray) -> int:
    """D, the first of the arms with the most pulls."""
    dominant = 0
    for a in range(1, pulls.size):
        if pulls[a] > pulls[dominant]:
            dominant = a
    return dominant


@kernel
def decide(problem: Problem, k: Known, s: Scratch, t: int, uniforms: tuple[float, float, float, float]) -> int:
    """Posteriors, the boosted arm (returned) and the policy (in `s.policy`) after t pulls, t ≥ K."""
    for a in range(k.pulls.size):
        set_posterior(problem, k, a)
    arm = choose_exactly(problem, k, s, uniforms)
    set_policy(problem, k, s, t, arm)
    return arm
