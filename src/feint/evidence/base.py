"""The contract that every test fulfils.

The null hypothesis is that the agent does what it claims: P(A_t = a | the public past) = π_t(a), where π_t is known to
the observer before the pull. Every test here is an e-process: E_0 = 1, and each pull multiplies it by a ratio r_t(A_t)
with Σ_a π_t(a)·r_t(a) ≤ 1, where r_t is fixed before the pull. Under the null it is therefore a non-negative
supermartingale, and by Ville's inequality

    P(E_t ≥ 1/α for any t) ≤ α,

however often the observer looks and whenever it stops. Rewards are drawn after the arm and cancel. Everything is kept
as logarithms.

Rows of one time are one *instant*, within which the order of the log need not be that of the draws. Bets are fixed
before it, so that each bet's product over its rows does not depend on their order, and E is read after its last row.
Without times every pull is an instant. A test is a subclass of `EProcess` with

- its settings as arguments of the constructor (all but `n_arms` by keyword), which `settings()` returns again;
- `_arrays()`, which returns what it has learned so far as a dictionary of float arrays;
- `_extend(arms, claimed, begins, log_e)`, which writes log E after every row into `log_e`, such that E after an instant
  does not depend on the order of its rows; `claimed` is what `_prepare` makes of log π.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.claim_table import check_logs
from feint.numerics._validate import as_floats, as_integers, is_whole, restore
from feint.support.saved import check_form

_VERSION = 3
IMPOSSIBLE = "An arm was pulled to which the claim gives probability 0; that refutes the claim without a test."


class EProcess(ABC):
    """A test that is valid at any time; see the module's docstring."""

    NEEDS_ALL_ARMS: ClassVar[bool] = True  # whether a row of `log_pi` has all K arms, or only the one pulled

    def __init__(self, n_arms: int) -> None:
        if not is_whole(n_arms, 2):
            raise ValueError(f"n_arms is {n_arms!r}; a test needs a whole number of arms, 2 or more.")
        self.n_arms = int(n_arms)
        self._tested = 0
        self._log_e = 0.0
        self._highest = 0.0

    @property
    def tested(self) -> int:
        """The number of pulls tested so far."""
        return self._tested

    @property
    def log_e_value(self) -> float:
        """The current log E: the evidence against the claim, 0 at the start."""
        return self._log_e

    @property
    def highest_log_e_value(self) -> float:
        """The largest log E so far."""
        return self._highest

    @property
    def p_value(self) -> float:
        """The anytime p-value 1/max_t E_t; under the null it ever falls below α with probability at most α."""
        return math.exp(-self._highest)

    def update(self, arm: int, log_pi: npt.ArrayLike) -> float:
        """Test one pull and return log E; `log_pi` (K,) is what was claimed before the pull."""
        return float(self.extend(np.array([arm]), np.asarray(log_pi)[None])[0])

    def extend(self, arms: npt.ArrayLike, log_pi: npt.ArrayLike, begins: BoolArray | None = None) -> FloatArray:
        """Test pulls in order and return log E after each, given arms (n,) and the claimed log π (n, K) before each.
        `begins` (n,) says which pulls begin an instant; None means that all do.
        """
        chosen, claimed = self._checked(arms, log_pi)
        begins = np.ones(chosen.size, dtype=bool) if begins is None else begins
        return self.extend_prepared(chosen, self._prepare(claimed), begins)

    def extend_prepared(self, arms: IntArray, claimed: Any, begins: BoolArray) -> FloatArray:
        """Test pulls as `extend` does, without checking them; `claimed` is what `_prepare` makes of log π."""
        log_e = np.empty(arms.size)
        if arms.size:
            self._extend(arms, claimed, begins, log_e)
            self._count_rows(begins, log_e)
        return log_e

    def _prepare(self, log_pi: FloatArray) -> Any:
        """Return what `_extend` needs of log π, where that is the same for several tests."""
        return log_pi

    def _count_rows(self, begins: BoolArray, log_e: FloatArray) -> None:
        """Record the results of these rows; E is read after instants, the last row among them."""
        if log_e.size:
            read = log_e if begins[1:].all() else log_e[np.append(begins[1:], True)]
            self.count(log_e.size, float(log_e[-1]), float(read.max()))

    def count(self, tested: int, log_e: float, highest: float) -> None:
        """Record the results of a kernel that has updated this test's arrays."""
        self._tested += tested
        self._log_e = log_e
        self._highest = max(self._highest, highest)

    def state(self) -> dict[str, Any]:
        """Return everything needed to continue identically, as plain JSON types."""
        arrays = {name: array.tolist() for name, array in self._arrays().items()}
        facts = {"tested": self._tested, "log_e_value": self._log_e, "highest_log_e_value": self._highest}
        return {"feint_test": _VERSION, "kind": type(self).__name__, **self.settings(), **facts, **arrays}

    @classmethod
    def from_state(cls, state: dict[str, Any], **unsaved: Any) -> Self:
        """Restore a test from its `state`; `unsaved` are settings that cannot be saved, such as an alternative."""
        if not isinstance(state, dict) or state.get("feint_test") != _VERSION or state.get("kind") != cls.__name__:
            raise ValueError(f"This is not the state of a {cls.__name__} of version {_VERSION}; make one with state().")
        check_form(state, dict.fromkeys(cls._setting_names()))
        test = cls(**{name: state[name] for name in cls._setting_names()}, **unsaved)
        check_form(state, test.state())
        facts = (state["tested"], state["log_e_value"], state["highest_log_e_value"])
        test._tested = int(as_integers([facts[0]], "The state is damaged: tested must be a whole number")[0])
        test._log_e, test._highest = (float(x) for x in as_floats(facts[1:], "The state is damaged: log E"))
        for name, array in test._arrays().items():
            restore(array, state[name], name)
        test._check_arrays()
        if test._tested < 0 or not test._log_e <= test._highest < math.inf or test._highest < 0:
            raise ValueError("The state is damaged: its counts and e-values cannot come from a test.")
        return test

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain JSON types."""
        return {name: getattr(self, name) for name in self._setting_names()}

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms",)

    @abstractmethod
    def _arrays(self) -> dict[str, FloatArray]: ...

    def _check_arrays(self) -> None:  # noqa: B027 - most tests have nothing to refuse
        """Raise ValueError if the arrays come from a damaged state."""

    @abstractmethod
    def _extend(self, arms: IntArray, claimed: Any, begins: BoolArray, log_e: FloatArray) -> None: ...

    def _checked(self, arms: npt.ArrayLike, log_pi: npt.ArrayLike) -> tuple[IntArray, FloatArray]:
        if np.size(arms) == 0:
            arms = np.zeros(0, dtype=np.int64)
        chosen = as_integers(arms, f"arms must be whole numbers from 0 to {self.n_arms - 1}")
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < self.n_arms):
            raise ValueError(f"arms must be whole numbers from 0 to {self.n_arms - 1}; got {chosen.tolist()!r}.")
        claimed = as_floats(log_pi, "log_pi")
        if not self.NEEDS_ALL_ARMS:
            claimed = claimed.reshape(-1) if claimed.shape == (chosen.size, 1) else claimed
            expected: tuple[int, ...] = (chosen.size,)
            of_chosen = claimed
        else:
            expected = (chosen.size, self.n_arms)
            of_chosen = claimed[np.arange(chosen.size), chosen] if claimed.shape == expected else claimed
        if claimed.shape != expected:
            raise ValueError(f"log_pi has shape {claimed.shape}; {chosen.size} pulls need {expected}.")
        check_logs(claimed, np.exp(claimed) if self.NEEDS_ALL_ARMS else None)
        if np.isneginf(of_chosen).any():
            raise ValueError(IMPOSSIBLE)
        return chosen, np.ascontiguousarray(claimed)
