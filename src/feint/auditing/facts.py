"""What an audit found, as facts in words: the terminal, the page and the notebook show them, each in its own way.

What is said, and when, is decided here alone. Only numbers that need a power of ten are written in two ways
(`superscript`, `caret`), since a terminal may lack the letters. JSON has the numbers (`AuditReport.to_json`).
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from feint.auditing.diagnosis import BOOSTED, SHARE, UNCLEAR
from feint.support.facts import FactTable

if TYPE_CHECKING:
    from feint.auditing.diagnosis import Diagnosis
    from feint.auditing.report import ArmReport, AuditReport, Cause

_EXPLANATIONS = 5
_SMALLEST_SHARE = 0.005  # that is written as a number
_BETS = {
    "boosts": "boosts",
    "calibration": "shares",
    "shares": "shares",
    "leader": "the likeliest arm",
    "serial": "serial dependence",
    "groups": "groups",
    "product": "product over shards",
    "average": "average over shards",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Power = Callable[[float], str]  # exp(log_value) as text


class Facts(NamedTuple):
    """What an audit found; `groups`, `explanation` and `bad_rows` are None where there are none."""

    verdict: str
    tone: str  # rejected, kept or untested
    meaning: str
    claim: str
    numbers: Sequence[tuple[str, str]]
    explanation: FactTable | None
    arms: FactTable
    groups: FactTable | None
    bad_rows: FactTable | None  # by kind; the notes are examples
    warnings: Sequence[str]


def facts_of(report: "AuditReport", power: Power) -> Facts:
    """Put a report into words; `power` writes exp of its argument."""
    tone, meaning = _meaning(report)
    return Facts(
        verdict=report.verdict + ("" if report.rejected else " the claim"),
        tone=tone,
        meaning=meaning,
        claim=report.claim,
        numbers=_number_facts(report, power),
        explanation=None if report.diagnosis is None else _explanation(report.diagnosis),
        arms=_arm_table(report),
        groups=_groups(report, power) if report.n_groups else None,
        bad_rows=_bad_rows(report) if report.bad_rows else None,
        warnings=report.warnings,
    )


def _meaning(report: "AuditReport") -> tuple[str, str]:
    """Return (tone, what the verdict means)."""
    level = f"{100 * report.alpha:g} %"
    if not report.tested:
        tone, means = "untested", "No row could be tested; the warnings say why."
    elif report.impossible is not None:
        tone = "rejected"
        means = (
            f"Row {report.impossible.row:,} pulled arm {report.arms[report.impossible.arm].label}, to which the claim "
            f"gives probability 0. Such pulls: {report.impossible.pulls:,}."
        )
    elif report.changed is not None:
        tone, changed = "rejected", report.changed
        arm, first_arm = (report.arms[a].label for a in (changed.arm, changed.first_arm))
        means = (
            f"Row {changed.row:,} shows arm {arm} to the unit {changed.unit}, whose first row has arm {first_arm}. "
            f"Such rows: {changed.rows:,}."
        )
    elif report.rejected:
        tone = "rejected"
        once = report.shards is not None and report.shards.dependent_groups
        scope = "if its length was fixed beforehand" if once else "wherever the log ends"
        means = f"A true claim is rejected with probability at most {level}, {scope}."
    else:
        tone = "kept"
        means = (
            "That does not show that the claim is true: the log holds too little evidence to reject it at a level of "
            f"{level}."
        )
    if named := report.n_named:
        verb = "is" if named == 1 else "are"
        means += f" Tested one by one, {named:,} of {report.n_groups:,} groups {verb} named (below)."
    return tone, means


def _number_facts(report: "AuditReport", power: Power) -> list[tuple[str, str]]:
    drawn = report.rows - report.left_out - report.repeated
    first = " (the first have no posterior)" if drawn > report.tested else ""
    found = [
        ("pulls tested", f"{report.tested:,} of {report.rows:,}{first}"),
        *([("not the first of their unit", f"{report.repeated:,}")] if report.repeated else ()),
        *_evidence(report, power),
    ]
    if report.cause is not None:
        found.append(("rejected because", _cause(report, report.cause)))
    kind = None if report.diagnosis is None else report.diagnosis.kind
    # Where something else explains the log, this would name the wrong reason.
    caused = report.cause is None or report.boosted_arm in report.cause.arms
    by_units = report.changed is not None and report.diagnosis is None
    if report.boosted_arm is not None and caused and not by_units and kind in (None, BOOSTED, SHARE, UNCLEAR):
        size = "" if report.boosted_epsilon is None else f", ε ≈ {report.boosted_epsilon:g}"
        words = f"arm {report.arms[report.boosted_arm].label}{size}"
        found.append(("most likely boosted", words + ("" if report.rejected else ", if any")))
    if report.smallest_log_probability is not None:
        value = f"{power(report.smallest_log_probability)}, row {report.smallest_row:,}"
        found.append(("smallest π of a pulled arm", value))
    return found


def _evidence(report: "AuditReport", power: Power) -> list[tuple[str, str]]:
    """Return E, its parts, when it was read, and the p-value."""
    parts = ", ".join(f"{_BETS[name]} {power(log_e)}" for name, log_e in report.log_e_values.items())
    now, highest = power(report.log_e_value), power(report.highest_log_e_value)
    shards = report.shards
    if shards is None:
        return [
            ("e-value", f"{now} now, {highest} at its highest"),
            ("e-values of its bets", parts),
            ("anytime p-value", power(-report.highest_log_e_value)),
        ]
    read = "at the end of the log only" if shards.blocks is None else f"after every {shards.blocks:,} rows"
    return [
        ("shards", f"{shards.n:,}, by group; E was read {read}"),
        ("e-value", now if shards.blocks is None else f"{now} now, {highest} at its highest"),
        ("the mean of", parts),
        ("p-value" if shards.dependent_groups else "anytime p-value", power(-report.highest_log_e_value)),
    ]


def _cause(report: "AuditReport", cause: "Cause") -> str:
    rows = f"row {cause.first_row:,}"
    if cause.last_row > cause.first_row:
        rows = f"rows {cause.first_row:,} … {cause.last_row:,}"
    arms = ""
    if cause.part == "serial" and len(cause.arms) < report.n_arms:
        arms = f"; mostly arm {', '.join(report.arms[arm].label for arm in cause.arms)}"
    return f"{cause.words} ({rows}{arms}; {100 * cause.share:.0f} % of E)"


def _explanation(diagnosis: "Diagnosis") -> FactTable:
    best = diagnosis.words if diagnosis.kind == UNCLEAR else "what explains the log best"
    return FactTable(
        head=(best, "share of the evidence", "rows"),
        rows=[
            (found.words, _share_text(found.share), f"{found.first_row:,} … {found.last_row:,}")
            for found in diagnosis.explanations[:_EXPLANATIONS]
        ],
        says=diagnosis.words,
        notes=[
            f"Explanations compared after the fact, on {diagnosis.rows:,} rows; this is not a test. The rows are those "
            "in which an explanation won most.",
            *_suggestion([found.option for found in diagnosis.explanations if found.option]),
        ],
    )


def _share_text(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= _SMALLEST_SHARE else "below 1 %"


def _suggestion(options: Sequence[str]) -> list[str]:
    """Say which other claims would not be rejected, if there are any."""
    if not options:
        return []
    return [
        f"With {', or with '.join(options)}, the claim would not be rejected on these rows. A claim that is chosen "
        "because it passes has passed no test."
    ]


def _arm_table(report: "AuditReport") -> FactTable:
    if not report.calibrated:
        return FactTable(
            head=("arm", "observed"),
            rows=[(arm.label, f"{arm.observed:,}") for arm in report.arms],
            marks=[""] * report.n_arms,
            notes=[
                "The probabilities are estimated, so how many pulls to expect of each arm is not known exactly."
                if "shares" in report.log_e_values
                else "Only propensities of pulled arms were logged, so how many pulls to expect of each is not known."
            ],
        )
    departing = any(arm.departs for arm in report.arms)
    notes = [
        "* The agent departed from its claim: the interval excludes everything that the claim allows."
        if departing
        else "No arm clearly departs from the claim."
    ]
    if allowed := [arm.allowed for arm in report.arms if arm.allowed]:
        notes.append(f"The claim allows up to ±{max(allowed):,.1f} pulls per arm (grey).")
    return FactTable(
        head=("arm", "observed", "expected", "observed − expected", report.confidence),
        rows=[_arm(arm) for arm in report.arms],
        marks=["* departs" if arm.departs else "" for arm in report.arms],
        notes=notes,
    )


def _arm(arm: "ArmReport") -> tuple[str, ...]:
    if arm.expected is None or arm.excess is None:
        return (arm.label, f"{arm.observed:,}", "not logged", "", "")
    interval = "" if arm.low is None else f"{arm.low:+,.1f} … {arm.high:+,.1f}".replace("-", "−")
    excess = f"{arm.excess:+,.1f}".replace("-", "−")
    return (arm.label, f"{arm.observed:,}", f"{arm.expected:,.1f}", excess, interval)


def _groups(report: "AuditReport", power: Power) -> FactTable:
    count, at = f"{report.n_groups:,} groups", f"at α = {report.alpha:g}"
    if not report.groups:
        says = f"{count}. Each has its own past; a test of each would need the probabilities of all arms."
        return FactTable(head=(), rows=[], says=says)
    notes = []
    if report.n_named:
        notes.append(f"At most a share of {report.alpha:g} of the groups named is expected to be honest.")
    if len(report.groups) < report.n_groups:
        notes.append(f"The {len(report.groups)} with the most evidence are shown.")
    return FactTable(
        head=("group", "pulls tested", "e-value"),
        rows=[(group.group, f"{group.tested:,}", power(group.log_e_value)) for group in report.groups],
        marks=["* named" if group.named else "" for group in report.groups],
        says=f"{count}, {report.n_named:,} named (*) by e-BH {at}",
        notes=notes,
    )


def _bad_rows(report: "AuditReport") -> FactTable:
    first = "" if len(report.bad_examples) == report.left_out else f" The first {len(report.bad_examples)}:"
    return FactTable(
        head=("kind", "rows"),
        rows=[(kind, f"{count:,}") for kind, count in report.bad_rows.items()],
        says=f"{report.left_out:,} of {report.rows:,} rows were not tested.{first}",
        notes=report.bad_examples,
    )


def power_of_ten(exponent: int) -> str:
    """Return 10^exponent, however large: 1, 10, 100, 10³, …"""
    return str(10**exponent) if 0 <= exponent <= 2 else "10" + str(exponent).translate(_SUPERSCRIPTS)


def superscript(log_value: float) -> str:
    """Return exp(log_value) with a superscript, such as 2.5·10³⁰."""
    digits, exponent = _digits_and_exponent(log_value)
    if exponent is None:
        return digits
    return power_of_ten(exponent) if digits == "1.0" else f"{digits}·{power_of_ten(exponent)}"


def caret(log_value: float) -> str:
    """Return exp(log_value) in letters that every terminal has, such as 2.5·10^30."""
    digits, exponent = _digits_and_exponent(log_value)
    return digits if exponent is None else f"{digits}·10^{exponent}"


def _digits_and_exponent(log_value: float) -> tuple[str, int | None]:
    """Return exp(log_value) as digits and a power of ten, however large or small; None where digits alone will do."""
    if math.isinf(log_value):
        return ("∞" if log_value > 0 else "0"), None
    if math.log(1e-4) < log_value < math.log(1e5):
        value = math.exp(log_value)
        return (f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"), None
    exponent = math.floor(log_value / math.log(10))
    digits = f"{10 ** (log_value / math.log(10) - exponent):.1f}"
    return ("1.0", exponent + 1) if digits == "10.0" else (digits, exponent)
