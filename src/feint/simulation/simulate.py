"""Simulate many replications of the agent on one instance, on all cores; memory does not grow with the horizon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from feint._types import BoolArray, IntArray
from feint.agent.assembly import Assembly, assemble, may_change
from feint.agent.step import space
from feint.bandit import Bandit
from feint.budgets import Epsilon, as_budget, may_grow
from feint.explorers import Explorer, RoundRobin, TopTwo
from feint.goals import BestArm, Goal
from feint.goals.base import answer_of
from feint.numerics._validate import as_integers, check_flag, check_level, is_whole
from feint.numerics.streams import check_word
from feint.references import Reference, ThompsonSampling
from feint.registry import config_of
from feint.simulation.dataset import Runs
from feint.simulation.engine.record import AnswerRecords, Records, Run
from feint.simulation.engine.replications import Course, run_all
from feint.simulation.engine.rewards import private_truth, rewards_of
from feint.simulation.engine.watch import DETECTION_TIME, FLOOR_TIME, HIGHEST, RECORDED, WATCHED, NoObserver, make_watch
from feint.support.own_parts import call, read
from feint.support.printable import short_repr
from feint.support.progress import ticking

if TYPE_CHECKING:
    import xarray as xr

Method = Literal["lazy", "eager", "event"]
METHODS: tuple[Method, ...] = get_args(Method)
_CHECKPOINTS = 100
_MOST = 2**53


# The options of a run can each be left out or named; bundling them would only hide their names.
def simulate(
    bandit: Bandit,
    explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
    *,
    reference: Reference = ThompsonSampling(),  # noqa: B008 - frozen
    goal: Goal = BestArm(),  # noqa: B008 - frozen
    epsilon: Epsilon,
    horizon: int,
    replications: int | range = 100,
    seed: int = 0,
    checkpoints: ArrayLike | None = None,
    delta: float | None = None,
    method: Method = "lazy",
    observe: bool = False,
    alpha: float = 0.05,
    progress: bool | Callable[[int], object] | None = None,
) -> xr.Dataset:
    """Simulate the agent (Algorithm 1, or another explorer) and record it at checkpoints.

    Parameters
    ----------
    bandit
        The instance, of K arms.
    explorer, reference
        Which arm to boost and what the observer expects: of the package, or of your own (docs/extending.md), of which
        every replication gets a copy. In plain Python a step takes about 200 µs, with `choose_many` over replications
        about 10 µs, and with a kernel well below 1 µs.
    goal
        What is to be learnt of the private means: `BestArm()`, `TopArms(m)`, `AboveThreshold(threshold)`, or one of
        your own.
    epsilon
        KL budget per step: a number, math.inf, `PowerLaw`, `TotalBudget`, or anything with `at(t)`.
    horizon
        Pulls per replication, the initial round included.
    replications
        How many to run, or which: a range runs a shard.
    seed
        Replication r of a seed is the same for any number of replications or threads, lazy or eager.
    checkpoints
        (n,) times to record, from K to the horizon; by default about 100 on a logarithmic grid.
    delta
        Stop a replication when the posterior probability of the answer (for `BestArm`, of the likeliest arm) reaches
        1 − δ. Later checkpoints repeat its last values.
    observe
        Run the observer's test (`Observer`, with its usual settings) beside the agent. It needs the reference's
        probabilities at every step, so each step then takes about 10 µs. The trajectories are the same.
    alpha
        Level of that test: it raises the alarm when the e-value reaches 1/α.
    method
        "lazy" evaluates posteriors only where rigorous bounds do not decide; "eager" at every step. The trajectories
        are identical. Families without bounds, explorers that tilt, and anything in plain Python run eagerly.
        "event" goes from one pull of a rarely pulled arm to the next. Its cost grows like the square root of the
        horizon, so it suits horizons from 10⁷ to 10¹² and beyond. It equals the others in law, not step by step: its
        numbers also depend on the checkpoints and the horizon. It needs Thompson Sampling, an explorer that boosts
        (other than `Tracking`), and Gaussian, Bernoulli or Poisson rewards.
    progress
        By default a bar appears after two seconds, in a terminal or a notebook; True shows it at once, and False never.
        Or a function to call with the number of steps just made.

    Returns
    -------
    xarray.Dataset
        `pulls`, `boosts` and `answer`, the arms that the agent would name (replication, time, arm); `log_error` =
        log P(the right answer is not the true one), `public_regret` and `private_regret` = Σ pulls × gap (replication,
        time); and `stopping_time` (replication) if `delta` is given (NaN where not reached). `time` counts pulls made.
        With the goal `BestArm`, also `recommendation` (replication, time), the likeliest arm.
        With an explorer that tilts, such as `Earn`, also `private_gain` (replication, time) = Σ private mean × (its
        pulls − those of an honest twin); the twin is the reference itself on the same draws, so ε = 0 (NaN after a
        stop).

        With `observe`, also by (replication, time): `kl_spent`, the divergence so far; `log_e_value`, the evidence it
        left; `log_likelihood_ratio`, the evidence of an observer who knows every boost; and `log_floor_ratio`, that of
        one who knows all that the agent knows except its draws. The last is the most that a real observer can hope for
        (NaN where the explorer does not give its probabilities of boosting). By replication: `detection_time` and
        `floor_time`, the first alarms of the observer and of the one behind `log_floor_ratio` (NaN where there was
        none), and `p_value`, the anytime p-value at the end, so that one run serves every level. Coordinates hold the
        means, the gaps and what distinguishes the run.

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = simulate(bandit, epsilon=0.1, horizon=1000, replications=20)
    >>> bool((runs.pulls.sum("arm") == runs.time).all())
    True
    """
    return run_simulation(
        bandit,
        explorer,
        reference,
        epsilon,
        horizon,
        replications,
        goal=goal,
        seed=seed,
        checkpoints=checkpoints,
        delta=delta,
        method=method,
        observe=observe,
        alpha=alpha,
        progress=progress,
    ).dataset()


# The options are those of `simulate`.
def run_simulation(
    bandit: Bandit,
    explorer: Explorer,
    reference: Reference,
    epsilon: Epsilon,
    horizon: int,
    replications: int | range,
    *,
    goal: Goal = BestArm(),  # noqa: B008 - frozen
    seed: int = 0,
    checkpoints: ArrayLike | None = None,
    delta: float | None = None,
    method: Method = "lazy",
    observe: bool = False,
    alpha: float = 0.05,
    progress: bool | Callable[[int], object] | None = False,
) -> Runs:
    """Do what `simulate` does, but return plain arrays, for callers that need no data set or make one of many."""
    check_bandit(bandit)
    check_flag(observe, "observe")
    level = check_level(alpha, "alpha, the level of the observer's test,")
    budget = as_budget(epsilon)
    horizon = check_whole(horizon, "horizon", bandit.n_arms)
    check_most_pulls(bandit, horizon)
    which = _which(replications)
    check_word(seed, "seed")
    times = checkpoint_times(checkpoints, bandit.n_arms, horizon)
    if delta is not None:
        delta = check_level(delta, "delta, the error to stop at,")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")
    agent = assemble(bandit.n_arms, bandit.families, explorer, reference, feedback=bandit.feedback, goal=goal)
    answer = answer_of(goal, np.array(bandit.private))

    records, now, recorded = _allocate(len(which), times, answer, isinstance(goal, BestArm), observe)
    rewards = rewards_of(bandit, agent.own_samples, seed, which.start)
    truth = private_truth(bandit, seed, which)

    def make_run() -> Run:
        problem, known = agent.instantiate()
        private_rewards = rewards._replace(
            **{name: getattr(rewards, name).copy() for name in ("words", "uniforms", "normals", "chances")}
        )
        watcher = make_watch(bandit.n_arms, level, now, recorded) if observe else NoObserver()
        own = records if isinstance(records, Records) else records._replace(found=records.found.copy())
        parts = problem, private_rewards, known, space(bandit.n_arms), own, watcher
        return Run(*parts, truth.argmax(1), 0.0 if delta is None else delta)

    if method == "event":
        check_events(agent, budget, observe, delta)
    own_budget = hasattr(budget, "kernel") and may_change(budget, call(budget, "kernel", None))
    together = agent.together and not own_budget
    used = "lockstep" if together else "plain" if agent.plain else method if agent.has_bounds else "eager"
    keeps_state = agent.keeps_state or own_budget
    slow = used == "eager" or observe
    course = Course(horizon, len(which), used, agent.follows_posterior, budget, slow, keeps_state)
    with ticking(progress, "simulating", len(which) * horizon, "steps") as tick:
        run_all(make_run, course, tick)
    variables: dict[str, Any] = {name: getattr(records, name) for name in ("pulls", "boosts", "log_error")}
    variables |= _answers(records)
    if delta is not None:
        variables["stopping_time"] = records.stopping_time
    if observe:
        variables |= {name: recorded[:, i] for i, name in enumerate(RECORDED)}
        variables |= {
            "detection_time": now[:, DETECTION_TIME],
            "floor_time": now[:, FLOOR_TIME],
            "p_value": np.exp(-now[:, HIGHEST]),
        }
    if agent.tilts:
        honest = run_simulation(bandit, RoundRobin([0]), reference, 0.0, horizon, which, seed=seed, checkpoints=times)
        variables["private_gain"] = _gain(bandit, records, honest.variables["pulls"])
    pulls = records.pulls
    gaps = truth.max(1, keepdims=True) - truth if bandit.draws_private else bandit.private_gaps
    private_regret = np.einsum("rta,ra->rt", pulls, gaps) if bandit.draws_private else pulls @ gaps
    variables |= {"public_regret": pulls @ bandit.public_gaps, "private_regret": private_regret}
    options = {"horizon": horizon, "seed": seed, "delta": delta, "method": method, "observe": observe, "alpha": level}
    settings = run_settings(explorer, reference, budget, which, options, goal)
    return Runs(bandit, which, times, variables, settings, budget, truth if bandit.draws_private else None)


def run_settings(
    explorer: Any,
    reference: Any,
    budget: Any,
    which: range,
    options: dict[str, Any],
    goal: Any = BestArm(),  # noqa: B008 - frozen
) -> dict[str, Any]:
    """Return how a data set was made, as plain JSON, for its attributes."""
    return {
        "explorer": config_of(explorer, "explorer"),
        "reference": config_of(reference, "reference"),
        "epsilon": config_of(budget, "budget"),
        "goal": config_of(goal, "goal"),
        "horizon": options["horizon"],
        "replications": [which.start, which.stop],
        "seed": int(options["seed"]),
        "delta": options["delta"],
        "method": options["method"],
        "observe": options["observe"],
        "alpha": options["alpha"] if options["observe"] else None,
    }


def _gain(bandit: Bandit, records: Any, honest: Any) -> Any:
    """Return the expected private reward in excess of the twin's; NaN after a stop, since the twin does not stop."""
    gain = (records.pulls - honest) @ np.array(bandit.private)
    return np.where(records.checkpoints > records.stopping_time[:, None], np.nan, gain)


