"""One run, pull by pull: what the agent does, what the observer expects, and the evidence that this leaves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from feint.agent import Agent
from feint.bandit import Bandit
from feint.explorers import TopTwo
from feint.logs import RewardStream
from feint.observer import Observer
from feint.references import ThompsonSampling
from feint.style import COLOURS, GREY, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

LONGEST = 100_000  # pulls of a live agent and a live observer, some seconds


def follow(
    bandit: Bandit,
    explorer: Any = TopTwo(),  # noqa: B008 - frozen
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    *,
    epsilon: Any,
    horizon: int,
    seed: int = 0,
    replication: int = 0,
) -> "Dataset":
    """One replication of `simulate` by time, from a live agent with a live observer beside it.

    `arm(time)`; `policy` and `expected(time, arms)`, NaN in the initial round; `log_error` and `log_e_value(time)`.

    >>> run = follow(Bandit([0.6, 0.3], [0.2, 0.5]), epsilon=0.1, horizon=20)
    >>> bool((abs(run.policy.sum("arms")[2:] - 1) < 1e-12).all()), run.arm.values[:2].tolist()
    (True, [0, 1])
    """
    import xarray as xr

    if horizon > LONGEST:
        raise ValueError(f"horizon is {horizon:,}; a single run is followed for at most {LONGEST:,} pulls.")
    n = bandit.n_arms
    agent = Agent(n, explorer, reference, epsilon=epsilon, family=bandit.families, seed=seed, replication=replication)
    observer = Observer(n, reference, family=bandit.families[0])
    source = RewardStream(bandit, seed, replication)
    arms = np.empty(horizon, dtype=np.int64)
    policy, expected = np.full((2, horizon, n), np.nan)
    log_error, log_e_value = np.full((2, horizon), np.nan)
    for t in range(horizon):
        if t >= n:
            policy[t], expected[t] = agent.probabilities(), agent.reference_probabilities()
        arm = arms[t] = agent.pull()
        public, private = source.rewards(t, arm)
        agent.update(arm, public, private)
        log_e_value[t] = observer.update(int(arm), public)
        if t + 1 >= n:
            log_error[t] = agent.log_error
    return xr.Dataset(
        {
            "arm": ("time", arms),
            "policy": (("time", "arms"), policy),
            "expected": (("time", "arms"), expected),
            "log_error": ("time", log_error),
            "log_e_value": ("time", log_e_value),
        },
        coords={"time": np.arange(1, horizon + 1), "arms": np.arange(n)},
    )


def draw_run(run: "Dataset", alpha: float) -> "Figure":
    """From above: which arm was pulled, the policy against what is expected, the evidence against its threshold."""
    figure = new_figure(7.2, 6.0)
    pulled, policy, evidence = figure.subplots(3, 1, sharex=True, height_ratios=(2, 4, 3))
    t = run.time.values
    for arm in run.arms.values:
        colour = COLOURS[int(arm) % len(COLOURS)]
        at = t[run.arm.values == arm]
        pulled.plot(at, np.full(at.size, arm), "|", color=colour, markersize=5, rasterized=True)
        policy.plot(t, run.expected.sel(arms=arm), color=colour, linewidth=0.8)
        # Dots: who is boosted changes from pull to pull, and lines would fill the panel.
        policy.plot(t, run.policy.sel(arms=arm), ".", color=colour, markersize=1.5, rasterized=True)
        policy.plot([], [], "s", color=colour, markersize=5, label=f"arm {arm}")
    policy.plot([], [], ".", color=GREY, markersize=3, label="policy")
    policy.plot([], [], color=GREY, linewidth=0.8, label="expected")
    pulled.set(ylabel="pulled arm", yticks=run.arms.values, ylim=(run.sizes["arms"] - 0.5, -0.5))
    policy.set(ylabel="probability", yscale="log", ylim=(1e-6, 1.5))
    evidence.plot(t, run.log_e_value / np.log(10), color=COLOURS[0], label=r"$\log_{10}$ evidence")
    evidence.plot(t, run.log_error / np.log(10), color=COLOURS[1], label=r"$\log_{10}$ private error")
    evidence.axhline(-np.log10(alpha), color=GREY, linewidth=0.8, linestyle="--", label=f"alarm at {alpha:g}")
    evidence.set(xlabel="time $t$", xscale="log", ylabel=r"$\log_{10}$")
    for axes in (policy, evidence):
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(pulled, policy, evidence)
    return figure
