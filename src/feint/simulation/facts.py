"""What runs found at their end: `feint run` prints it in words, or in numbers as JSON."""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.bandit import Bandit, roles
from feint.goals import BestArm
from feint.goals.base import answer_of
from feint.simulation.dataset import Runs, instance_of
from feint.support.facts import ArmFacts, FactTable
from feint.version import versions

_MEDIANS = ("stopping_time", "detection_time", "private_gain")


class Median(NamedTuple):
    """The median over the runs that have a number; None if no run has one."""

    runs: int
    median: float | None


class RunFacts(NamedTuple):
    """Counts and means over runs, at the last checkpoint; arrays are (K,)."""

    bandit: Bandit
    settings: dict[str, Any]
    runs: int
    pulls: int  # per run
    best_private_found: int | None  # runs; None for a goal other than the best arm
    right_answers: int  # runs
    mean_error: float
    mean_log_error: float
    recommended: IntArray  # runs whose answer contains the arm
    mean_pulls: FloatArray
    pulls_half_width: FloatArray  # half-widths of the 95 % intervals of the mean pulls
    mean_boosts: FloatArray
    medians: dict[str, Median]  # by variable

    def to_json(self) -> dict[str, Any]:
        """Return the facts in plain types, with what was run and by which versions."""
        numbers = self._asdict() | {name: median._asdict() for name, median in self.medians.items()}
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in numbers.items()}
        del plain["bandit"], plain["medians"]
        return {"instance": instance_of(self.bandit)} | plain | {"versions": versions()}

    def in_words(self) -> ArmFacts:
        """Put the facts into words."""
        found = "best private arm" if self.best_private_found is not None else "right answer"
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        title = (
            f"{runs} of {self.pulls:,} pulls: {found} found in {self.right_answers};\n"
            f"the mean posterior error is {self.mean_error:.2g} "
            f"(log₁₀ error {self.mean_log_error / math.log(10):.3g} on average)"
        )
        arms = FactTable(
            head=("arm", "public", "private", "pulls", "± 95 %", "boosts", "recommended"),
            rows=[self._arm(arm) for arm in range(self.bandit.n_arms)],
            notes=[*self._notes(), "arms count from 0, * marks the best"],
        )
        return ArmFacts(title, arms)

    def _arm(self, arm: int) -> tuple[str, ...]:
        return (
            str(arm),
            f"{self.bandit.public[arm]:g}" + "*" * (arm == self.bandit.best_public),
            f"{self.bandit.private[arm]:g}" + "*" * ("best private" in roles(self.bandit, arm)),
            f"{self.mean_pulls[arm]:,.1f}",
            f"{self.pulls_half_width[arm]:,.1f}",
            f"{self.mean_boosts[arm]:,.1f}",
            str(self.recommended[arm]),
        )

    def _notes(self) -> list[str]:
        found = ["private means were drawn for every run, around those shown"] if self.bandit.draws_private else []
        for name, what in (("stopping_time", "stopped"), ("detection_time", "were detected")):
            if name in self.medians:
                count, median = self.medians[name]
                found.append(f"{count} runs {what}" + ("" if median is None else f", median {median:,.0f} pulls"))
        gain = self.medians["private_gain"].median if "private_gain" in self.medians else None
        return found if gain is None else [*found, f"median private gain over the reference itself {gain:,.1f}"]


def facts_of_run(runs: Runs) -> RunFacts:
    """Sum up runs at their last checkpoint."""
    last = {name: values[:, -1] if values.ndim > 1 else values for name, values in runs.variables.items()}
    pulls, log_error = last["pulls"], last["log_error"]
    recommended = last["answer"].sum(0)
    right = _count_right(runs, last["answer"])
    return RunFacts(
        bandit=runs.bandit,
        settings=runs.settings,
        runs=len(runs.options.which),
        pulls=int(runs.times[-1]),
        best_private_found=right if isinstance(runs.scenario.goal, BestArm) else None,
        right_answers=right,
        mean_error=float(np.exp(log_error).mean()),
        mean_log_error=float(log_error.mean()),
        recommended=recommended,
        mean_pulls=pulls.mean(0),
        pulls_half_width=1.96 * pulls.std(0) / math.sqrt(len(pulls)),
        mean_boosts=last["boosts"].mean(0),
        medians={name: _median(last[name]) for name in _MEDIANS if name in last},
    )


def _count_right(runs: Runs, answers: BoolArray) -> int:
    """Count the runs whose answer is right, by the run's own private means if these were drawn."""
    goal = runs.scenario.goal
    if runs.truth is None:
        truth = answer_of(goal, np.array(runs.bandit.private))
    else:
        truth = np.array([answer_of(goal, means) for means in runs.truth])
    return int((answers == truth).all(1).sum())


def _median(values: FloatArray) -> Median:
    there = values[~np.isnan(values)]
    return Median(there.size, float(np.median(there)) if there.size else None)
