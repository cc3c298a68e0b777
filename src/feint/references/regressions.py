"""Normal posteriors of regression coefficients, for every agent and arm of a log, as triangular roots.

A posterior N(m, (R′R)⁻¹) is kept as the upper triangle R with c = R·m beside it: a table (D, D + 1). One more row of
data, x′θ ≈ y with weight 1, is rotated in by Givens rotations. That loses half as many digits as adding x·x′ to the
information matrix does, since the condition of R is the root of that of R′R. The score x′θ of a context has

    z = R′⁻¹·x,        mean z′c,        variance z′z,

one triangular solve for both, and the covariance of two scores of one posterior is that of their z.

**Linear.** With noise σ a reward adds the row (x, y)/σ. A discount γ turns the prior's information P and the data's D
into P + γD = γ(P + D) + (1 − γ)P: the table is scaled by √γ, and the rows of the prior's own table are rotated in
again, scaled by √(1 − γ).

**Logistic, by Laplace's approximation, online.** The rewards of one arm that become known before the same row are one
batch. The posterior so far is their normal prior; the new mean is the mode

    w = argmin ½‖Rw − c‖² + Σ log(1 + exp(−s·x′w)),        s = ±1,

by Newton's method. Each of its steps is a least-squares problem, solved by rotating in the rows √q·(x, x′w + (y − p)/q)
with p = expit(x′w), q = p(1 − p). Steps are halved until the loss falls. At the mode these rows leave the new R, or
R_jj² + Σ q·x_j² on a diagonal one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import restore

LINEAR, LOGISTIC, LOGISTIC_DIAGONAL = 0, 1, 2
_FIRST_SPACE = 4  # agents
_SMALLEST = 1e-10  # a diagonal entry of R beside its column: anything below is rounding, and there is no posterior yet
_MOST_STEPS, _MOST_HALVINGS = 100, 40
_CONVERGED, _QUADRATIC = 1e-26, 1e-8  # squared length of a Newton step, in posterior sds
_LEAST_WEIGHT = 1e-200


class Learnt(NamedTuple):
    """Rewards that become known, in order: of which agent, arm and context, and before which row."""

    group: IntArray
    arm: IntArray
    context: FloatArray  # (m, D) of the pulled arm
    reward: FloatArray
    position: IntArray


@part
def _rotate_in(table: FloatArray, row: FloatArray) -> None:
    """Add a row (x, y) of data to a table (D, D + 1); the row is overwritten."""
    size = table.shape[0]
    for j in range(size):
        if row[j] == 0.0:
            continue
        length = math.hypot(table[j, j], row[j])
        cosine, sine = table[j, j] / length, row[j] / length
        table[j, j] = length
        for k in range(j + 1, size + 1):
            kept = table[j, k]
            table[j, k] = cosine * kept + sine * row[k]
            row[k] = cosine * row[k] - sine * kept


@part
def _solve(table: FloatArray, out: FloatArray) -> None:
    """Fill `out` with m, R·m = c."""
    size = table.shape[0]
    for j in range(size - 1, -1, -1):
        total = table[j, size]
        for k in range(j + 1, size):
            total -= table[j, k] * out[k]
        out[j] = total / table[j, j]


@part
def _score(table: FloatArray, context: FloatArray, root: FloatArray) -> float:
    """Fill `root` with z and return the score's mean."""
    size, mean = table.shape[0], 0.0
    for j in range(size):
        total = context[j]
        for k in range(j):
            total -= table[k, j] * root[k]
        root[j] = total / table[j, j]
        mean += root[j] * table[j, size]
    return mean


@part
def _is_proper(table: FloatArray) -> bool:
    for j in range(table.shape[0]):
        squares = 0.0
        for k in range(j + 1):
            squares += table[k, j] ** 2
        if not table[j, j] > _SMALLEST * math.sqrt(squares):
            return False
    return True


@part
def _fade(table: FloatArray, prior: FloatArray, discount: float, row: FloatArray) -> None:
    kept, back = math.sqrt(discount), math.sqrt(1.0 - discount)
    for j in range(table.shape[0]):
        for k in range(table.shape[1]):
            table[j, k] *= kept
    for j in range(table.shape[0]):
        for k in range(table.shape[1]):
            row[k] = back * prior[j, k]
        _rotate_in(table, row)


@inlined
def _product(first: FloatArray, second: FloatArray) -> float:
    total = 0.0
    for j in range(first.size):
        total += first[j] * second[j]
    return total


@inlined
def _copy(source: FloatArray, target: FloatArray) -> None:
    for j in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[j, k] = source[j, k]


