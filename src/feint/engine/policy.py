"""From the reference's probabilities to the arm that is pulled: the boost and the draw.

The draw cuts (0, 1) into the boosted arm first, then the other arms in index order but the most pulled arm D, and D
last. D takes nearly every step, so "u lies above everything else" is what the lazy engine tests.
"""

from feint.engine.posterior import LOG_HIGH, LOG_LOW, PI_HIGH, PI_LOW, SLACK
from feint.explorers.base import FloatArray
from feint.numerics._jit import inlined, kernel
from feint.numerics.boost_kernel import boost_scalar


@inlined
def boosted_probability(bounds: FloatArray, arm: int, epsilon: float) -> float:
    """q*(π_arm) for exact probabilities."""
    return boost_scalar(bounds[PI_LOW, arm], bounds[LOG_LOW, arm], epsilon, True)


@kernel
def fill_policy(bounds: FloatArray, arm: int, epsilon: float, policy: FloatArray) -> None:
    """Definition 1: `arm` gets q*, the others keep their proportions."""
    q = boosted_probability(bounds, arm, epsilon)
    rest = 0.0
    for a in range(policy.size):
        if a != arm:
            rest += bounds[PI_LOW, a]
    scale = (1.0 - q) / rest if rest > 0.0 else 0.0
    for a in range(policy.size):
        policy[a] = bounds[PI_LOW, a] * scale
    policy[arm] = q


@inlined
def draw_arm(policy: FloatArray, arm: int, dominant: int, u: float) -> int:
    """The arm on which u falls; `arm` is the boosted one."""
    before = 0.0
    if arm != dominant:
        before = policy[arm]
        if u < before:
            return arm
    for a in range(policy.size):
        if a not in (arm, dominant):
            before += policy[a]
            if u < before:
                return a
    return dominant


@kernel
def region_cuts(bounds: FloatArray, arm: int, dominant: int, epsilon: float) -> tuple[float, float]:
    """(low, high): when `arm` is boosted anywhere in the region, u < low draws `arm` and u ≥ high draws D.

    For arm ≠ D, with q growing in π_arm, and ρ = O/(O + π_D) the share of the others O among all but `arm`,
    everything but D takes q + (1 − q)·ρ, which grows with both. For arm = D it takes 1 − q.
    """
    n = bounds.shape[1]
    if arm == dominant:
        q = boost_scalar(bounds[PI_LOW, arm], bounds[LOG_LOW, arm], epsilon, True)
        return 0.0, (1.0 - q) * (1.0 + SLACK) + SLACK
    q_low = boost_scalar(bounds[PI_LOW, arm], bounds[LOG_LOW, arm], epsilon, True)
    q_high = boost_scalar(bounds[PI_HIGH, arm], bounds[LOG_HIGH, arm], epsilon, True)
    others = 0.0
    for a in range(n):
        if a not in (arm, dominant):
            others += bounds[PI_HIGH, a]
    bottom = others + bounds[PI_LOW, dominant]
    share = others / bottom if bottom > 0.0 else 1.0
    high = q_high + (1.0 - q_high) * share
    return (q_low if q_low == 1.0 else q_low * (1.0 - SLACK)), high * (1.0 + SLACK) + SLACK
