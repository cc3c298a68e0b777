"""`audit`: arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from feint.auditing.claimed import TOLERANCE, Claimed
from feint.auditing.claims import Options
from feint.auditing.layout import MOST_ARMS, NO_TIME, Names, choose_layout
from feint.auditing.readers import Batch
from feint.auditing.report import AuditReport
from feint.auditing.running import audited, no_progress
from feint.families import Family
from feint.numerics._validate import check_flag
from feint.references import Reference, ThompsonSampling
from feint.references.past import Timing


# The options of an audit, each of which can be left out or named.
def audit(
    arms: ArrayLike,
    rewards: ArrayLike | None = None,
    *,
    n_arms: int | Sequence[str] | None = None,
    probabilities: ArrayLike | None = None,
    propensities: ArrayLike | None = None,
    times: ArrayLike | None = None,
    reward_times: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    reference: Reference = ThompsonSampling(),  # noqa: B008 - frozen
    sigma: float | None = None,
    family: Family | None = None,
    initial_round: bool = True,
    batch: int = 1,
    delay: int = 0,
    discount: float = 1.0,
    propensity_draws: int | None = None,
    floor: float = 0.0,
    within: float = 0.0,
    alpha: float = 0.05,
    tolerance: float = TOLERANCE,
    skip_bad: bool = False,
    explain: bool = True,
) -> AuditReport:
    """Is the agent behind these pulls doing what it claims?

    The strongest claim that is given is tested: the `probabilities` of all arms before each pull; else the
    `propensities` of the pulled arms alone, which is weaker; else `reference` is recomputed from arms and rewards.

    Parameters
    ----------
    arms
        (n,) in the order of the pulls: counted from 0, or labels.
    rewards
        (n,) public rewards.
    n_arms
        K, or the labels of all arms; by default as many as the probabilities have, or as the arms tell.
    probabilities, propensities
        (n, K), and (n,).
    times, reward_times
        (n,): when a pull was made and when its reward was known; the reward counts from then on.
    groups
        (n,): one agent for every value, each with its own past.
    reference
        What draws the pulls: one of `feint.references`, or your own with `log_probabilities(view)`.
    sigma, family
        How public rewards are distributed: `Bernoulli()` for Beta posteriors; `sigma` is short for Gaussian(sigma).
    initial_round
        Whether the agent pulls every arm once before it draws, so that its first K rows are not tested.
    batch, delay
        The posterior moves after every `batch` rows; or a reward is known `delay` rows later than at once.
    discount
        What is known fades by this factor with every row.
    propensity_draws
        The propensities are shares of so many Monte Carlo draws.
    floor
        Smaller probabilities are read as this: for logs that were rounded.
    within
        The claim is that every probability lies within this share of the one logged or recomputed.
    alpha
        Level: a true claim is rejected with probability at most α, wherever the log ends.
    tolerance
        How far logged probabilities may be from summing to 1, beyond their rounding; within it they are normalised.
    skip_bad
        Leave rows that cannot be tested out and count them, instead of refusing.
    explain
        Whether to look for what explains a rejected log best, which takes longer than the audit.

    Returns
    -------
    AuditReport
        The verdict, the evidence by row, each arm's departure from the claim, and what explains it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> claimed = np.tile([0.9, 0.1], (500, 1))
    >>> audit(rng.choice(2, 500, p=[0.9, 0.1]), probabilities=claimed).verdict
    'no evidence against'
    >>> report = audit(rng.choice(2, 500, p=[0.8, 0.2]), probabilities=claimed)
    >>> report.verdict, report.boosted_arm
    ('rejected at row 13', 1)
    """
    chosen = _vector(arms, "arms")
    columns: dict[str, Any] = {"arm": chosen}
    vectors = {"reward": rewards, "propensity": propensities, "time": times, "reward_time": reward_times}
    words = {"reward": "rewards", "propensity": "propensities", "time": "times", "reward_time": "reward_times"}
    for name, values in (*vectors.items(), ("group", groups)):
        if values is not None:
            columns[name] = _vector(values, words.get(name, "groups"), chosen.size)
    if probabilities is not None:
        columns["probabilities"] = _table(probabilities, chosen.size)
    needs_rewards = not getattr(reference, "ignores_rewards", False)
    if needs_rewards and not {"reward", "propensity", "probabilities"} & columns.keys():
        raise ValueError("Give rewards, propensities or probabilities; arms alone make no claim that can be tested.")
    log = _ArrayLog(columns)
    names = Names(
        time=NO_TIME if times is None else "time",
        reward_time=None if reward_times is None else "reward_time",
        group=None if groups is None else "group",
    )
    timing = Timing(delay, batch, reward_times is not None, discount)
    options = Options(tolerance, floor, within, propensity_draws)
    claimed = Claimed.of(reference, sigma, family, initial_round, timing, options)
    layout = choose_layout(log.columns, names, None, needs_rewards)
    return audited(log, layout, claimed, n_arms, alpha, check_flag(skip_bad, "skip_bad"), explain, no_progress)


class _ArrayLog:
    """Arrays as a log."""

    name = ""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._table = columns
        self.columns = list(columns)
        self.width: int = columns["probabilities"].shape[1] if "probabilities" in columns else 0
        self.size: int | None = len(columns["arm"])

    def batches(self, columns: list[str], n_rows: int, tick: Callable[[int], object]) -> Iterator[Batch]:
        """See `readers.base`."""
        for start in range(0, self.size or 0, n_rows):
            table = {name: self._table[name][start : start + n_rows] for name in columns}
            yield Batch(table, len(table[columns[0]]), None, {})


def _vector(values: ArrayLike, name: str, size: int | None = None) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a flat list of numbers.") from None
    if array.ndim != 1 or array.dtype.kind == "c":
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}; it must be a flat list of numbers.")
    if size is not None and array.size != size:
        raise ValueError(f"There are {size} arms but {array.size} {name}; each pull needs one of each.")
    return array


def _table(values: ArrayLike, size: int) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError("probabilities must be a rectangular table, a row a pull.") from None
    if array.ndim != 2 or array.shape[0] != size or not 2 <= array.shape[1] <= MOST_ARMS:
        raise ValueError(f"probabilities has shape {array.shape}; {size} pulls need ({size}, K) with K of 2 or more.")
    return array