@part
def _loss(table: FloatArray, w: FloatArray, arm: int, start: int, stop: int, learnt: Learnt) -> float:
    size, total = table.shape[0], 0.0
    for j in range(size):
        gap = -table[j, size]
        for k in range(j, size):
            gap += table[j, k] * w[k]
        total += 0.5 * gap * gap
    for i in range(start, stop):
        if learnt.arm[i] == arm:
            margin = _product(learnt.context[i], w)
            margin = margin if learnt.reward[i] > 0.5 else -margin
            total += math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
    return total


@part
def _add_batch(table: FloatArray, w: FloatArray, learnt: Learnt, batch: tuple[int, int, int], row: FloatArray) -> None:
    """Rotate in the rows of a batch, expanded around w."""
    arm, start, stop = batch
    for i in range(start, stop):
        if learnt.arm[i] != arm:
            continue
        score = _product(learnt.context[i], w)
        small = math.exp(-abs(score))
        p = 1.0 / (1.0 + small) if score > 0.0 else small / (1.0 + small)
        gap = (small / (1.0 + small) if score > 0.0 else 1.0 - p) if learnt.reward[i] > 0.5 else -p
        weight = math.sqrt(max(small / (1.0 + small) ** 2, _LEAST_WEIGHT))
        for j in range(w.size):
            row[j] = weight * learnt.context[i, j]
        row[w.size] = weight * score + gap / weight
        _rotate_in(table, row)


@part
def _learn_batch(
    table: FloatArray, learnt: Learnt, batch: tuple[int, int, int], diagonal: bool, scratch: FloatArray
) -> None:
    """Replace a posterior by Laplace's approximation of the one after a batch: (arm, first item, end)."""
    size = table.shape[0]
    arm, start, stop = batch
    trial, row, w, goal = scratch[:size], scratch[size], scratch[size + 1, :size], scratch[size + 2, :size]
    _solve(table, w)
    loss, steps, moving = _loss(table, w, arm, start, stop, learnt), 0, True
    while moving and steps < _MOST_STEPS:
        steps += 1
        _copy(table, trial)
        _add_batch(trial, w, learnt, batch, row)
        _solve(trial, goal)
        length = 0.0
        for j in range(size):
            moved = 0.0
            for k in range(j, size):
                moved += trial[j, k] * (goal[k] - w[k])
            length += moved * moved
        share, tries = 1.0, 0
        while length > _QUADRATIC and tries < _MOST_HALVINGS:
            tries += 1
            for j in range(size):
                row[j] = w[j] + share * (goal[j] - w[j])
            if _loss(table, row[:size], arm, start, stop, learnt) < loss:
                break
            share *= 0.5
        for j in range(size):
            w[j] += share * (goal[j] - w[j])
        loss = _loss(table, w, arm, start, stop, learnt)
        moving = length > _CONVERGED
    _copy(table, trial)
    _add_batch(trial, w, learnt, batch, row)
    for j in range(size):
        if diagonal:
            squares = 0.0
            for k in range(j + 1):
                squares += trial[k, j] ** 2
            table[j, j] = math.sqrt(squares)
            table[j, size] = table[j, j] * w[j]
        else:
            total = 0.0
            for k in range(j, size):
                table[j, k] = trial[j, k]
                total += trial[j, k] * w[k]
            table[j, size] = total


class _Posteriors(NamedTuple):
    """What has been learnt, and how."""

    kind: int
    settings: FloatArray  # 1/σ, the scale of the scores' sds, and 1 if a prior may be flat
    prior: FloatArray  # (D, D + 1)
    tables: FloatArray  # (agents, K or 1, D, D + 1)
    scratch: FloatArray  # (D + 4, D + 1)


class _Rows(NamedTuple):
    """Rows of a log."""

    group: IntArray
    fades: FloatArray  # (n,) by which the past fades before each
    contexts: FloatArray  # (n, 1, D), or (n, K, D) where arms share one posterior


class Scores(NamedTuple):
    """The scores before each row: means (n, K), roots z (n, K, D), and whether there are posteriors, (n,)."""

    means: FloatArray
    roots: FloatArray
    proper: BoolArray


@part
def _learn(posteriors: _Posteriors, g: int, start: int, stop: int, learnt: Learnt) -> None:
    """Add the items from `start` to `stop`, which all become known to agent g at once."""
    size, tables = posteriors.prior.shape[0], posteriors.tables[g]
    row = posteriors.scratch[size + 3]
    if posteriors.kind == LINEAR:
        for m in range(start, stop):
            for j in range(size):
                row[j] = learnt.context[m, j] * posteriors.settings[0]
            row[size] = learnt.reward[m] * posteriors.settings[0]
            _rotate_in(tables[learnt.arm[m] if tables.shape[0] > 1 else 0], row)
        return
    for a in range(tables.shape[0]):
        some = False
        for m in range(start, stop):
            some = some or learnt.arm[m] == a
        if some:
            _learn_batch(
                tables[a], learnt, (a, start, stop), posteriors.kind == LOGISTIC_DIAGONAL, posteriors.scratch
            )


