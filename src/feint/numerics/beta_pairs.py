r"""Best-arm probabilities of two Beta posteriors that learn reward by reward, each from the one before.

With P = P(X₀ > X₁) and T = B(α₀ + α₁, β₀ + β₁)/(B(α₀, β₀)·B(α₁, β₁)), a reward of arm 0 changes them by

    success:  P ← P + T/α₀,  T ← T·(α₀ + α₁)/N·(α₀ + β₀)/α₀,
    failure:  P ← P − T/β₀,  T ← T·(β₀ + β₁)/N·(α₀ + β₀)/β₀

with N the sum of all four parameters before it (integrate I_x(α + 1, β) = I_x(α, β) − x^α·(1 − x)^β/(α·B(α, β))). For
arm 1 the signs of P are the other way round. That takes ten operations, where `beta_best_arm_kernel` integrates.

**Error.** The smaller of P and 1 − P is kept, with a bound of its error: every step adds the rounding of the sum, and
|T/α| times the relative error of T, which grows with every product. Once the bound passes 2·10⁻¹³ of the smaller one,
or a posterior has not gone on by whole rewards, both are computed anew: P by the integral, and T as g₀·g₁/g at the mode
of Beta(α₀ + α₁, β₀ + β₁), g being densities of log-odds (`logit_beta`), where nothing of the size of N cancels.

What is kept of each agent does not depend on how its rows are cut into pieces, so neither do the numbers.
"""

import math
from typing import Any

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics._jit import kernel, part
from feint.numerics._validate import restore
from feint.numerics.best_arm_rows import take_logs
from feint.numerics.beta_arms import EXPONENT, SUM, BetaWorkspace, allocate_beta_workspace
from feint.numerics.beta_best_arm_kernel import beta_best_arm_sums
from feint.numerics.logit_beta import fall_and_slope, peak_density

_TOLERANCE = 2e-13  # relative, of the smaller probability
_MOST_STEPS = 64.0  # rewards at once, beyond which the integral takes no longer
_SMALLEST = 1e-250  # further out probabilities are kept as logarithms only
_ROUNDING = 2.3e-16  # an upper bound for one operation
_PRODUCTS = 5.0 * _ROUNDING  # the rounding of one change of T
_FIRST_SPACE = 16  # agents

# Columns of what is kept: α₀, β₀, α₁, β₁, the smaller probability, whose it is, T, and the errors of the two.
_SMALL, _LESS_LIKELY, _TERM, _ERROR, _TERM_ERROR = 4, 5, 6, 7, 8
_COLUMNS = 9


@kernel
def _follow_pairs(
    kept: FloatArray, ws: BetaWorkspace, agents: IntArray, alphas: FloatArray, betas: FloatArray, out: FloatArray
) -> None:
    for i in range(agents.size):
        now = kept[agents[i]]
        if _catch_up(now, alphas[i], betas[i]):
            less_likely = int(now[_LESS_LIKELY])
            out[i, less_likely] = math.log(now[_SMALL])
            out[i, 1 - less_likely] = math.log1p(-now[_SMALL])
        else:
            _begin(now, ws, alphas[i], betas[i], out[i])


@part
def _catch_up(now: FloatArray, alphas: FloatArray, betas: FloatArray) -> bool:
    """Learn the rewards since the last row; return whether what is kept is exact enough."""
    steps = 0.0
    for a in range(2):
        won, lost = alphas[a] - now[2 * a], betas[a] - now[2 * a + 1]
        if won < 0.0 or lost < 0.0 or won != math.floor(won) or lost != math.floor(lost):
            return False
        steps += won + lost
    if now[_TERM] == 0.0 or steps > _MOST_STEPS:
        return False
    for a in range(2):
        while now[2 * a] < alphas[a]:
            _learn_reward(now, a, 0)
        while now[2 * a + 1] < betas[a]:
            _learn_reward(now, a, 1)
    return now[_SMALL] > _SMALLEST and now[_ERROR] <= _TOLERANCE * now[_SMALL]