def _answers(records: Any) -> dict[str, Any]:
    """Return the answers by name; for the best arm also by its number."""
    if not isinstance(records, Records):
        return {"answer": records.answer}
    found = records.recommendation
    return {"recommendation": found, "answer": found[..., None] == np.arange(records.pulls.shape[-1])}


def _allocate(n: int, times: IntArray, truth: BoolArray, best_arm: bool, observe: bool) -> tuple[Any, Any, Any]:
    """Allocate (the agent's records, the observer's state in every replication, the observer's records)."""
    n_arms = truth.size
    shape = (n, times.size, n_arms)
    try:
        counts = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64), np.empty(shape[:2])
        stops = np.full(n, np.nan)
        records: Any
        if best_arm:
            records = Records(times, *counts, np.empty(shape[:2], dtype=np.int64), stops)
        else:
            records = AnswerRecords(times, *counts, np.empty(shape, dtype=bool), stops, truth, np.empty_like(truth))
        return (
            records,
            np.empty((n if observe else 0, WATCHED)),
            np.empty((n if observe else 0, len(RECORDED), times.size)),
        )
    except MemoryError:
        raise ValueError(
            f"{n:,} replications × {times.size} checkpoints × {n_arms} arms do not fit into memory; "
            "take fewer of the first two."
        ) from None


