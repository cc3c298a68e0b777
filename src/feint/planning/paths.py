r"""Paths of the agent in leaps: what `simulate` does step by step, in a hundred pieces whatever the horizon.

All paths leap together, in NumPy, arms along the first axis and paths along the last. A leap of m steps holds the
step's probabilities fixed and draws how often each arm is pulled, and what it paid:

1. *Probabilities.* π at the sample means of the public rewards and the pulls expected in the middle of the leap (those
   now, plus half a leap at the last rates: so the error is of second order in the leap's length); w, the shares of
   boosts, from the private posterior now; q*(π_b) for every b (`lift`); p_a = Σ_b w_b·q^b(a).
2. *Length.* The largest m in which no arm is expected to gain more than `_GROWTH` of its pulls (or `_LEAST` of a pull,
   if that is more). While observers are followed, the divergence Σ p·log(p/π) of a leap is at most `_NATS`, too, unless
   that is less than `_SLOWEST` of the time so far, which matters only to observers who notice late.
3. *Pulls.* Binomial numbers, one arm after the other. *Rewards.* Their sums (`sides`).
4. *Stopping.* Z = −Φ⁻¹(posterior error) moves between the ends of a leap about as a Brownian bridge, so that it has
   been above −Φ⁻¹(δ) in between with probability exp(−2·a·b/v), a and b what both ends lack and v the variance of its
   move. The agent looks only after pulls that bear on Z: so the bar is higher by 0.5826 of such a pull's move (Siegmund
   1985; Broadie, Glasserman & Kou 1997). Where in the leap, `draws.passage` says. Alarms likewise (`_observe_leap`).
"""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from feint.numerics._validate import FloatArray
from feint.planning.alarm import SeenLeap, bet_leaps, bettors, rules
from feint.planning.draws import SIEGMUND, WordArray, keys_of, multinomials, passage, uniforms
from feint.planning.lift import Lift
from feint.planning.sides import Side

_GROWTH = 0.15
_LEAST = 0.3
_NATS, _SLOWEST = 0.1, 0.03
_STALE = 0.7  # a leap that turns out to be longer than this part of it allows is made shorter
_NEAR = 1.2  # standard deviations below the bar: from there it is passed within a leap with probability below 1e-4
_OTHERS = 6  # uniform numbers of a leap beside those of arms


@dataclass(frozen=True)
class PathSettings:
    """What all paths have in common."""

    public: Side
    private: Side
    shares: Any  # (t, pulls, private sums, boosts, log P) -> (K, R)
    weights: FloatArray | None  # (K,) of `FixedBoosting`, which keeps them without drawing
    lift: Lift
    best: int  # the best private arm
    delta: float  # the error to stop at; 0: never
    bar: float  # −Φ⁻¹(δ)
    horizon: float
    checkpoints: FloatArray  # (C,)
    threshold: float | None  # log(1/α) of the observers, if they are followed


@dataclass
class State:
    """Of the paths that still go on: (R,) or (K, R)."""

    path: npt.NDArray[np.int64]
    key: WordArray
    t: FloatArray
    pulls: FloatArray
    public: FloatArray  # sums of rewards
    private: FloatArray
    boosts: FloatArray
    rate: FloatArray  # probabilities of a step of the last leap
    log_best: FloatArray  # of the private posterior
    lead: FloatArray  # Z
    spent: FloatArray
    divergence: FloatArray  # of a step of the last leap
    told: FloatArray  # (2, R) log evidence of the informed observer and of `Observer`
    alarm: FloatArray  # (2, R) when they noticed; NaN: not yet
    error: FloatArray  # (2, R) log posterior error by then
    row: npt.NDArray[np.int64]  # of the next checkpoint

    def keep(self, rows: Any) -> None:
        """Forget the other paths."""
        for field in fields(self):  # `compress`, since an index would change the layout for which kernels are compiled
            setattr(self, field.name, getattr(self, field.name).compress(rows, axis=-1))


@dataclass
class Leap:
    """What happens in one: (R,) or (K, R)."""

    steps: FloatArray
    share: FloatArray
    log_pi: FloatArray
    rate: FloatArray
    cost: FloatArray  # KL spent a step on boosts of the arm
    divergence: FloatArray  # of a step

    def replace(self, rows: Any, other: "Leap") -> None:
        """By another's for some paths."""
        for field in fields(self):
            getattr(self, field.name)[..., rows] = getattr(other, field.name)


