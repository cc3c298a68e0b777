"""One replication moved forward: exactly at every step (eager), or exactly where bounds do not decide (lazy).

Both methods read the same draws of the same stream and take the same decisions. The lazy one keeps a *region*: the
most pulled arm D, an interval for each of its posterior means and for its number of pulls, and rigorous bounds of all
best-arm probabilities over it (`posterior`). While no other arm is pulled and D stays inside, a step needs the bounds
only; where they do not decide, it evaluates the undecided exactly, by the very function that the eager method calls.
An observer needs the reference's probabilities at every step, so with one only the private side is lazy.

The region's radius weighs two costs. In τ steps D's mean moves by about √(τ/n) of its own standard deviation s, so a
region of radius ρ·s lasts about ρ²·n steps; and a share of steps proportional to ρ stays undecided. Their sum is least
at ρ ∝ n^(−1/3).
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
    set_means,
    set_policy,
    set_posterior,
)
from feint.engine.policy import draw_arm, region_cuts
from feint.engine.posterior import exact_private, likeliest, log_complement, region_private, region_reference
from feint.engine.watch import Watch, record_watch, see
from feint.explorers.base import P_HIGH, P_LOW, UNDECIDED, FloatArray, IntArray, View
from feint.explorers.dispatch import choose
from feint.numerics._jit import inlined, kernel, strict_inlined
from feint.numerics.streams import Word, WordArray, fill_block

_RADIUS = 5.0  # of a region, in units of s·n^(−1/3); tuned on the paper's instance
_WIDEST = 0.5  # and never more than this many s
_BLOCK = 128  # steps whose draws are made at once
_CALM = 0.85  # build a region only where D is pulled with more than this probability: else it would not last


class Rewards(NamedTuple):
    """Where rewards come from: the instance, the random stream, and whose public samples count."""

    public: FloatArray
    private: FloatArray
    sigma: float
    own_samples: bool
    seed: Word
    replication: Word
    words: WordArray  # (8, n) scratch
    uniforms: FloatArray  # (4, n) the draws of n steps, made ahead
    normals: FloatArray  # (2, n)


class Records(NamedTuple):
    """What one replication leaves at its checkpoints (C,)."""

    checkpoints: IntArray
    pulls: IntArray  # (C, K)
    boosts: IntArray  # (C, K)
    log_error: FloatArray  # (C,)
    recommendation: IntArray  # (C,)


def rewards_of(
    public: FloatArray, private: FloatArray, sigma: float, own_samples: bool, seed: int, replication: int
) -> Rewards:
    """The rewards of one replication, with space for the draws of a block of steps."""
    return Rewards(
        public,
        private,
        sigma,
        own_samples,
        np.uint64(seed),
        np.uint64(replication),
        np.empty((8, _BLOCK), dtype=np.uint64),
        np.empty((4, _BLOCK)),
        np.empty((2, _BLOCK)),
    )


@kernel
def _draw_block(rewards: Rewards, t: int) -> None:
    fill_block(
        rewards.seed, rewards.replication, t, rewards.own_samples, rewards.words, rewards.uniforms, rewards.normals
    )


@strict_inlined
def _reward(rewards: Rewards, k: Known, arm: int, i: int) -> None:
    """Add the rewards of a pull, with the i-th normals of the block."""
    k.pulls[arm] += 1
    k.public_sums[arm] += rewards.public[arm] + rewards.sigma * rewards.normals[0, i]
    k.private_sums[arm] += rewards.private[arm] + rewards.sigma * rewards.normals[1, i]


@kernel
def record(k: Known, s: Scratch, records: Records, row: int, best: int) -> None:
    """Fill one checkpoint from exact probabilities."""
    exact_private(k.private_means, k.sds, s.ws, s.exact_private, s.logs)
    for a in range(k.pulls.size):
        records.pulls[row, a] = k.pulls[a]
        records.boosts[row, a] = k.boosts[a]
    records.log_error[row] = log_complement(s.logs, best)
    records.recommendation[row] = likeliest(s.logs)


@kernel
def _sure_exactly(k: Known, s: Scratch, log_delta: float) -> bool:
    """Whether the largest private probability has reached 1 − δ, from the exact complement."""
    exact_private(k.private_means, k.sds, s.ws, s.exact_private, s.logs)
    return log_complement(s.logs, likeliest(s.logs)) <= log_delta


@inlined
def _sure_by_bounds(bounds: FloatArray, delta: float) -> int:
    """1 or 0 where the bounds decide whether the likeliest arm has reached 1 − δ, else −1.

    The complement of arm m is at least Σ_{a≠m} of the lower bounds, which is least for the m with the largest of them;
    and the likeliest arm's complement is at most that of this m.
    """
    n = bounds.shape[1]
    top = 0
    for a in range(1, n):
        if bounds[P_LOW, a] > bounds[P_LOW, top]:
            top = a
    low = 0.0
    high = 0.0
    for a in range(n):
        if a != top:
            low += bounds[P_LOW, a]
            high += bounds[P_HIGH, a]
    if high <= delta:
        return 1
    if low > delta:
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
        _draw_block(rewards, a)
        _reward(rewards, k, a, 0)
        set_posterior(problem, k, a)


@kernel
def advance(
    problem: Problem,
    rewards: Rewards,
    k: Known,
    s: Scratch,
    records: Records,
    watch: Watch,
    row: int,
    best: int,
    delta: float,
    lazy: bool,
    t: int,
    t_end: int,
) -> tuple[int, int, bool]:
    """From t pulls to t_end, or to the stopping time; returns (t, next checkpoint's row, stopped).

    Nothing but `k` and `watch` carries over between calls, so the pieces in which a horizon is run do not matter.
    """
    n = k.pulls.size
    view = View(k.pulls, k.boosts, k.public_means, k.private_means, s.explorer)
    for a in range(n):
        set_posterior(problem, k, a)
    dominant = most_pulled(k.pulls)
    needs_private = problem.uses_posterior or delta > 0.0
    bounds_reference = lazy and problem.bonus == 0.0 and not watch.observing
    bounds_private = lazy and needs_private
    log_delta = math.log(delta) if delta > 0.0 else -math.inf
    block = t - _BLOCK  # the first step whose draws have been made
    inside = False
    calm = False
    public_low, public_high, private_low, private_high, most_in_region = 0.0, 0.0, 0.0, 0.0, 0
    while True:
        if lazy and calm and not inside:
            pulls = k.pulls[dominant]
            radius = min(_WIDEST, _RADIUS / float(pulls) ** (1.0 / 3.0))
            most_in_region = pulls + 1 + int(pulls * radius / 9.0)
            sd_low = problem.sigma / math.sqrt(most_in_region)
            set_posterior(problem, k, dominant)
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
                    s.logs,
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
                    s.logs,
                )
            for a in range(n):
                s.cuts[2, a] = -1.0
            inside = True

        stopped = False
        if delta > 0.0:
            sure = _sure_by_bounds(s.region_private, delta) if inside else UNDECIDED
            stopped = sure == 1
            if sure == UNDECIDED:
                set_posterior(problem, k, dominant)
                stopped = _sure_exactly(k, s, log_delta)
        while row < records.checkpoints.size and (records.checkpoints[row] == t or stopped):
            set_posterior(problem, k, dominant)
            record(k, s, records, row, best)
            if watch.observing:
                record_watch(watch, row)
            row += 1
        if stopped or t >= t_end:
            return t, row, stopped

        draw = t - block
        if draw == _BLOCK:
            _draw_block(rewards, t)
            block = t
            draw = 0
        uniforms = (
            rewards.uniforms[0, draw],
            rewards.uniforms[1, draw],
            rewards.uniforms[2, draw],
            rewards.uniforms[3, draw],
        )
        arm = UNDECIDED
        if not problem.uses_posterior or (inside and bounds_private):
            arm = choose(problem.kind, problem.parameters, view, s.region_private, uniforms)
        if arm == UNDECIDED:
            set_posterior(problem, k, dominant)
            arm = choose_exactly(problem, k, s, uniforms)
        k.boosts[arm] += 1

        pulled = UNDECIDED
        if inside and bounds_reference:
            epsilon = epsilon_at(t + 1, problem.scale, problem.exponent, problem.last)
            # Budgets never grow, so the upper cut of another arm stays valid when ε falls. D's own grows then.
            if s.cuts[2, arm] < 0.0 or (arm == dominant and s.cuts[2, arm] != epsilon):
                s.cuts[0, arm], s.cuts[1, arm] = region_cuts(s.region_reference, arm, dominant, epsilon)
                s.cuts[2, arm] = epsilon
            if uniforms[3] >= s.cuts[1, arm]:
                pulled = dominant
            elif uniforms[3] < s.cuts[0, arm] and epsilon == s.cuts[2, arm]:
                pulled = arm
        if pulled == UNDECIDED:
            set_posterior(problem, k, dominant)
            set_policy(problem, k, s, t, arm)
            pulled = draw_arm(s.policy, arm, dominant, uniforms[3])
            calm = s.policy[dominant] > _CALM
            if watch.observing:
                see(watch, s, arm, pulled, t + 1)

        _reward(rewards, k, pulled, draw)
        t += 1
        if pulled != dominant:
            set_posterior(problem, k, pulled)
            set_posterior(problem, k, dominant)
            inside = False
            if k.pulls[pulled] > k.pulls[dominant] or (k.pulls[pulled] == k.pulls[dominant] and pulled < dominant):
                dominant = pulled
        elif not inside:
            set_posterior(problem, k, dominant)
        else:
            set_means(k, dominant)  # its standard deviation waits until something is evaluated
            inside = (
                k.pulls[dominant] <= most_in_region
                and public_low <= k.public_means[dominant] <= public_high
                and private_low <= k.private_means[dominant] <= private_high
            )