def check_bandit(bandit: Bandit) -> None:
    """Check that rewards can be drawn around the means of this bandit."""
    if not isinstance(bandit, Bandit):
        raise ValueError(f"bandit is {short_repr(bandit)}; make one with feint.Bandit(public, private).")
    for side, means, family in zip(
        ("public", "private"), (bandit.public, bandit.private), bandit.families, strict=True
    ):
        low, high = family.draw_range if hasattr(family, "draw_range") else read(family, "mean_range")
        if not all(low <= mean <= high for mean in means):
            raise ValueError(
                f"The {side} means {list(means)} are outside the range that can be simulated for {short_repr(family)}, "
                f"{low:g} to {high:g}: rounding would hide the noise, or draws would take too long. Rescale them."
            )


def check_events(agent: Assembly, budget: Any, observe: bool, delta: float | None = None) -> None:
    """Check that the event-driven method can run this agent with this budget; say why not."""
    public, private = agent.families
    obstacles = {
        "observe=True, whose test needs every step": observe,
        f"delta and the goal {short_repr(agent.goal)}, whose error it cannot bound": delta is not None
        and not isinstance(agent.goal, BestArm),
        "a part in plain Python; it needs kernels": agent.plain,
        f"the reference {short_repr(agent.reference)}; it needs ThompsonSampling": not agent.follows_posterior,
        f"the explorer {short_repr(agent.explorer)}, whose boosts it cannot bound": not agent.has_event_boosts,
        f"{short_repr(public)} and {short_repr(private)} rewards, whose sums it cannot draw": not agent.has_sums,
        f"the budget {short_repr(budget)}, which might grow": may_grow(budget),
    }
    for what, present in obstacles.items():
        if present:
            raise ValueError(f'method="event" does not go with {what}; use method="lazy".')


