"""The contract that every reference fulfils, compiled or in plain Python.

In plain Python a reference is anything with

    log_probabilities(view) -> K floats

where `view` has `time` (the pulls made so far), the arrays `pulls`, `public_means` and `available` over arms, and
`context`, what is known about the coming pull (None where no contexts are given). Where an audit says which arms could
be drawn, the others are False in `available` and must have probability 0. A reference with a kernel has instead

- `kernel(family, n_arms)`, which returns its settings for public rewards of this `family`: a NamedTuple whose class has
  the part `expect` below and `own_samples`, whether the observer sees its own samples, not the agent's public rewards;
- `prior_of(family)`, if it has a prior, which returns the two numbers of `families.base`, or (2, K) of them;
- `describe(family)`, which returns a description for reports.

If `follows_posterior` is true, it pulls every arm with its probability of being the best, and the engine can bound it.
A reference has probabilities once every arm has been pulled once, or `min_pulls_per_arm(family)` times if it has that
method. With `among(arms)`, which returns the reference of these arms alone, it can be recomputed where only some arms
are available. One with a true `ignores_rewards` can be audited without rewards. One whose settings have
`log_probabilities(counts, sums, spreads)` instead of `expect` is only for whole logs (`recomputation`); if they also
have `has_posterior(counts, sums, spreads)`, that tells for which of the rows there is a posterior. One with a true
`takes_contexts` is only for audits and the observer, and has settings as in `contexts`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from feint._types import BoolArray, FloatArray, IntArray
from feint.families.base import Belief, usual_prior
from feint.numerics._jit import Plain, by_type
from feint.numerics._validate import read_only
from feint.support.own_parts import OwnPartError, call, fresh
from feint.support.printable import short_repr

_SUM_TOLERANCE = 1e-9


@by_type
def expect(reference: Any, belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    """Fill `pi` and `log_pi` for the pull after t pulls, from what has been learnt about the public means."""
    raise NotImplementedError


class ReferenceView:
    """What a reference in plain Python may look at."""

    def __init__(
        self, time: int, belief: Any, available: BoolArray | None = None, context: FloatArray | None = None
    ) -> None:
        self.time = time
        self.context: FloatArray | None = None if context is None else read_only(context)
        self.pulls: IntArray = read_only(belief.pulls)
        self.public_means: FloatArray = read_only(belief.means)
        self.available: BoolArray = read_only(
            np.ones(len(belief.means), dtype=bool) if available is None else available
        )


class HasLogProbabilities(Protocol):
    """A reference in plain Python, which returns log π of every arm."""

    def log_probabilities(self, view: ReferenceView, /) -> npt.ArrayLike: ...


class HasReferenceKernel(Protocol):
    """A reference with a kernel."""

    def kernel(self, family: Any, n_arms: int, /) -> Any: ...


Reference = HasLogProbabilities | HasReferenceKernel  # see the module's docstring


class PlainReference(Plain):
    """A reference without a kernel. It is asked once per step, however many want to know: it may count."""

    own_samples = follows_posterior = False

    def __init__(self, reference: Any) -> None:
        self.reference = reference
        self.time = -1  # of the answer
        self.answer: FloatArray = np.empty(0)
        self.available: BoolArray | None = None  # the arms that can be drawn in the coming step, where that is known
        self.context: FloatArray | None = None  # of the coming pull

    @staticmethod
    def expect(settings: "PlainReference", belief: Any, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
        """Ask the reference and check its answer."""
        if t != settings.time:
            view = ReferenceView(int(t), belief, settings.available, settings.context)
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
    if not abs(total - 1.0) <= _SUM_TOLERANCE:  # NaN included
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


def reference_settings(reference: Any, family: Any, n_arms: int) -> Any:
    """Return the settings of a fresh copy of a reference for kernels, or `PlainReference` for one in plain Python."""
    if isinstance(reference, type) or not (hasattr(reference, "kernel") or hasattr(reference, "log_probabilities")):
        raise ValueError(
            f"reference is {short_repr(reference)}; give one of feint.references with its parentheses, as "
            "ThompsonSampling(), or an object of your own with log_probabilities(view) (docs/extending.md)."
        )
    own = fresh(reference, n_arms)
    return call(own, "kernel", None, family, n_arms) if hasattr(own, "kernel") else PlainReference(own)


def show_context(settings: Any, context: FloatArray | None) -> None:
    """Tell a reference in plain Python, or one inside these settings, the context of the coming pull."""
    if isinstance(settings, PlainReference):
        if not np.array_equal(np.asarray(settings.context), np.asarray(context)):  # None too
            settings.context, settings.time = context, -1
    elif isinstance(settings, tuple):
        for item in settings:
            show_context(item, context)


def takes_contexts(reference: Any) -> bool:
    """Return whether a reference needs contexts."""
    return bool(getattr(reference, "takes_contexts", False))


def has_context_per_arm(reference: Any) -> bool:
    """Return whether every arm has a context of its own."""
    inner = reference
    while hasattr(inner, "reference"):
        inner = inner.reference
    return bool(getattr(inner, "shared", False))


def stepwise_settings(reference: Any, family: Any, n_arms: int) -> Any:
    """Return `reference_settings`, but refuse a reference that cannot be followed step by step."""
    if takes_contexts(reference):
        raise ValueError(
            f"{type(reference).__name__} knows a context of every pull; a simulated or live agent has none, so it is "
            "for audits and Observer."
        )
    settings = reference_settings(reference, family, n_arms)
    if not hasattr(settings, "expect"):
        raise ValueError(f"{type(reference).__name__} is for audits of logs; it cannot be followed step by step.")
    return settings


def min_pulls_per_arm(reference: Any, family: Any) -> int:
    """Return how many rewards of every arm must be known before the reference has probabilities."""
    return int(reference.min_pulls_per_arm(family)) if hasattr(reference, "min_pulls_per_arm") else 1


def reference_prior(reference: Any, family: Any) -> Any:
    """Return the prior of the public posterior: two numbers, or two per arm as (2, K)."""
    return reference.prior_of(family) if hasattr(reference, "prior_of") else usual_prior(family)


def among_arms(reference: Any, arms: Sequence[int]) -> Any:
    """Return the reference of these arms alone; refuse one that does not say what that is."""
    if not hasattr(reference, "among"):
        raise ValueError(
            f"{type(reference).__name__} cannot be recomputed where only some arms are available (`available`); leave "
            "that out, or claim a reference of your own that looks at view.available (docs/extending.md)."
        )
    return reference.among(arms)


def reference_family(reference: Any, family: Any) -> Any:
    """Return the family of the rewards: the reference's own if it has one."""
    return reference.family_of(family) if hasattr(reference, "family_of") else family


def describe(reference: Any, family: Any) -> str:
    """Return a description of the reference for reports."""
    return (
        str(reference.describe(family)) if hasattr(reference, "describe") else f"the reference {short_repr(reference)}"
    )
