"""simulate: many replications of the agent on one instance, all cores, memory that does not grow with the horizon."""

import json
import math
import platform
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from feint.bandit import Bandit
from feint.budgets import as_budget, budget_config
from feint.engine.advance import Records, Rewards, advance, rewards_of, start
from feint.engine.decide import Known, Problem, known, scratch
from feint.engine.watch import DETECTION_TIME, HIGHEST, RECORDED, Watch, watch
from feint.explorers import Explorer, TopTwo, explorer_config
from feint.numerics._threads import thread_count
from feint.numerics._validate import as_integers, check_level, is_whole
from feint.numerics.streams import check_word
from feint.references import BetaThompsonSampling, Reference, ThompsonSampling, reference_config
from feint.version import VERSION

if TYPE_CHECKING:
    import xarray as xr

IntArray = npt.NDArray[np.int64]

METHODS = ("lazy", "eager")
_CHECKPOINTS = 100
_ARM_STEPS_A_PIECE = 400_000  # arms × steps, well below a second: how soon Ctrl-C and the progress bar are served
_MOST = 2**53
_LARGEST_MEAN = 1e12  # in units of sigma: beyond it float64 rounds the noise of a reward away


def simulate(
    bandit: Bandit,
    explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
    *,
    reference: Reference = ThompsonSampling(),  # noqa: B008 - frozen
    epsilon: Any,
    horizon: int,
    replications: int = 100,
    seed: int = 0,
    checkpoints: npt.ArrayLike | None = None,
    delta: float | None = None,
    method: str = "lazy",
    observe: bool = False,
    alpha: float = 0.05,
    progress: bool | Callable[[int], object] = False,
) -> "xr.Dataset":
    """Simulate the agent (Algorithm 1, or another explorer) and record it at checkpoints.

    Parameters
    ----------
    epsilon
        KL budget a step: a number, math.inf, `PowerLaw` or `TotalBudget`.
    horizon
        Pulls a replication, the initial round included.
    seed
        Replication r of a seed is the same whatever the number of replications, threads, or the method.
    checkpoints
        Times to record, from K to the horizon; by default about 100 on a logarithmic grid.
    delta
        Stop a replication when the largest private posterior probability reaches 1 − δ. What it had then is repeated
        at later checkpoints.
    observe
        Run the observer's test (`Observer`, with its usual settings) beside the agent. It needs the reference's
        probabilities at every step, so a step takes about 10 µs then. The trajectories are the same.
    alpha
        Level of that test: it raises the alarm when the e-value reaches 1/α.
    method
        "lazy" evaluates posteriors only where rigorous bounds do not decide; "eager" at every step. The trajectories
        are identical.
    progress
        Show a progress bar; or a function to call with the number of steps just made.

    Returns
    -------
    Dataset with `pulls`, `boosts` (replication, time, arm), `log_error` = log P(the best private arm is another than
    the true one) and `recommendation` (replication, time), and `stopping_time(replication)` if `delta` is given (NaN
    where not reached). `time` counts pulls made. If observed, also, by (replication, time), `kl_spent`, the divergence
    so far, `log_e_value`, the evidence it left, and `log_likelihood_ratio`, that of an observer who knows what the
    agent does; and by replication `detection_time`, the first alarm (NaN where there was none), and `p_value`, the
    anytime p-value at the end, so that one run serves every level.

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = simulate(bandit, epsilon=0.1, horizon=1000, replications=20)
    >>> bool((runs.pulls.sum("arm") == runs.time).all())
    True
    """
    _check_scale(bandit)
    if not isinstance(observe, bool):
        raise ValueError(f"observe is {observe!r}; it must be True or False.")
    level = check_level(alpha, "alpha, the level of the observer's test,")
    budget = as_budget(epsilon)
    config = {"explorer": explorer_config(explorer), "reference": reference_config(reference)}
    horizon = _whole(horizon, "horizon", bandit.n_arms)
    replications = _whole(replications, "replications", 1)
    check_word(seed, "seed")
    times = _checkpoints(checkpoints, bandit.n_arms, horizon)
    if delta is not None:
        delta = check_level(delta, "delta, the error to stop at,")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")

    problem = make_problem(bandit.n_arms, explorer, reference, budget, bandit.sigma)
    shape = (replications, times.size, bandit.n_arms)
    try:
        pulls, boosts = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        log_error, recommendation = np.empty(shape[:2]), np.empty(shape[:2], dtype=np.int64)
        recorded = np.empty((replications, len(RECORDED), times.size if observe else 0))
    except MemoryError:
        raise ValueError(
            f"{replications:,} replications × {times.size} checkpoints × {bandit.n_arms} arms do not fit into memory; "
            "take fewer of the first two."
        ) from None
    stopping_time = np.full(replications, math.nan)
    detection_time, p_value = np.empty(replications), np.empty(replications)
    interrupted = threading.Event()
    with _progress_bar(progress, replications * horizon) as tick:

        def run(replication: int) -> None:
            knowledge = known(bandit.n_arms)
            records = Records(
                times, pulls[replication], boosts[replication], log_error[replication], recommendation[replication]
            )
            rewards = rewards_of(
                np.array(bandit.public),
                np.array(bandit.private),
                bandit.sigma,
                reference.OWN_SAMPLES,
                seed,
                replication,
            )
            watched = watch(bandit.n_arms, level if observe else None, recorded[replication])
            stop = _run_replication(
                problem,
                rewards,
                knowledge,
                records,
                watched,
                bandit.best_private,
                delta,
                method,
                horizon,
                tick,
                interrupted,
            )
            if stop is not None:
                stopping_time[replication] = stop
            detection_time[replication] = watched.now[DETECTION_TIME]
            p_value[replication] = math.exp(-watched.now[HIGHEST])

        _run_all(run, replications, interrupted)
    variables = {"pulls": pulls, "boosts": boosts, "log_error": log_error, "recommendation": recommendation}
    if delta is not None:
        variables["stopping_time"] = stopping_time
    if observe:
        variables |= {name: recorded[:, i] for i, name in enumerate(RECORDED)}
        variables |= {"detection_time": detection_time, "p_value": p_value}
    return _dataset(
        bandit,
        times,
        variables,
        {
            **config,
            "epsilon": budget_config(budget),
            "horizon": horizon,
            "replications": replications,
            "seed": int(seed),
            "delta": delta,
            "method": method,
            "observe": observe,
            "alpha": level if observe else None,
        },
    )


