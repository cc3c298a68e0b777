"""Normal posteriors of regression coefficients, for every agent and arm of a log, as triangular roots.

A posterior N(m, (R′R)⁻¹) is kept as the upper triangle R with c = R·m beside it: a table (D, D + 1). One more row of
data, x′θ ≈ y with weight 1, is rotated in by Givens rotations. That loses half as many digits as adding x·x′ to the
information matrix does, since the condition of R is the root of that of R′R. The score x′θ of a context has

    z = R′⁻¹·x,        mean z′c,        variance z′z,

one triangular solve for both, and the covariance of two scores of one posterior is that of their z.

**Linear.** With noise σ a reward adds the row (x, y)/σ. A discount γ turns the prior's information P and the data's D
into P + γD = γ(P + D) + (1 − γ)P: the table is scaled by √γ, and the rows of the prior's own table are rotated in
again, scaled by √(1 − γ).

**Logistic.** `laplace` replaces the table with every batch of rewards.
"""

from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.numerics._jit import kernel, part
from feint.numerics._validate import restore
from feint.references.laplace import learn_batch
from feint.references.regression_roots import Learnt, fade, fill_root, is_proper, rotate_in

LINEAR, LOGISTIC, LOGISTIC_DIAGONAL = 0, 1, 2
_FIRST_SPACE = 4  # agents


class _Posteriors(NamedTuple):
    """What has been learnt, and how."""

    kind: int
    settings: FloatArray  # 1/σ, the scale of the scores' sds, and 1 if a prior may be flat
    prior: FloatArray  # (D, D + 1)
    tables: FloatArray  # (agents, K or 1, D, D + 1)
    scratch: FloatArray  # (D + 4, D + 1)


class _LogRows(NamedTuple):
    """Rows of a log."""

    group: IntArray
    fades: FloatArray  # (n,) by which the past fades before each
    contexts: FloatArray  # (n, 1, D), or (n, K, D) where arms share one posterior
    asked: BoolArray  # (n, K): the arms whose scores are asked for


class Scores(NamedTuple):
    """The scores before each row: means (n, K), roots z (n, K, D), and whether all have posteriors, (n,)."""

    means: FloatArray
    roots: FloatArray
    proper: BoolArray

    def at(self, rows: Any) -> "Scores":
        """Return the scores before the chosen rows."""
        return Scores(*(array[rows] for array in self))

    def of(self, arms: IntArray) -> "Scores":
        """Return the scores of the chosen arms."""
        return Scores(self.means[:, arms], self.roots[:, arms], self.proper)


@part
def _add_items(posteriors: _Posteriors, g: int, start: int, stop: int, learnt: Learnt) -> None:
    """Add the items from `start` to `stop`, which all become known to agent g at once."""
    size, tables = posteriors.prior.shape[0], posteriors.tables[g]
    row = posteriors.scratch[size + 3]
    if posteriors.kind == LINEAR:
        for m in range(start, stop):
            for j in range(size):
                row[j] = learnt.context[m, j] * posteriors.settings[0]
            row[size] = learnt.reward[m] * posteriors.settings[0]
            rotate_in(tables[learnt.arm[m] if tables.shape[0] > 1 else 0], row)
        return
    for a in range(tables.shape[0]):
        some = False
        for m in range(start, stop):
            some = some or learnt.arm[m] == a
        if some:
            learn_batch(tables[a], learnt, (a, start, stop), posteriors.kind == LOGISTIC_DIAGONAL, posteriors.scratch)


@kernel
def _follow_rows(posteriors: _Posteriors, rows: _LogRows, learnt: Learnt, scores: Scores) -> None:
    """Fill the scores before each row, and learn what becomes known."""
    size, item = posteriors.prior.shape[0], 0
    for i in range(rows.group.size):
        g = rows.group[i]
        tables = posteriors.tables[g]
        if rows.fades[i] < 1.0:
            for a in range(tables.shape[0]):
                fade(tables[a], posteriors.prior, rows.fades[i], posteriors.scratch[size + 3])
        start = item
        while item < learnt.arm.size and learnt.position[item] <= i:
            item += 1
        _add_items(posteriors, g, start, item, learnt)
        scores.proper[i] = True
        for a in range(scores.means.shape[1]):
            table = tables[a if tables.shape[0] > 1 else 0]
            if not rows.asked[i, a]:
                continue
            if posteriors.settings[2] > 0.0 and not is_proper(table):
                scores.proper[i] = False
                break
            context = rows.contexts[i, a if rows.contexts.shape[1] > 1 else 0]
            root = scores.roots[i, a]
            scores.means[i, a] = fill_root(table, context, root)
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

    def rows(
        self, group: IntArray, fades: FloatArray, contexts: FloatArray, learnt: Learnt, asked: BoolArray
    ) -> Scores:
        """Return the scores of the `asked` arms, (n, K), before each row."""
        self._make_space(int(group.max(initial=-1)) + 1)
        size = self._prior.shape[0]
        scores = Scores(np.zeros(asked.shape), np.zeros((*asked.shape, size)), np.empty(group.size, dtype=bool))
        scratch = np.empty((size + 4, size + 1))
        posteriors = _Posteriors(self._kind, self._settings, self._prior, self._tables, scratch)
        _follow_rows(posteriors, _LogRows(group, fades, np.ascontiguousarray(contexts), asked), learnt, scores)
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
