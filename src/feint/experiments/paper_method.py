"""The paper's own method, as a careful NumPy user would write it: Gauss–Hermite with 32 nodes, and q-hat.

It shows what its two approximations do to the figures, and is the baseline of the benchmarks. It is vectorised over
replications, and its random numbers are NumPy's. To read Algorithm 1 beside the page, see docs/algorithm_1.py.
"""

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.special import wrightomega

from feint._types import FloatArray, IntArray
from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.numerics.best_arm import gauss_hermite_rule

_POINTS, _WEIGHTS = np.polynomial.hermite.hermgauss(32)
_TINY = 1e-300  # the rule returns 0, or less than that, for small probabilities; a draw needs a positive sum


def _pick(p: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one arm per row."""
    cumulative = p.cumsum(1)
    u = rng.random((len(p), 1)) * cumulative[:, -1:]
    return np.asarray(np.minimum((u >= cumulative).sum(1), p.shape[1] - 1))


def _boost(p: FloatArray, epsilon: float) -> FloatArray:
    """Return q-hat (Appendix C.2), clipped at 1."""
    lambert = epsilon / wrightomega(math.log(epsilon) - np.log(p)).real
    return np.asarray(np.minimum(1.0, np.maximum(np.maximum(lambert, p), p + np.sqrt(epsilon * p * (1.0 - p)))))


def run(
    bandit: Bandit,
    *,
    epsilon: float,
    horizon: int,
    replications: int,
    seed: int,
    checkpoints: Sequence[int] = (),
    round_robin: Sequence[int] = (),
    tick: Tick = lambda steps: None,
) -> xr.Dataset:
    """Run Algorithm 1, or boost the arms of `round_robin` in turn, with σ = 1 and 0 < ε < ∞; return `pulls`,
    `boosts` and `log_error` at the checkpoints.
    """
    rng = np.random.default_rng(seed)
    public, private = np.array(bandit.public), np.array(bandit.private)
    n, rows = bandit.n_arms, np.arange(replications)
    pulls, boosts = np.ones((replications, n)), np.zeros((replications, n))
    public_sums = public + rng.standard_normal(pulls.shape)
    private_sums = private + rng.standard_normal(pulls.shape)
    recorded, recorded_boosts, errors = [], [], []
    for t in range(n, horizon + 1):
        sds = 1.0 / np.sqrt(pulls)
        if t in checkpoints:
            p = gauss_hermite_rule(private_sums / pulls, sds, _POINTS, _WEIGHTS)
            others = np.arange(n) != bandit.best_private
            recorded.append(pulls.copy())
            recorded_boosts.append(boosts.copy())
            errors.append(np.log(np.maximum(p[:, others].sum(1), _TINY)))
        if t == horizon:
            break
        if round_robin:
            boosted = np.full(replications, round_robin[(t - n) % len(round_robin)])
        else:
            p = np.maximum(gauss_hermite_rule(private_sums / pulls, sds, _POINTS, _WEIGHTS), _TINY)
            leader = _pick(p, rng)
            p[rows, leader] = 0.0
            challenger = _pick(p, rng)
            n_leader, n_challenger = pulls[rows, leader], pulls[rows, challenger]
            boosted = np.where(rng.random(replications) * (n_leader + n_challenger) < n_challenger, leader, challenger)
        boosts[rows, boosted] += 1.0
        pi = np.maximum(gauss_hermite_rule(public_sums / pulls, sds, _POINTS, _WEIGHTS), _TINY)
        pi /= pi.sum(1, keepdims=True)
        q = _boost(pi[rows, boosted], epsilon)
        pi[rows, boosted] = 0.0
        pi *= ((1.0 - q) / np.maximum(pi.sum(1), _TINY))[:, None]
        pi[rows, boosted] = q
        arm = _pick(pi, rng)
        pulls[rows, arm] += 1.0
        public_sums[rows, arm] += public[arm] + rng.standard_normal(replications)
        private_sums[rows, arm] += private[arm] + rng.standard_normal(replications)
        tick(replications)
    if not recorded:
        return xr.Dataset()
    return xr.Dataset(
        {
            "pulls": (("replication", "time", "arm"), np.stack(recorded, 1)),
            "boosts": (("replication", "time", "arm"), np.stack(recorded_boosts, 1)),
            "log_error": (("replication", "time"), np.stack(errors, 1)),
        },
        coords={"time": [t for t in checkpoints if n <= t <= horizon]},
    )
