"""How sure the agent is on every path, and when it stops.

Between the ends of a leap, Z = −Φ⁻¹(posterior error) moves about as a Brownian bridge. So it has been above −Φ⁻¹(δ) in
between with probability exp(−2·a·b/v), where its ends lie a and b below that and v is the variance of its move. The
agent looks only after pulls that affect Z, so the bar is raised by 0.5826 of such a pull's move (Siegmund 1985;
Broadie, Glasserman & Kou 1997). `path_draws.passage` says where in the leap.
"""

from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.planning.path_draws import SIEGMUND, passage
from feint.planning.path_state import PathSettings, State

_NEAR = 1.2  # standard deviations below the bar: from further below, a leap passes it with probability below 1e-4


def update_beliefs(settings: PathSettings, state: State) -> None:
    """Compute the private posterior and how sure the agent is."""
    from scipy.special import ndtri_exp

    if settings.goal is not None:
        state.log_best = np.zeros(state.pulls.shape)  # nothing asks for it
        if settings.delta > 0.0:
            found = settings.goal.log_error(state.pulls, state.private, state.seen, settings.bar)
            state.lead = -ndtri_exp(np.minimum(found, -1e-16))
        return
    state.log_best = settings.private.log_best(state.pulls, state.private, state.seen)
    if settings.delta > 0.0:
        state.lead = -ndtri_exp(np.minimum(_log_error(state.log_best, state.log_best.argmax(0)), -1e-16))


def _log_error(log_best: FloatArray, arm: Any) -> FloatArray:
    """Return log P(another arm than `arm` is the best), (R,)."""
    others = np.where(np.arange(len(log_best))[:, None] == arm, -np.inf, log_best)
    top = others.max(0)
    return np.asarray(top + np.log(np.exp(others - top).sum(0)))


def find_stops(
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
    # Where hardly any pull is new, the variance is near the smallest float, and its quotient −∞ is right.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        jump = settings.private.lumps * np.where(pulled > 0.0, moves**2 / pulled, 0.0).sum(0) / variance
        raised = bar + SIEGMUND * np.sqrt(jump)
        chance = np.exp(np.minimum(0.0, -2.0 * (raised - lead[rows]) * (raised - state.lead[rows]) / variance))
    between = (variance > 1.5 * jump) & (u[0, rows] < chance)
    found = (state.lead[rows] >= bar) | between
    rows, variance, singly = rows[found], variance[found], (variance <= 1.5 * jump)[found]
    above, end = bar - lead[rows], state.lead[rows] - lead[rows]
    part[rows] = np.where(singly, u[1, rows], passage(above, end, variance, u[1, rows], u[2, rows]))
    done[rows] = True
    return part, done


def _known(state: State, rows: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return pulls, private sums and private rewards seen of these paths."""
    return state.pulls[:, rows], state.private[:, rows], state.seen[:, rows]


def _squared_slopes(settings: PathSettings, state: State, rows: Any, pulls: FloatArray) -> FloatArray:
    """Return the square of how far Z moves with a private mean, (K, rows). Rivals count in proportion to their part of
    the error; for other goals, ways to be wrong do (`goals.base.fill_slopes`).
    """
    if settings.goal is not None:
        slopes = settings.goal.slopes(*_known(state, rows), state.lead[rows])
        return np.asarray(slopes**2 * pulls / settings.private.variances)
    log_best = state.log_best[:, rows]
    leader = log_best.argmax(0)
    leads = np.arange(len(pulls))[:, None] == leader
    part_of = np.exp(np.where(leads, -np.inf, log_best) - _log_error(log_best, leader))
    spread = settings.private.variances / pulls
    slope = part_of / np.sqrt(spread + spread[leader, np.arange(rows.size)])
    return np.asarray(np.where(leads, slope.sum(0), slope) ** 2)


def true_error(settings: PathSettings, state: State, rows: Any) -> FloatArray:
    """Return the log of the posterior probability that the right answer is not the true one, (rows,)."""
    if settings.goal is not None:
        return settings.goal.log_true_error(*_known(state, rows))
    return _log_error(state.log_best[:, rows], settings.best)
