"""The contract that every reference fulfils, compiled or in plain Python.

In plain Python a reference is anything with

    log_probabilities(view) -> K floats

where `view` has `time` (the pulls made so far), `arms` (these pulls in order), the arrays `pulls` and `public_means`
over arms, of the pulls whose rewards are known, `available` over arms, and `context`, what is known about the coming
pull (None where no contexts are given). Where an audit says which arms could be drawn, the others are False in
`available` and must have probability 0. A reference with a kernel has instead

- `kernel(family, n_arms)`, which returns its settings for public rewards of this `family`: a NamedTuple whose class has
  the part `expect` below and `own_samples`, whether the observer sees its own samples, not the agent's public rewards;
- `prior_of(family)`, if it has a prior, which returns the two numbers of `families.base`, or (2, K) of them;
- `describe(family)`, which returns a description for reports.

A reference has probabilities once every arm has been pulled once. It may also have

- `follows_posterior`, in its settings: true if it pulls every arm with its probability of being the best. The engine
  can bound such a reference;
- `min_pulls_per_arm(family)`: how many pulls of every arm it needs, if not one;
- `among(arms)`: the reference of these arms alone, with which it can be recomputed where only some arms are available;
- `ignores_rewards`: if true, it can be audited without rewards, and its `belief.pulls` are the pulls made, because it
  does not wait for rewards;
- `is_constant`, beside `ignores_rewards`: if true, its probabilities are the same at every step;
- `usual_family`: the family of the rewards that it is about, if none is named;
- `takes_contexts`: if true, it is only for audits and the observer, and its settings are those of `contexts`.

Settings with `log_probabilities(counts, sums, spreads)` instead of `expect` are only for whole logs (`recomputation`).
If they also have `has_posterior(counts, sums, spreads)`, that tells for which of the rows there is a posterior.

Where the order of the pulls matters, the class of the settings names in `memory` the arrays in which `expect` keeps
what it needs of it. `expect` is then called before every pull, finds the last one by comparing `belief.pulls` with
those of its last call, and gives the same answer if it is called twice. Saved states hold these arrays.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.families.base import Belief, usual_prior
from feint.numerics._jit import by_type
from feint.numerics._validate import as_integers, is_whole, restore
from feint.references.plain import PlainReference, ReferenceView
from feint.registry import show_part
from feint.support.own_parts import OwnPartError, call, fresh
from feint.support.printable import short_repr

LARGEST_FEATURE = 1e100  # of a context, in absolute value: its square is still a number


@by_type
def expect(reference: Any, belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    """Fill `pi` and `log_pi` for the pull after t pulls, from what has been learnt about the public means."""
    raise NotImplementedError


class HasLogProbabilities(Protocol):
    """A reference in plain Python, which returns log π of every arm."""

    def log_probabilities(self, view: ReferenceView, /) -> npt.ArrayLike: ...


class HasReferenceKernel(Protocol):
    """A reference with a kernel."""

    def kernel(self, family: Any, n_arms: int, /) -> Any: ...


Reference = HasLogProbabilities | HasReferenceKernel  # see the module's docstring


def reference_settings(reference: Any, family: Any, n_arms: int) -> Any:
    """Return the settings of a fresh copy of a reference for kernels, or `PlainReference` for one in plain Python."""
    if isinstance(reference, type) or not (hasattr(reference, "kernel") or hasattr(reference, "log_probabilities")):
        raise ValueError(
            f"reference is {short_repr(reference)}; give one of feint.references with its parentheses, such as "
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


def sees_contexts(reference: Any) -> bool:
    """Return whether a reference needs contexts or, being in plain Python, may look at them."""
    return takes_contexts(reference) or has_own_inside(reference)


def has_own_inside(reference: Any) -> bool:
    """Return whether a reference, or the one inside it, is in plain Python."""
    return not hasattr(_innermost(reference), "kernel")


def has_context_per_arm(reference: Any) -> bool:
    """Return whether every arm has a context of its own."""
    return bool(getattr(_innermost(reference), "shared", False))


def _innermost(reference: Any) -> Any:
    """Return the reference inside all those around it."""
    while hasattr(reference, "reference"):
        reference = reference.reference
    return reference


def stepwise_settings(reference: Any, family: Any, n_arms: int) -> Any:
    """Return `reference_settings`, but refuse a reference that cannot be followed step by step."""
    if takes_contexts(reference):
        raise ValueError(
            f"{type(reference).__name__} needs a context for every pull, and a simulated or live agent has none; use "
            "it in audits and with Observer."
        )
    settings = reference_settings(reference, family, n_arms)
    if not hasattr(settings, "expect"):
        raise ValueError(f"{type(reference).__name__} cannot be followed step by step; use it to audit logs.")
    return settings


def note_pull(settings: Any, arm: int) -> None:
    """Tell the references in plain Python inside these settings which arm was pulled."""
    if isinstance(settings, PlainReference):
        settings.order.append(arm)
    elif isinstance(settings, tuple):
        inside = settings.arm_inside(arm) if hasattr(settings, "arm_inside") else arm
        for item in settings if inside is not None else ():
            note_pull(item, inside)


def remembers(settings: Any) -> bool:
    """Return whether a compiled reference inside these settings keeps what it saw of the order of the pulls."""
    if hasattr(type(settings), "memory"):
        return True
    return isinstance(settings, tuple) and any(remembers(item) for item in settings)


def memory_of(settings: Any) -> list[Any]:
    """Return what these settings know of the order of the pulls, as plain JSON types; empty if they need not know."""
    if isinstance(settings, PlainReference):
        return [settings.order.arms.tolist()]
    if hasattr(type(settings), "memory"):
        return [getattr(settings, name).tolist() for name in type(settings).memory]
    return [found for item in settings for found in memory_of(item)] if isinstance(settings, tuple) else []


def recall_memory(settings: Any, saved: list[Any]) -> None:
    """Restore what `memory_of` returned; raise ValueError if it does not fit."""
    if len(saved) != len(memory_of(settings)):
        raise ValueError("The state is damaged: the order of its pulls is missing.")
    _recall(settings, iter(saved))


def _recall(settings: Any, saved: Iterator[Any]) -> None:
    if isinstance(settings, PlainReference):
        for arm in as_integers(next(saved), "The state is damaged: the order of its pulls must be whole numbers"):
            settings.order.append(int(arm))
    elif hasattr(type(settings), "memory"):
        for name in type(settings).memory:
            restore(getattr(settings, name), next(saved), name)
    elif isinstance(settings, tuple):
        for item in settings:
            _recall(item, saved)


def min_pulls_per_arm(reference: Any, family: Any) -> int:
    """Return how many rewards of every arm must be known before the reference has probabilities."""
    if not hasattr(reference, "min_pulls_per_arm"):
        return 1
    found = call(reference, "min_pulls_per_arm", None, family)
    if not is_whole(found, 0):
        raise OwnPartError(
            f"{type(reference).__name__}.min_pulls_per_arm returned {found!r}; it must be a whole number, 0 or more."
        )
    return int(found)


def reference_prior(reference: Any, family: Any) -> Any:
    """Return the prior of the public posterior: two numbers, or two per arm as (2, K)."""
    return call(reference, "prior_of", None, family) if hasattr(reference, "prior_of") else usual_prior(family)


def among_arms(reference: Any, arms: Sequence[int]) -> Any:
    """Return the reference of these arms alone; refuse a reference without `among`."""
    if not hasattr(reference, "among"):
        raise ValueError(
            f"{type(reference).__name__} cannot be recomputed where only some arms are available (`available`); leave "
            "that out, or claim a reference of your own that looks at view.available (docs/extending.md)."
        )
    return call(reference, "among", None, arms)


def check_timing(reference: Any, timing: Any) -> None:
    """Check that a reference can be claimed with this timing of rewards; most can with any."""
    if hasattr(reference, "check_timing"):
        call(reference, "check_timing", None, timing)


def reference_family(reference: Any, family: Any) -> Any:
    """Return the family of the rewards: the reference's own if it has one."""
    return call(reference, "family_of", None, family) if hasattr(reference, "family_of") else family


def describe(reference: Any, family: Any) -> str:
    """Return a description of the reference for reports."""
    if not hasattr(reference, "describe"):
        return f"the reference {show_part(reference, 'reference')}"
    return str(call(reference, "describe", None, family))
