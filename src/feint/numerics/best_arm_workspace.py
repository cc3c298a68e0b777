"""The arms of the best-arm kernel: their workspace, their common unit, and where each one's integration may start.

The bound is proved under "Left end" in the docstring of best_arm_kernel.py.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import bits_float, inlined, part
from feint.numerics.sorting import sort_by

NODES = 24  # nodes per panel
_LEFT_CUT = 7.6  # Φ(−7.6) = 1.5e-14 of an arm's mass is left out on the left

# Rows of NormalWorkspace.arms. It is one array with named rows, not one field per row, because every array that is
# passed on costs the compiled code two atomic reference counts; for 17 fields these took longer than the integration.
CENTRE = 0  # mean minus the largest mean, in units of a power of two near the smallest sd
PRECISION = 1  # 1/sd in that unit
LEFT = 2  # where the arm's integration starts
FALL = 3  # −(log g_a)′ near the panel's left end
DECAY = 4  # lower bound of the decay of log g_a since its peak
HAZARD = 5  # h_a near the panel's left end
CURVATURE = 6  # −(log Φ_a)″ there
PREFIX_PRECISION = 7  # Σ 1/σ² over the arms of largest mean
PREFIX_MOMENT = 8  # and Σ μ/σ²
SUM = 9  # result: P(a) = arms[SUM, a]·exp(arms[SHIFT, a])
SHIFT = 10
CENTRE_LOW = 11  # the rounding error of CENTRE, so that two sharp arms far from the origin keep their distance
UNIT = 12  # φ_a/Φ_a in its own unit = arms[UNIT, a]·ratios[a]; 0 where the panel skipped that row
SUM_BEFORE = 13  # before the last panel
SHIFT_BEFORE = 14
LEFT_BEFORE = 15  # LEFT of the evaluation before; see best_arm_others.py
_ARM_ROWS = 16

# Rows of NormalWorkspace.ranks.
ORDER = 0  # arms by mean, then by left end
RANK = 1  # position of an arm by mean
CANDIDATES = 2  # sizes k of the sets J to try for every arm
STATE = 3  # one of the three below
WAITING, ACTIVE, DONE = 0, 1, 2

LEFT_END, MIDDLE, HALF = 0, 1, 2  # of NormalWorkspace.panel: start of the next panel; middle and half-width of the last
WANTED, STARTED, OPEN = 0, 1, 2  # of NormalWorkspace.counts: arms to integrate, begun, and not yet done


class NormalWorkspace(NamedTuple):
    """Scratch space of the best-arm kernel for K normal arms, owned by the caller; it keeps nothing between calls."""

    arms: FloatArray  # (_ARM_ROWS, K)
    ranks: IntArray  # (4, K)
    exponents: FloatArray  # (NODES,) of F
    mantissas: FloatArray  # (NODES,) of F
    products: FloatArray  # (NODES,) F times the quadrature weight, up to the panel's constant
    ratios: FloatArray  # (K, NODES) g_a/F up to the arm's constant
    weights: FloatArray  # (NODES,) g_a times the quadrature weight, up to a constant
    panel: FloatArray  # (3,)
    counts: IntArray  # (3,)


def allocate_normal_workspace(n_arms: int) -> NormalWorkspace:
    """Allocate the scratch space for `n_arms` normal arms."""
    return NormalWorkspace(
        np.empty((_ARM_ROWS, n_arms)),
        np.empty((4, n_arms), dtype=np.int64),
        np.empty(NODES),
        np.empty(NODES),
        np.empty(NODES),
        np.empty((n_arms, NODES)),
        np.empty(NODES),
        np.empty(3),
        np.empty(3, dtype=np.int64),
    )


@part
def standardise(means: FloatArray, sds: FloatArray, arms: FloatArray) -> None:
    """Centre on the largest mean and scale by a power of two, both without rounding, since a centre is two floats."""
    n = means.size
    top, sharpest = -math.inf, math.inf
    for a in range(n):
        top = means[a] if means[a] > top else top
        sharpest = sds[a] if sds[a] < sharpest else sharpest
    _, exponent = math.frexp(sharpest)
    for a in range(n):
        mean = 0.5 * means[a]  # halves, so that the difference of two of the largest floats does not overflow
        difference = mean - 0.5 * top
        virtual = difference - mean
        error = (mean - (difference - virtual)) - (0.5 * top + virtual)  # Knuth's exact error of a difference
        arms[CENTRE, a] = times_power_of_two(difference, 1 - exponent)
        arms[CENTRE_LOW, a] = times_power_of_two(error, 1 - exponent)
        arms[PRECISION, a] = 1.0 / times_power_of_two(sds[a], -exponent)


@inlined
def times_power_of_two(x: float, n: int) -> float:
    """Return x·2ⁿ, as `ldexp` does but without a call."""
    return x * bits_float((n + 1023) << 52) if -1000 < n < 1000 else math.ldexp(x, n)


@part
def fill_normal_left_ends(arms: FloatArray, ranks: IntArray, n: int) -> None:
    """Fill in where each arm's integration may start; see "Left end" in best_arm_kernel.py."""
    sort_by(arms[CENTRE], ranks[ORDER], -1.0)
    total = 0.0
    moment = 0.0
    best = -math.inf
    best_size = 0
    candidates = 0
    for k in range(n):
        a = ranks[ORDER, k]
        ranks[RANK, a] = k
        weight = arms[PRECISION, a] * arms[PRECISION, a]
        if weight > total:
            ranks[CANDIDATES, candidates] = k + 1
            candidates += 1
        total += weight
        moment += arms[CENTRE, a] * weight
        arms[PREFIX_PRECISION, k] = total
        arms[PREFIX_MOMENT, k] = moment
        bound = moment / total - _LEFT_CUT / math.sqrt(total)
        if bound > best:
            best = bound
            best_size = k + 1
    for a in range(n):
        # An arm raises the mean of J as long as its own mean is larger: bisect for the last arm that does.
        low = 0
        high = n
        while low < high:
            size = (low + high + 1) // 2
            total, moment = _joined(arms, ranks, a, size - 1)
            if arms[CENTRE, ranks[ORDER, size - 1]] * total > moment:
                low = size
            else:
                high = size - 1
        left = -math.inf
        for c in range(-2, candidates):
            size = low if c == -2 else best_size if c == -1 else ranks[CANDIDATES, c]
            total, moment = _joined(arms, ranks, a, size)
            bound = moment / total - _LEFT_CUT / math.sqrt(total)
            left = bound if bound > left else left
        arms[LEFT, a] = left


@inlined
def _joined(arms: FloatArray, ranks: IntArray, a: int, size: int) -> tuple[float, float]:
    """Return precision and moment of the `size` arms of largest mean together with arm a."""
    total = 0.0
    moment = 0.0
    if size > 0:
        total = arms[PREFIX_PRECISION, size - 1]
        moment = arms[PREFIX_MOMENT, size - 1]
    if ranks[RANK, a] >= size:
        weight = arms[PRECISION, a] * arms[PRECISION, a]
        total += weight
        moment += arms[CENTRE, a] * weight
    return total, moment
