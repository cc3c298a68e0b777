r"""Paths of the agent in leaps: what `simulate` does step by step, done in about a hundred pieces for any horizon.

All paths leap together in NumPy, with arms along the first axis and paths along the last. A leap of m steps holds the
step's probabilities fixed and draws how often each arm is pulled, and what it pays:

1. *Probabilities.* π is taken at the sample means of the public rewards and at the pulls expected in the middle of the
   leap: those now, plus half a leap at the last rates. So the error is of second order in the leap's length. The shares
   of boosts, w, come from the present private posterior, and `lift` gives q*(π_b) for every b and p_a = Σ_b w_b·q^b(a).
2. *Length.* m is the largest number of steps in which no arm is expected to gain more than `_GROWTH` of its pulls (or
   `_LEAST` of a pull, if that is more). While observers are followed, the divergence Σ p·log(p/π) of a leap is also at
   most `_NATS`, unless the leap would be shorter than `_SLOWEST` of the time so far: only late alarms are affected.
3. *Pulls* are binomial numbers, drawn one arm after the other. *Rewards* are drawn as sums (`sides`).
4. *Stopping.* Between the ends of a leap, Z = −Φ⁻¹(posterior error) moves about as a Brownian bridge. So it has been
   above −Φ⁻¹(δ) in between with probability exp(−2·a·b/v), where a and b are what both ends lack and v is the variance
   of its move. The agent looks only after pulls that affect Z, so the bar is raised by 0.5826 of such a pull's move
   (Siegmund 1985; Broadie, Glasserman & Kou 1997). `draws.passage` says where in the leap. Alarms are found likewise.
"""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.planning.leap_test import SeenLeap, bet_leaps, bettors, rules
from feint.planning.lift import Lift
from feint.planning.path_draws import SIEGMUND, WordArray, keys_of, multinomials, passage, uniforms
from feint.planning.path_goal import PathGoal
from feint.planning.sides import Side

_GROWTH = 0.15
_LEAST = 0.3
_NATS, _SLOWEST = 0.1, 0.03
_STALE = 0.7  # a leap is shortened if its new rates allow less than this part of its length
_NEAR = 1.2  # standard deviations below the bar: from further below, a leap passes it with probability below 1e-4
_OTHERS = 6  # uniform numbers of a leap besides those of the arms


@dataclass(frozen=True)
class PathSettings:
    """The settings that all paths share."""

    public: Side
    private: Side
    shares: Any  # (t, pulls, private sums, boosts, log P) -> (K, R)
    weights: FloatArray | None  # (K,) of `FixedBoosting`, which keeps to them without drawing
    lift: Lift
    best: int  # the best private arm
    delta: float  # the error to stop at; 0 for never
    bar: float  # −Φ⁻¹(δ)
    horizon: float
    checkpoints: FloatArray  # (C,)
    threshold: float | None  # log(1/α) of the observers, if they are followed
    goal: PathGoal | None = None  # if it is not the best arm


@dataclass
class State:
    """The state of the paths that still go on; arrays are (R,) or (K, R)."""

    path: npt.NDArray[np.int64]
    key: WordArray
    t: FloatArray
    pulls: FloatArray
    public: FloatArray  # sums of rewards
    private: FloatArray
    boosts: FloatArray
    rate: FloatArray  # probabilities per step in the last leap
    log_best: FloatArray  # of the private posterior
    lead: FloatArray  # Z
    spent: FloatArray
    divergence: FloatArray  # per step in the last leap
    told: FloatArray  # (2, R) log evidence of the informed observer and of `Observer`
    alarm: FloatArray  # (2, R) when they noticed; NaN for not yet
    error: FloatArray  # (2, R) log posterior error at that time
    row: npt.NDArray[np.int64]  # of the next checkpoint

    def keep(self, rows: Any) -> None:
        """Keep only these paths."""
        for field in fields(self):  # `compress`, since an index would change the layout for which kernels are compiled
            setattr(self, field.name, getattr(self, field.name).compress(rows, axis=-1))


@dataclass
class Leap:
    """What happens in one leap; arrays are (R,) or (K, R)."""

    steps: FloatArray
    share: FloatArray
    log_pi: FloatArray
    rate: FloatArray
    cost: FloatArray  # KL spent per step on boosts of the arm
    divergence: FloatArray  # per step

    def replace(self, rows: Any, other: "Leap") -> None:
        """Replace the leap of these paths by another one."""
        for field in fields(self):
            getattr(self, field.name)[..., rows] = getattr(other, field.name)


