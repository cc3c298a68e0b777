"""Study: the checked description of which cells to simulate, how far and how often; `sweep.Sweep` runs it."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from feint._types import BoolArray
from feint.agent.assembly import assemble
from feint.bandit import Bandit
from feint.budgets import Epsilon
from feint.explorers import Explorer, TopTwo
from feint.goals import BestArm, Goal
from feint.goals.base import answer_of
from feint.references import Reference, ThompsonSampling
from feint.registry import config_of
from feint.simulation.checks import check_events, check_most_pulls
from feint.simulation.dataset import instance_of
from feint.simulation.engine.watch import RECORDED
from feint.simulation.scenario import Method, RunOptions, Scenario, check_whole
from feint.support.errors import blaming
from feint.sweep.axes import AXES, SORTS, CellIndex, find_places, read_bandits, read_parts, short_labels


class Study:
    """The product of bandits, explorers, references and budgets, or those of its cells that `cells` names.

    `axes[dimension]` has the labels and what they stand for; `wanted` says which cells of the product belong to it.
    """

    # As in `simulate`, each can be left out or named; bundling them would only hide their names.
    def __init__(
        self,
        bandits: Mapping[str, Bandit],
        explorers: Iterable[Explorer] | Mapping[str, Explorer] = (TopTwo(),),
        epsilons: Iterable[Epsilon] | Mapping[str, Epsilon] = (),
        references: Iterable[Reference] | Mapping[str, Reference] = (ThompsonSampling(),),
        *,
        horizon: int,
        replications: int = 100,
        seed: int = 0,
        delta: float | None = None,
        observe: bool = False,
        alpha: float = 0.05,
        checkpoints: ArrayLike | None = None,
        method: Method = "lazy",
        goal: Goal = BestArm(),  # noqa: B008 - frozen
        cells: Iterable[Mapping[str, Any]] | None = None,
        text: str = "",
    ) -> None:
        self.axes: dict[str, dict[Any, Any]] = {
            "bandit": read_bandits(bandits),
            "explorer": read_parts(explorers, "explorer"),
            "reference": read_parts(references, "reference"),
            "epsilon": read_parts(epsilons, "epsilon"),
        }
        given = {"explorer": explorers, "reference": references, "epsilon": epsilons}
        self._usual_labels = {axis for axis, values in given.items() if not isinstance(values, Mapping)}
        self.text = text  # of the file it came from
        self.goal = goal
        self.replications = check_whole(replications, "replications", 1)
        run = RunOptions(
            horizon=horizon,
            seed=seed,
            checkpoints=checkpoints,
            delta=delta,
            method=method,
            observe=observe,
            alpha=alpha,
        )
        self._check_horizon(run.horizon)
        self.times = run.times(self.most_arms)
        # In the order in which stores have them: their checksums depend on it.
        names = ("horizon", "seed", "checkpoints", "delta", "method", "observe", "alpha")
        self.options: dict[str, Any] = {name: getattr(run, name) for name in names}
        self.options["checkpoints"] = self.times.tolist()
        self.shape = tuple(len(axis) for axis in self.axes.values())
        self._values = [list(axis.values()) for axis in self.axes.values()]
        self.wanted = self._wanted(cells)
        self.plain, self.together = self._check_cells()

    def __repr__(self) -> str:
        axes = " × ".join(f"{len(axis):,} {name}{'s' * (len(axis) != 1)}" for name, axis in self.axes.items())
        cells = f"{self.wanted.sum():,} of {self.wanted.size:,} cells"
        runs = f"{self.replications:,} replications of {self.options['horizon']:,} pulls"
        return f"<{type(self).__name__}, {axes}: {cells}, {runs}>"

    def _repr_html_(self) -> str:
        from feint.support.html import table

        rows = [(name, f"{len(axis):,}", short_labels(axis)) for name, axis in self.axes.items()]
        return table(repr(self)[1:-1], ("", "how many", "labels"), rows)

    @property
    def most_arms(self) -> int:
        """Return the largest number of arms; bandits with fewer are padded to it."""
        return int(max(bandit.n_arms for bandit in self.axes["bandit"].values()))

    def cell(self, index: CellIndex) -> Scenario:
        """Return what a single call of `simulate` would simulate, at a place of the product."""
        bandit, explorer, reference, budget = (values[i] for values, i in zip(self._values, index, strict=True))
        return Scenario(bandit, explorer, reference, budget, self.goal)

    def name(self, index: CellIndex) -> str:
        """Return the labels of a cell in words: bandit 'a', explorer 'TopTwo()', …"""
        labels = (list(axis)[i] for axis, i in zip(self.axes.values(), index, strict=True))
        return ", ".join(f"{axis} {label!r}" for axis, label in zip(AXES, labels, strict=True))

    def cells(self) -> Iterator[CellIndex]:
        """Yield the indices of all cells, in order."""
        yield from map(tuple, np.argwhere(self.wanted).tolist())

    def labelled_as(self, stored: Mapping[str, Any]) -> Self:
        """Return this study with the labels of a stored one (its `config`), on each axis where that has the same parts
        in the same order and the user gave no labels. How parts are written may have changed since.
        """
        config, same = self.config(), copy.copy(self)
        same.axes = dict(self.axes)
        for axis in SORTS:
            its = stored.get(f"{axis}s")
            if axis in self._usual_labels and its and list(its.values()) == list(config[f"{axis}s"].values()):
                # A number stays one; as the name of a member of a JSON object it is a text.
                labels = [mine if str(mine) == old else old for mine, old in zip(self.axes[axis], its, strict=True)]
                same.axes[axis] = dict(zip(labels, self.axes[axis].values(), strict=True))
        return same

    def variables(self) -> dict[str, tuple[tuple[str, ...], type]]:
        """Return the variables that a simulation leaves: (dimensions, type) by name."""
        named = isinstance(self.goal, BestArm)
        by_time: dict[str, type] = {"log_error": float} | ({"recommendation": int} if named else {})
        by_time |= dict.fromkeys(("public_regret", "private_regret"), float)
        if self._tilts:
            by_time["private_gain"] = float  # NaN for explorers that boost
        by_run = ["stopping_time"] if self.options["delta"] is not None else []
        if self.options["observe"]:
            by_time |= dict.fromkeys(RECORDED, float)
            by_run += ["detection_time", "floor_time", "p_value"]
        by_arm = ("replication", "time", "arm"), int
        return (
            dict.fromkeys(("pulls", "boosts") if named else ("pulls", "boosts", "answer"), by_arm)
            | {name: (("replication", "time"), kind) for name, kind in by_time.items()}
            | dict.fromkeys(by_run, (("replication",), float))
        )

    def config(self) -> dict[str, Any]:
        """Return all that decides the numbers, as plain JSON: studies are the same if their configurations are."""
        names = [list(map(str, axis)) for axis in self.axes.values()]
        chosen = None
        if not self.wanted.all():
            chosen = [[names[d][i] for d, i in enumerate(index)] for index in self.cells()]
        bandits = {
            label: instance_of(bandit) | {"families": [_described(family, "family") for family in bandit.families]}
            for label, bandit in self.axes["bandit"].items()
        }
        others = {
            f"{axis}s": {str(label): _described(value, sort) for label, value in self.axes[axis].items()}
            for axis, sort in SORTS.items()
        }
        found = {"bandits": bandits, **others, "cells": chosen, "replications": self.replications, **self.options}
        if not isinstance(self.goal, BestArm):
            found["goal"] = _described(self.goal, "goal")
        plain: dict[str, Any] = json.loads(json.dumps(found))
        return plain

    def _check_horizon(self, horizon: int) -> None:
        for label, bandit in self.axes["bandit"].items():
            if horizon < bandit.n_arms:
                raise ValueError(
                    f"horizon is {horizon}, but bandit {label!r} has {bandit.n_arms} arms, and each is pulled once; "
                    f"make it {bandit.n_arms} or more."
                )
            with blaming(f"Bandit {label!r} is invalid: "):
                check_most_pulls(bandit, horizon)

    def _wanted(self, cells: Iterable[Mapping[str, Any]] | None) -> BoolArray:
        if cells is None:
            return np.ones(self.shape, dtype=bool)
        wanted = np.zeros(self.shape, dtype=bool)
        for number, chosen in enumerate(cells):
            if not isinstance(chosen, Mapping) or not set(chosen) <= set(AXES):
                raise ValueError(f"Cell {number} is {chosen!r}; it may name {', '.join(AXES)}, each by its label.")
            places = (find_places(axis, list(self.axes[axis]), chosen.get(axis), number) for axis in AXES)
            wanted[np.ix_(*places)] = True
        if not wanted.any():
            raise ValueError("cells is empty; name at least one cell, or leave it out for the whole product.")
        return wanted

    def _check_cells(self) -> tuple[BoolArray, BoolArray]:
        """Refuse a cell that cannot run, by name. Return which cells run in plain Python, and which of these run all
        replications together, by (bandit, explorer, reference).
        """
        plain, together = np.zeros((2, *self.shape[:3]), dtype=bool)
        self._tilts = False
        for b, e, r in np.argwhere(self.wanted.any(axis=3)).tolist():
            first = int(np.argmax(self.wanted[b, e, r]))
            bandit, explorer, reference, *_ = self.cell((b, e, r, first))
            with blaming(f"The cell of {self.name((b, e, r, first))} is invalid: "):
                agent = assemble(
                    bandit.n_arms, bandit.families, explorer, reference, feedback=bandit.feedback, goal=self.goal
                )
                answer_of(self.goal, np.array(bandit.private))
            plain[b, e, r], together[b, e, r] = agent.plain, agent.together
            self._tilts |= agent.tilts
            if self.options["method"] == "event":
                for at in np.flatnonzero(self.wanted[b, e, r]).tolist():
                    with blaming(f"The cell of {self.name((b, e, r, at))} is invalid: "):
                        budget, options = self.cell((b, e, r, at)).budget, self.options
                        check_events(agent, budget, options["observe"], options["delta"])
        return plain, together


def _described(value: Any, sort: str) -> dict[str, Any]:
    """Return `config_of`, with the source and state of a user's own part, so that a store of another one is refused."""
    config = config_of(value, sort)
    if config.get("own"):
        try:
            config["source"] = inspect.getsource(type(value))
        except (OSError, TypeError):  # the class was typed at a prompt
            config["source"] = None
        state = repr(getattr(value, "__dict__", None) or value)
        config["state"] = None if " at 0x" in state else state
    return config
