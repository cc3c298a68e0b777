"""One run, pull by pull: what the agent does, what the observer expects, and the evidence that builds up."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from feint._types import FloatArray
from feint.agent.agent import Agent
from feint.agent.observer import Observer
from feint.agent.public_log import RewardStream
from feint.bandit import Bandit
from feint.explorers import TopTwo
from feint.goals import BestArm
from feint.references import ThompsonSampling
from feint.support.figure_style import COLOURS, GREY, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

LONGEST = 100_000  # the most pulls to trace: a live agent and a live observer take some seconds


class Trace:
    """A live agent with its live observer; pulls are those of `simulate` for the same seed and replication."""

    def __init__(
        self,
        bandit: Bandit,
        explorer: Any = TopTwo(),  # noqa: B008 - frozen
        reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
        *,
        epsilon: Any,
        seed: int = 0,
        replication: int = 0,
        goal: Any = BestArm(),  # noqa: B008 - frozen
    ) -> None:
        n, families = bandit.n_arms, bandit.families
        settings: dict[str, Any] = {"family": families, "feedback": bandit.feedback, "epsilon": epsilon, "goal": goal}
        self.agent = Agent(n, explorer, reference, **settings, seed=seed, replication=replication)
        self.observer = Observer(n, reference, family=families[0])
        self._rewards = RewardStream(bandit, seed, replication)
        self.arms: list[int] = []  # pulled
        self.log_errors: list[float] = []  # after each pull; NaN in the initial round
        self.log_e_values: list[float] = []

    @property
    def time(self) -> int:
        """The number of pulls made."""
        return len(self.arms)

    def advance(self) -> None:
        """Make one pull."""
        arm = self.agent.pull()
        public, private = self._rewards.rewards(self.time, arm)
        self.agent.update(arm, public, private)
        self.arms.append(arm)
        self.log_errors.append(self.agent.log_error if self.time >= self.agent.n_arms else math.nan)
        self.log_e_values.append(self.observer.update(arm, public))

    def policy(self) -> tuple[FloatArray, FloatArray]:
        """Return (the agent's probabilities of the coming pull, the observer's)."""
        return self.agent.probabilities(), self.agent.reference_probabilities()


def trace_run(trace: Trace, horizon: int) -> "Dataset":
    """Make a whole run and return it by time.

    It has `arm(time)`; `policy` and `expected(time, arms)`, NaN in the initial round; `log_error`, `log_e_value(time)`.

    >>> run = trace_run(Trace(Bandit([0.6, 0.3], [0.2, 0.5]), epsilon=0.1), 20)
    >>> bool((abs(run.policy.sum("arms")[2:] - 1) < 1e-12).all()), run.arm.values[:2].tolist()
    (True, [0, 1])
    """
    import xarray as xr

    if horizon > LONGEST:
        raise ValueError(f"horizon is {horizon:,}; a single run is traced for at most {LONGEST:,} pulls; give fewer.")
    n = trace.agent.n_arms
    policy, expected = np.full((2, horizon, n), np.nan)
    for t in range(horizon):
        if t >= n:
            policy[t], expected[t] = trace.policy()
        trace.advance()
    return xr.Dataset(
        {
            "arm": ("time", trace.arms),
            "policy": (("time", "arms"), policy),
            "expected": (("time", "arms"), expected),
            "log_error": ("time", trace.log_errors),
            "log_e_value": ("time", trace.log_e_values),
        },
        coords={"time": np.arange(1, horizon + 1), "arms": np.arange(n)},
    )


def draw_run(run: "Dataset", alpha: float) -> "Figure":
    """Draw, from top to bottom, the pulled arms, the policy beside what is expected, and the evidence."""
    figure = new_figure(7.2, 6.0)
    pulled, policy, evidence = figure.subplots(3, 1, sharex=True, height_ratios=(2, 4, 3))
    t = run.time.values
    for arm in run.arms.values:
        colour = COLOURS[int(arm) % len(COLOURS)]
        at = t[run.arm.values == arm]
        pulled.plot(at, np.full(at.size, arm), "|", color=colour, markersize=5, rasterized=True)
        policy.plot(t, run.expected.sel(arms=arm), color=colour, linewidth=0.8)
        # Dots, since the boosted arm changes from pull to pull and lines would fill the panel.
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
