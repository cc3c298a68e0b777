"""What references around another reference share: they change its probabilities and leave the rest to it.

Such a reference has the field `reference`. Its settings are a NamedTuple whose first field is the settings of the
reference inside; the class has `expect_around` as its part `expect`, and the part `change` below.
"""

from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.families.base import Belief
from feint.numerics._jit import by_type, kernel, shared
from feint.references.base import (
    Reference,
    check_timing,
    expect,
    min_pulls_per_arm,
    reference_family,
    reference_prior,
    reference_settings,
    takes_contexts,
)
from feint.support.printable import repr_of_fields


@by_type
def change(settings: Any, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    """Turn the probabilities of the reference inside, after t pulls, into those of the one around it, in place."""
    raise NotImplementedError


@shared
def expect_around(settings: Any, belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    """Ask the reference inside, and change its answer."""
    expect(settings.reference, belief, t, pi, log_pi)
    change(settings, t, pi, log_pi)


@kernel
def _change_rows(settings: Any, numbers: IntArray, pi: FloatArray, log_pi: FloatArray) -> None:
    for i in range(numbers.size):
        change(settings, numbers[i], pi[i], log_pi[i])


def change_rows(reference: Any, family: Any, numbers: IntArray, log_pi: FloatArray) -> FloatArray:
    """Return log π (n, K) of a reference around another, given that of the other; `numbers` (n,) count the earlier rows
    of each row's agent.
    """
    settings = reference.kernel(family, log_pi.shape[1])
    change_only = settings._replace(reference=None) if hasattr(settings, "_replace") else settings.change_only
    found = np.array(log_pi)
    _change_rows(change_only, numbers, np.exp(found), found)
    return found


class RowsAround:
    """Settings for a reference inside that is only for whole logs; `change_only` has the part `change`."""

    def __init__(self, settings: Any, change_only: NamedTuple) -> None:
        self._settings, self.change_only = settings, change_only

    def log_probabilities(self, counts: FloatArray, sums: FloatArray, spreads: FloatArray) -> FloatArray:
        """Return log π of each row, (n, K)."""
        log_pi: FloatArray = self._settings.log_probabilities(counts, sums, spreads)
        for row in log_pi:
            change(self.change_only, 0, np.exp(row), row)
        return log_pi

    def has_posterior(self, counts: FloatArray, sums: FloatArray, spreads: FloatArray) -> BoolArray:
        """Return for which rows the reference inside has a posterior, (n,)."""
        if not hasattr(self._settings, "has_posterior"):
            return np.ones(len(counts), dtype=bool)
        return np.asarray(self._settings.has_posterior(counts, sums, spreads))


class ContextsAround:
    """Settings for a reference inside that knows contexts; `change_only` has the part `change`."""

    draws = None

    def __init__(self, settings: Any, change_only: NamedTuple) -> None:
        if settings.draws is not None:
            raise ValueError(
                "The probabilities of this reference are estimated from draws and cannot be changed; use it by itself."
            )
        self._settings, self.change_only = settings, change_only
        self.contexts_of, self.follow = settings.contexts_of, settings.follow
        self.state, self.recall = settings.state, settings.recall

    def log_pi(self, scores: Any, group: IntArray, numbers: IntArray) -> FloatArray:
        """Return log π of each row from the scores of its arms."""
        log_pi: FloatArray = self._settings.log_pi(scores, group, numbers)
        for t, row in zip(numbers.tolist(), log_pi, strict=True):
            change(self.change_only, t, np.exp(row), row)
        return log_pi


class Around:
    """The questions that a reference around another passes on to it."""

    reference: Reference

    def __repr__(self) -> str:
        return repr_of_fields(self)

    @property
    def ignores_rewards(self) -> bool:
        """Return whether the reference inside ignores rewards."""
        return bool(getattr(self.reference, "ignores_rewards", False))

    @property
    def usual_family(self) -> str | None:
        """Return the family of rewards that the reference inside is about, if it is about one."""
        return getattr(self.reference, "usual_family", None)

    @property
    def takes_contexts(self) -> bool:
        """Return whether the reference inside needs contexts."""
        return takes_contexts(self.reference)

    def family_of(self, family: Any) -> Any:
        """Return the family of the rewards of the reference inside."""
        return reference_family(self.reference, family)

    def check_timing(self, timing: Any) -> None:
        """Check that the reference inside can be claimed with this timing of rewards."""
        check_timing(self.reference, timing)

    def prior_of(self, family: Any) -> Any:
        """Return the prior of the reference inside."""
        return reference_prior(self.reference, family)

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return the number of pulls that the reference inside needs."""
        return min_pulls_per_arm(self.reference, family)

    def settings_around(self, kernel: Any, family: Any, n_arms: int) -> Any:
        """Return `kernel` with the settings of the reference inside; `RowsAround` if that is for whole logs only, or
        `ContextsAround` if it needs contexts.
        """
        inside = reference_settings(self.reference, family, n_arms)
        if self.takes_contexts:
            return ContextsAround(inside, kernel)
        return kernel._replace(reference=inside) if hasattr(inside, "expect") else RowsAround(inside, kernel)
