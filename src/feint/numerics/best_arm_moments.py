r"""Given that arm a is the largest of independent normals: the mean of every arm, from the same grid.

With z_j = (x_j − μ_j)/σ_j and E_a the expectation given that a is the largest, where x_a has the density g_a/P(a),

    E_a[z_j] = −∫ g_a·φ(z_j)/Φ(z_j) dx / P(a)      for j ≠ a,

since given x_a, arm j is a normal cut off at x_a. These are the derivatives of log P(a) by μ_j/σ_j; as P(a) does not
change when all arms move together, Σ_j E_a[z_j]/σ_j = 0 gives that of arm a itself. They are kept as running means over
panels, each weighted with its share of the arm's sum, so they need no exponents of their own.
"""

from feint.numerics._jit import inlined, reordered_sum
from feint.numerics._validate import FloatArray
from feint.numerics.best_arm_arms import NODES, PRECISION, UNIT, Workspace, dot_row


@reordered_sum
def _total(weights: FloatArray) -> float:
    total = 0.0
    for i in range(NODES):
        total += weights[i]
    return total


@inlined
def add_moments(ws: Workspace, a: int, share: float) -> None:
    """A panel that has this share of arm a's sum so far, with g_a ∝ `ws.weights` at its nodes."""
    arms, moments = ws.arms, ws.moments
    scale = 1.0 / _total(ws.weights)
    for j in range(arms.shape[1]):
        if j != a:
            mean = 0.0
            if arms[UNIT, j] > 0.0:
                mean = -dot_row(ws.weights, ws.ratios, j) * (arms[UNIT, j] * scale)
            moments[a, j] += share * (mean - moments[a, j])


@inlined
def complete_moments(ws: Workspace) -> None:
    """Those of every arm itself."""
    arms, moments = ws.arms, ws.moments
    for a in range(arms.shape[1]):
        total = 0.0
        for j in range(arms.shape[1]):
            if j != a:
                total += moments[a, j] * arms[PRECISION, j]
        moments[a, a] = -total / arms[PRECISION, a]