def check_most_pulls(bandit: Bandit, horizon: int) -> None:
    """Check that posteriors stay accurate for this many pulls."""
    for family in bandit.families:
        if horizon > getattr(family, "most_pulls", _MOST):
            raise ValueError(
                f"horizon is {horizon:,}; posteriors of {short_repr(family)} are accurate up to {family.most_pulls:,} "
                "pulls; give a shorter one."
            )


def check_whole(value: Any, name: str, least: int) -> int:
    """Return `value` as an int, if it is a whole number of at least `least`."""
    if not is_whole(value, least, _MOST):
        raise ValueError(f"{name} is {value!r}; it must be a whole number, {least} or more (and at most 2⁵³).")
    return int(value)


def _which(replications: Any) -> range:
    if not isinstance(replications, range):
        return range(check_whole(replications, "replications", 1))
    if not replications or replications.step != 1 or replications.start < 0 or replications.stop > _MOST:
        raise ValueError(f"replications is {replications!r}; a shard is a range(first, last + 1) of numbers from 0.")
    return replications


def checkpoint_times(checkpoints: ArrayLike | None, n_arms: int, horizon: int) -> IntArray:
    """Return the times to record; about a hundred if none are given."""
    if checkpoints is None:
        return np.unique(np.geomspace(n_arms, horizon, _CHECKPOINTS).round().astype(np.int64))
    what = f"checkpoints must be increasing whole numbers from {n_arms} (one pull per arm) to the horizon, {horizon}"
    times = as_integers(checkpoints, what)
    if times.size == 0 or (np.diff(times) <= 0).any() or times[0] < n_arms or times[-1] > horizon:
        raise ValueError(f"{what}; got {checkpoints!r}.")
    return times
