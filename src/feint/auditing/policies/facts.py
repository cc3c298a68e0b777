"""What the check of a policy found, as facts in words: the terminal and the notebook show them."""

from collections.abc import Sequence
from typing import NamedTuple

from feint.auditing.diagnosis import UNCLEAR
from feint.auditing.facts import Power
from feint.auditing.policies.report import PolicyArm, PolicyReport
from feint.support.facts import FactTable


class CheckFacts(NamedTuple):
    """What a check found: the verdict, what it means, numbers as (what, answer), and a table of the arms."""

    verdict: str
    meaning: str
    numbers: Sequence[tuple[str, str]]
    arms: FactTable


def facts_of_check(report: PolicyReport, power: Power) -> CheckFacts:
    """Put a report into words; `power` writes exp of its argument."""
    verdict = f"{report.policy}: {report.verdict} (α = {report.alpha:g})"
    return CheckFacts(verdict, _meaning(report), _numbers(report, power), _arms(report))


def _meaning(report: PolicyReport) -> str:
    level = f"{100 * report.alpha:g} %"
    if (impossible := report.audit.impossible) is not None:
        return (
            f"Step {impossible.row:,} pulled arm {impossible.arm}, after the policy had said that its probability "
            "was 0. If it rounds what it says, it must give more digits."
        )
    if report.rejected:
        return f"A policy that draws what it says is rejected with probability at most {level}."
    if report.precise:
        return (
            f"On average over the steps, its probability of every arm differed from what it said by at most "
            f"{report.precision:g}."
        )
    return (
        "That does not show that it draws what it says: mean departures of up to "
        f"{report.largest_departure:.2g} per step may remain."
    )


def _numbers(report: PolicyReport, power: Power) -> list[tuple[str, str]]:
    audit = report.audit
    found = [
        ("steps", f"{report.steps:,} of {report.most_steps:,}"),
        ("e-value", f"{power(audit.log_e_value)} now, {power(audit.highest_log_e_value)} at its highest"),
        ("anytime p-value", power(-audit.highest_log_e_value)),
        ("largest mean departure", f"at most {report.largest_departure:.2g} per step"),
    ]
    if explanation := _explanation(report):
        found.append(("what explains it best", explanation))
    return found


def _explanation(report: PolicyReport) -> str:
    if report.replay is not None:
        lag = f"{report.replay.lag} step{'' if report.replay.lag == 1 else 's'} before"
        if report.replay.kind == "repeats":
            return f"its pulls repeat those of {lag}: is a seed set again?"
        return f"its pulls fit the probabilities that it stated {lag}: is an arm drawn too early?"
    if report.audit.diagnosis is None or report.audit.diagnosis.kind == UNCLEAR:
        return ""
    return report.audit.diagnosis.words


def _arms(report: PolicyReport) -> FactTable:
    intervals = "* leaves out 0" if any(arm.departs for arm in report.arms) else "each includes 0"
    return FactTable(
        head=("arm", "share of pulls", "mean stated", "departure", "interval"),
        rows=[_arm(arm) for arm in report.arms],
        marks=["*" if arm.departs else "" for arm in report.arms],
        notes=[f"Means over the steps. The intervals hold for all arms and all steps at once; {intervals}."],
    )


def _arm(arm: PolicyArm) -> tuple[str, ...]:
    signed = (f"{x:+.4f}".replace("-", "−") for x in (arm.departure, arm.low, arm.high))
    departure, low, high = signed
    return (str(arm.arm), f"{arm.observed:.4f}", f"{arm.said:.4f}", departure, f"{low} … {high}")