@dataclass(frozen=True)
class Paths:
    """(R,) of each path; `pulls`, `boosts` and the KL `spent` on them (R, K) at its end.

    `stopped` is NaN where the path was never sure; so are the alarms, which come with log errors at their time.
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
    """All paths, into `out`."""
    n_paths, n_arms = out.pulls.shape
    state = _begin(settings, n_arms, n_paths)
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
        before, t, lead = state.pulls, state.t, state.lead
        state.pulls = before + counts
        state.public = settings.public.after(state.public, state.pulls, counts, of_arms[1])
        state.private = settings.private.after(state.private, state.pulls, counts, of_arms[2])
        _learn(settings, state)
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


def _begin(settings: PathSettings, n_arms: int, n_paths: int) -> State:
    """After the initial round: every arm once, and nobody tests it."""
    path = np.arange(n_paths)
    key = keys_of(path)
    u = uniforms(key, 0, 3 * n_arms + _OTHERS)[: 3 * n_arms].reshape(3, n_arms, -1)
    once, nothing = np.ones((n_arms, n_paths)), np.zeros((n_arms, n_paths))
    state = State(
        path=path,
        key=key,
        t=np.full(n_paths, float(n_arms)),
        pulls=once,
        public=settings.public.after(nothing, once, once, u[1]),
        private=settings.private.after(nothing, once, once, u[2]),
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
    _learn(settings, state)
    return state


def _plan_leap(settings: PathSettings, state: State, is_first: bool) -> Leap:
    """How long it is, and with which probabilities arms are pulled in it."""
    n_paths = state.t.size
    if settings.weights is None:
        share = settings.shares(state.t, state.pulls, state.private, state.boosts, state.log_best)
    else:
        share = np.repeat(settings.weights[:, None], n_paths, axis=1)
    until = np.append(settings.checkpoints, settings.horizon)[state.row]
    steps = np.ones(n_paths) if is_first else _length(settings, state, until, state.rate, state.divergence)
    if settings.weights is not None:
        _take_turns(state, steps == 1.0, share)
    leap = _leap(settings, state, steps, share)
    shorter = _length(settings, state, until, leap.rate, leap.divergence)
    stale = np.flatnonzero(shorter < _STALE * steps)
    if stale.size:
        leap.replace(stale, _leap(settings, state, shorter[stale], share.take(stale, axis=1), stale))
    state.rate, state.divergence = leap.rate, leap.divergence
    return leap


def _length(
    settings: PathSettings, state: State, until: FloatArray, rate: FloatArray, divergence: FloatArray
) -> FloatArray:
    """Steps of the coming leap at these rates, and at this divergence where observers are followed."""
    longest = until - state.t
    with np.errstate(divide="ignore", invalid="ignore"):
        if settings.threshold is not None:
            short = np.maximum(_NATS / divergence, _SLOWEST * state.t)
            longest = np.where(np.isnan(state.alarm).any(0), np.minimum(longest, short), longest)
        if settings.lift.last < math.inf:
            longest = np.where(state.t < settings.lift.last, np.minimum(longest, settings.lift.last - state.t), longest)
        growth = (np.maximum(_LEAST, _GROWTH * state.pulls) / rate).min(0)
    return np.asarray(np.maximum(1.0, np.floor(np.minimum(longest, growth))))


def _take_turns(state: State, rows: Any, share: FloatArray) -> None:
    """Shares that are kept without drawing: one step boosts the arm furthest behind (`FixedBoosting`)."""
    rows = np.flatnonzero(rows)
    boosts, weights = state.boosts[:, rows], share[:, rows]
    behind = np.where(weights > 0.0, (boosts.sum(0) + 1.0) * weights - boosts, -np.inf)
    share[:, rows] = np.arange(len(share))[:, None] == behind.argmax(0)


def _leap(settings: PathSettings, state: State, steps: FloatArray, share: FloatArray, rows: Any = None) -> Leap:
    """So long, of some paths only if `rows` says so; with its divergence where observers are followed."""
    pulls, sums, rate, t = state.pulls, state.public, state.rate, state.t
    if rows is not None:  # `take`, since an index would change the layout for which kernels are compiled
        pulls, sums, rate, t = (found.take(rows, axis=-1) for found in (pulls, sums, rate, t))
    ahead = 1.0 + 0.5 * (steps - 1.0) * rate / pulls
    log_pi = settings.public.log_best(pulls * ahead, sums * ahead)
    epsilon = settings.lift.epsilon(np.floor(t + 0.5 * (steps - 1.0)) + 1.0)
    leap = Leap(steps, *settings.lift.step(epsilon, share, log_pi), divergence=np.zeros(steps.size))
    if settings.threshold is not None:
        leap.divergence = np.maximum(0.0, (leap.rate * _gains(leap)).sum(0))
    return leap


def _learn(settings: PathSettings, state: State) -> None:
    """The private posterior, and how sure the agent is."""
    from scipy.special import ndtri_exp

    state.log_best = settings.private.log_best(state.pulls, state.private)
    if settings.delta > 0.0:
        state.lead = -ndtri_exp(np.minimum(log_error(state.log_best, state.log_best.argmax(0)), -1e-16))


def log_error(log_best: FloatArray, arm: Any) -> FloatArray:
    """log P(another arm is the best one), (R,)."""
    others = np.where(np.arange(len(log_best))[:, None] == arm, -np.inf, log_best)
    top = others.max(0)
    return np.asarray(top + np.log(np.exp(others - top).sum(0)))


def _find_stops(
    settings: PathSettings, state: State, before: FloatArray, lead: FloatArray, u: FloatArray
) -> tuple[FloatArray, Any]:
    """In which part of the leap paths became sure, and which did."""
    part, done = np.ones(lead.size), np.zeros(lead.size, dtype=bool)
    if settings.delta == 0.0:
        return part, done
    bar = settings.bar
    rows = np.flatnonzero(np.maximum(lead, state.lead) > bar - _NEAR)
    if not rows.size:
        return part, done
    # What Z moves by when a mean does: rivals in proportion to their part of the error.
    log_best, now, then = state.log_best[:, rows], state.pulls[:, rows], before[:, rows]
    leader = log_best.argmax(0)
    leads = np.arange(len(now))[:, None] == leader
    part_of = np.exp(np.where(leads, -np.inf, log_best) - log_error(log_best, leader))
    spread = settings.private.variances / np.sqrt(now * then)
    slope = part_of / np.sqrt(spread + spread[leader, np.arange(rows.size)])
    slope = np.where(leads, slope.sum(0), slope)
    pulled = now - then
    moves = slope**2 * settings.private.variances * pulled / (now * then)
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


def _raise_alarms(
    settings: PathSettings, state: State, leap: Leap, seen: SeenLeap, before: FloatArray, told: Any, u: FloatArray
) -> None:
    """What the leap told the observers, `told` being log E and in which part of the leap it reached the threshold; and
    whether one of them raises the alarm.
    """
    assert settings.threshold is not None
    log_e, noticed = told
    ratio = state.told[0] + (seen.counts * _gains(leap)).sum(0)
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
    state.error = np.where(first, log_error(state.log_best, settings.best), state.error)
    state.told = np.stack([ratio, log_e])


def _observe_leap(state: State, leap: Leap, counts: FloatArray) -> SeenLeap:
    """A leap as observers see it. What one pull tells is a rise by much or a fall by little, so that a bar is passed by
    E[rise²]/(2·E[rise]), the mean excess of renewal theory.
    """
    gains = _gains(leap)
    rises = leap.rate * np.maximum(gains, 0.0)
    excess = 0.5 * (rises * gains).sum(0) / np.maximum(rises.sum(0), 1e-300)
    variance = np.maximum((leap.rate * gains**2).sum(0) - state.divergence**2, 0.0)
    return SeenLeap(leap.log_pi, counts, leap.steps, variance, excess, state.key)


def _gains(leap: Leap) -> FloatArray:
    """log p/π, (K, R)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leap.rate > 0.0, np.log(leap.rate) - leap.log_pi, 0.0)


def _fill_checkpoints(settings: PathSettings, state: State, out: Paths) -> None:
    """What there is to know at checkpoints."""
    while True:
        at = np.append(settings.checkpoints, math.inf)[state.row]
        rows = np.flatnonzero(state.t >= at)
        if not rows.size:
            return
        course = out.course[state.path[rows], state.row[rows]]
        course[:, 0] = log_error(state.log_best[:, rows], settings.best)
        course[:, 1:3] = state.told[:, rows].T
        course[:, 3] = state.spent[:, rows].sum(0)
        course[:, 4:] = state.pulls[:, rows].T
        out.course[state.path[rows], state.row[rows]] = course
        state.row[rows] += 1


def _finish(state: State, done: Any, out: Paths) -> None:
    """Keep what is known of paths that are done."""
    rows = state.path[done]
    for name in ("spent", "pulls", "boosts"):
        getattr(out, name)[rows] = getattr(state, name)[:, done].T
    for found, at in ((out.floor, 0), (out.alarm, 1)):
        found[rows, 0], found[rows, 1] = state.alarm[at, done], state.error[at, done]
