r"""Paths of the agent in leaps: what `simulate` does step by step, done in about a hundred pieces for any horizon.

All paths leap together in NumPy, with arms along the first axis and paths along the last. A leap of m steps holds the
step's probabilities fixed (`leaps`) and draws how often each arm is pulled, and what it pays. Pulls are binomial
numbers, drawn one arm after the other, and rewards are drawn as sums (`sides`). Then `path_stops` finds whether the
agent is sure by now, and `path_alarms` whether an observer has noticed.
"""

import math
from typing import Any

import numpy as np

from feint.planning.leap_test import bet_leaps, bettors, rules
from feint.planning.leaps import plan_leap
from feint.planning.path_alarms import observe_leap, raise_alarms
from feint.planning.path_draws import keys_of, multinomials, uniforms
from feint.planning.path_state import Paths, PathSettings, State
from feint.planning.path_stops import find_stops, true_error, update_beliefs
from feint.planning.sides import Made

_OTHERS = 6  # uniform numbers of a leap besides those of the arms


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
        leap = plan_leap(settings, state, number == 1)
        counts = multinomials(leap.steps, leap.rate, of_arms[0])
        before, t, lead, public = state.pulls, state.t, state.lead, state.public
        state.pulls = before + counts
        state.public = settings.public.after(state.public, state.pulls, counts, of_arms[1])
        made = Made(state.pulls, counts, state.seen, state.seen + settings.private.look(counts, state.key, number))
        state.private = settings.private.learn(state.private, made, of_arms[2], (public, state.public))
        state.seen = made.seen
        update_beliefs(settings, state)
        part, done = find_stops(settings, state, before, lead, others)
        steps = np.where(done, np.maximum(1.0, np.ceil(leap.steps * part)), leap.steps)
        state.t = t + steps
        state.pulls = np.where(done, before + part * counts, state.pulls)
        state.spent = state.spent + steps * leap.cost
        state.boosts = state.boosts + steps * leap.share
        out.stopped[state.path[done]] = state.t[done]
        if watch is not None:
            seen = observe_leap(state, leap, counts)
            told = np.empty((2, state.t.size))
            bet_leaps(*watch, seen, number, state.told[1], *told)
            raise_alarms(settings, state, leap, seen, t, told, others)
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
    public, seen = settings.public.after(nothing, once, once, u[1]), settings.private.look(once, key, 0)
    state = State(
        path=path,
        key=key,
        t=np.full(n_paths, float(n_arms)),
        pulls=once,
        public=public,
        private=settings.private.learn(nothing, Made(once, once, nothing, seen), u[2], (nothing, public)),
        seen=seen,
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
    update_beliefs(settings, state)
    return state


def _fill_checkpoints(settings: PathSettings, state: State, out: Paths) -> None:
    """Fill the course at the checkpoints that have been reached."""
    while True:
        at = np.append(settings.checkpoints, math.inf)[state.row]
        rows = np.flatnonzero(state.t >= at)
        if not rows.size:
            return
        course = out.course[state.path[rows], state.row[rows]]
        course[:, 0] = true_error(settings, state, rows)
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
