"""The KL constraint, step by step: what the agent spends against what it may spend."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.agent.agent import Agent
from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.experiments.findings import Finding
from feint.numerics import RandomStream, best_arm_probabilities
from feint.registry.instance_files import PAPER
from feint.support.figure_style import GREY, new_figure, ordered_colours, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "epsilons": (0.001, 0.1, 1.0),
    "horizon": 5_000,
}
QUICK: dict[str, Any] = {"horizon": 1_000}
FULL: dict[str, Any] = {}
CAPTION = (
    "What each step of one live agent spends, as a share of what it may, over {horizon} pulls; a budget that "
    "every step spends in full is not drawn."
)


def steps(settings: dict[str, Any]) -> int:
    """Return the steps of live agents."""
    return len(settings["epsilons"]) * int(settings["horizon"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `spent(epsilon, time)` = KL(policy ‖ reference)/ε of live agents; recompute the reference from rewards."""
    bandit = Bandit(settings["public"], settings["private"])
    n, horizon = bandit.n_arms, settings["horizon"]
    spent = np.empty((len(settings["epsilons"]), horizon - n))
    for i, epsilon in enumerate(settings["epsilons"]):
        agent = Agent(n, epsilon=epsilon, seed=seed, replication=i)
        noise = RandomStream(seed, i).normals(range(horizon))
        sums, pulls = np.zeros(n), np.zeros(n)
        for t in range(horizon):
            if t >= n:
                pi = best_arm_probabilities(sums / pulls, 1 / np.sqrt(pulls))
                policy = agent.probabilities()
                kept = policy > 0
                spent[i, t - n] = float((policy[kept] * np.log(policy[kept] / pi[kept])).sum()) / epsilon
            arm = agent.pull()
            reward = bandit.public[arm] + noise[t, 0]
            agent.update(arm, reward, bandit.private[arm] + noise[t, 1])
            sums[arm] += reward
            pulls[arm] += 1
        tick(horizon)
    return xr.Dataset(
        {"spent": (("epsilon", "time"), spent)},
        coords={"epsilon": list(settings["epsilons"]), "time": np.arange(n, horizon)},
    )


def plot(data: xr.Dataset) -> "Figure":
    """Draw the share of the budget that each step spends, for budgets that are not always spent in full."""
    figure = new_figure(7.2, 2.6)
    varied = [e for e in data.epsilon.values if float(data.spent.sel(epsilon=e).min()) < 0.99]
    chosen = varied or list(data.epsilon.values)
    panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
    for axes, colour, epsilon in zip(panels, ordered_colours(len(chosen)), chosen, strict=True):
        axes.plot(data.time, data.spent.sel(epsilon=epsilon), ".", markersize=1.5, color=colour, rasterized=True)
        axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
        axes.set(xscale="log", xlabel="time $t$", title=rf"$\varepsilon = {epsilon:g}$", ylim=(-0.05, 1.1))
    panels[0].set_ylabel(r"KL(policy ‖ reference) / $\varepsilon$")
    tidy(*panels)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that no step spends more than the budget."""
    largest = float(data.spent.max())
    return [
        Finding(
            "the KL constraint holds at every step",
            "for all t > 0 and any history H_t, d_KL(π(H_t), π_ref(H_t^pub)) ≤ ε",
            f"largest KL/ε over {data.spent.size:,} steps",
            largest,
            largest,
            largest,
            at_most=1 + 1e-9,
            level=0.0,
            theorem=True,
        )
    ]
