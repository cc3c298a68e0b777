"""`audit` for arrays, and `audit_log` for files, pipes and tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from feint.auditing.claim import NO_TIME, ClaimOptions, LogOptions, Names, list_options, read_options
from feint.auditing.pipeline import audit_opened, audit_source
from feint.auditing.readers import Source
from feint.auditing.readers.arrays import TABLE_OF_CONTEXTS, ArrayLog, as_cells, as_contexts, as_table, as_vector
from feint.auditing.readers.base import Progress
from feint.auditing.report import AuditReport
from feint.auditing.sharded import Where
from feint.numerics._validate import check_flag
from feint.references.base import has_context_per_arm
from feint.support.progress import progress_bars

_COLUMNS = tuple(field.name for field in fields(Names))
_SELDOM = ("stages", "available", "units")


class ColumnOptions(LogOptions, total=False):
    """The options of `audit_log`: also the names of columns, as fields of `Names`."""

    arm: str
    reward: str
    propensity: str
    prefix: str
    probabilities: str
    time: str | None
    reward_time: str | None
    group: str | None
    context: str | None
    stage: str | None
    available: str | None
    unit: str | None
    order_by: str | None


class ArrayOptions(ClaimOptions, total=False):
    """The options of `audit`: also columns that few logs have."""

    stages: ArrayLike
    available: ArrayLike | Sequence[Sequence[Any]]
    units: ArrayLike


def audit(
    arms: ArrayLike,
    rewards: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    propensities: ArrayLike | None = None,
    times: ArrayLike | None = None,
    reward_times: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    contexts: ArrayLike | None = None,
    explain: bool = True,
    **options: Unpack[ArrayOptions],
) -> AuditReport:
    """Test whether the agent behind these pulls does what it claims.

    The strongest claim that is given is tested: the `probabilities` of all arms before each pull;
    otherwise the `propensities` of the pulled arms alone, which is weaker; otherwise `reference`,
    recomputed from arms and rewards.

    Parameters
    ----------
    arms
        (n,) in the order of the pulls: counted from 0, or labels.
    rewards
        (n,) public rewards.
    probabilities, propensities
        (n, K), and (n,).
    times, reward_times
        (n,): when a pull was made and when its reward was known; the reward counts from then on.
    groups
        (n,): one agent for every value, each with its own past.
    contexts
        (n, d): what the reference knew of each row; (n, K, d) where arms have their own features.
    explain
        Whether to look for what explains a rejected log best, which takes longer than the audit.
    options
        - stages: (n,); rewards become known when this changes.
        - available: the arms that could be drawn in each row, n lists of arms or (n, K) booleans.
        - units: (n,), or (n, 2) with a version; later rows of a unit repeat its first.
        OPTIONS

    Returns
    -------
    AuditReport
        The verdict, the evidence by row, each arm's departure from the claim, and what explains it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> claimed = np.tile([0.9, 0.1], (500, 1))
    >>> audit(rng.choice(2, 500, p=[0.9, 0.1]), probabilities=claimed).verdict
    'no evidence against'
    >>> report = audit(rng.choice(2, 500, p=[0.8, 0.2]), probabilities=claimed)
    >>> report.verdict, report.boosted_arm
    ('rejected at row 13', 1)
    """
    chosen = as_vector(arms, "arms")
    columns: dict[str, Any] = {"arm": chosen, **_seldom(options, chosen.size)}
    names = Names(
        time=NO_TIME if times is None else "time",
        reward_time=None if reward_times is None else "reward_time",
        group=None if groups is None else "group",
        stage="stage" if "stage" in columns else None,
        available="available" if "available" in columns else None,
        unit=",".join(name for name in ("unit", "version") if name in columns) or None,
        context=None if contexts is None else TABLE_OF_CONTEXTS,
    )
    others = {name: value for name, value in options.items() if name not in _SELDOM}
    claim = read_options(audit, others, ClaimOptions, _SELDOM, names=names)
    vectors = {
        "reward": ("rewards", rewards),
        "propensity": ("propensities", propensities),
        "time": ("times", times),
        "reward_time": ("reward_times", reward_times),
        "group": ("groups", groups),
    }
    for column, (name, values) in vectors.items():
        if values is not None:
            columns[column] = as_vector(values, name, chosen.size)
    if probabilities is not None:
        columns["probabilities"] = as_table(probabilities, chosen.size)
    if contexts is not None:
        columns[TABLE_OF_CONTEXTS] = as_contexts(contexts, chosen.size, has_context_per_arm(claim.reference))
    if claim.needs_rewards and not {"reward", "propensity", "probabilities"} & columns.keys():
        raise ValueError("Give rewards, propensities or probabilities; arms alone make no claim that can be tested.")
    with progress_bars() as progress:
        return audit_opened(ArrayLog(columns), claim, explain=check_flag(explain, "explain"), progress=progress)


def _seldom(options: ArrayOptions, size: int) -> dict[str, Any]:
    """Return the columns that few logs have, by their names."""
    found: dict[str, Any] = {}
    if (stages := options.get("stages")) is not None:
        found["stage"] = as_vector(stages, "stages", size)
    if (available := options.get("available")) is not None:
        found["available"] = as_cells(available, "available", size)
    if (units := options.get("units")) is not None:
        table = np.array(as_cells(units, "units", size), dtype=object)
        parts = [table] if table.ndim == 1 else list(table.T)
        if len(parts) not in (1, 2):
            raise ValueError(f"units has shape {table.shape}; give a unit for each pull, or a unit and a version.")
        found |= dict(zip(("unit", "version"), (list(part) for part in parts), strict=False))
    return found


def audit_log(
    source: Source,
    *,
    explain: bool = True,
    progress: Progress | None = None,
    scheduler: Any = None,
    workers: int | None = None,
    out: str | Path | None = None,
    **options: Unpack[ColumnOptions],
) -> AuditReport:
    """Audit files, standard input ("-"), or what pandas, Polars, Arrow or DuckDB hold, in chunks.

    Files are CSV, TSV, Parquet, Feather, SQLite, JSON lines or dsjson, also compressed.
    Columns p_0 … p_{K−1} or p_<label>, or a list in `probabilities`, are taken for probabilities.
    Without them `propensity` is tested, and without that `reward`.

    Parameters
    ----------
    source
        A path (file, pattern, folder or URL), several, "-", a table, a dataset, or an iterable of
        Arrow batches or DataFrames. What can be read only once is diagnosed if it is short.
    explain
        Whether to look for what explains a rejected log best, which takes longer than the audit.
    progress
        By default bars appear after two seconds, in a terminal or a notebook. Otherwise
        `progress(what, total)` returns a function to call with progress.
    scheduler, workers, out
        With `group`, audit shards on a Dask cluster at this address, or on this many processes.
        Finished shards are kept in the folder `out`; the same audit continues with the rest.
    options
        - arm, reward, group, …: names of columns, the fields of `feint.auditing.Names`.
        OPTIONS

    Returns
    -------
    AuditReport
        The same as `audit` gives for the columns as arrays.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"arm": [0, 1, 0, 0, 1, 0], "p_0": 0.5, "p_1": 0.5})
    >>> report = audit_log(table)
    >>> report.mode, report.verdict
    ('probabilities', 'no evidence against')
    """
    columns = {name: options[name] for name in options if name in _COLUMNS}  # type: ignore[literal-required]  # fields of Names
    others: dict[str, Any] = {name: value for name, value in options.items() if name not in _COLUMNS}
    if columns:
        if "names" in others:
            raise ValueError(f"`names` is given, and so is {next(iter(columns))}; give one or the other.")
        others["names"] = Names(**columns)
    claim = read_options(audit_log, others, LogOptions, _COLUMNS)
    where = Where(scheduler, workers, None if out is None else Path(out))
    with nullcontext(progress) if progress is not None else progress_bars() as bars:
        return audit_source(source, claim, explain=check_flag(explain, "explain"), progress=bars, where=where)


for _verb, _known in ((audit, ClaimOptions), (audit_log, LogOptions)):
    _verb.__doc__ = (_verb.__doc__ or "").replace("        OPTIONS", list_options(_known))  # none with python -OO
