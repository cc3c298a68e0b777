"""One replication moved forward: exactly at every step (eager), or exactly where bounds do not decide (lazy).

Both methods read the same draws of the same stream and take the same decisions. The lazy one keeps a *region*: the most
pulled arm D, an interval for each of its posterior means and for its number of pulls, and rigorous bounds of all
best-arm probabilities over it (`posterior`). While no other arm is pulled and D stays inside, a step needs the bounds only;
where they do not decide, it evaluates what is undecided exactly, by the very function that the eager method calls.

The region's radius weighs two costs. D's mean moves by √τ/n of its own standard deviation s·√n in τ steps, so a region of
radius ρ·s lasts about ρ²·n steps; and a share of steps proportional to ρ stays undecided. Their sum is least at
ρ ∝ n^(−1/3).
"""

import math
from typing import NamedTuple

import numpy as np

from feint.budgets import epsilon_at
from feint.engine.decide import (
    Known,
    Problem,
    Scratch,
    choose_exactly,
    most_pulled,
    set_policy,
    set_posterior,
)
from feint.engine.policy import draw_arm, log_complement, region_cuts
from feint.engine.posterior import exact_private, region_private, region_reference
from feint.explorers.base import P_HIGH, P_LOW, UNDECIDED, FloatArray, IntArray, View
from feint.explorers.dispatch import choose
from feint.numerics._jit import inlined, kernel
from feint.numerics.streams import Word, normal_pair, step_uniforms, step_words

_RADIUS = 2.0  # of a region, in units of s·n^(−1/3); tuned on the paper's instance
_WIDEST = 0.5  # and never more than this many s
_NOT_STOPPED = -1


class Rewards(NamedTuple):
    """Where rewards come from: the instance, the random stream, and whose public samples count."""

    public: FloatArray
    private: FloatArray
    sigma: float
    own_samples: bool
    seed: Word
    replication: Word


class Records(NamedTuple):
    """What one replication leaves at its checkpoints (C,)."""

    checkpoints: IntArray
    pulls: IntArray  # (C, K)
    boosts: IntArray  # (C, K)
    log_error: FloatArray  # (C,)
    recommendation: IntArray  # (C,)


@inlined
def _reward(rewards: Rewards, k: Known, arm: int, t: int) -> None:
    """Add the rewards of the (t + 1)-th pull."""
    a, b, c, d = step_words(rewards.seed, rewards.replication, np.uint64(t))
    public, private = normal_pair(a, b)
    if rewards.own_samples:
        public, _ = normal_pair(c, d)
    k.pulls[arm] += 1
    k.public_sums[arm] += rewards.public[arm] + rewards.sigma * public
    k.private_sums[arm] += rewards.private[arm] + rewards.sigma * private


@kernel
def record(k: Known, s: Scratch, records: Records, row: int, best: int) -> None:
    """Fill one checkpoint from exact probabilities."""
    logs = s.logs[0]
    exact_private(k.private_means, k.sds, s.ws, s.exact_private, logs)
    top = 0
    for a in range(logs.size):
        records.pulls[row, a] = k.pulls[a]
        records.boosts[row, a] = k.boosts[a]
        if logs[a] > logs[top]:
            top = a
    records.log_error[row] = log_complement(logs, best)
    records.recommendation[row] = top


@inlined
def _sure_exactly(k: Known, s: Scratch, log_delta: float) -> bool:
    """Whether the largest private probability has reached 1 − δ, from the exact complement."""
    logs = s.logs[0]
    exact_private(k.private_means, k.sds, s.ws, s.exact_private, logs)
    top = 0
    for a in range(1, logs.size):
        if logs[a] > logs[top]:
            top = a
    return log_complement(logs, top) <= log_delta


@inlined
def _sure_by_bounds(bounds: FloatArray, delta: float) -> int:
    """1 or 0 where the bounds decide whether the likeliest arm has reached 1 − δ, else −1."""
    n = bounds.shape[1]
    top = 0
    for a in range(1, n):
        if bounds[P_HIGH, a] > bounds[P_HIGH, top]:
            top = a
    low = 0.0
    high = 0.0
    for a in range(n):
        if a != top:
            low += bounds[P_LOW, a]
            high += bounds[P_HIGH, a]
    if high <= delta:
        return 1
    # Another arm may be the likeliest of all somewhere in the region only if nothing is near certain.
    if low > delta and bounds[P_HIGH, top] < 1.0 - delta:
        return 0
    if low > delta and delta < 0.25 and bounds[P_LOW, top] > 0.5:
        return 0
    return UNDECIDED