@dataclass(frozen=True)
class Paths:
    """The results of R paths: when each stopped; and `pulls`, `boosts` and the KL `spent` on them (R, K) at its end.

    `stopped` is NaN where the path was never sure. The alarms, with the log errors at their times, are NaN likewise.
    `course` (R, C, 4 + K) has log error, log floor ratio, log E, KL spent and the pulls at the checkpoints.
    """

    stopped: FloatArray
    spent: FloatArray
    floor: FloatArray  # (R, 2) time and log error
    alarm: FloatArray  # (R, 2)
    pulls: FloatArray
    boosts: FloatArray
    course: FloatArray


def walk_paths(settings: PathSettings, out: Paths) -> None:
    """Follow all paths to their ends and fill `out`."""
    n_paths, n_arms = out.pulls.shape
    state = _first_state(settings, n_arms, n_paths)
    sure = state.lead >= settings.bar
    out.stopped[sure] = n_arms
    _finish(state, sure, out)
    state.keep(~sure)
    watch = None
    if settings.threshold is not None:
        test = rules(n_arms, settings.threshold)
        watch = test, bettors(test, n_arms, state.path.size)
    number = 0
    while state.path.size:
        number += 1
        u = uniforms(state.key, number, 3 * n_arms + _OTHERS)
        of_arms, others = u[: 3 * n_arms].reshape(3, n_arms, -1), u[3 * n_arms :]
        leap = _plan_leap(settings, state, number == 1)
        counts = multinomials(leap.steps, leap.rate, of_arms[0])
        before, t, lead, public = state.pulls, state.t, state.lead, state.public
        state.pulls = before + counts
        state.public = settings.public.after(state.public, state.pulls, counts, of_arms[1])
        public_sums = public, state.public
        state.private = settings.private.learn(state.private, state.pulls, counts, of_arms[2], public_sums)
        _update_beliefs(settings, state)
        part, done = _find_stops(settings, state, before, lead, others)
        steps = np.where(done, np.maximum(1.0, np.ceil(leap.steps * part)), leap.steps)
        state.t = t + steps
        state.pulls = np.where(done, before + part * counts, state.pulls)
        state.spent = state.spent + steps * leap.cost
        state.boosts = state.boosts + steps * leap.share
        out.stopped[state.path[done]] = state.t[done]
        if watch is not None:
            seen = _observe_leap(state, leap, counts)
            told = np.empty((2, state.t.size))
            bet_leaps(*watch, seen, number, state.told[1], *told)
            _raise_alarms(settings, state, leap, seen, t, told, others)
            done |= ~np.isnan(state.alarm).any(0) & (state.row == settings.checkpoints.size)
        _fill_checkpoints(settings, state, out)
        done |= state.t >= settings.horizon
        if done.any():
            _finish(state, done, out)
            state.keep(~done)
            watch = None if watch is None else (watch[0], watch[1].keep(~done))


def _first_state(settings: PathSettings, n_arms: int, n_paths: int) -> State:
    """Return the state after the initial round, in which every arm is pulled once and nothing is tested."""
    path = np.arange(n_paths)
    key = keys_of(path)
    u = uniforms(key, 0, 3 * n_arms + _OTHERS)[: 3 * n_arms].reshape(3, n_arms, -1)
    once, nothing = np.ones((n_arms, n_paths)), np.zeros((n_arms, n_paths))
    public = settings.public.after(nothing, once, once, u[1])
    state = State(
        path=path,
        key=key,
        t=np.full(n_paths, float(n_arms)),
        pulls=once,
        public=public,
        private=settings.private.learn(nothing, once, once, u[2], (nothing, public)),
        boosts=nothing,
        rate=nothing,
        log_best=nothing,
        lead=np.zeros(n_paths),
        spent=nothing,
        divergence=np.zeros(n_paths),
        told=np.zeros((2, n_paths)),
        alarm=np.full((2, n_paths), np.nan),
        error=np.zeros((2, n_paths)),
        row=np.zeros(n_paths, dtype=np.int64),
    )
    _update_beliefs(settings, state)
    return state


def _plan_leap(settings: PathSettings, state: State, is_first: bool) -> Leap:
    """Choose how long the next leap is and with which probabilities arms are pulled in it."""
    n_paths = state.t.size
    if settings.weights is None:
        share = settings.shares(state.t, state.pulls, state.private, state.boosts, state.log_best)
    else:
        share = np.repeat(settings.weights[:, None], n_paths, axis=1)
    until = np.append(settings.checkpoints, settings.horizon)[state.row]
    steps = np.ones(n_paths) if is_first else _leap_length(settings, state, until, state.rate, state.divergence)
    if settings.weights is not None:
        _take_turns(state, steps == 1.0, share)
    leap = _leap(settings, state, steps, share)
    shorter = _leap_length(settings, state, until, leap.rate, leap.divergence)
    stale = np.flatnonzero(shorter < _STALE * steps)
    if stale.size:
        leap.replace(stale, _leap(settings, state, shorter[stale], share.take(stale, axis=1), stale))
    state.rate, state.divergence = leap.rate, leap.divergence
    return leap