@part
def _learn_reward(now: FloatArray, a: int, lost: int) -> None:
    """Learn one reward of arm a."""
    own, pulls = now[2 * a + lost], now[2 * a] + now[2 * a + 1]
    both, total = own + now[2 * (1 - a) + lost], pulls + now[2 * (1 - a)] + now[2 * (1 - a) + 1]
    change = now[_TERM] / own
    now[_SMALL] += change if (a == int(now[_LESS_LIKELY])) == (lost == 0) else -change
    now[_ERROR] += change * (now[_TERM_ERROR] + _ROUNDING) + _ROUNDING * abs(now[_SMALL])
    now[_TERM] *= both / total * (pulls / own)
    now[_TERM_ERROR] += _PRODUCTS
    now[2 * a + lost] = own + 1.0
    if now[_SMALL] > 0.5:
        now[_SMALL] = 1.0 - now[_SMALL]
        now[_LESS_LIKELY] = 1.0 - now[_LESS_LIKELY]
        now[_ERROR] += _ROUNDING


@part
def _begin(now: FloatArray, ws: BetaWorkspace, alphas: FloatArray, betas: FloatArray, logs: FloatArray) -> None:
    """Fill `logs` (2,) by the integral, and compute what is kept anew."""
    beta_best_arm_sums(alphas, betas, ws)
    take_logs(ws.arms[SUM], ws.arms[EXPONENT], logs)
    less_likely = 0 if logs[0] < logs[1] else 1
    alpha, beta = alphas[0] + alphas[1], betas[0] + betas[1]
    mode = math.log(alpha / beta)
    term, falls = 1.0 / peak_density(alpha, beta), 0.0
    for a in range(2):
        now[2 * a], now[2 * a + 1] = alphas[a], betas[a]
        fall, _ = fall_and_slope(alphas[a], betas[a], math.log(alphas[a] / betas[a]), mode, ws.coefficients)
        falls += fall
        term *= peak_density(alphas[a], betas[a])
    now[_SMALL], now[_LESS_LIKELY] = math.exp(logs[less_likely]), less_likely
    now[_TERM], now[_ERROR] = term * math.exp(-falls) if now[_SMALL] > _SMALLEST else 0.0, 0.0
    now[_TERM_ERROR] = 1e-15 * (4.0 + falls) + 4e-16 * math.sqrt(alpha + beta)


class BetaPairs:
    """The posteriors of many agents with two arms each.

    >>> agents, rewards = np.zeros(3, dtype=np.int64), np.arange(3.0)
    >>> alphas = 1.0 + np.column_stack([rewards, np.zeros(3)])  # arm 0 has 0, 1 and 2 successes
    >>> np.exp(BetaPairs().log_probabilities(agents, alphas, np.ones((3, 2)))).round(4)
    array([[0.5   , 0.5   ],
           [0.6667, 0.3333],
           [0.75  , 0.25  ]])
    """

    def __init__(self) -> None:
        self._kept = np.zeros((_FIRST_SPACE, _COLUMNS))
        self._ws = allocate_beta_workspace(2)

    def log_probabilities(self, agents: IntArray, alphas: FloatArray, betas: FloatArray) -> FloatArray:
        """Return log P(arm is the best) before each row, (n, 2), from the parameters of its agent's arms there."""
        self._make_space(int(agents.max(initial=-1)) + 1)
        found = np.empty(alphas.shape)
        _follow_pairs(self._kept, self._ws, agents, alphas, betas, found)
        return found

    def _make_space(self, n: int) -> None:
        if n > len(self._kept):
            more = max(n - len(self._kept), len(self._kept))
            self._kept = np.concatenate([self._kept, np.zeros((more, _COLUMNS))])

    def state(self) -> list[Any]:
        """Return what is kept, as plain JSON types."""
        used = int(np.flatnonzero(self._kept[:, _TERM]).max(initial=-1)) + 1
        return list(self._kept[:used].tolist())

    def recall(self, state: list[Any]) -> None:
        """Continue from where `state` was taken."""
        self._make_space(len(state))
        restore(self._kept[: len(state)], np.array(state, dtype=float).reshape(-1, _COLUMNS), "pairs")