@kernel
def start(problem: Problem, rewards: Rewards, k: Known) -> None:
    """The initial round: every arm once, in order, outside the observer's test."""
    for a in range(k.pulls.size):
        k.pulls[a] = 0
        k.boosts[a] = 0
        k.public_sums[a] = 0.0
        k.private_sums[a] = 0.0
    for a in range(k.pulls.size):
        _reward(rewards, k, a, a)
        set_posterior(problem, k, a)


@kernel
def advance(
    problem: Problem,
    rewards: Rewards,
    k: Known,
    s: Scratch,
    records: Records,
    row: int,
    best: int,
    delta: float,
    lazy: bool,
    t: int,
    t_end: int,
) -> tuple[int, int, bool]:
    """From t pulls to t_end, or to the stopping time; returns (t, next checkpoint's row, stopped).

    Nothing but `k` carries over between calls, so the pieces in which a horizon is run do not matter.
    """
    n = k.pulls.size
    view = View(k.pulls, k.boosts, k.public_means, k.private_means, s.explorer)
    for a in range(n):
        set_posterior(problem, k, a)
    dominant = most_pulled(k.pulls)
    needs_private = problem.uses_posterior or delta > 0.0
    bounds_reference = lazy and problem.bonus == 0.0
    bounds_private = lazy and needs_private
    log_delta = math.log(delta) if delta > 0.0 else -math.inf
    inside = False
    quiet = False
    public_low, public_high, private_low, private_high, most_in_region = 0.0, 0.0, 0.0, 0.0, 0
    while True:
        if lazy and quiet and not inside:
            pulls = k.pulls[dominant]
            radius = min(_WIDEST, _RADIUS / float(pulls) ** (1.0 / 3.0))
            most_in_region = pulls + 1 + int(pulls * radius / 9.0)
            sd_low = problem.sigma / math.sqrt(most_in_region)
            sd = k.sds[dominant]
            public_low = k.public_means[dominant] - radius * sd
            public_high = k.public_means[dominant] + radius * sd
            private_low = k.private_means[dominant] - radius * sd
            private_high = k.private_means[dominant] + radius * sd
            if bounds_private:
                region_private(
                    k.private_means,
                    k.sds,
                    s.ws,
                    dominant,
                    private_low,
                    private_high,
                    sd_low,
                    sd,
                    s.region_private,
                    s.logs[1],
                    s.logs[2],
                )
            if bounds_reference:
                region_reference(
                    k.index_means,
                    k.index_sds,
                    s.ws,
                    dominant,
                    public_low,
                    public_high,
                    problem.spread * sd_low,
                    problem.spread * sd,
                    s.region_reference,
                    s.logs[1],
                    s.logs[2],
                )
            for a in range(n):
                s.cuts[2, a] = -1.0
            inside = True

        stopped = False
        if delta > 0.0:
            sure = _sure_by_bounds(s.region_private, delta) if inside else UNDECIDED
            stopped = _sure_exactly(k, s, log_delta) if sure == UNDECIDED else sure == 1
        while row < records.checkpoints.size and (records.checkpoints[row] == t or stopped):
            record(k, s, records, row, best)
            row += 1
        if stopped or t >= t_end:
            return t, row, stopped

        uniforms = step_uniforms(rewards.seed, rewards.replication, np.uint64(t))
        arm = UNDECIDED
        if not problem.uses_posterior or (inside and bounds_private):
            arm = choose(problem.kind, problem.parameters, view, s.region_private, uniforms)
        if arm == UNDECIDED:
            arm = choose_exactly(problem, k, s, uniforms)
        k.boosts[arm] += 1

        pulled = UNDECIDED
        if inside and bounds_reference:
            epsilon = epsilon_at(t + 1, problem.scale, problem.exponent, problem.last)
            if s.cuts[2, arm] < 0.0:
                s.cuts[0, arm], s.cuts[1, arm] = region_cuts(s.region_reference, arm, dominant, epsilon)
                s.cuts[2, arm] = epsilon
            # Budgets never grow, so the upper cut stays valid; the lower one only for the same ε.
            if uniforms[3] >= s.cuts[1, arm]:
                pulled = dominant
            elif uniforms[3] < s.cuts[0, arm] and epsilon == s.cuts[2, arm]:
                pulled = arm
        if pulled == UNDECIDED:
            set_policy(problem, k, s, t, arm)
            pulled = draw_arm(s.policy, arm, dominant, uniforms[3])

        _reward(rewards, k, pulled, t)
        set_posterior(problem, k, pulled)
        t += 1
        quiet = pulled == dominant
        if not quiet:
            inside = False
            if k.pulls[pulled] > k.pulls[dominant] or (k.pulls[pulled] == k.pulls[dominant] and pulled < dominant):
                dominant = pulled
        elif inside:
            inside = (
                k.pulls[dominant] <= most_in_region
                and public_low <= k.public_means[dominant] <= public_high
                and private_low <= k.private_means[dominant] <= private_high
            )
