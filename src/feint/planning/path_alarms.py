"""What observers see of a leap, and the alarms that they raise in it: found as stops are (`path_stops`)."""

from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.planning.leap_test import SeenLeap
from feint.planning.leaps import log_ratios
from feint.planning.path_draws import passage
from feint.planning.path_state import Leap, PathSettings, State
from feint.planning.path_stops import true_error


def observe_leap(state: State, leap: Leap, counts: FloatArray) -> SeenLeap:
    """Return a leap as observers see it. The evidence of one pull either rises by much or falls by little, so a bar is
    passed by E[rise²]/(2·E[rise]), the mean excess of renewal theory.
    """
    gains = log_ratios(leap)
    rises = leap.rate * np.maximum(gains, 0.0)
    excess = 0.5 * (rises * gains).sum(0) / np.maximum(rises.sum(0), 1e-300)
    variance = np.maximum((leap.rate * gains**2).sum(0) - state.divergence**2, 0.0)
    return SeenLeap(leap.log_pi, counts, leap.steps, variance, excess, state.key)


def raise_alarms(
    settings: PathSettings, state: State, leap: Leap, seen: SeenLeap, before: FloatArray, told: Any, u: FloatArray
) -> None:
    """Update the observers' evidence after a leap, and the alarms that they raise. `told` is log E of `Observer` and
    the fraction of the leap at which it reached the threshold.
    """
    assert settings.threshold is not None
    log_e, noticed = told
    ratio = state.told[0] + (seen.counts * log_ratios(leap)).sum(0)
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
        state.error = np.where(first, true_error(settings, state, slice(None)), state.error)
    state.told = np.stack([ratio, log_e])
