r"""The mean of every arm given that arm a is the largest of independent normals, from the grid of best_arm_kernel.py.

With z_j = (x_j − μ_j)/σ_j and E_a the expectation given that a is the largest, where x_a has the density g_a/P(a),

    E_a[z_j] = −∫ g_a·φ(z_j)/Φ(z_j) dx / P(a)      for j ≠ a,

since given x_a, arm j is a normal truncated at x_a. These are the derivatives of log P(a) in μ_j/σ_j. As P(a) does not
change when all arms move together, Σ_j E_a[z_j]/σ_j = 0, which gives that of arm a itself. They are kept as running
means over panels, each weighted with its share of the arm's sum, so they need no exponents of their own.
"""

from feint._types import FloatArray
from feint.numerics._jit import inlined, part
from feint.numerics.best_arm_kernel import add_panel, place_arms
from feint.numerics.best_arm_panel import weigh_nodes
from feint.numerics.best_arm_workspace import (
    NODES,
    PRECISION,
    SHIFT,
    SHIFT_BEFORE,
    STATE,
    SUM,
    SUM_BEFORE,
    UNIT,
    WAITING,
    NormalWorkspace,
)
from feint.numerics.normal import exp_or_little
from feint.numerics.sums import sum_products


@part
def best_arm_moments(means: FloatArray, sds: FloatArray, ws: NormalWorkspace, moments: FloatArray) -> None:
    """Leave what `best_arm_sums` leaves, bit for bit, and fill moments[a, j] with the mean of arm j given that a is the
    largest, in units of its sd. The error is below 1e-9, or below 1e-9 relative where the mean is above 1.
    """
    place_arms(means, sds, ws)
    arms = ws.arms
    for a in range(arms.shape[1]):
        for j in range(arms.shape[1]):
            moments[a, j] = 0.0
    while add_panel(ws):
        for a in range(arms.shape[1]):
            if ws.ranks[STATE, a] != WAITING:
                kept = arms[SUM_BEFORE, a] * exp_or_little(arms[SHIFT_BEFORE, a] - arms[SHIFT, a])
                share = 1.0 - kept / arms[SUM, a]
                if share > 0.0:
                    weigh_nodes(ws, a)
                    _add_moments(ws, moments, a, share)
    _complete_moments(arms, moments)


@inlined
def _add_moments(ws: NormalWorkspace, moments: FloatArray, a: int, share: float) -> None:
    """Add a panel that has this share of arm a's sum so far, with g_a ∝ `ws.weights` at its nodes."""
    arms = ws.arms
    total = 0.0
    for i in range(NODES):
        total += ws.weights[i]
    scale = 1.0 / total
    for j in range(arms.shape[1]):
        if j != a:
            mean = 0.0
            if arms[UNIT, j] > 0.0:
                mean = -sum_products(ws.weights, ws.ratios[j]) * (arms[UNIT, j] * scale)
            moments[a, j] += share * (mean - moments[a, j])


@inlined
def _complete_moments(arms: FloatArray, moments: FloatArray) -> None:
    """Fill moments[a, a], the mean of every arm given that it is the largest itself."""
    for a in range(arms.shape[1]):
        total = 0.0
        for j in range(arms.shape[1]):
            if j != a:
                total += moments[a, j] * arms[PRECISION, j]
        moments[a, a] = -total / arms[PRECISION, a]
