"""What all paths share, the state of those that still go on, one leap of them, and their results."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.planning.lift import Lift
from feint.planning.path_draws import WordArray
from feint.planning.path_goal import PathGoal
from feint.planning.sides import Side


@dataclass(frozen=True)
class PathSettings:
    """The settings that all paths share."""

    public: Side
    private: Side
    shares: Any  # (t, pulls, private sums, boosts, log P) -> (K, R)
    weights: FloatArray | None  # (K,) of `FixedBoosting`, which keeps to them without drawing
    lift: Lift
    best: int  # the best private arm
    delta: float  # the error to stop at; 0 for never
    bar: float  # −Φ⁻¹(δ)
    horizon: float
    checkpoints: FloatArray  # (C,)
    threshold: float | None  # log(1/α) of the observers, if they are followed
    goal: PathGoal | None = None  # if it is not the best arm


@dataclass
class State:
    """The state of the paths that still go on; arrays are (R,) or (K, R)."""

    path: npt.NDArray[np.int64]
    key: WordArray
    t: FloatArray
    pulls: FloatArray
    public: FloatArray  # sums of rewards
    private: FloatArray
    seen: FloatArray  # private rewards
    boosts: FloatArray
    rate: FloatArray  # probabilities per step in the last leap
    log_best: FloatArray  # of the private posterior
    lead: FloatArray  # Z
    spent: FloatArray
    divergence: FloatArray  # per step in the last leap
    told: FloatArray  # (2, R) log evidence of the informed observer and of `Observer`
    alarm: FloatArray  # (2, R) when they noticed; NaN for not yet
    error: FloatArray  # (2, R) log posterior error at that time
    row: npt.NDArray[np.int64]  # of the next checkpoint

    def keep(self, rows: Any) -> None:
        """Keep only these paths."""
        for field in fields(self):  # `compress`, since an index would change the layout for which kernels are compiled
            setattr(self, field.name, getattr(self, field.name).compress(rows, axis=-1))


@dataclass
class Leap:
    """What happens in one leap; arrays are (R,) or (K, R)."""

    steps: FloatArray
    share: FloatArray
    log_pi: FloatArray
    rate: FloatArray
    cost: FloatArray  # KL spent per step on boosts of the arm
    divergence: FloatArray  # per step

    def replace(self, rows: Any, other: "Leap") -> None:
        """Replace the leap of these paths by another one."""
        for field in fields(self):
            getattr(self, field.name)[..., rows] = getattr(other, field.name)


@dataclass(frozen=True)
class Paths:
    """The results of R paths: when each stopped; and `pulls`, `boosts` and the KL `spent` on them (R, K) at its end.

    `stopped` is NaN where the path was never sure. The alarms, with the log errors at their times, are NaN likewise.
    `course` (R, C, 4 + K) has log error, log floor ratio, log E, KL spent and the pulls at the checkpoints.
    """

    stopped: FloatArray
    spent: FloatArray
    floor: FloatArray  # (R, 2) time and log error
    alarm: FloatArray  # (R, 2)
    pulls: FloatArray
    boosts: FloatArray
    course: FloatArray
