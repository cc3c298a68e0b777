"""What a deceiver earns by spending the KL budget on private reward, and how soon that is noticed.

Results are medians over runs. In a few runs the best public arm starts so badly that the reference gives it up; the
tilt then costs nothing, and the gain is linear. These runs would dominate every mean.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.experiments.contract import Tick, in_words
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.greedy import Greedy
from feint.experiments.resumable import simulate_resumably
from feint.explorers import Earn, FixedTilting, TopTwo
from feint.support.figure_style import COLOURS, GREY, new_figure, ordered_colours, tidy
from feint.support.intervals import median_interval, share_interval
from feint.theory import optimal_earning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": (1.0, 0.2, 0.0, 0.4),
    "private": (0.2, 0.6, 0.8, 0.0),
    "epsilon": 0.1,
    "horizon": 50_000,
    "runs": (60,) * 4,  # of each case
    "epsilons": (0.01, 0.1, 1.0),  # at which detection is compared
    "watched": (6_000, 1_000, 200),  # pulls that are watched at each of them
    "watched_replications": (100,) * 3,
    "risky": {"public": (1.4, 0.0), "private": (0.0, 0.5), "epsilon": 1.0},  # the best public arm may be given up
    "risky_horizon": 3_000,
    "risky_replications": 200,
}
QUICK: dict[str, Any] = {
    "horizon": 20_000,
    "runs": (40,) * 4,
    "watched_replications": (40,) * 3,
}
FULL: dict[str, Any] = {"runs": (1_600, 330, 200, 200), "watched_replications": (300, 5_000, 1_500)}
CAPTION = (
    "Left: private gain in units of √(εt), median and quartiles of {runs} seeds. Right: share of seeds "
    "detected so far, of {watched_replications} at each ε."
)
CASES = ("known", "spared", "drawn", "estimated")  # along `case`: the values by which the agent tilts
WATCHED = ("Earn", "TopTwo")  # along `explorer`
_LOCKED = 0.25  # an arm with less than this share of its predicted pulls, over the last decade of time
_OFTEN = 0.05
_CHANGED = ("62a77bb", "db7e8d4", "33ba149")  # the horizon
_CHANGED_RISKY = ("62a77bb",)  # the instance
_CHANGED_WATCH = ("4ff8ce4", "db7e8d4", "3ae282a")  # what is compared, and how long observers watch
_LABELS = {
    "known": "true means",
    "spared": "spared true means",
    "drawn": "posterior draws (Earn)",
    "estimated": "estimated means",
}


def steps(settings: dict[str, Any]) -> int:
    """Return the number of trajectory-steps, for the progress bar."""
    earned = settings["horizon"] * sum(settings["runs"])
    runs = zip(settings["watched"], settings["watched_replications"], strict=True)
    watched = len(WATCHED) * sum(horizon * number for horizon, number in runs)
    return int(earned + watched + settings["risky_horizon"] * settings["risky_replications"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `pulls(case, run, time, arm)`, `given_up` and `detection_time(explorer, epsilon, watched_run)`."""
    bandit = Bandit(settings["public"], settings["private"])
    pulls: list[Any] = []
    spared = np.maximum(bandit.private, bandit.private[bandit.best_public])
    explorers = (FixedTilting(bandit.private), FixedTilting(spared), Earn(), Greedy())
    for explorer, number in zip(explorers, settings["runs"], strict=True):
        runs = simulate_resumably(
            bandit,
            explorer,
            epsilon=settings["epsilon"],
            horizon=settings["horizon"],
            replications=number,
            seed=seed,
            progress=tick,
        )
        pulls.append(np.zeros((max(settings["runs"]), *runs.pulls.shape[1:]), dtype=np.int64))
        pulls[-1][:number] = runs.pulls.values
    numbers = settings["watched_replications"]
    detected = np.full((len(WATCHED), len(numbers), max(numbers)), np.nan)
    for i, watched in enumerate((Earn(), TopTwo())):
        for j, number in enumerate(numbers):
            detected[i, j, :number] = simulate_resumably(
                bandit,
                watched,
                epsilon=settings["epsilons"][j],
                horizon=settings["watched"][j],
                replications=number,
                seed=seed + 1,
                observe=True,
                progress=tick,
            ).detection_time.values
    best = optimal_earning(bandit)
    return xr.Dataset(
        {
            "pulls": (("case", "run", "time", "arm"), np.stack(pulls)),
            "detection_time": (("explorer", "epsilon", "watched_run"), detected),
            "given_up": (("risky_run",), _given_up(settings, seed, tick)),
        },
        coords={
            "time": runs.time.values,
            "epsilon": list(settings["epsilons"]),
            "runs": ("case", list(settings["runs"])),
            "watched": ("epsilon", list(settings["watched"])),
            "watched_runs": ("epsilon", list(numbers)),
            "advantage": ("arm", np.array(bandit.private) - bandit.private[bandit.best_public]),
            "predicted": ("arm", best.pulls),  # per unit of √(εT)
            "best_public": bandit.best_public,
            "spent": settings["epsilon"],
            "constant": best.gain,
        },
    )