def _leap_length(
    settings: PathSettings, state: State, until: FloatArray, rate: FloatArray, divergence: FloatArray
) -> FloatArray:
    """Return the length of the coming leap at these rates, and at this divergence if observers are followed."""
    longest = until - state.t
    # A divergence or a rate near the smallest float limits nothing: its quotient is ∞, whether by 0 or by overflow.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if settings.threshold is not None:
            short = np.maximum(_NATS / divergence, _SLOWEST * state.t)
            longest = np.where(np.isnan(state.alarm).any(0), np.minimum(longest, short), longest)
        if settings.lift.last < math.inf:
            longest = np.where(state.t < settings.lift.last, np.minimum(longest, settings.lift.last - state.t), longest)
        growth = (np.maximum(_LEAST, _GROWTH * state.pulls) / rate).min(0)
    return np.asarray(np.maximum(1.0, np.floor(np.minimum(longest, growth))))


def _take_turns(state: State, rows: Any, share: FloatArray) -> None:
    """Make single steps boost the arm that is furthest behind its share, as `FixedBoosting` does without drawing."""
    rows = np.flatnonzero(rows)
    boosts, weights = state.boosts[:, rows], share[:, rows]
    behind = np.where(weights > 0.0, (boosts.sum(0) + 1.0) * weights - boosts, -np.inf)
    share[:, rows] = np.arange(len(share))[:, None] == behind.argmax(0)


def _leap(settings: PathSettings, state: State, steps: FloatArray, share: FloatArray, rows: Any = None) -> Leap:
    """Return a leap of this many steps, of the paths in `rows` if given; with divergence if observers are followed."""
    pulls, sums, rate, t = state.pulls, state.public, state.rate, state.t
    if rows is not None:  # `take`, since an index would change the layout for which kernels are compiled
        pulls, sums, rate, t = (found.take(rows, axis=-1) for found in (pulls, sums, rate, t))
    ahead = 1.0 + 0.5 * (steps - 1.0) * rate / pulls
    log_pi = settings.public.log_best(pulls * ahead, sums * ahead)
    epsilon = settings.lift.epsilon(np.floor(t + 0.5 * (steps - 1.0)) + 1.0)
    leap = Leap(steps, *settings.lift.step(epsilon, share, log_pi), divergence=np.zeros(steps.size))
    if settings.threshold is not None:
        leap.divergence = np.maximum(0.0, (leap.rate * _log_ratios(leap)).sum(0))
    return leap


def _update_beliefs(settings: PathSettings, state: State) -> None:
    """Compute the private posterior and how sure the agent is."""
    from scipy.special import ndtri_exp

    if settings.goal is not None:
        state.log_best = np.zeros(state.pulls.shape)  # nothing asks for it
        if settings.delta > 0.0:
            found = settings.goal.log_error(state.pulls, state.private, settings.bar)
            state.lead = -ndtri_exp(np.minimum(found, -1e-16))
        return
    state.log_best = settings.private.log_best(state.pulls, state.private)
    if settings.delta > 0.0:
        state.lead = -ndtri_exp(np.minimum(log_error(state.log_best, state.log_best.argmax(0)), -1e-16))


def log_error(log_best: FloatArray, arm: Any) -> FloatArray:
    """Return log P(another arm than `arm` is the best), (R,)."""
    others = np.where(np.arange(len(log_best))[:, None] == arm, -np.inf, log_best)
    top = others.max(0)
    return np.asarray(top + np.log(np.exp(others - top).sum(0)))


def _find_stops(
    settings: PathSettings, state: State, before: FloatArray, lead: FloatArray, u: FloatArray
) -> tuple[FloatArray, Any]:
    """Return at which fraction of the leap paths became sure, and which paths did."""
    part, done = np.ones(lead.size), np.zeros(lead.size, dtype=bool)
    if settings.delta == 0.0:
        return part, done
    bar = settings.bar
    rows = np.flatnonzero(np.maximum(lead, state.lead) > bar - _NEAR)
    if not rows.size:
        return part, done
    now, then = state.pulls[:, rows], before[:, rows]
    pulled = now - then
    moves = _squared_slopes(settings, state, rows, np.sqrt(now * then)) * settings.private.variances * pulled
    moves /= now * then
    variance = moves.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        jump = np.where(pulled > 0.0, moves**2 / pulled, 0.0).sum(0) / variance
        raised = bar + SIEGMUND * np.sqrt(jump)
        chance = np.exp(np.minimum(0.0, -2.0 * (raised - lead[rows]) * (raised - state.lead[rows]) / variance))
    between = (variance > 1.5 * jump) & (u[0, rows] < chance)
    found = (state.lead[rows] >= bar) | between
    rows, variance, singly = rows[found], variance[found], (variance <= 1.5 * jump)[found]
    above, end = bar - lead[rows], state.lead[rows] - lead[rows]
    part[rows] = np.where(singly, u[1, rows], passage(above, end, variance, u[1, rows], u[2, rows]))
    done[rows] = True
    return part, done


