"""What an audit found."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feint.auditing.groups import GroupReport
from feint.auditing.modes import intervals_share
from feint.auditing.units import ChangedUnit
from feint.version import VERSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feint.auditing.diagnosis import Diagnosis

SCHEMA = 2
_WORST = 20  # groups in the report's tables


class Impossible(NamedTuple):
    """Pulls of arms to which the claim gives probability 0: the first one, and how many there were."""

    row: int
    arm: int
    pulls: int


class Cause(NamedTuple):
    """The bet that had won most when the claim was rejected, in words.

    `part` is the part of E that was largest then (a name of `log_e_values`), and `share` its share of E. Between
    `first_row` and `last_row` the bet won most, by the pulls of `arms`.
    """

    part: str
    words: str
    share: float
    arms: tuple[int, ...]
    first_row: int
    last_row: int


class Shards(NamedTuple):
    """How a log was audited in shards: how many, after how many rows E was read (None: at the end of the log alone),
    and whether groups may depend on each other.
    """

    n: int
    blocks: int | None
    dependent_groups: bool


@dataclass(frozen=True, repr=False)
class ArmReport:
    """One arm: pulls observed and expected, and by how much the agent departed from its claim.

    `low` and `high` are a confidence sequence for Σ (p_t − π_t), true less claimed probabilities. It holds at level
    1 − 0.19·α (1 − 0.171·α where groups are tested) for all arms and all times at once. So an interval beyond
    ±`allowed` (0 unless the claim is one `within` a share) means a rejection. None where only propensities were logged.
    """

    arm: int
    label: str
    observed: int
    expected: float | None
    excess: float | None
    low: float | None
    high: float | None
    allowed: float | None

    def __repr__(self) -> str:
        plain = {name: float(f"{item:.5g}") if isinstance(item, float) else item for name, item in vars(self).items()}
        shown = (f"{name}={item!r}" for name, item in plain.items())
        return f"ArmReport({', '.join(shown)})"

    @property
    def departs(self) -> bool:
        """Return whether the interval excludes everything that the claim allows."""
        if self.low is None or self.high is None or self.allowed is None:
            return False
        return self.low > self.allowed or self.high < -self.allowed


@dataclass(frozen=True, eq=False, repr=False)
class AuditReport:
    """The result of an audit; rows count from 1, in the order of the log, bad ones included.

    Parameters
    ----------
    mode, claim
        What was tested: "probabilities", "propensities" or "rewards", and the claim in words.
    n_arms, rows, tested, alpha
        K; rows of the log, and how many of them were tested; the level.
    log_e_value, highest_log_e_value, log_e_values
        log E at the end and at its highest, and of its parts at the end: `boosts`, `calibration`, `serial`, `groups`.
    rejected_at, impossible
        The row at which E reached 1/α; pulls of arms to which the claim gives probability 0. None where there is none.
    arms
        One `ArmReport` per arm: `observed`, `expected`, `excess` and its interval `low`, `high`.
    all_groups, n_groups
        One `GroupReport` per group, named ones first, then by evidence (empty where none can be tested), and how
        many groups there are. `groups` has the first 20.
    boosted_arm, boosted_epsilon
        The constant boost that explains the pulls best, however poorly.
    smallest_log_probability, smallest_row
        The log probability and the row of the least likely pull.
    bad_rows, bad_examples, warnings
        Rows left out by reason, some of them in words, and what else should be known.
    diagnosis
        What explains a rejected log best.
    history_rows, history_log_e_values
        (n,) rows and log E there, for a figure.
    cause
        The bet by which the log was rejected, a `Cause`; None if there is nothing to explain.
    repeated, changed
        How many rows are not the first of their unit, and those among them that do not have its arm; None if all do.
    shards
        How the log was cut by groups, a `Shards`; then `log_e_values` has `product`, `average` and `groups`, whose mean
        is E. None if it was audited as a whole.

    Examples
    --------
    >>> import feint
    >>> report = feint.audit([0, 1, 0, 0, 1, 0], probabilities=[[0.5, 0.5]] * 6)
    >>> report.verdict, report.tested, [arm.observed for arm in report.arms]
    ('no evidence against', 6, [4, 2])
    """

    mode: str
    claim: str
    n_arms: int
    rows: int
    tested: int
    alpha: float
    log_e_value: float
    highest_log_e_value: float
    rejected_at: int | None
    impossible: Impossible | None
    log_e_values: dict[str, float]
    arms: tuple[ArmReport, ...]
    all_groups: tuple[GroupReport, ...]
    n_groups: int
    boosted_arm: int | None
    boosted_epsilon: float | None
    smallest_log_probability: float | None
    smallest_row: int | None
    bad_rows: dict[str, int]
    bad_examples: tuple[str, ...]
    warnings: tuple[str, ...]
    diagnosis: "Diagnosis | None"
    history_rows: npt.NDArray[np.int64]
    history_log_e_values: npt.NDArray[np.float64]
    cause: Cause | None = None
    repeated: int = 0
    changed: ChangedUnit | None = None
    shards: Shards | None = None

    @property
    def rejected(self) -> bool:
        """Return whether the e-value reached 1/α at some row."""
        return self.rejected_at is not None

    @property
    def left_out(self) -> int:
        """Return the number of bad rows."""
        return sum(self.bad_rows.values())

    @property
    def groups(self) -> tuple[GroupReport, ...]:
        """Return the worst groups: named ones first, then those with the most evidence."""
        return self.all_groups[:_WORST]

    @property
    def n_named(self) -> int:
        """Return how many groups are named."""
        return sum(group.named for group in self.all_groups)

    @property
    def calibrated(self) -> bool:
        """Return whether the claim says how many pulls of each arm were to be expected."""
        return any(arm.excess is not None for arm in self.arms)

    @property
    def confidence(self) -> str:
        """Return, in words, what the arms' intervals promise."""
        if self.shards is not None and self.shards.dependent_groups:
            return "no intervals, since groups may depend on each other"
        share = intervals_share(self.log_e_values)
        return f"{100 * (1 - self.alpha * share):.6g} % intervals, at all rows"

    @property
    def p_value(self) -> float:
        """Return the anytime p-value, 1/max E."""
        return math.exp(-self.highest_log_e_value)

    @property
    def verdict(self) -> str:
        """Return what may be said; an audit never shows that a claim is true."""
        if self.rejected_at is not None:
            return f"rejected at row {self.rejected_at:,}"
        return "no evidence against" if self.tested else "nothing could be tested against"

    @property
    def severity(self) -> str:
        """Return "alarm" once E has reached 1/α, "watch" while E is at least 1/√α (halfway there), otherwise "none"."""
        if self.rejected:
            return "alarm"
        return "watch" if self.log_e_value >= -0.5 * math.log(self.alpha) else "none"

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON types; `feint_audit` is the version of this schema (docs/audit.md)."""
        return {
            "feint_audit": SCHEMA,
            "feint": VERSION,
            "verdict": self.verdict,
            "severity": self.severity,
            "rejected": self.rejected,
            "rejected_at": self.rejected_at,
            "mode": self.mode,
            "claim": self.claim,
            "n_arms": self.n_arms,
            "rows": self.rows,
            "tested": self.tested,
            "alpha": self.alpha,
            "log_e_value": finite_or_none(self.log_e_value),
            "highest_log_e_value": finite_or_none(self.highest_log_e_value),
            "impossible": None if self.impossible is None else self.impossible._asdict(),
            "repeated": self.repeated,
            "changed": None if self.changed is None else self.changed._asdict(),
            "p_value": self.p_value,
            "log_e_values": self.log_e_values,
            "arms": [vars(arm) for arm in self.arms],
            "groups": [group._asdict() | {"log_e_value": finite_or_none(group.log_e_value)} for group in self.groups],
            "n_groups": self.n_groups,
            "n_named": self.n_named,
            "cause": None if self.cause is None else self.cause._asdict(),
            "diagnosis": None if self.diagnosis is None else diagnosis_json(self.diagnosis),
            "boosted_arm": self.boosted_arm,
            "boosted_epsilon": self.boosted_epsilon,
            "smallest_log_probability": self.smallest_log_probability,
            "smallest_row": self.smallest_row,
            "bad_rows": self.bad_rows,
            "bad_examples": list(self.bad_examples),
            "warnings": list(self.warnings),
            "shards": None if self.shards is None else self.shards._asdict(),
            "history": {"rows": self.history_rows.tolist(), "log_e_values": self.history_log_e_values.tolist()},
        }

    def plot(self) -> "Figure":
        """Draw log E over the rows with the line log 1/α, and each arm's departure from the claim."""
        from feint.auditing.picture import draw

        return draw(self)

    def _repr_html_(self) -> str:
        from feint.auditing.html_report import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return (
            f"AuditReport({self.verdict!r}, alpha={self.alpha:g}, log_e_value={self.log_e_value:.4g}, "
            f"tested={self.tested}, rows={self.rows})"
        )

    def __str__(self) -> str:
        claim = "" if self.rejected else " the claim"
        return (
            f"{self.verdict}{claim} at α = {self.alpha:g} (claim: {self.claim}); "
            f"log₁₀ E = {self.log_e_value / math.log(10):.3g}, "
            f"anytime p-value {self.p_value:.3g}, {self.tested:,} of {self.rows:,} pulls tested"
        )


def diagnosis_json(diagnosis: "Diagnosis") -> dict[str, Any]:
    """Return a diagnosis as plain JSON types."""
    found = [explanation._asdict() for explanation in diagnosis.explanations]
    return {"kind": diagnosis.kind, "words": diagnosis.words, "rows": diagnosis.rows, "explanations": found}


def finite_or_none(value: float) -> float | None:
    """Return a finite number, or None for ∞, which JSON lacks."""
    return value if math.isfinite(value) else None
