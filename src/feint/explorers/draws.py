"""Draws from probabilities of which only bounds are known: the arm, or −1 where the bounds do not decide.

A draw cuts (0, 1) at the cumulative sums of the probabilities in index order, one arm (`last`) moved to the end. Let A be
the sum before a cut and B the sum behind it. The uniform u falls left of the cut if u·(A + B) < A, and A/(A + B) grows
with every probability before the cut and falls with every one behind. So u·(A_low + B_high) < A_low proves "left", and
u·(A_high + B_low) ≥ A_high proves "right", for all probabilities inside the bounds. The bounds are wider than the
rounding of these few operations (`engine.posterior.SLACK`), so what they prove is what exact probabilities, computed in
float64, would give.
"""

from feint.explorers.base import P_HIGH, P_LOW, UNDECIDED, W_HIGH, W_LOW, FloatArray
from feint.numerics._jit import inlined


@inlined
def draw(bounds: FloatArray, low: int, high: int, u: float, skip: int, last: int) -> int:
    """An arm other than `skip` in proportion to its probability, known to lie between rows `low` and `high`.

    `last` takes the end of (0, 1). Sums behind a cut are total − before: u·(A + B) then carries a relative error only,
    since u·(A + B) ≈ A at the cut.
    """
    n = bounds.shape[1]
    total_low = 0.0
    total_high = 0.0
    for a in range(n):
        if a != skip:
            total_low += bounds[low, a]
            total_high += bounds[high, a]
    before_low = 0.0
    before_high = 0.0
    possible = False
    for a in range(n):
        if a not in (skip, last):
            before_low += bounds[low, a]
            before_high += bounds[high, a]
            slack = before_high - before_low
            if u * (total_high - slack) < before_low:
                return UNDECIDED if possible else a
            if u * (total_low + slack) < before_high:
                possible = True  # some probabilities inside the bounds would stop here
    return UNDECIDED if possible else last


@inlined
def favourite(private_means: FloatArray) -> int:
    """The arm with the largest private mean, the first of equals."""
    best = 0
    for a in range(1, private_means.size):
        if private_means[a] > private_means[best]:
            best = a
    return best


@inlined
def draw_leader(bounds: FloatArray, private_means: FloatArray, u: float) -> int:
    """Line 4 of Algorithm 1: the leader is arm a with the posterior probability that a is the best private arm."""
    return draw(bounds, P_LOW, P_HIGH, u, -1, favourite(private_means))


@inlined
def draw_challenger(bounds: FloatArray, private_means: FloatArray, u: float, leader: int) -> int:
    """Line 5 of Algorithm 1: an arm other than the leader, in proportion to its probability of being the best."""
    n = private_means.size
    last = 1 if leader == 0 else 0
    for a in range(n):
        if a != leader and private_means[a] > private_means[last]:
            last = a
    if bounds[W_HIGH, leader] == float("inf"):
        return draw(bounds, W_LOW, W_HIGH, u, leader, last)
    return draw(bounds, P_LOW, P_HIGH, u, leader, last)
