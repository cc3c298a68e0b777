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

import math

from feint._types import FloatArray
from feint.numerics._jit import part

BELOW, ABOVE = 0, 1  # rows of the slack
_SAME = 1e-12  # relative: rare arms all have the same c


@part
def fill_slack(floor: float, within: float, log_pi: FloatArray, slack: FloatArray) -> None:
    """Fill `slack` (2, K): how far each true probability may lie below and above the one tested, exp(log_pi)."""
    least, rare = math.inf, 0
    for a in range(log_pi.size):
        if log_pi[a] > -math.inf:
            least = min(least, math.exp(log_pi[a]))
    floored = least < floor * (1.0 - _SAME)
    for a in range(log_pi.size):
        if log_pi[a] > -math.inf and math.exp(log_pi[a]) <= least * (1.0 + _SAME):
            rare += 1
    for a in range(log_pi.size):
        p = math.exp(log_pi[a])
        low, high = p, p
        if floored and p > 0.0:
            if p <= least * (1.0 + _SAME):
                low, high = 0.0, floor
            else:
                high = min(p / (1.0 - rare * least), 1.0)
                low = high * (1.0 - rare * floor)
        slack[BELOW, a] = p - low + within * min(low, 1.0 - low)
        slack[ABOVE, a] = high - p + within * min(high, 1.0 - high)
