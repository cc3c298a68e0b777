r"""The exponent Γ(w) and its maximum for any goal, from the rows of evidence that the goal gives (`goals.base`).

With N_a = √(2·w_a/d_a), and ∞ for the best public arm i*, Γ(w) = min_k E_k(N): the evidence against the likeliest way
to be wrong. Each E_k(N) = min_x Σ_a N_a·D(μ_a, x_a) is a minimum of linear functions of N, so at any N its coefficients
c_a = D(μ_a, x_a) are a *cut*: E_k(M) ≤ Σ_a c_a·M_a for all M. As Σ w = 1 means ½·Σ d_a·N_a² = 1, and E is homogeneous,

    1/Γ*² = min ½·Σ d_a·N_a²   over   E_k(N) ≥ 1 for every k.

With cuts in the place of the E_k this is a least-distance problem, which non-negative least squares solve (Lawson and
Hanson 1974, Chapter 23). Its solution gives new cuts, and so on: every round ends with a lower and an upper bound.

**The certificate.** For multipliers λ ≥ 0 of any cuts and every N with ½·Σ d_a·N_a² ≤ 1, by Cauchy and Schwarz,

    Γ ≤ Σ_k λ_k·c_k·N / Σ λ_k ≤ √(2·Σ_a (Σ_k λ_k·c_ka)²/d_a) / Σ λ_k.

`gap` is this bound minus Γ(w), however w and λ were found. In pulls of i* the evidence is linear and never the least,
and 1e15 times the pulls of any other arm stand for ∞.
"""

from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.goals.base import answer_of, doubts_of

_MANY = 1e15  # pulls of the best public arm, relative to any other arm's
_FEWEST = 1e-9  # relative pulls at which cuts are taken for an arm that has none yet
_ROUNDS = 400
_CLOSE = 1e-12  # a relative gap that is good enough to stop at
_ENOUGH = 1e-10


def evidence_rows(bandit: Bandit, goal: Any, pulls: FloatArray) -> FloatArray:
    """Return the rows of a goal at the true private means, without those that the best public arm alone decides."""
    means = np.array(bandit.private)
    answer_of(goal, means)
    counts = pulls.copy()
    others = np.arange(bandit.n_arms) != bandit.best_public
    counts[~others] = _MANY * max(counts[others].max(), 1e-290)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = doubts_of(goal, counts, means, bandit.families[1].divergence)
    at_stake = doubts_of(goal, np.where(others, 1.0, _MANY), means, bandit.families[1].divergence)
    return np.where(others, rows, 0.0)[(at_stake[:, others] > 0.0).any(1)]


def gamma_of_goal(bandit: Bandit, goal: Any, weights: FloatArray, cost: FloatArray) -> float:
    """Return Γ(w); `cost` has d_a."""
    others = np.arange(bandit.n_arms) != bandit.best_public
    pulls = np.zeros(bandit.n_arms)
    pulls[others] = np.sqrt(2.0 * weights[others] / cost[others])
    rows = evidence_rows(bandit, goal, pulls)
    return float(rows.sum(1).min()) if len(rows) else float("inf")


def boost_for_goal(bandit: Bandit, goal: Any, cost: FloatArray) -> tuple[FloatArray, float, float, str]:
    """Return (w*, Γ(w*), gap, which arms decide); `cost` has d_a."""
    others = np.flatnonzero(np.arange(bandit.n_arms) != bandit.best_public)
    root = np.sqrt(cost[others])
    scaled = np.ones(others.size) / np.sqrt(others.size)  # √(d/2)·N, on the sphere
    cuts = np.empty((0, others.size))
    best, bound, weights = 0.0, np.inf, np.zeros(bandit.n_arms)
    for _ in range(_ROUNDS):
        full = np.zeros(bandit.n_arms)
        full[others] = np.sqrt(2.0) * np.maximum(scaled, _FEWEST * scaled.max()) / root
        rows = evidence_rows(bandit, goal, full)
        if not len(rows):
            raise ValueError(f"The best public arm of {bandit} alone decides this goal, so there is nothing to boost.")
        share = np.zeros(bandit.n_arms)
        share[others] = scaled**2 / (scaled @ scaled)
        reached = gamma_of_goal(bandit, goal, share, cost)
        if reached > best:
            best, weights = reached, share
        if bound - best <= _CLOSE * best:
            break
        fresh = np.sqrt(2.0) * (rows[:, others] / full[others]) / root  # cuts of √(d/2)·N
        if not np.isfinite(fresh).all():
            break
        cuts = np.concatenate([cuts, fresh])
        solved = _nearest(cuts / max(best, 1e-300))
        if solved is None:
            break
        scaled, multipliers = solved
        bound = min(bound, float(np.linalg.norm(multipliers @ cuts) / multipliers.sum()))
        cuts = cuts[(multipliers > 0.0) | (np.arange(len(cuts)) >= len(cuts) - len(fresh))]
    if not (np.isfinite(bound) and best > 0.0 and bound - best <= _ENOUGH * best):
        raise ValueError(
            f"The gaps of {bandit} are so unequal that its weights leave float64's range; give gaps within 1e±6."
        )
    return weights, best, bound - best, _deciders(bandit, goal, weights, cost)


def _nearest(cuts: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the shortest y with cuts @ y ≥ 1, scaled to length 1, and the multipliers; None if rounding prevails."""
    from scipy.optimize import nnls

    # In units of the farthest plane, and with normal vectors of length 1, so that nothing small has to be resolved.
    length = np.linalg.norm(cuts, axis=1)
    planes, distances = cuts / length[:, None], length.min() / length
    matrix = np.vstack([planes.T, distances])
    target = np.append(np.zeros(cuts.shape[1]), 1.0)
    try:
        found, _ = nnls(matrix, target, maxiter=50 * len(cuts) + 1000)
    except RuntimeError:
        return None
    active = np.flatnonzero(found > 0.0)
    # Solve once more, with full precision, for those that bind: their planes meet in the nearest point.
    exact = np.linalg.lstsq(planes[active] @ planes[active].T, distances[active], rcond=1e-15)[0]
    if (exact >= 0.0).all():
        found = np.zeros(len(cuts))
        found[active] = exact
    y = found @ planes
    if not (found.sum() > 0.0 and np.linalg.norm(y) > 0.0):
        return None
    return np.maximum(y, 0.0) / np.linalg.norm(y), found / length


def _deciders(bandit: Bandit, goal: Any, weights: FloatArray, cost: FloatArray) -> str:
    """Return, in words, the arms between which the evidence is least."""
    others = np.arange(bandit.n_arms) != bandit.best_public
    pulls = np.zeros(bandit.n_arms)
    pulls[others] = np.sqrt(2.0 * weights[others] / cost[others])
    means = np.array(bandit.private)
    pulls[~others] = _MANY * pulls[others].max()
    rows = doubts_of(goal, pulls, means, bandit.families[1].divergence)
    evidence = rows.sum(1)
    weakest = rows[evidence <= evidence.min() * (1.0 + 1e-6)]
    sets = dict.fromkeys(" and ".join(str(a) for a in np.flatnonzero(row)) for row in weakest)
    return f"decided by arms {'; '.join(sets)}" if len(sets) <= 6 else f"decided by {len(sets)} comparisons of arms"
