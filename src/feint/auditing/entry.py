"""`audit` for arrays and `audit_log` for files: choose the mode, then feed an `Auditor`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from feint.auditing.auditor import Auditor
from feint.auditing.checks import Chunk
from feint.auditing.claims import CLAIMS, Claim, Recomputed
from feint.auditing.columns import as_column
from feint.auditing.log_file import CELLS_A_CHUNK, MOST_ARMS, NO_TIME, LogFile, Names
from feint.auditing.report import AuditReport
from feint.bandit import family_pair
from feint.numerics._validate import FloatArray, as_number, check_flag, is_whole
from feint.references import ObservedUCB, ThompsonSampling
from feint.references.base import reference_settings
from feint.references.expectation import Expectation

TOLERANCE = 1e-6  # of the sum of logged probabilities


# The options of an audit, each of which can be left out or named; so for `audit_log`.
def audit(
    arms: npt.ArrayLike,
    rewards: npt.ArrayLike | None = None,
    *,
    n_arms: int | None = None,
    probabilities: npt.ArrayLike | None = None,
    propensities: npt.ArrayLike | None = None,
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    sigma: float | None = None,
    family: Any = None,
    initial_round: bool = True,
    alpha: float = 0.05,
    tolerance: float = TOLERANCE,
    skip_bad: bool = False,
) -> AuditReport:
    """Is the agent behind these pulls doing what it claims?

    The strongest claim that is given is tested: the `probabilities` of all arms before each pull; else the
    `propensities` of the pulled arms alone, which is weaker; else `reference` is recomputed from arms and rewards.

    Parameters
    ----------
    arms
        (n,) in the order of the pulls, counted from 0.
    rewards
        (n,) public rewards.
    n_arms
        K; by default as many as the probabilities have, or the largest arm tells.
    probabilities, propensities
        (n, K), and (n,).
    reference
        What draws the pulls: one of `feint.references`, or your own with `log_probabilities(view)`.
    sigma, family
        How public rewards are distributed: `Bernoulli()` for Beta posteriors; `sigma` is short for Gaussian(sigma).
    initial_round
        Whether the agent pulls every arm once before it draws, so that its first K rows are not tested.
    alpha
        Level: a true claim is rejected with probability at most α, wherever the log ends.
    tolerance
        How far logged probabilities may be from summing to 1; within it they are normalised.
    skip_bad
        Leave rows that cannot be tested out and count them, instead of refusing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> claimed = np.tile([0.9, 0.1], (500, 1))
    >>> audit(rng.choice(2, 500, p=[0.9, 0.1]), probabilities=claimed).verdict
    'no evidence against'
    >>> report = audit(rng.choice(2, 500, p=[0.8, 0.2]), probabilities=claimed)
    >>> report.verdict, report.boosted_arm
    ('rejected at row 249', 1)
    """
    chosen = _vector(arms, "arms")
    table = None if probabilities is None else _table(probabilities, chosen.size)
    chances = None if propensities is None else _vector(propensities, "propensities", chosen.size)
    seen = None if rewards is None else _vector(rewards, "rewards", chosen.size)
    if table is None and chances is None and seen is None:
        raise ValueError("Give rewards, propensities or probabilities; arms alone make no claim that can be tested.")
    mode = "probabilities" if table is not None else "propensities" if chances is not None else "rewards"
    warnings: list[str] = []
    if table is not None:
        if n_arms is not None and n_arms != table.shape[1]:
            raise ValueError(f"n_arms is {n_arms!r}, but probabilities has {table.shape[1]} columns; leave it out.")
        count = table.shape[1]
    else:
        largest = -1 if n_arms is not None else _largest(as_column(chosen).values)
        count = _count(n_arms, largest, skip_bad, warnings)
    claim = _claim(mode, count, reference, family_pair(family, sigma)[0], initial_round, tolerance)
    auditor = Auditor(claim, alpha, skip_bad=check_flag(skip_bad, "skip_bad"))
    rows_a_chunk = max(1, CELLS_A_CHUNK // count)
    for start in range(0, chosen.size, rows_a_chunk):
        part = slice(start, start + rows_a_chunk)
        auditor.feed(
            Chunk(
                np.arange(start + 1, start + 1 + chosen[part].size),
                None,
                as_column(chosen[part]),
                None if seen is None else as_column(seen[part]),
                None if chances is None else as_column(chances[part]),
                [] if table is None else [as_column(column) for column in table[part].T],
                None,
                {},
            )
        )
    return auditor.report(warnings)


def audit_log(
    path: str | Path,
    *,
    names: Names = Names(),  # noqa: B008 - frozen
    mode: str | None = None,
    n_arms: int | None = None,
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    sigma: float | None = None,
    family: Any = None,
    initial_round: bool = True,
    alpha: float = 0.05,
    tolerance: float = TOLERANCE,
    skip_bad: bool = False,
    delimiter: str | None = None,
    ignore_time: bool = False,
    progress: Callable[[str, int], Callable[[int], object]] = lambda what, total: lambda done: None,
) -> AuditReport:
    """`audit` of a CSV or Parquet file, read in chunks.

    Columns p_0 … p_{K−1} are taken for probabilities, else `propensity`, else `reward`; `names` calls them otherwise,
    and `mode` chooses. A column `time` or `timestamp` must grow from row to row, unless `ignore_time`. The other
    arguments are those of `audit`. `progress(what, total)` returns a function to call with progress.
    """
    if not isinstance(names, Names):
        raise ValueError(f"names is {names!r}; give feint.auditing.Names(arm=…, reward=…, …).")
    log = LogFile(Path(path), replace(names, time=NO_TIME) if ignore_time else names, mode, delimiter)
    layout = log.layout
    warnings: list[str] = []
    if layout.probabilities:
        count = len(layout.probabilities)
        if n_arms is not None and n_arms != count:
            raise ValueError(f"`n_arms` is {n_arms}, but {path} has {count} columns of probabilities; leave it out.")
    else:
        largest = -1 if n_arms is not None else log.largest_arm(progress("counting arms", log.size))
        count = _count(n_arms, largest, skip_bad, warnings)
    side = family_pair(family, sigma)[0]
    claim = _claim(layout.mode, count, reference, side, initial_round, tolerance)
    if not isinstance(claim, Recomputed) and (reference != ThompsonSampling() or side != family_pair(None)[0]):
        warnings.append(
            f"Reference, prior and rewards are not used: the log has {layout.mode} of its own (see `mode`)."
        )
    auditor = Auditor(claim, alpha, skip_bad=check_flag(skip_bad, "skip_bad"))
    for chunk in log.chunks(count, progress("auditing", log.size)):
        try:
            auditor.feed(chunk)
        except ValueError as error:
            raise ValueError(f"{path}, {error}") from None
    return auditor.report(warnings)


def _claim(mode: str, n_arms: int, reference: Any, family: Any, initial_round: bool, tolerance: float) -> Claim:
    """The claim of a mode; the reference is checked whether or not it is used."""
    what = "tolerance, of the sum of probabilities, must be a number from 0 to 0.5"
    allowed = as_number(tolerance, what)
    if not 0 <= allowed <= 0.5:
        raise ValueError(f"{what}; got {tolerance!r}.")
    if isinstance(reference, ObservedUCB):
        raise ValueError("UCB does not draw its arms, so no log of it can be tested here; see Observer.")
    reference_settings(reference, family, n_arms)
    if CLAIMS[mode] is Recomputed:
        flag = check_flag(initial_round, "initial_round")
        return Recomputed(n_arms, allowed, Expectation(reference, family, n_arms, flag))
    return CLAIMS[mode](n_arms, allowed)


def _largest(arms: FloatArray) -> int:
    if not (arms == np.floor(arms)).all():
        raise ValueError("An arm is no whole number, so the number of arms is unclear; number them from 0.")
    return int(min(arms.max(initial=-1.0), 2.0**53))


def _count(n_arms: int | None, largest: int, skip_bad: bool, warnings: list[str]) -> int:
    if n_arms is not None:
        if not is_whole(n_arms, 2, MOST_ARMS):
            raise ValueError(f"`n_arms` is {n_arms!r}; it must be a whole number of arms from 2 to {MOST_ARMS:,}.")
        return int(n_arms)
    if skip_bad:
        raise ValueError("Where bad rows are left out they must not decide how many arms there are: give `n_arms`.")
    if not 1 <= largest < MOST_ARMS:
        found = "no arm from 1 on" if largest < 1 else f"arm {largest}"
        raise ValueError(f"The log has {found}, so the number of arms is unclear; give it with `n_arms`.")
    warnings.append(
        f"That there are {largest + 1} arms was taken from the log; the level α is exact where it was known before "
        "(`n_arms`)."
    )
    return largest + 1


def _vector(values: npt.ArrayLike, name: str, size: int | None = None) -> npt.NDArray[Any]:
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


def _table(values: npt.ArrayLike, size: int) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError("probabilities must be a rectangular table, a row a pull.") from None
    if array.ndim != 2 or array.shape[0] != size or not 2 <= array.shape[1] <= MOST_ARMS:
        raise ValueError(f"probabilities has shape {array.shape}; {size} pulls need ({size}, K) with K of 2 or more.")
    return array
