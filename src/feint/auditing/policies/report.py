"""What the check of a policy found."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from feint.auditing.report import AuditReport, diagnosis_json, finite_or_none
from feint.evidence.replays import Likeliest
from feint.version import VERSION

SCHEMA = 1


class PolicyArm(NamedTuple):
    """One arm, as means over the steps: the share of its pulls, its stated probability, and the departure between them.

    `low` and `high` are a confidence sequence for the mean of p_t − π_t, the true less the stated probability: for all
    arms and at all steps at once, at a level such that an interval without 0 means a rejection.
    """

    arm: int
    observed: float
    said: float
    departure: float
    low: float
    high: float

    @property
    def departs(self) -> bool:
        """Return whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, eq=False, repr=False)
class PolicyReport:
    """The result of `check_policy`; steps count from 1.

    Parameters
    ----------
    policy
        The name of its class.
    steps, most_steps
        Steps that were made, and how many were allowed.
    precision, precise
        The precision that was asked for, or None, and whether the policy is known to lie within it.
    arms
        One `PolicyArm` per arm.
    replay
        Where bets on replays won most: the one that stands out, its kind ("repeats" or "old"), its lag in steps, and by
        how many nats it stands out; otherwise None.
    audit
        The `AuditReport` of the steps, with the evidence and what explains a rejection best.

    Examples
    --------
    >>> import feint
    >>> class First:
    ...     def probabilities(self): return [1.0, 0.0]
    ...     def pull(self): return 0
    ...     def update(self, arm, reward): pass
    >>> report = feint.check_policy(First, feint.Bandit([0.6, 0.3], [0.2, 0.5]), steps=500)
    >>> report.verdict, report.steps, report.policy, [arm.said for arm in report.arms]
    ('no evidence against what it says', 500, 'First', [1.0, 0.0])
    """

    policy: str
    steps: int
    most_steps: int
    precision: float | None
    precise: bool
    arms: tuple[PolicyArm, ...]
    replay: Likeliest | None
    audit: AuditReport

    @property
    def alpha(self) -> float:
        """Return the level of the check."""
        return self.audit.alpha

    @property
    def rejected(self) -> bool:
        """Return whether E reached 1/α at some step."""
        return self.audit.rejected

    @property
    def rejected_at(self) -> int | None:
        """Return the step at which E reached 1/α; None if it did not."""
        return self.audit.rejected_at

    @property
    def largest_departure(self) -> float:
        """Return a bound on every arm's mean departure, from the confidence sequences."""
        return max(max(-arm.low, arm.high) for arm in self.arms)

    @property
    def verdict(self) -> str:
        """Return what may be said."""
        if self.rejected:
            return f"rejected at step {self.rejected_at}"
        return f"within {self.precision:g} of what it says" if self.precise else "no evidence against what it says"

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON types; `feint_check` is the version of this schema (docs/check.md)."""
        audit = self.audit
        return {
            "feint_check": SCHEMA,
            "feint": VERSION,
            "verdict": self.verdict,
            "rejected": self.rejected,
            "rejected_at": self.rejected_at,
            "policy": self.policy,
            "n_arms": len(self.arms),
            "steps": self.steps,
            "most_steps": self.most_steps,
            "alpha": self.alpha,
            "precision": self.precision,
            "precise": self.precise,
            "largest_departure": self.largest_departure,
            "log_e_value": finite_or_none(audit.log_e_value),
            "highest_log_e_value": finite_or_none(audit.highest_log_e_value),
            "p_value": audit.p_value,
            "log_e_values": audit.log_e_values,
            "impossible": None if audit.impossible is None else audit.impossible._asdict(),
            "arms": [arm._asdict() for arm in self.arms],
            "replay": None if self.replay is None else self.replay._asdict(),
            "diagnosis": None if audit.diagnosis is None else diagnosis_json(audit.diagnosis),
        }

    def _repr_html_(self) -> str:
        from feint.auditing.facts import superscript
        from feint.auditing.policies.facts import facts_of_check
        from feint.support.html import table

        facts = facts_of_check(self, superscript)
        below = [facts.meaning, *(": ".join(number) for number in facts.numbers), *facts.arms.notes]
        return table(facts.verdict, *facts.arms.with_marks(), below)

    def __repr__(self) -> str:
        return (
            f"PolicyReport({self.verdict!r}, policy={self.policy!r}, alpha={self.alpha:g}, steps={self.steps}, "
            f"log_e_value={self.audit.log_e_value:.4g})"
        )

    def __str__(self) -> str:
        return (
            f"{self.policy}: {self.verdict} at α = {self.alpha:g}, after {self.steps:,} steps; every arm's mean "
            f"departure is at most {self.largest_departure:.2g}, "
            f"log₁₀ E = {self.audit.log_e_value / math.log(10):.3g}"
        )
