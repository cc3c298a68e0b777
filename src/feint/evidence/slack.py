r"""How far the true probabilities may lie from those that are tested, where small ones were logged rounded (`floor`).

An arm that was logged below the floor f may have had any probability from 0 to f, and the others share what is left in
proportion. With m such arms, and H the logged probabilities of all others together, the null is that for every arm a

    0 ≤ p_a ≤ f   if π_a < f,        otherwise   π_a·(1 − m·f)/H ≤ p_a ≤ π_a/H.

It contains what was logged, every larger or smaller probability of the rare arms, and the floored ones that are tested,
c_a = max(π_a, f)/S with S = H + m·f: a rare arm has c_a = f/S ≤ f, and (1 − m·f)/H ≤ 1/S ≤ 1/H since H + m·f ≥ 1. Where
it holds up to a share w only (`within`), p_a may further lie w·min(p_a, 1 − p_a) beyond.

Every bet of a test here is on one arm b, with a mean of 1 + (p_b − c_b)·s under p, s known before the pull. So it is
divided by its largest mean, at one of the ends. S, m and H follow from the c_a: the rare arms are those with the
smallest, if that is below f, S = f/min c, and H/S = 1 − m·min c. An arm with c_a = 0 could not be drawn.
"""

import numpy as np

from feint._types import FloatArray

_SAME = 1e-12  # relative: rare arms all have the same c


def slack_shares(p: FloatArray, rest: FloatArray, within: float, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the true probabilities may lie below and above p (m, K), as shares of min(p, 1 − p); `rest` is
    1 − p.
    """
    if floor == 0.0:
        share = np.full(p.shape, within)
        return share, share
    least = np.where(p > 0.0, p, np.inf).min(axis=1, keepdims=True)
    rare = (p > 0.0) & (p <= least * (1.0 + _SAME))
    n_rare = rare.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(rare, floor, np.minimum(p / (1.0 - n_rare * least), 1.0))
        low = np.where(rare, 0.0, high * (1.0 - n_rare * floor))
        exact = (least >= floor * (1.0 - _SAME)) | (p == 0.0)
        low, high = np.where(exact, p, low), np.where(exact, p, high)
        below = p - low + within * np.minimum(low, 1.0 - low)
        above = high - p + within * np.minimum(high, 1.0 - high)
        smaller = np.minimum(p, rest)
        return np.where(smaller > 0.0, below / smaller, 0.0), np.where(smaller > 0.0, above / smaller, 0.0)
