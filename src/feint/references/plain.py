"""References in plain Python: what they may look at, and how they are asked in the place of a kernel."""

from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.numerics._jit import Plain
from feint.numerics._validate import SUM_TOLERANCE, read_only
from feint.support.own_parts import OwnPartError, call


class PullOrder:
    """The arms pulled so far, in order."""

    def __init__(self) -> None:
        self._arms, self._size = np.empty(16, dtype=np.int64), 0

    def __len__(self) -> int:
        return self._size

    @property
    def arms(self) -> IntArray:
        """Return all arms, read-only."""
        return np.asarray(read_only(self._arms[: self._size]), dtype=np.int64)

    def append(self, arm: int) -> None:
        """Add a pull."""
        if self._size == self._arms.size:
            self._arms = np.resize(self._arms, 2 * self._size)
        self._arms[self._size] = arm
        self._size += 1

    def follow(self, pulls: IntArray) -> None:
        """Add the pulls that are missing: one, or the initial round of `simulate` and `Agent`, which is in order."""
        missing = pulls - np.bincount(self.arms, minlength=pulls.size)
        for arm in np.flatnonzero(missing > 0):
            self.append(int(arm))


class ReferenceView:
    """What a reference in plain Python may look at."""

    def __init__(
        self,
        time: int,
        belief: Any,
        arms: IntArray,
        available: BoolArray | None = None,
        context: FloatArray | None = None,
    ) -> None:
        self.time = time
        self.arms = arms
        self.context: FloatArray | None = None if context is None else read_only(context)
        self.pulls: IntArray = read_only(belief.pulls)
        self.public_means: FloatArray = read_only(belief.means)
        self.available: BoolArray = read_only(
            np.ones(len(belief.means), dtype=bool) if available is None else available
        )


class PlainReference(Plain):
    """A reference without a kernel. It is asked once per step, however many callers there are: it may count calls."""

    own_samples = follows_posterior = False

    def __init__(self, reference: Any) -> None:
        self.reference = reference
        self.time = -1  # the time of the answer
        self.answer: FloatArray = np.empty(0)
        self.available: BoolArray | None = None  # the arms that can be drawn in the coming step, where that is known
        self.context: FloatArray | None = None  # the context of the coming pull
        self.order = PullOrder()

    @staticmethod
    def expect(settings: "PlainReference", belief: Any, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
        """Ask the reference and check its answer."""
        if t != settings.time:
            if len(settings.order) < t:  # an audit gives the order itself, because rewards may be late there
                settings.order.follow(belief.pulls)
            view = ReferenceView(int(t), belief, settings.order.arms, settings.available, settings.context)
            settings.answer = _checked_logs(settings.reference, view, log_pi.shape)
            settings.time = t
        log_pi[:] = settings.answer
        pi[:] = np.exp(log_pi)


def _checked_logs(reference: Any, view: ReferenceView, shape: tuple[int, ...]) -> FloatArray:
    step = view.time + 1
    answer = call(reference, "log_probabilities", step, view)
    try:
        logs = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        logs = np.empty(0)
    where = f"{type(reference).__name__}.log_probabilities at step {step}"
    if logs.shape != shape:
        raise OwnPartError(f"{where} returned {answer!r}; it must be {shape[0]} numbers, log π of every arm.")
    total = float(np.exp(logs).sum())
    if not abs(total - 1.0) <= SUM_TOLERANCE:  # NaN included
        raise OwnPartError(
            f"{where} returned {logs.tolist()}, probabilities that sum to {total:.9g}; they must sum to 1 "
            "(normalise them: log π − log Σ π)."
        )
    wrong = np.flatnonzero(~view.available & ~np.isneginf(logs))
    if wrong.size:
        raise OwnPartError(
            f"{where} gave arm {wrong[0]} a probability, but it was not available; return -inf where view.available is "
            "False."
        )
    return np.minimum(logs, 0.0)
