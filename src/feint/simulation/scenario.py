"""What is simulated, and how: the struct of an instance with its agent, and the options of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from feint._types import IntArray
from feint.bandit import Bandit
from feint.goals import BestArm
from feint.numerics._validate import as_integers, check_flag, check_level, is_whole
from feint.numerics.streams import check_word
from feint.registry import config_of, show_part

Method = Literal["lazy", "eager", "event"]
METHODS: tuple[Method, ...] = get_args(Method)
MOST = 2**53  # pulls, or replications
_CHECKPOINTS = 100


class Scenario(NamedTuple):
    """What is simulated: an instance, and the parts of the agent on it."""

    bandit: Bandit
    explorer: Any
    reference: Any
    budget: Any
    goal: Any = BestArm()

    def parts(self) -> dict[str, Any]:
        """Return the parts of the agent by sort."""
        return {sort: getattr(self, sort) for sort in ("explorer", "reference", "budget", "goal")}

    def config(self) -> dict[str, Any]:
        """Return the parts as plain JSON; the budget is called epsilon, as in `simulate`."""
        return {_KEYS.get(sort, sort): config_of(part, sort) for sort, part in self.parts().items()}

    def words(self) -> dict[str, str]:
        """Return the parts as people read them, by sort."""
        return {sort: show_part(part, sort) for sort, part in self.parts().items()}


_KEYS = {"budget": "epsilon"}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a scenario is simulated: the options of `simulate`, checked as far as possible without the scenario."""

    horizon: int
    replications: int | range = 100
    seed: int = 0
    checkpoints: ArrayLike | None = None
    delta: float | None = None
    method: Method = "lazy"
    observe: bool = False
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_flag(self.observe, "observe")
        object.__setattr__(self, "alpha", check_level(self.alpha, "alpha, the level of the observer's test,"))
        object.__setattr__(self, "horizon", check_whole(self.horizon, "horizon", 1))
        object.__setattr__(self, "replications", _shard(self.replications))
        check_word(self.seed, "seed")
        object.__setattr__(self, "seed", int(self.seed))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_level(self.delta, "delta, the error to stop at,"))
        if self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}; choose one of {', '.join(METHODS)}.")

    @property
    def which(self) -> range:
        """Return the numbers of the replications."""
        assert isinstance(self.replications, range)  # made so by `__post_init__`
        return self.replications

    def times(self, n_arms: int) -> IntArray:
        """Return the times to record with so many arms; about a hundred if none are given."""
        if self.checkpoints is None:
            return np.unique(np.geomspace(n_arms, self.horizon, _CHECKPOINTS).round().astype(np.int64))
        what = (
            f"checkpoints must be increasing whole numbers from {n_arms} (one pull per arm) to the horizon, "
            f"{self.horizon}"
        )
        times = as_integers(self.checkpoints, what)
        if times.size == 0 or (np.diff(times) <= 0).any() or times[0] < n_arms or times[-1] > self.horizon:
            raise ValueError(f"{what}; got {self.checkpoints!r}.")
        return times

    def config(self) -> dict[str, Any]:
        """Return what decides the numbers, as plain JSON."""
        return {
            "horizon": self.horizon,
            "replications": [self.which.start, self.which.stop],
            "seed": self.seed,
            "delta": self.delta,
            "method": self.method,
            "observe": self.observe,
            "alpha": self.alpha if self.observe else None,
        }


def check_whole(value: Any, name: str, least: int) -> int:
    """Return `value` as an int, if it is a whole number of at least `least`."""
    if not is_whole(value, least, MOST):
        raise ValueError(f"{name} is {value!r}; it must be a whole number, {least} or more (and at most 2⁵³).")
    return int(value)


def _shard(replications: Any) -> range:
    if not isinstance(replications, range):
        return range(check_whole(replications, "replications", 1))
    if not replications or replications.step != 1 or replications.start < 0 or replications.stop > MOST:
        raise ValueError(f"replications is {replications!r}; a shard is a range(first, last + 1) of numbers from 0.")
    return replications