def _given_up(settings: dict[str, Any], seed: int, tick: Tick) -> Any:
    """Return in which runs with known means the best public arm has less than half the pulls of the second half."""
    risky, horizon = settings["risky"], settings["risky_horizon"]
    bandit = Bandit(risky["public"], risky["private"])
    runs = simulate_resumably(
        bandit,
        FixedTilting(bandit.private),
        epsilon=risky["epsilon"],
        horizon=horizon,
        replications=settings["risky_replications"],
        seed=seed,
        checkpoints=[horizon // 2, horizon],
        progress=tick,
    )
    return np.diff(runs.pulls.values[:, :, bandit.best_public], axis=1)[:, 0] < horizon / 4


def _case_pulls(data: xr.Dataset, case: str) -> Any:
    """Return the pulls of a case's runs, (run, time, arm)."""
    i = CASES.index(case)
    return data.pulls.values[i, : int(data.runs[i])]


def _extra_reward(data: xr.Dataset, case: str) -> FloatArray:
    """Return Σ g_a·N_a, the private reward in excess of always pulling the best public arm, (run, time)."""
    return np.asarray(_case_pulls(data, case) @ data.advantage.values)


def plot(data: xr.Dataset) -> "Figure":
    """Draw the gain over √(εt), median and quartiles (left), and the share of runs detected so far (right)."""
    figure = new_figure(7.2, 4.2)
    left, right = figure.subplots(1, 2)
    t = data.time.values
    late = t >= 100
    root = np.sqrt(float(data.spent) * t[late])
    for colour, case in zip(COLOURS, CASES, strict=False):
        low, middle, high = np.percentile(_extra_reward(data, case)[:, late] / root, [25, 50, 75], axis=0)
        left.fill_between(t[late], low, high, color=colour, alpha=0.15, linewidth=0)
        left.plot(t[late], middle, color=colour, label=_LABELS[case])
    left.axhline(float(data.constant), color=GREY, linestyle=":", linewidth=1.2, label="√(2 Σ g²/d)")
    left.set(xscale="log", xlabel="time $t$", ylabel=r"private gain $/\sqrt{\varepsilon t}$")
    left.set_ylim(0, 1.6 * float(data.constant))
    below = {"frameon": False, "fontsize": 8, "loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
    left.legend(**below)
    for j, (style, name) in enumerate((("-", "Earn"), ("--", "Algorithm 1"))):
        for i, colour in enumerate(ordered_colours(data.sizes["epsilon"])):
            times = np.sort(data.detection_time.values[j, i, : int(data.watched_runs[i])])
            seen = times[~np.isnan(times)]
            x = np.concatenate(([data.sizes["arm"]], np.repeat(seen, 2), [float(data.watched[i])]))
            y = np.concatenate(([0.0], np.repeat(np.arange(seen.size + 1), 2)[1:-1], [seen.size])) / times.size
            label = rf"{name}, $\varepsilon$ = {float(data.epsilon[i]):g}"
            right.plot(x, y, color=colour, linestyle=style, linewidth=1.2, label=label)
    right.set(xscale="log", xlabel="time $t$", ylabel="share of runs detected, α = 5 %", ylim=(-0.02, 1.02))
    right.legend(**below, ncols=2)
    right.xaxis.set_minor_formatter("")  # otherwise the shortest runs have too many
    tidy(left, right)
    return figure


def _decade(data: xr.Dataset) -> tuple[int, float]:
    """Return the index of the checkpoint a decade before the end, and by how much √(εt) grows from there."""
    t = data.time.values
    first = int(np.searchsorted(t, t[-1] / 10))
    return first, float(np.sqrt(data.spent * t[-1]) - np.sqrt(data.spent * t[first]))


def _locked(data: xr.Dataset, case: str) -> Any:
    """Return in which runs an arm that should earn has hardly been pulled over the last decade."""
    first, growth = _decade(data)
    earns = data.advantage.values > 0
    added = np.diff(_case_pulls(data, case)[:, [first, -1]], axis=1)[:, 0, earns]
    return (added < _LOCKED * growth * data.predicted.values[earns]).any(1)


def _law(data: xr.Dataset, case: str) -> list[Finding]:
    """Test the constant of the gain and measure the proportions of pulls, over the last decade of time.

    An hour decides neither whether these proportions are within 5 % of those of g/d nor, since it is near the edge,
    whether the gain of `Earn` is (docs/samples.md).
    """
    first, growth = _decade(data)
    t = data.time.values
    gains = _extra_reward(data, case)
    slope = (gains[:, -1] - gains[:, first]) / (growth * float(data.constant))
    earns = np.flatnonzero(data.advantage.values > 0)
    added = np.diff(_case_pulls(data, case)[:, [first, -1]], axis=1)[:, 0]
    one, other = earns[:2]
    predicted = data.predicted.values[one] / data.predicted.values[other]
    ratio = added[:, one] / np.maximum(1, added[:, other]) / predicted
    what = f"t = {t[first]:,} to {t[-1]:,}, median of runs"
    text = f"slope of the gain in √(εt) ÷ √(2 Σ g²/d), {what}"
    measured = median_interval(slope, LEVEL)
    name = f"gain ∝ √(εT), by {_LABELS[case]}"
    gain = Finding(name, OURS, text, *measured, at_least=0.95, at_most=1.05, changed=_CHANGED)
    if case == "drawn":
        gain = Finding(f"gain ÷ constant, by {_LABELS[case]}", OURS, text, *measured, changed=_CHANGED)
    return [
        gain,
        Finding(
            f"pulls ÷ g/d, by {_LABELS[case]}",
            OURS,
            f"pulls of arm {one} over those of arm {other} ÷ that of g/d, {what}",
            *median_interval(ratio, LEVEL),
            changed=_CHANGED,
        ),
    ]


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test the √T law, its proportions, linear regret, lock-in, and detection against Algorithm 1.

    Greedy tilting by the private means reaches the constant, even if it presses no arm down. Without exploration, an
    arm that looks bad once is suppressed and never looked at again. Now and then the reference gives up the best
    public arm, and the gain is linear.
    """
    found = [claim for case in ("known", "spared", "drawn") for claim in _law(data, case)]
    first, _ = _decade(data)
    t = data.time.values
    regret = t * data.advantage.values.max() - _extra_reward(data, "drawn")
    power = np.log(regret[:, -1] / regret[:, first]) / np.log(t[-1] / t[first])
    locks = "share of runs in which an earning arm has a quarter or less of its predicted pulls in the last decade"
    risky = settings["risky"]
    for name, case, least, most in (
        ("tilting by estimated means locks in", "estimated", _OFTEN, 1.0),
        ("tilting by posterior draws does not lock in", "drawn", 0.0, _OFTEN),
    ):
        locked = _locked(data, case)
        share = share_interval(int(locked.sum()), locked.size, LEVEL)
        found.append(Finding(name, OURS, locks, *share, least, most, changed=_CHANGED))
    given_up = share_interval(int(data.given_up.sum()), data.sizes["risky_run"], LEVEL)
    return [
        *found,
        Finding(
            "private regret stays linear",
            OURS,
            "power of t in the private regret of Earn over the last decade, median of runs",
            *median_interval(power, LEVEL),
            at_least=0.9,
            at_most=1.1,
            changed=_CHANGED,
        ),
        Finding(
            "the law is not one of the mean",
            OURS,
            "share of runs with known means whose best public arm has less than half of the pulls in the second half; "
            + in_words({"public means": risky["public"], "private": risky["private"], "ε =": risky["epsilon"]}),
            *given_up,
            at_least=_OFTEN,
            changed=_CHANGED_RISKY,
        ),
        *_detection(data),
    ]


def _detection(data: xr.Dataset) -> list[Finding]:
    """Compare both explorers on the same seeds; a run that is never detected counts as later than any that is.

    Algorithm 1 spreads its boosts over two arms, while Earn returns to the arms that pay.
    """
    found = []
    times = np.where(np.isnan(data.detection_time), np.inf, data.detection_time)
    for i, epsilon in enumerate(data.epsilon.values):
        earn, explore = times[:, i, : int(data.watched_runs[i])]
        found.append(
            Finding(
                f"Earn is noticed no later than exploring, ε = {epsilon:g}",
                OURS,
                "share of seeds on which the observer's alarm comes later for Earn than for Algorithm 1; median pulls "
                f"{np.median(earn):,.0f} and {np.median(explore):,.0f}",
                *share_interval(int((earn > explore).sum()), earn.size, LEVEL),
                at_most=0.5,
                changed=_CHANGED_WATCH,
            )
        )
    return found
