"""References that know a context: what their files share.

The settings of such a reference follow a log by themselves. `follow` takes the contexts and the rewards that become
known (`past`), and returns the scores of the arms; `log_pi` turns scores, of all arms or of some, into log π; `state`
and `recall` save what was learnt. A context is (d,) per row, or (K, d) where arms have features of their own and share
one regression. In both, the intercept is a last feature that is 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.numerics._validate import as_floats
from feint.references.regression_roots import Learnt
from feint.references.regressions import Regressions, Scores, prior_table
from feint.references.scores import DRAWS, MOST_ARMS_OF_ONE_DRAW, count_wins, log_best_scores, log_shrunk


class ContextRows:
    """A reference with contexts that follows a log.

    `draws` is None where log π is exact, and otherwise the number of the auditor's own draws. Rows then have
    log((X + 1)/(n + 1)) of the wins X, and in a last column the number of the arm with the largest expected score.
    """

    def __init__(
        self,
        n_arms: int,
        regress: Callable[[FloatArray, int], Regressions],
        prior: tuple[Any, Any],
        *,
        intercept: bool,
        shared: bool = False,
        joint: bool = False,
    ) -> None:
        self.n_arms, self.shared = n_arms, shared
        self._regress, self._prior, self._intercept = regress, prior, intercept
        self._joint = shared and joint
        self.draws = DRAWS if self._joint and n_arms > MOST_ARMS_OF_ONE_DRAW else None
        self._regressions: Regressions | None = None
        self._features = 0

    def contexts_of(self, contexts: FloatArray) -> FloatArray:
        """Return contexts as (n, 1, D), or (n, K, D) where arms have their own, with the intercept."""
        given = contexts.reshape(len(contexts), self.n_arms if self.shared else 1, -1)
        if self._intercept:
            given = np.concatenate([given, np.ones((*given.shape[:2], 1))], axis=2)
        if self._regressions is None:
            self._begin(given.shape[2])
        elif given.shape[2] != self._features:
            fixed = int(self._intercept)
            raise ValueError(
                f"A context has {given.shape[2] - fixed} features, but those before have {self._features - fixed}."
            )
        return given

    def follow(
        self, group: IntArray, fades: FloatArray, contexts: FloatArray, learnt: Learnt, available: BoolArray | None
    ) -> Scores:
        """Return the scores before each row of all arms, or of those `available`, (n, K)."""
        made = self.contexts_of(contexts)
        assert self._regressions is not None
        asked = np.ones((group.size, self.n_arms), dtype=bool) if available is None else available
        return self._regressions.rows(group, fades, made, learnt, asked)

    def log_pi(self, scores: Scores, group: IntArray, numbers: IntArray) -> FloatArray:
        """Return log π of each row from the scores of its arms."""
        if self.draws is not None:
            wins = count_wins(scores.means, scores.roots, group, numbers)
            return np.column_stack([log_shrunk(wins), scores.means.argmax(axis=1)])
        return log_best_scores(scores.means, scores.roots, joint=self._joint)

    def _begin(self, features: int) -> None:
        self._features = features
        self._regressions = self._regress(prior_table(*self._prior, features), 1 if self.shared else self.n_arms)

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        return {"features": self._features, "tables": None if self._regressions is None else self._regressions.state()}

    def recall(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        if state["tables"] is not None:
            self._begin(int(state["features"]))
            assert self._regressions is not None
            self._regressions.recall(state["tables"])


def checked_spread(value: Any, name: str, *, flat: bool) -> Any:
    """Return a prior's spread as a number, as a tuple of numbers, or as the rows of a covariance."""
    what = f"{name} is {value!r}; give a number above 0, one per feature" + (" (inf for a flat one)" if flat else "")
    given = as_floats(value, name)
    if given.ndim < 2:
        if not (given > 0).all() or not (flat or np.isfinite(given).all()) or (given.ndim and not given.size):
            raise ValueError(f"{what}, or a covariance.")
        return float(given) if not given.ndim else tuple(given.tolist())
    sound = given.ndim == 2 and given.shape[0] == given.shape[1] and np.isfinite(given).all()
    if not sound or not np.allclose(given, given.T, rtol=1e-12, atol=0.0) or np.linalg.eigvalsh(given)[0] <= 0:
        raise ValueError(f"{what}, or a covariance: a symmetric table whose eigenvalues are above 0.")
    return tuple(map(tuple, given.tolist()))


def checked_mean(value: Any) -> Any:
    """Return a prior's mean as a number, or as a tuple of numbers."""
    given = as_floats(value, "prior_mean")
    if given.ndim > 1 or not np.isfinite(given).all() or (given.ndim and not given.size):
        raise ValueError(f"prior_mean is {value!r}; give a finite number, or one per feature.")
    return tuple(given.tolist()) if given.ndim else float(given)


def spread_words(spread: Any, mean: Any) -> str:
    """Return a prior in words."""
    if isinstance(spread, tuple) and isinstance(spread[0], tuple):
        wide = f"a covariance over {len(spread)} coefficients"
    elif isinstance(spread, tuple):
        wide = f"sds {', '.join(f'{sd:g}' for sd in spread)}"
    else:
        wide = "a flat prior" if np.isinf(spread) else f"sd {spread:g}"
    centre = f"means {', '.join(f'{m:g}' for m in mean)}" if isinstance(mean, tuple) else f"mean {mean:g}"
    return "a flat prior" if wide == "a flat prior" else f"a normal prior of {centre} and {wide}"