@kernel
def _follow_rows(posteriors: _Posteriors, rows: _Rows, learnt: Learnt, scores: Scores) -> None:
    """Fill the scores before each row, and learn what becomes known."""
    size, item = posteriors.prior.shape[0], 0
    for i in range(rows.group.size):
        g = rows.group[i]
        tables = posteriors.tables[g]
        if rows.fades[i] < 1.0:
            for a in range(tables.shape[0]):
                _fade(tables[a], posteriors.prior, rows.fades[i], posteriors.scratch[size + 3])
        start = item
        while item < learnt.arm.size and learnt.position[item] <= i:
            item += 1
        _learn(posteriors, g, start, item, learnt)
        scores.proper[i] = True
        if posteriors.settings[2] > 0.0:
            for a in range(tables.shape[0]):
                scores.proper[i] = scores.proper[i] and _is_proper(tables[a])
        if scores.proper[i]:
            for a in range(scores.means.shape[1]):
                context = rows.contexts[i, a if rows.contexts.shape[1] > 1 else 0]
                root = scores.roots[i, a]
                scores.means[i, a] = _score(tables[a if tables.shape[0] > 1 else 0], context, root)
                for j in range(size):
                    root[j] *= posteriors.settings[1]


class Regressions:
    """The posteriors of every agent in a log; `rows` takes the log piece by piece."""

    def __init__(self, kind: int, prior: FloatArray, n_tables: int, *, sigma: float = 1.0, scale: float = 1.0) -> None:
        self._kind, self._prior = kind, prior
        flat = bool((np.abs(np.diag(prior)) == 0.0).any())
        self._settings = np.array([1.0 / sigma, scale, float(flat)])
        self._tables = np.empty((0, n_tables, *prior.shape))
        self._make_space(_FIRST_SPACE)

    def rows(self, n_arms: int, group: IntArray, fades: FloatArray, contexts: FloatArray, learnt: Learnt) -> Scores:
        """Return the scores of all arms before each row."""
        self._make_space(int(group.max(initial=-1)) + 1)
        n, size = group.size, self._prior.shape[0]
        scores = Scores(np.zeros((n, n_arms)), np.zeros((n, n_arms, size)), np.empty(n, dtype=bool))
        scratch = np.empty((size + 4, size + 1))
        posteriors = _Posteriors(self._kind, self._settings, self._prior, self._tables, scratch)
        _follow_rows(posteriors, _Rows(group, fades, np.ascontiguousarray(contexts)), learnt, scores)
        return scores

    def _make_space(self, agents: int) -> None:
        if agents > len(self._tables):
            more = max(agents, 2 * len(self._tables)) - len(self._tables)
            fresh = np.broadcast_to(self._prior, (more, *self._tables.shape[1:]))
            self._tables = np.concatenate([self._tables, fresh])

    def state(self) -> list[Any]:
        """Return the tables as plain JSON types."""
        return self._tables.tolist()

    def recall(self, state: list[Any]) -> None:
        """Restore what `state` returned."""
        self._make_space(len(state))
        restore(self._tables[: len(state)], state, "the posteriors")


def prior_table(sd: Any, mean: Any, size: int) -> FloatArray:
    """Return the table (D, D + 1) of a prior; `sd` is a number, one per coefficient (∞ for none) or a covariance."""
    spread = np.asarray(sd, dtype=float)
    expected = np.broadcast_to(np.asarray(mean, dtype=float), (size,)) if np.size(mean) in (1, size) else None
    if expected is None or (spread.ndim and spread.shape[0] != size):
        given = "prior_mean" if expected is None else "prior_sd"
        count = np.size(mean) if expected is None else spread.shape[0]
        raise ValueError(
            f"{given} has {count} numbers for {size} coefficients; give one number, or one per feature (and one for "
            "the intercept, last)."
        )
    table = np.zeros((size, size + 1))
    if spread.ndim < 2:
        table[:, :size] = np.diag(1.0 / np.broadcast_to(spread, (size,)))
    else:
        root = np.linalg.qr(np.linalg.inv(np.linalg.cholesky(spread)), mode="r")
        table[:, :size] = root * np.sign(np.diag(root))[:, None]
    table[:, size] = table[:, :size] @ expected
    return table
