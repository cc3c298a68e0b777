"""Play a policy against simulated rewards: note what it says before every pull, and what it pulls."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from feint._types import FloatArray, IntArray
from feint.auditing.modes.probabilities import sum_rounding
from feint.bandit import Bandit
from feint.numerics._validate import is_whole
from feint.support.own_parts import OwnPartError, call, fresh, make
from feint.support.printable import short_repr

METHODS = ("probabilities", "pull", "update")
TOLERANCE = 1e-5  # of the sum of probabilities, which may be computed in float32
_KEY = 0x6665696E74  # a policy may use default_rng(seed) itself: its numbers and ours must differ
_SMALLEST_UNIFORM = 2.0**-54  # normal rewards have no quantile at 0


class Player:
    """A policy at play; `play` makes its next steps. What was handed in is copied and does not change."""

    def __init__(self, policy: Any, bandit: Bandit, contexts: Any, seed: int) -> None:
        self._bandit, self._n_arms = bandit, bandit.n_arms
        self._rewards, for_contexts = (np.random.default_rng([seed, _KEY, stream]) for stream in (1, 2))
        self._policy = make_policy(policy, bandit.n_arms)
        self._contexts = _endless_contexts(contexts, for_contexts)
        self._step = 0

    @property
    def name(self) -> str:
        """Return the name that reports give the policy."""
        return type(self._policy).__name__

    def play(self, steps: int) -> tuple[IntArray, FloatArray]:
        """Make this many steps. Return the arms (n,) and the probabilities stated before each step, (n, K)."""
        arms, said = np.empty(steps, dtype=np.int64), np.empty((steps, self._n_arms))
        family = self._bandit.families[0]
        for i in range(steps):
            self._step += 1
            context = () if self._contexts is None else (next(self._contexts),)
            said[i] = self._probabilities(call(self._policy, "probabilities", self._step, *context))
            arm = arms[i] = self._arm(call(self._policy, "pull", self._step, *context))
            uniform = max(self._rewards.random(), _SMALLEST_UNIFORM)
            reward = float(call(family, "draw", self._step, self._bandit.public[arm], uniform))
            call(self._policy, "update", self._step, int(arm), reward, *context)
        return arms, said

    def _probabilities(self, said: Any) -> FloatArray:
        """Return what the policy said as numbers, if these are probabilities of all arms."""
        try:
            found = np.array(said, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._refuse("probabilities", f"{short_repr(said)[:80]}; give a list of numbers") from None
        if found.shape != (self._n_arms,):
            raise self._refuse("probabilities", f"numbers of shape {found.shape}; give one per arm, {self._n_arms}")
        if not ((found >= 0) & (found <= 1 + TOLERANCE)).all():
            wrong = found[~((found >= 0) & (found <= 1 + TOLERANCE))][0]
            raise self._refuse("probabilities", f"{wrong:.12g} as a probability; it must lie between 0 and 1")
        total = float(found.sum())
        if abs(total - 1) <= TOLERANCE:
            return found
        if abs(total - 1) > TOLERANCE + sum_rounding([max(f"{p:.2f}", repr(p), key=len) for p in found.tolist()]):
            raise self._refuse("probabilities", f"numbers that sum to {total:.9g}; they must sum to 1")
        return found / total  # they were rounded, to two digits or more

    def _arm(self, pulled: Any) -> int:
        if isinstance(pulled, np.ndarray) and pulled.shape == () and pulled.dtype.kind in "iu":
            pulled = int(pulled)
        if not is_whole(pulled, 0, self._n_arms - 1):
            last = self._n_arms - 1
            raise self._refuse("pull", f"{short_repr(pulled)[:80]}; give the arm's number, 0 to {last}")
        return int(pulled)

    def _refuse(self, method: str, what: str) -> OwnPartError:
        return OwnPartError(f"{self.name}.{method} returned at step {self._step:,} {what}.")


def make_policy(policy: Any, n_arms: int) -> Any:
    """Return a policy ready for its first step: a copy of an object, or what a class or a function makes."""
    if isinstance(policy, type) or (callable(policy) and not hasattr(policy, "pull")):
        name = getattr(policy, "__name__", "policy")
        try:
            found = make(policy)
        except (TypeError, ValueError) as error:
            if isinstance(error, OwnPartError):
                raise
            raise ValueError(
                f"The policy {name} cannot be made without arguments ({error}); give an object, or a function that "
                "makes one."
            ) from None
        if callable(getattr(found, "start", None)):
            call(found, "start", None, n_arms)
    else:
        found = fresh(policy, n_arms)
    missing = [method for method in METHODS if not callable(getattr(found, method, None))]
    if missing:
        raise ValueError(
            f"{type(found).__name__} has no method {' and no '.join(missing)}; a policy has probabilities(), pull() "
            "and update(arm, reward), each with a context as its last argument if there are contexts."
        )
    return found


def _endless_contexts(contexts: Any, rng: np.random.Generator) -> Iterator[Any] | None:
    """Return the contexts one by one, without end; None if there are none."""
    if contexts is None:
        return None
    if callable(contexts):
        return _drawn(contexts, rng)
    sized = hasattr(contexts, "__len__") and hasattr(contexts, "__getitem__")
    if not sized or isinstance(contexts, str | Mapping) or hasattr(contexts, "columns") or len(contexts) == 0:
        raise ValueError(
            f"contexts is {short_repr(contexts)[:80]}; give a list or an array with one context per entry, or a "
            "function that draws one from a NumPy generator."
        )
    return (contexts[i % len(contexts)] for i in count())


def _drawn(draw: Callable[[np.random.Generator], Any], rng: np.random.Generator) -> Iterator[Any]:
    for step in count(1):
        try:
            context = draw(rng)
        except (Exception, SystemExit) as error:
            raise OwnPartError(f"contexts failed at step {step:,}: {type(error).__name__}: {error}") from error
        yield context
