"""The probability that each arm's score is the largest, where the scores are normal: independent, or of one draw.

Scores are given by their means (n, K) and roots z (n, K, D), so that Cov(s_a, s_b) = z_a′z_b. The largest score wins,
and of equal ones the first, as `argmax` does; scores without variance can be equal.

- Independent scores: `best_arm_probabilities`.
- One draw, two arms: Φ of the standardised difference.
- One draw, three arms: the orthant {s_a > s_b, s_a > s_c}. If all covariances of two differences with one arm in common
  are positive, then independent scores with these variances have the same differences, and the kernel for those serves.
  Otherwise it is `log_orthant`.
- One draw, more arms: no method is exact and quick. `count_wins` draws instead (`evidence/share_bets.py`).
"""

import math

import numpy as np

from feint._types import FloatArray, IntArray
from feint.numerics.best_arm import best_arm_probabilities
from feint.numerics.orthant import log_orthant

MOST_ARMS_OF_ONE_DRAW = 3
DRAWS = 499
_KEY = 0x6665696E742E3237  # the key of the auditor's own draws; nothing else uses it
_ALIKE = 1e-4  # smallest ratio of sds at which three dependent scores are replaced by independent ones
_COLLINEAR = 1e-11


def log_best_scores(means: FloatArray, roots: FloatArray, *, joint: bool) -> FloatArray:
    """Return log P(arm has the largest score), (n, K); `joint` means that one draw makes all scores of a row."""
    # Which score is the largest does not depend on their scale; by powers of two, near 1, squares keep their digits.
    _, powers = np.frexp(np.abs(roots).max(axis=(1, 2), initial=0.0))
    means, roots = np.ldexp(means, -powers[:, None]), np.ldexp(roots, -powers[:, None, None])
    if not joint:
        return _independent(means, np.sqrt((roots**2).sum(axis=2)))
    return _of_two(means, roots) if means.shape[1] == 2 else _of_three(means, roots)


def count_wins(means: FloatArray, roots: FloatArray, group: IntArray, numbers: IntArray) -> IntArray:
    """Return how many of `DRAWS` draws of a row's scores each arm wins, (n, K); the draws depend on the agent's and the
    row's number alone.
    """
    wins = np.empty(means.shape, dtype=np.int64)
    for i in range(len(means)):
        bits = np.random.Philox(key=_KEY, counter=[0, 0, int(numbers[i]), int(group[i])])
        drawn = np.random.Generator(bits).standard_normal((DRAWS, roots.shape[2]))
        scores = drawn @ roots[i].T + means[i]
        wins[i] = np.bincount(scores.argmax(axis=1), minlength=means.shape[1])
    return wins


def _independent(means: FloatArray, sds: FloatArray) -> FloatArray:
    fixed = (sds == 0.0).any(axis=1)
    found = np.full(means.shape, -np.inf)
    if not fixed.all():
        found[~fixed] = best_arm_probabilities(means[~fixed], sds[~fixed], log=True)
    for i in np.flatnonzero(fixed):  # rare: a context of zeros
        sure = np.flatnonzero(sds[i] == 0.0)
        best = sure[means[i, sure].argmax()]
        rest = np.flatnonzero(sds[i] > 0.0)
        if not rest.size:
            found[i, best] = 0.0
            continue
        kept = np.append(rest, best)
        # A score without variance is as good as one with a billionth of the others' sd.
        width = max(1e-9 * sds[i, rest].min(), 2e-12 * sds[i, rest].max())
        found[i, kept] = best_arm_probabilities(means[i, kept], np.append(sds[i, rest], width), log=True)
    return found


