"""`audit_log`: files, pipes and tables."""

from __future__ import annotations

from collections.abc import Sequence

from feint.auditing.claimed import TOLERANCE, Claimed
from feint.auditing.claims import Options
from feint.auditing.layout import Mode, Names
from feint.auditing.readers import Source
from feint.auditing.report import AuditReport
from feint.auditing.running import Progress, audit_claimed, no_progress
from feint.families import Family
from feint.numerics._validate import check_flag
from feint.references import Reference, ThompsonSampling
from feint.references.past import Timing


# The options of an audit, each of which can be left out or named.
def audit_log(
    source: Source,
    *,
    names: Names = Names(),  # noqa: B008 - frozen
    mode: Mode | None = None,
    n_arms: int | Sequence[str] | None = None,
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
    delimiter: str | None = None,
    encoding: str | None = None,
    ignore_time: bool = False,
    progress: Progress = no_progress,
) -> AuditReport:
    """`audit` of a file, of standard input ("-") or of a table (pandas, polars, Arrow), read in chunks.

    CSV, TSV, Parquet, JSON lines and Vowpal Wabbit's dsjson, each also compressed (.gz, .zst). Columns p_0 … p_{K−1} or
    p_<label>, or a list in `probabilities`, are taken for probabilities, else `propensity`, else `reward`.

    Parameters
    ----------
    source
        A path, "-", or a table of n rows.
    names
        How the columns are called, where they are not called `arm`, `reward`, `propensity`, `p_…`, `probabilities`.
    mode
        "probabilities", "propensities" or "rewards", where the log has more than one of them.
    delimiter
        Of a text file; by default it is recognised.
    encoding
        Of a text file, as "latin-1"; UTF-8 if not given.
    ignore_time
        A column `time` or `timestamp` must not go back, unless this is set.
    progress
        `progress(what, total)` returns a function to call with progress.
    n_arms, reference, sigma, family, initial_round, batch, delay, discount, propensity_draws, floor, within
        The claim, as in `audit`.
    alpha, tolerance, skip_bad, explain
        As in `audit`.

    Returns
    -------
    AuditReport
        The same that `audit` gives for the columns as arrays.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"arm": [0, 1, 0, 0, 1, 0], "p_0": 0.5, "p_1": 0.5})
    >>> report = audit_log(table)
    >>> report.mode, report.verdict
    ('probabilities', 'no evidence against')
    """
    timing = Timing(delay, batch, isinstance(names, Names) and names.reward_time is not None, discount)
    options = Options(tolerance, floor, within, propensity_draws)
    claimed = Claimed.of(reference, sigma, family, initial_round, timing, options)
    return audit_claimed(
        source,
        claimed,
        names=names,
        mode=mode,
        n_arms=n_arms,
        alpha=alpha,
        skip_bad=check_flag(skip_bad, "skip_bad"),
        explain=check_flag(explain, "explain"),
        ignore_time=ignore_time,
        delimiter=delimiter,
        encoding=encoding,
        progress=progress,
    )