def make_problem(n_arms: int, explorer: Explorer, reference: Reference, budget: Any, sigma: float) -> Problem:
    """The settings as kernels take them."""
    if isinstance(reference, BetaThompsonSampling) or reference.pseudo_pulls(sigma) > 0:
        raise ValueError(f"{reference!r} is for the observer and for audits; the agent follows the paper's flat prior.")
    parameters = explorer.parameters(n_arms)
    return Problem(explorer.KIND, explorer.USES_POSTERIOR, parameters, *reference.index(), sigma, *budget.parameters())


def _run_replication(
    problem: Problem,
    rewards: Rewards,
    knowledge: Known,
    records: Records,
    watched: Watch,
    best: int,
    delta: float | None,
    method: str,
    horizon: int,
    tick: Any,
    interrupted: threading.Event,
) -> int | None:
    """The stopping time, or None."""
    space = scratch(knowledge.pulls.size)
    start(problem, rewards, knowledge)
    t, row, stopped = knowledge.pulls.size, 0, False
    piece = max(
        100, _ARM_STEPS_A_PIECE // knowledge.pulls.size // (10 if method == "eager" or watched.observing else 1)
    )
    while not interrupted.is_set():
        before = t
        t, row, stopped = advance(
            problem,
            rewards,
            knowledge,
            space,
            records,
            watched,
            row,
            best,
            0.0 if delta is None else delta,
            method == "lazy",
            t,
            min(t + piece, horizon),
        )
        tick(horizon - before if stopped else t - before)
        if stopped or t == horizon:
            break
    return t if stopped else None


def _run_all(run: Any, replications: int, interrupted: threading.Event) -> None:
    """Run every replication on all cores; an interrupt ends the threads at their next piece."""
    threads = min(thread_count(), replications)
    if threads == 1:
        for replication in range(replications):
            run(replication)
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(run, replication) for replication in range(replications)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                future.result()
        except BaseException:
            interrupted.set()
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _progress_bar(show: bool | Callable[[int], object], total: int) -> Iterator[Callable[[int], object]]:
    """A function to call with the number of steps made."""
    if callable(show) or not show:
        yield show if callable(show) else lambda steps: None
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} steps/s")

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        Speed(),
        TimeRemainingColumn(),
    ) as bar:
        task = bar.add_task("loading kernels (the first run compiles them)", total=total)
        yield lambda steps: bar.update(task, advance=steps, description="simulating")


def _check_scale(bandit: Bandit) -> None:
    if not isinstance(bandit, Bandit):
        raise ValueError(f"bandit is {bandit!r}; make one with feint.Bandit(public, private, sigma).")
    largest = max(abs(mean) for mean in (*bandit.public, *bandit.private)) / bandit.sigma
    if not largest <= _LARGEST_MEAN:
        raise ValueError(f"A mean is {largest:.3g} sigma from 0; beyond 1e12 rounding swallows the noise. Rescale.")


def _whole(value: Any, name: str, least: int) -> int:
    if not is_whole(value, least, _MOST):
        raise ValueError(f"{name} is {value!r}; it must be a whole number, {least} or more (and at most 2⁵³).")
    return int(value)


def _checkpoints(checkpoints: npt.ArrayLike | None, n_arms: int, horizon: int) -> IntArray:
    if checkpoints is None:
        return np.unique(np.geomspace(n_arms, horizon, _CHECKPOINTS).round().astype(np.int64))
    what = f"checkpoints must be increasing whole numbers from {n_arms} (one pull an arm) to the horizon, {horizon}"
    times = as_integers(checkpoints, what)
    if times.size == 0 or (np.diff(times) <= 0).any() or times[0] < n_arms or times[-1] > horizon:
        raise ValueError(f"{what}; got {checkpoints!r}.")
    return times


def _dataset(bandit: Bandit, times: IntArray, variables: dict[str, Any], config: dict[str, Any]) -> "xr.Dataset":
    import numba
    import xarray as xr

    axes = ("replication", "time", "arm")
    data: dict[str, Any] = {name: (axes[: values.ndim], values) for name, values in variables.items()}
    instance = {"public": list(bandit.public), "private": list(bandit.private), "sigma": bandit.sigma}
    versions = {"feint": VERSION, "numpy": np.__version__, "numba": numba.__version__}
    versions["python"] = platform.python_version()
    return xr.Dataset(
        data,
        coords={"replication": np.arange(len(variables["pulls"])), "time": times, "arm": np.arange(bandit.n_arms)},
        attrs={
            "bandit": json.dumps(instance),
            "config": json.dumps(config),
            "versions": json.dumps(versions),
        },
    )
