"""`audit` for arrays, `audit_log` for files, pipes and tables: see what is claimed, then feed an `Auditor`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from feint.auditing.auditor import Auditor
from feint.auditing.chunks import chunks, find_arms
from feint.auditing.claims import Claim, LoggedProbabilities, LoggedPropensities, Options, Recomputed
from feint.auditing.explaining import explanation
from feint.auditing.layout import MOST_ARMS, NO_TIME, Arms, Layout, Names, choose_layout, label_of
from feint.auditing.readers import Batch, Log, naming, open_log
from feint.auditing.report import AuditReport
from feint.bandit import family_pair
from feint.evidence.fixed_share import check_within
from feint.numerics._validate import as_number, check_flag, is_whole
from feint.references import ObservedUCB, ThompsonSampling
from feint.references.base import reference_settings
from feint.references.past import Timing
from feint.references.recomputation import Recomputation

TOLERANCE = 1e-6  # of the sum of logged probabilities
Progress = Callable[[str, int], Callable[[int], object]]


def _no_progress(what: str, total: int) -> Callable[[int], object]:
    return lambda done: None


# The options of an audit, each of which can be left out or named; so for `audit_log`.
def audit(
    arms: npt.ArrayLike,
    rewards: npt.ArrayLike | None = None,
    *,
    n_arms: int | Sequence[str] | None = None,
    probabilities: npt.ArrayLike | None = None,
    propensities: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    reward_times: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    sigma: float | None = None,
    family: Any = None,
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
    return _audited(log, layout, claimed, n_arms, alpha, check_flag(skip_bad, "skip_bad"), explain, _no_progress)


def audit_log(
    source: Any,
    *,
    names: Names = Names(),  # noqa: B008 - frozen
    mode: str | None = None,
    n_arms: int | Sequence[str] | None = None,
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    sigma: float | None = None,
    family: Any = None,
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
    ignore_time: bool = False,
    progress: Progress = _no_progress,
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
        progress=progress,
    )


def audit_claimed(
    source: Any,
    claimed: "Claimed",
    *,
    names: Names,
    mode: str | None,
    n_arms: int | Sequence[str] | None,
    alpha: float,
    skip_bad: bool,
    explain: bool = True,
    ignore_time: bool,
    delimiter: str | None,
    progress: Progress,
) -> AuditReport:
    """`audit_log` once it is clear what is claimed."""
    log = open_log(source, delimiter)
    with naming(log.name):
        layout = _layout(log, names, mode, claimed, ignore_time)
        return _audited(log, layout, claimed, n_arms, alpha, skip_bad, explain, progress)


def follow_log(
    log: Log,
    claimed: "Claimed",
    *,
    names: Names,
    mode: str | None,
    n_arms: int | Sequence[str] | None,
    alpha: float,
    skip_bad: bool,
    ignore_time: bool,
    state: dict[str, Any] | None,
    from_start: bool,
) -> Iterator[Auditor]:
    """An audit of a log that grows: the auditor after every few rows. `state` is of one that saw the rows before these
    or, if the log is read `from_start`, the first of them.
    """
    with naming(log.name):
        layout = _layout(log, names, mode, claimed, ignore_time)
        arms = _arms(log, layout, n_arms, skip_bad, [], None)
        auditor = Auditor(claimed.claim(layout.mode, arms), alpha, skip_bad=skip_bad)
        if state is not None:
            auditor.recall(state)
        rest = _Rest(log, auditor.rows) if from_start else log
        for chunk in chunks(rest, layout, arms, lambda done: None, first=auditor.rows + 1):
            auditor.feed(chunk)
            yield auditor


@dataclass(frozen=True)
class Claimed:
    """What is claimed of a log, whatever its columns."""

    reference: Any
    family: Any
    initial_round: bool
    timing: Timing
    options: Options

    @classmethod
    def of(
        cls, reference: Any, sigma: float | None, family: Any, initial_round: bool, timing: Timing, options: Options
    ) -> "Claimed":
        """Check what was given."""
        what = "tolerance, of the sum of probabilities, must be a number from 0 to 0.5"
        if not 0 <= as_number(options.tolerance, what) <= 0.5:
            raise ValueError(f"{what}; got {options.tolerance!r}.")
        what = "`floor`, as which smaller probabilities are read, must be a number from 0 to 0.1"
        if not 0 <= as_number(options.floor, what) <= 0.1:
            raise ValueError(f"{what}; got {options.floor!r}.")
        if options.draws is not None and not is_whole(options.draws, 1, 10**12):
            raise ValueError(
                f"`propensity_draws` is {options.draws!r}; it is a number of Monte Carlo draws, 1 or more."
            )
        check_within(options.within)
        if isinstance(reference, ObservedUCB):
            raise ValueError("UCB does not draw its arms, so no log of it can be tested here; see Observer.")
        side = family_pair(family, sigma)[0]
        return cls(reference, side, check_flag(initial_round, "initial_round"), timing, options)

    @property
    def usual(self) -> bool:
        """Whether nothing was said of how a reference is recomputed."""
        return self.reference == ThompsonSampling() and self.family == family_pair(None)[0] and self.timing == Timing()

    def claim(self, mode: str, arms: Arms) -> Claim:
        """The claim of a mode, about which nothing has been learned; the reference is checked whether or not used."""
        reference_settings(self.reference, self.family, arms.n)
        if mode == Recomputed.MODE:
            return Recomputed(arms, self.options, self.recomputed(arms))
        return (LoggedProbabilities if mode == LoggedProbabilities.MODE else LoggedPropensities)(arms, self.options)

    def recomputed(self, arms: Arms) -> Recomputation:
        """What the reference says."""
        return Recomputation(self.reference, self.family, arms.n, self.initial_round, self.timing)


def _layout(log: Log, names: Names, mode: str | None, claimed: Claimed, ignore_time: bool) -> Layout:
    """Which columns matter."""
    if not isinstance(names, Names):
        raise ValueError(f"names is {names!r}; give feint.auditing.Names(arm=…, reward=…, …).")
    needs_rewards = not getattr(claimed.reference, "ignores_rewards", False)
    if not needs_rewards and mode is None:
        mode = Recomputed.MODE
    layout = choose_layout(log.columns, replace(names, time=NO_TIME) if ignore_time else names, mode, needs_rewards)
    if layout.reward_time is not None and layout.time is None:
        raise ValueError("Where rewards are known by time (`reward_time`), pulls need one too: name it with `time`.")
    return layout


def _audited(
    log: Log,
    layout: Layout,
    claimed: Claimed,
    n_arms: Any,
    alpha: float,
    skip_bad: bool,
    explain: bool,
    progress: Progress,
) -> AuditReport:
    warnings: list[str] = []
    arms = _arms(log, layout, n_arms, skip_bad, warnings, progress)
    claim = claimed.claim(layout.mode, arms)
    if layout.mode != Recomputed.MODE and not claimed.usual:
        warnings.append(
            f"Reference, prior and rewards are not used: the log has {layout.mode} of its own (see `mode`)."
        )
    if layout.mode != LoggedPropensities.MODE and claimed.options.draws is not None:
        warnings.append(f"`propensity_draws` is not used: the {layout.mode} of the log are tested (see `mode`).")
    if layout.mode == Recomputed.MODE and claimed.options.floor > 0:
        warnings.append("`floor` is not used: it is for probabilities that were logged.")
    if layout.unused:
        shown = ", ".join(repr(name) for name in layout.unused[:6])
        warnings.append(f"Columns that look like a claim are not used: {shown}.")
    auditor = Auditor(claim, alpha, skip_bad=skip_bad, grouped=layout.group is not None)
    for chunk in chunks(log, layout, arms, progress("auditing", log.size or 0)):
        auditor.feed(chunk)
    report = auditor.report(warnings)
    if explain and report.rejected and report.tested and claim.calibration is not None:
        again = chunks(log, layout, arms, lambda done: None)
        found = explanation(again, claimed, layout.mode, arms, report)
        report = replace(report, diagnosis=found)
    return report


def _arms(
    log: Log, layout: Layout, n_arms: Any, skip_bad: bool, warnings: list[str], progress: Progress | None
) -> Arms:
    """How many arms there are and how they are called; without `progress` the log can be read only once."""
    width = log.width if isinstance(log, _ArrayLog) and layout.listed else len(layout.probabilities)
    if width:
        given = n_arms if n_arms is None or is_whole(n_arms, 0) else len(_labels(n_arms) or [])
        if given is not None and given != width:
            raise ValueError(f"`n_arms` is {n_arms!r}, but there are {width} columns of probabilities; leave it out.")
        if layout.labels is None:
            return Arms(width, _labels(n_arms))
        if (labels := _labels(n_arms)) is not None and set(labels) != set(layout.labels):
            raise ValueError(f"`n_arms` is {n_arms!r}, but the columns of probabilities are of {layout.labels}.")
        return Arms(width, layout.labels)
    if (labels := _labels(n_arms)) is not None:
        return Arms(len(labels), labels)
    if n_arms is not None:
        if not is_whole(n_arms, 2, MOST_ARMS):
            raise ValueError(f"`n_arms` is {n_arms!r}; it must be a whole number of arms from 2 to {MOST_ARMS:,}.")
        if layout.listed is None:
            return Arms(int(n_arms))
    if skip_bad and layout.listed is None:
        raise ValueError("Where bad rows are left out they must not decide how many arms there are: give `n_arms`.")
    if progress is None:
        raise ValueError("How many arms there are cannot be seen while a log grows: give `n_arms`.")
    return find_arms(log, layout, n_arms, warnings, progress("counting arms", log.size or 0))


def _labels(n_arms: Any) -> list[str] | None:
    """Those that were given, if any."""
    if n_arms is None or is_whole(n_arms, 0):
        return None
    labels = [label_of(label) for label in n_arms] if isinstance(n_arms, Sequence | np.ndarray) else []
    if not 2 <= len(set(labels)) == len(labels) <= MOST_ARMS or not all(labels):
        raise ValueError(f"`n_arms` is {n_arms!r}; give a number of arms, or the different labels of two or more.")
    return labels


class _Rest:
    """A log without its first rows."""

    def __init__(self, log: Log, skipped: int) -> None:
        self._log, self._skipped = log, skipped
        self.name, self.columns, self.size = log.name, log.columns, log.size

    def batches(self, columns: list[str], n_rows: int, tick: Callable[[int], object]) -> Iterator[Batch]:
        """See `readers.base`."""
        left = self._skipped
        for batch in self._log.batches(columns, n_rows, tick):
            cut = min(left, batch.n)
            left -= cut
            if cut < batch.n:
                table = {name: cells[cut:] for name, cells in batch.table.items()}
                lines = None if batch.lines is None else batch.lines[cut:]
                malformed = {i - cut: reason for i, reason in batch.malformed.items() if i >= cut}
                yield Batch(table, batch.n - cut, lines, malformed)


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