def _squared_slopes(settings: PathSettings, state: State, rows: Any, pulls: FloatArray) -> FloatArray:
    """Return how far Z moves when a private mean does, squared, (K, rows): rivals count in proportion to their part of
    the error, and for other goals arms do in proportion to their shares of the evidence.
    """
    if settings.goal is not None:
        shares = settings.goal.shares(state.pulls[:, rows], state.private[:, rows])
        return np.asarray(pulls * shares / settings.private.variances)
    log_best = state.log_best[:, rows]
    leader = log_best.argmax(0)
    leads = np.arange(len(pulls))[:, None] == leader
    part_of = np.exp(np.where(leads, -np.inf, log_best) - log_error(log_best, leader))
    spread = settings.private.variances / pulls
    slope = part_of / np.sqrt(spread + spread[leader, np.arange(rows.size)])
    return np.asarray(np.where(leads, slope.sum(0), slope) ** 2)


def _true_error(settings: PathSettings, state: State, rows: Any) -> FloatArray:
    """Return the log of the posterior probability that the right answer is not the true one, (rows,)."""
    if settings.goal is not None:
        return settings.goal.log_true_error(state.pulls[:, rows], state.private[:, rows])
    return log_error(state.log_best[:, rows], settings.best)


def _raise_alarms(
    settings: PathSettings, state: State, leap: Leap, seen: SeenLeap, before: FloatArray, told: Any, u: FloatArray
) -> None:
    """Update the observers' evidence after a leap, and the alarms that they raise. `told` is log E of `Observer` and
    the fraction of the leap at which it reached the threshold.
    """
    assert settings.threshold is not None
    log_e, noticed = told
    ratio = state.told[0] + (seen.counts * _log_ratios(leap)).sum(0)
    raised = settings.threshold + seen.excess
    variance = seen.variance * seen.steps
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        chance = np.exp(np.minimum(0.0, -2.0 * (raised - state.told[0]) * (raised - ratio) / variance))
    found = (ratio >= settings.threshold) | ((seen.steps > 1.0) & (u[3] < chance))
    above = settings.threshold - state.told[0]
    part = np.where(found, passage(above, ratio - state.told[0], variance, u[4], u[5]), np.nan)
    when = before + np.maximum(1.0, np.ceil(seen.steps * np.stack([part, noticed])))
    first = np.isnan(state.alarm) & ~np.isnan(when)
    state.alarm = np.where(first, when, state.alarm)
    if first.any():
        state.error = np.where(first, _true_error(settings, state, slice(None)), state.error)
    state.told = np.stack([ratio, log_e])


def _observe_leap(state: State, leap: Leap, counts: FloatArray) -> SeenLeap:
    """Return a leap as observers see it. The evidence of one pull either rises by much or falls by little, so a bar is
    passed by E[rise²]/(2·E[rise]), the mean excess of renewal theory.
    """
    gains = _log_ratios(leap)
    rises = leap.rate * np.maximum(gains, 0.0)
    excess = 0.5 * (rises * gains).sum(0) / np.maximum(rises.sum(0), 1e-300)
    variance = np.maximum((leap.rate * gains**2).sum(0) - state.divergence**2, 0.0)
    return SeenLeap(leap.log_pi, counts, leap.steps, variance, excess, state.key)


def _log_ratios(leap: Leap) -> FloatArray:
    """Return log p/π, (K, R)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leap.rate > 0.0, np.log(leap.rate) - leap.log_pi, 0.0)


def _fill_checkpoints(settings: PathSettings, state: State, out: Paths) -> None:
    """Fill the course at the checkpoints that have been reached."""
    while True:
        at = np.append(settings.checkpoints, math.inf)[state.row]
        rows = np.flatnonzero(state.t >= at)
        if not rows.size:
            return
        course = out.course[state.path[rows], state.row[rows]]
        course[:, 0] = _true_error(settings, state, rows)
        course[:, 1:3] = state.told[:, rows].T
        course[:, 3] = state.spent[:, rows].sum(0)
        course[:, 4:] = state.pulls[:, rows].T
        out.course[state.path[rows], state.row[rows]] = course
        state.row[rows] += 1


def _finish(state: State, done: Any, out: Paths) -> None:
    """Store the results of the paths that are done."""
    rows = state.path[done]
    for name in ("spent", "pulls", "boosts"):
        getattr(out, name)[rows] = getattr(state, name)[:, done].T
    for found, at in ((out.floor, 0), (out.alarm, 1)):
        found[rows, 0], found[rows, 1] = state.alarm[at, done], state.error[at, done]
