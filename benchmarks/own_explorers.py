"""Compare an explorer in plain Python that chooses for all replications at once with one that chooses for each."""

import time

import numpy as np

from feint.explorers.base import PlainView, Uniforms
from feint.explorers.together import PlainViews
from feint.registry.instance_files import PAPER
from feint.simulation.simulate import simulate

_REPLICATIONS, _HORIZON = 100, 300


class _OneByOne:
    """Boost one of the two arms that are most likely the best private one, and more often the one with fewer pulls."""

    def choose(self, view: PlainView, uniforms: Uniforms) -> int:
        first, second = np.argsort(-view.private_probabilities)[:2]
        share = view.pulls[second] / (view.pulls[first] + view.pulls[second])
        return int(first if uniforms[2] < share else second)


class _Together(_OneByOne):
    def choose_many(self, views: PlainViews, uniforms: np.ndarray) -> np.ndarray:
        first, second = np.argsort(-views.private_probabilities, axis=1)[:, :2].T
        rows = np.arange(first.size)
        pulls = views.pulls[rows, first], views.pulls[rows, second]
        return np.where(uniforms[:, 2] < pulls[1] / (pulls[0] + pulls[1]), first, second)


def _seconds(explorer: _OneByOne, horizon: int) -> float:
    """Return the CPU seconds of a run per replication and step."""
    start = time.process_time()
    simulate(PAPER, explorer, epsilon=0.1, horizon=horizon, replications=_REPLICATIONS)
    return (time.process_time() - start) / (_REPLICATIONS * horizon)


def choose_many() -> str:
    """Return the line of µs per trajectory-step with `choose` and with `choose_many`, and their ratio."""
    explorers = _OneByOne(), _Together()
    for explorer in explorers:
        _seconds(explorer, PAPER.n_arms + 1)  # compile
    one, many = (_seconds(explorer, _HORIZON) for explorer in explorers)
    return (
        f"## An explorer in plain Python, paper's instance, {_REPLICATIONS} replications\n\n"
        f"With `choose` a step takes {1e6 * one:.0f} µs, with `choose_many` {1e6 * many:.1f} µs: a ratio of "
        f"{one / many:.1f}.\n"
    )
