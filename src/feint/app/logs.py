"""Logs that are ready to audit without a file: that of a run in Explore, and samples to try."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from feint.agent.public_log import public_log
from feint.app.claims import CLAIMS, OF_FAMILY, SPLIT, STRONGEST
from feint.app.unfolding import Unfolding, Watched
from feint.explorers import TopTwo
from feint.families import Gaussian
from feint.registry.instance_files import PAPER

_PULLS = 3_000
_VISITORS = 4_000


class ReadyLog(NamedTuple):
    """A log with what is claimed about it."""

    name: str
    table: dict[str, Any]
    claim: str
    number: str
    arms: int
    note: str = ""


def log_of_run(run: Unfolding, trace: Watched) -> ReadyLog:
    """Return what the observer of one of two agents has seen so far; Thompson Sampling is claimed."""
    bandit = run.setting.bandit
    family = bandit.families[0]
    claim = OF_FAMILY.get(family.name, STRONGEST)
    number = f"{family.sigma:g}" if isinstance(family, Gaussian) else CLAIMS[claim].usual
    note = "The observer in Explore bets on boosts alone; an audit divides its stake between several bets."
    return ReadyLog("run.csv", run.log(trace), claim, number, bandit.n_arms, note)


def _of_agent(name: str, epsilon: float) -> ReadyLog:
    table = public_log(PAPER, TopTwo(), epsilon=epsilon, horizon=_PULLS)
    return ReadyLog(name, table, OF_FAMILY["gaussian"], "1", PAPER.n_arms)


def _of_split() -> ReadyLog:
    """Return a test of two variants in which the second gets 45 % of the visitors instead of half."""
    chance = np.random.default_rng(1)
    arms = (chance.random(_VISITORS) < 0.45).astype(int)
    table = {"time": np.arange(1, _VISITORS + 1), "arm": arms}
    return ReadyLog("split.csv", table, SPLIT, "0.5,0.5", 2)


SAMPLES: dict[str, Callable[[], ReadyLog]] = {
    "An honest agent": lambda: _of_agent("honest.csv", 0.0),
    "An agent that deceives": lambda: _of_agent("deceptive.csv", 0.1),
    "A split that is not 50:50": _of_split,
}
