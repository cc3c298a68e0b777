"""The next leap of every path: how long it is, and with which probabilities arms are pulled in it.

1. *Probabilities.* π is taken at the sample means of the public rewards and at the pulls expected in the middle of the
   leap: those now, plus half a leap at the last rates. So the error is of second order in the leap's length. The shares
   of boosts, w, come from the present private posterior, and `lift` gives q*(π_b) for every b and p_a = Σ_b w_b·q^b(a).
2. *Length.* m is the largest number of steps in which no arm is expected to gain more than `_GROWTH` of its pulls (or
   `_LEAST` of a pull, if that is more). While observers are followed, the divergence Σ p·log(p/π) of a leap is also at
   most `_NATS`, unless the leap would be shorter than `_SLOWEST` of the time so far: only late alarms are affected.
"""

import math
from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.planning.path_state import Leap, PathSettings, State

_GROWTH = 0.15
_LEAST = 0.3
_NATS, _SLOWEST = 0.1, 0.03
_STALE = 0.7  # a leap is shortened if its new rates allow less than this part of its length


def plan_leap(settings: PathSettings, state: State, is_first: bool) -> Leap:
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
    log_pi = settings.public.log_best(pulls * ahead, sums * ahead, pulls)
    epsilon = settings.lift.epsilon(np.floor(t + 0.5 * (steps - 1.0)) + 1.0)
    leap = Leap(steps, *settings.lift.step(epsilon, share, log_pi), divergence=np.zeros(steps.size))
    if settings.threshold is not None:
        leap.divergence = np.maximum(0.0, (leap.rate * log_ratios(leap)).sum(0))
    return leap


def log_ratios(leap: Leap) -> FloatArray:
    """Return log p/π, (K, R)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leap.rate > 0.0, np.log(leap.rate) - leap.log_pi, 0.0)
