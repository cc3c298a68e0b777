"""Simulate many replications of the agent on one instance, on all cores; memory does not grow with the horizon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from feint._types import BoolArray, FloatArray, IntArray
from feint.agent.assembly import Assembly, assemble, may_change
from feint.agent.step import space
from feint.bandit import Bandit
from feint.budgets import Epsilon, as_budget
from feint.explorers import Explorer, RoundRobin, TopTwo
from feint.goals import BestArm, Goal
from feint.goals.base import answer_of
from feint.references import Reference, ThompsonSampling
from feint.simulation.checks import check_bandit, check_events, check_most_pulls
from feint.simulation.dataset import Runs
from feint.simulation.engine.record import AnswerRecords, Records, Run
from feint.simulation.engine.replications import Course, run_all
from feint.simulation.engine.rewards import private_truth, rewards_of
from feint.simulation.engine.watch import DETECTION_TIME, FLOOR_TIME, HIGHEST, RECORDED, WATCHED, NoObserver, make_watch
from feint.simulation.scenario import Method, RunOptions, Scenario, check_whole
from feint.support.own_parts import call
from feint.support.progress import ticking

if TYPE_CHECKING:
    import xarray as xr


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
        Which arm to boost and what the observer expects: from the package, or your own (docs/extending.md), of which
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
    scenario = Scenario(bandit, explorer, reference, as_budget(epsilon), goal)
    options = RunOptions(
        horizon=horizon,
        replications=replications,
        seed=seed,
        checkpoints=checkpoints,
        delta=delta,
        method=method,
        observe=observe,
        alpha=alpha,
    )
    return run_simulation(scenario, options, progress).dataset()


def run_simulation(
    scenario: Scenario, options: RunOptions, progress: bool | Callable[[int], object] | None = False
) -> Runs:
    """Do what `simulate` does, but return plain arrays, for callers that need no data set or combine several runs."""
    bandit, explorer, reference, budget, goal = scenario
    check_bandit(bandit)
    check_whole(options.horizon, "horizon", bandit.n_arms)
    check_most_pulls(bandit, options.horizon)
    times, which = options.times(bandit.n_arms), options.which
    agent = assemble(bandit.n_arms, bandit.families, explorer, reference, feedback=bandit.feedback, goal=goal)
    answer = answer_of(goal, np.array(bandit.private))
    if options.method == "event":
        check_events(agent, budget, options.observe, options.delta)

    records, now, recorded = _allocate(len(which), times, answer, isinstance(goal, BestArm), options.observe)
    rewards = rewards_of(bandit, agent.own_samples, options.seed, which.start)
    truth = private_truth(bandit, options.seed, which)

    def make_run() -> Run:
        problem, known = agent.instantiate()
        private_rewards = rewards._replace(
            **{name: getattr(rewards, name).copy() for name in ("words", "uniforms", "normals", "chances")}
        )
        watcher = make_watch(bandit.n_arms, options.alpha, now, recorded) if options.observe else NoObserver()
        own = records if isinstance(records, Records) else records._replace(found=records.found.copy())
        parts = problem, private_rewards, known, space(bandit.n_arms), own, watcher
        return Run(*parts, truth.argmax(1), 0.0 if options.delta is None else options.delta)

    with ticking(progress, "simulating", len(which) * options.horizon, "steps") as tick:
        run_all(make_run, _course(agent, budget, options), tick)
    variables: dict[str, Any] = {name: getattr(records, name) for name in ("pulls", "boosts", "log_error")}
    variables |= _answers(records)
    if options.delta is not None:
        variables["stopping_time"] = records.stopping_time
    if options.observe:
        variables |= {name: recorded[:, i] for i, name in enumerate(RECORDED)}
        variables |= {
            "detection_time": now[:, DETECTION_TIME],
            "floor_time": now[:, FLOOR_TIME],
            "p_value": np.exp(-now[:, HIGHEST]),
        }
    if agent.tilts:
        variables["private_gain"] = _gain(scenario, options, records)
    variables |= _regrets(bandit, records.pulls, truth)
    return Runs(scenario, options, times, variables, truth if bandit.draws_private else None)


def _course(agent: Assembly, budget: Any, options: RunOptions) -> Course:
    """Return how the engine runs this agent."""
    own_budget = hasattr(budget, "kernel") and may_change(budget, call(budget, "kernel", None))
    together = agent.together and not own_budget
    used = "lockstep" if together else "plain" if agent.plain else options.method if agent.has_bounds else "eager"
    return Course(
        horizon=options.horizon,
        replications=len(options.which),
        method=used,
        follows_posterior=agent.follows_posterior,
        budget=budget,
        slow=used == "eager" or options.observe,
        keeps_state=agent.keeps_state or own_budget,
    )


def _regrets(bandit: Bandit, pulls: IntArray, truth: FloatArray) -> dict[str, Any]:
    gaps = truth.max(1, keepdims=True) - truth if bandit.draws_private else bandit.private_gaps
    private = np.einsum("rta,ra->rt", pulls, gaps) if bandit.draws_private else pulls @ gaps
    return {"public_regret": pulls @ bandit.public_gaps, "private_regret": private}


def _gain(scenario: Scenario, options: RunOptions, records: Any) -> Any:
    """Return the expected private reward in excess of the twin's; NaN after a stop, since the twin does not stop."""
    twin = Scenario(scenario.bandit, RoundRobin([0]), scenario.reference, as_budget(0.0))
    times = records.checkpoints
    run = RunOptions(horizon=options.horizon, replications=options.which, seed=options.seed, checkpoints=times)
    gain = (records.pulls - run_simulation(twin, run).variables["pulls"]) @ np.array(scenario.bandit.private)
    return np.where(times > records.stopping_time[:, None], np.nan, gain)


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
            "use fewer of the first two."
        ) from None