def _of_two(means: FloatArray, roots: FloatArray) -> FloatArray:
    from scipy.special import log_ndtr  # imported here, so that what does not need SciPy starts without it

    gap = means[:, 0] - means[:, 1]
    sd = np.sqrt(((roots[:, 0] - roots[:, 1]) ** 2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd > 0.0, gap / sd, np.where(gap >= 0.0, np.inf, -np.inf))
    return np.stack([log_ndtr(z), log_ndtr(-z)], axis=1)


def _of_three(means: FloatArray, roots: FloatArray) -> FloatArray:
    gaps = roots[:, :, None] - roots[:, None, :]  # (n, 3, 3, D)
    others = ((1, 2), (0, 2), (0, 1))
    common = np.stack([(gaps[:, a, b] * gaps[:, a, c]).sum(axis=1) for a, (b, c) in enumerate(others)], axis=1)
    # Variances of independent scores that have the same differences, where there are such.
    replaced = common.min(axis=1) > _ALIKE**2 * common.max(axis=1)
    found = np.empty(means.shape)
    if replaced.any():
        found[replaced] = best_arm_probabilities(means[replaced], np.sqrt(common[replaced]), log=True)
    if not replaced.all():
        rest = ~replaced
        for a, (b, c) in enumerate(others):
            found[rest, a] = _log_beats_both(means[rest], gaps[rest, a], a, b, c)
        found[rest] = _complete(found[rest])
    return found


def _log_beats_both(means: FloatArray, gaps: FloatArray, a: int, b: int, c: int) -> FloatArray:
    """Return log P(s_a beats s_b and s_c), (n,), from the roots of the differences, (n, 3, D)."""
    from scipy.special import log_ndtr

    found = np.zeros(len(means))
    ahead = {other: means[:, a] - means[:, other] for other in (b, c)}
    sd = {other: np.sqrt((gaps[:, other] ** 2).sum(axis=1)) for other in (b, c)}
    open_ = {other: sd[other] > 0.0 for other in (b, c)}
    for other in (b, c):  # equal contexts: the score ahead wins, and of equal scores the first
        lost = ~open_[other] & ((ahead[other] < 0.0) | ((ahead[other] == 0.0) & (other < a)))
        found[lost] = -np.inf
    for one, other in ((b, c), (c, b)):
        alone = open_[one] & ~open_[other]
        found[alone] += log_ndtr(ahead[one][alone] / sd[one][alone])
    both = open_[b] & open_[c]
    first, second = (gaps[both, other] / sd[other][both, None] for other in (b, c))
    rho = np.clip((first * second).sum(axis=1), -1.0, 1.0)
    r = np.sqrt(((second - rho[:, None] * first) ** 2).sum(axis=1))
    r[r < _COLLINEAR] = 0.0
    h, k = (-ahead[other][both] / sd[other][both] for other in (b, c))
    found[both] = log_orthant(h, k, rho, r)
    return found


def _complete(logs: FloatArray) -> FloatArray:
    """Return logs of probabilities that sum to 1 up to rounding, those near 0 from the complement."""
    p = np.exp(logs)
    p /= p.sum(axis=1, keepdims=True)
    rows, leader = np.arange(len(p)), p.argmax(axis=1)
    p[rows, leader] = 0.0
    logs[rows, leader] = np.log1p(-p.sum(axis=1))
    return logs


def log_shrunk(wins: IntArray | FloatArray) -> FloatArray:
    """Return log((X + 1)/(n + 1)) of X wins in n draws: what a bet on boosts takes for the probability."""
    return np.asarray(np.log((wins + 1.0) / (DRAWS + 1.0)))


def rows_of_shares(shares: FloatArray) -> FloatArray:
    """Return the rows, (n, K + 1), that stand among those of draws for probabilities that are known: as if X/n were
    these. What they say of a pull is no less than its probability, so bets on boosts stay valid too.
    """
    logs = np.where(shares > 0.0, log_shrunk(DRAWS * shares), -math.inf)
    return np.column_stack([logs, shares.argmax(axis=1)])


def shares_of(rows: FloatArray) -> FloatArray:
    """Return X/n from rows of `log_shrunk`; the last column stays."""
    wins = np.maximum(np.exp(rows[:, :-1] + math.log(DRAWS + 1.0)) - 1.0, 0.0)  # none of an impossible arm
    return np.column_stack([wins / DRAWS, rows[:, -1]])
