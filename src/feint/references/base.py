"""The contract of references, compiled or in plain Python.

In plain Python a reference is anything with

    log_probabilities(view) -> K floats

where `view` has `time` (pulls made), `pulls` and `public_means`, arrays over arms. With a kernel it has instead

- `kernel(family, n_arms)`: its settings for rewards of the public `family`, as a NamedTuple whose class has the part
  `expect` below and `own_samples`, whether the observer sees samples of its own rather than the agent's public rewards;
- `prior_of(family)`: the two numbers of `families.base`, or (2, K) of them, for references that have a prior;
- `describe(family)`: in words, for reports.

`follows_posterior` says that it pulls every arm with its probability of being the best: then the engine can bound it. A
reference speaks once every arm has been pulled, or as often as `speaks_after(family)` says, if it has that. One that
`ignores_rewards` can be audited without any. One whose settings have `log_probabilities(counts, sums, spreads)` instead
of `expect` is for whole logs only (`recomputation`); with `speaks(counts, sums, spreads)` it says which of the rows it
has a posterior for.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from feint.families.base import Belief, usual_prior
from feint.numerics._jit import Plain, by_type
from feint.numerics._validate import FloatArray, IntArray, read_only
from feint.printable import short_repr

_SUM_TOLERANCE = 1e-9


@by_type
def expect(reference: Any, belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    """π and log π of the pull after t, from what has been learnt of the public means."""
    raise NotImplementedError


class ReferenceView:
    """What a reference in plain Python may look at."""

    def __init__(self, time: int, belief: Any) -> None:
        self.time = time
        self.pulls: IntArray = read_only(belief.pulls)
        self.public_means: FloatArray = read_only(belief.means)


class HasLogProbabilities(Protocol):
    """In plain Python: log π of every arm."""

    def log_probabilities(self, view: ReferenceView, /) -> npt.ArrayLike: ...


class HasKernel(Protocol):
    """With a kernel."""

    def kernel(self, family: Any, n_arms: int, /) -> Any: ...


Reference = HasLogProbabilities | HasKernel  # see the module's docstring


class PlainReference(Plain):
    """A reference without a kernel."""

    own_samples = follows_posterior = False

    def __init__(self, reference: Any) -> None:
        self.reference = reference

    @staticmethod
    def expect(settings: "PlainReference", belief: Any, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
        """Ask it, and check what it says."""
        name = type(settings.reference).__name__
        answer = settings.reference.log_probabilities(ReferenceView(int(t), belief))
        try:
            logs = np.asarray(answer, dtype=float)
        except (TypeError, ValueError):
            logs = np.empty(0)
        where = f"{name}.log_probabilities at step {t + 1}"
        if logs.shape != log_pi.shape:
            raise ValueError(f"{where} returned {answer!r}; it must be {log_pi.size} numbers, log π of every arm.")
        total = float(np.exp(logs).sum())
        if not abs(total - 1.0) <= _SUM_TOLERANCE:  # NaN included
            raise ValueError(
                f"{where} returned {logs.tolist()}, probabilities that sum to {total:.9g}; they must sum to 1 "
                "(normalise them: log π − log Σ π)."
            )
        log_pi[:] = np.minimum(logs, 0.0)
        pi[:] = np.exp(log_pi)


def reference_settings(reference: Any, family: Any, n_arms: int) -> Any:
    """Its settings for kernels, or `PlainReference` for one in plain Python."""
    if isinstance(reference, type) or not (hasattr(reference, "kernel") or hasattr(reference, "log_probabilities")):
        raise ValueError(
            f"reference is {reference!r}; give one of feint.references with its parentheses, as ThompsonSampling(), or "
            "an object of your own with log_probabilities(view) (docs/extending.md)."
        )
    return reference.kernel(family, n_arms) if hasattr(reference, "kernel") else PlainReference(reference)


def stepwise_settings(reference: Any, family: Any, n_arms: int) -> Any:
    """The same for those that take one step after the other."""
    settings = reference_settings(reference, family, n_arms)
    if not hasattr(settings, "expect"):
        raise ValueError(f"{type(reference).__name__} is for audits of logs; it cannot be followed step by step.")
    return settings


def speaks_after(reference: Any, family: Any) -> int:
    """How many rewards of every arm must be known before it says anything."""
    return int(reference.speaks_after(family)) if hasattr(reference, "speaks_after") else 1


def reference_prior(reference: Any, family: Any) -> Any:
    """What the public posterior starts from: two numbers, or two of every arm."""
    return reference.prior_of(family) if hasattr(reference, "prior_of") else usual_prior(family)


def describe(reference: Any, family: Any) -> str:
    """In words, for reports."""
    return (
        str(reference.describe(family)) if hasattr(reference, "describe") else f"the reference {short_repr(reference)}"
    )
