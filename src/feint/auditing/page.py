"""An audit as one self-contained HTML page: what was claimed, what was found, and how to repeat it.

No scripts, nothing from elsewhere and no date: the same report gives the same bytes. Whatever comes from the log is
escaped.
"""

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from feint.auditing.picture import calibrated, draw_arms, draw_evidence, scientific, shown_as
from feint.auditing.report import ArmReport, AuditReport
from feint.extras import need
from feint.html import escape, table
from feint.version import VERSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feint.auditing.diagnosis import Diagnosis

_EXPLANATIONS = 5

_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --muted: #666; --line: #ddd; --back: #fff; --box: #f5f6f7;
  --yes: #00664b; --no: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e8e8e8; --muted: #a0a0a0; --line: #3a3a3a; --back: #16181b;
  --box: #202327; --yes: #5fd3ae; --no: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .2rem 0 .6rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
.rejected { color: var(--no); } .kept { color: var(--yes); } .untested { color: var(--muted); }
.muted { color: var(--muted); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 0; }
dl div { background: var(--box); border-radius: 8px; padding: .5rem .8rem; }
dt { color: var(--muted); font-size: .85rem; } dd { margin: 0; font-size: 1.15rem; }
figure { margin: 1rem 0; max-width: 36rem; padding: .5rem; background: #fff; color: #1b1b1b; border-radius: 8px; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .85rem; color: #666; }
.scroll { overflow: auto; max-height: 34rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .3rem 0; overflow-wrap: normal; }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { background: var(--back); position: sticky; top: 0; vertical-align: bottom; }
td { white-space: nowrap; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
td:first-child { white-space: normal; min-width: 7rem; max-width: 22rem; overflow-wrap: break-word; }
.words td:first-child { min-width: 13rem; }
pre { background: var(--box); border-radius: 8px; padding: .8rem; white-space: pre-wrap; font-size: .85rem; }
@media (max-width: 40rem) { th, td { padding: .3rem .4rem; font-size: .8rem; }
  td:first-child { min-width: 4.5rem; max-width: 9rem; } .words td:first-child { min-width: 9rem; } }
@media print { .scroll { max-height: none; overflow: visible; } th { position: static; } }
"""


def page(report: AuditReport, log: str, command: str) -> str:
    """The page for `report`, of the log of this name, found by this command (empty if it was none).

    Examples
    --------
    >>> from feint.auditing import audit
    >>> report = audit([0, 1, 0], probabilities=[[0.5, 0.5]] * 3)
    >>> page(report, "log.csv", "feint audit log.csv").startswith("<!doctype html>")
    True
    """
    title = f"{_verdict(report)}: audit of {log}"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        _summary(report, log),
        _section("claim", "What was claimed", f"<p>{escape(report.claim)}</p>"),
        _section("numbers", "Key numbers", _numbers(report)),
        _section("evidence", "Evidence over the rows", _evidence(report)),
        _section("arms", "Arms", _arms(report)),
    ]
    if report.n_groups:
        parts.append(_section("groups", "Groups", _groups(report)))
    if report.diagnosis is not None:
        parts.append(_section("diagnosis", "What explains the log", _explanations(report.diagnosis)))
    parts += [
        _section("warnings", "Warnings", _list(_code(warning) for warning in report.warnings) or "<p>None.</p>"),
        _section("left-out", "Bad rows left out", _left_out(report)),
        _section("repeat", "What was claimed and how to repeat it", _repeat(report, log, command)),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _section(name: str, title: str, content: str) -> str:
    return f"<section id='{name}'><h2>{title}</h2>{content}</section>"


def _list(items: Iterable[str]) -> str:
    shown = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{shown}</ul>" if shown else ""


def _code(text: str) -> str:
    """Escaped, with `names` as code."""
    return re.sub(r"`(\w+)`", r"<code>\1</code>", escape(text))


def _scrolling(kind: str, head: Sequence[str], rows: Iterable[Sequence[Any]], notes: Sequence[str] = ()) -> str:
    """A table in a box of its own, so that a wide one does not widen the page."""
    below = "".join(f"<p class='muted'>{escape(note)}</p>" for note in notes)
    return f"<div class='scroll {kind}' tabindex='0'>{table('', head, rows)}</div>{below}"


def _verdict(report: AuditReport) -> str:
    words = report.verdict + ("" if report.rejected else " the claim")
    return words[0].upper() + words[1:]


def _summary(report: AuditReport, log: str) -> str:
    level = f"{100 * report.alpha:g} %"
    if not report.tested:
        kind, means = "untested", "No row could be tested; the warnings say why."
    elif report.impossible is not None:
        kind = "rejected"
        means = (
            f"Row {report.impossible.row:,} pulled arm {report.arms[report.impossible.arm].label}, to which the claim "
            f"gives probability 0. Such pulls: {report.impossible.pulls:,}."
        )
    elif report.rejected:
        kind = "rejected"
        means = f"A true claim is rejected with probability at most {level}, wherever the log ends."
    else:
        kind = "kept"
        means = (
            "That does not show that the claim is true: the log holds too little evidence to reject it at a level of "
            f"{level}."
        )
    named = sum(group.named for group in report.groups)
    if named:
        verb = "is" if named == 1 else "are"
        means += f" Tested one by one, {_at_least(report, named)} of {report.n_groups:,} groups {verb} named (below)."
    return (
        f"<p class='muted'>Audit of {escape(log)}</p><h1 class='{kind}'>{escape(_verdict(report))}</h1>"
        f"<p>{escape(means)}</p>"
    )


def _numbers(report: AuditReport) -> str:
    facts = [
        ("pulls tested", f"{report.tested:,} of {report.rows:,}"),
        ("e-value now", scientific(report.log_e_value)),
        ("e-value at its highest", scientific(report.highest_log_e_value)),
        ("anytime p-value", scientific(-report.highest_log_e_value)),
        ("α, the level", f"{report.alpha:g}"),
        ("arms", f"{report.n_arms:,}"),
    ]
    if report.boosted_arm is not None:
        size = "" if report.boosted_epsilon is None else f", ε ≈ {report.boosted_epsilon:g}"
        words = "most likely boosted" + ("" if report.rejected else ", if any")
        facts.append((words, f"arm {report.arms[report.boosted_arm].label}{size}"))
    if report.smallest_log_probability is not None and report.smallest_row is not None:
        value = f"{scientific(report.smallest_log_probability)}, row {report.smallest_row:,}"
        facts.append(("smallest probability of a pull", value))
    shown = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f"<dl>{shown}</dl>"


def _evidence(report: AuditReport) -> str:
    goal = scientific(-math.log(report.alpha))
    words = (
        "E is what bets against the claim have made of a stake of 1; were the claim true, they would be fair. Once E "
        f"reaches 1/α = {goal}, the claim is rejected."
    )
    return f"<p>{escape(words)}</p>" + _figure("evidence", draw_evidence, report)


def _arms(report: AuditReport) -> str:
    if not calibrated(report):
        rows: list[Sequence[Any]] = [(arm.label, f"{arm.observed:,}") for arm in report.arms]
        note = "Only propensities of pulled arms were logged, so how many pulls to expect of each is not known."
        return _scrolling("arms", ("arm", "observed"), rows, (note,))
    head = ("arm", "observed", "expected", "observed − expected", report.confidence, "")
    note = "* The agent departed from its claim: the interval leaves out all that the claim allows."
    allowed = [arm.allowed for arm in report.arms if arm.allowed]
    notes = [note] if any(arm.departs for arm in report.arms) else ["No arm clearly departs from the claim."]
    if allowed:
        notes.append(f"The claim allows up to ±{max(allowed):,.1f} pulls an arm (grey).")
    if report.impossible is not None:
        notes.append(f"Pulls of probability 0 under the claim ({report.impossible.pulls:,}) are not counted here.")
    numbered = [f"{shown_as(arm)} is {arm.label}" for arm in report.arms if shown_as(arm) == f"#{arm.arm}"]
    caption = "; ".join(dict.fromkeys(numbered))
    return _scrolling("arms", head, map(_arm, report.arms), notes) + _figure("arms", draw_arms, report, caption)


def _arm(arm: ArmReport) -> Sequence[str]:
    if arm.expected is None or arm.excess is None or arm.low is None or arm.high is None:
        return (arm.label, f"{arm.observed:,}", "not logged", "", "", "")
    interval = f"{arm.low:+,.1f} … {arm.high:+,.1f}".replace("-", "−")
    excess = f"{arm.excess:+,.1f}".replace("-", "−")
    return (
        arm.label, f"{arm.observed:,}", f"{arm.expected:,.1f}", excess, interval, "* departs" if arm.departs else ""
    )  # fmt: skip


def _at_least(report: AuditReport, named: int) -> str:
    """The report holds the worst groups only: where all of them are named, more may be."""
    return f"at least {named:,}" if named == len(report.groups) < report.n_groups else f"{named:,}"


def _groups(report: AuditReport) -> str:
    count = f"{report.n_groups:,} groups"
    if not report.groups:
        return f"<p>{count}. Each has its own past; a test of each would need the probabilities of all arms.</p>"
    named = sum(group.named for group in report.groups)
    at = f"at α = {report.alpha:g}"
    if not named:
        says = f"e-BH names none of the {count} {at}."
    else:
        says = (
            f"* Of the {count}, e-BH names {_at_least(report, named)} {at}: among those named, at most the share "
            f"{report.alpha:g} is expected to keep its claim."
        )
    rows = [
        (group.group, f"{group.tested:,}", scientific(group.log_e_value), "* named" if group.named else "")
        for group in report.groups
    ]
    notes = [says]
    if len(report.groups) < report.n_groups:
        notes.append(f"The {len(report.groups)} with most evidence are shown.")
    return _scrolling("groups", ("group", "pulls tested", "e-value", ""), rows, notes)


def _explanations(diagnosis: "Diagnosis") -> str:
    words = diagnosis.words
    rows = [
        (found.words, f"{100 * found.share:.0f} %", f"{found.first_row:,} … {found.last_row:,}")
        for found in diagnosis.explanations[:_EXPLANATIONS]
    ]
    note = (
        f"Explanations compared after the fact, on {diagnosis.rows:,} rows; this is no test. The rows are those in "
        "which an explanation won most."
    )
    best = f"<p><strong>{escape(words[:1].upper() + words[1:])}.</strong></p>"
    head = ("what explains the log best", "share of the evidence", "rows")
    return best + (_scrolling("words", head, rows, (note,)) if rows else "")


def _left_out(report: AuditReport) -> str:
    if not report.bad_rows:
        return "<p>None.</p>"
    kinds = _scrolling("kinds", ("kind", "rows"), [(kind, f"{count:,}") for kind, count in report.bad_rows.items()])
    first = "" if len(report.bad_examples) == report.left_out else f" The first {len(report.bad_examples)}:"
    said = f"<p>{report.left_out:,} of {report.rows:,} rows were not tested.{first}</p>"
    return kinds + said + _list(_code(example) for example in report.bad_examples)


def _repeat(report: AuditReport, log: str, command: str) -> str:
    facts = [
        ("log", log),
        ("claim", report.claim),
        ("what was tested", report.mode),
        ("level α", f"{report.alpha:g}"),
        ("feint", VERSION),
    ]
    shown = _list(f"<span class='muted'>{escape(name)}:</span> {escape(value)}" for name, value in facts)
    return shown + (f"<pre><code>{escape(command)}</code></pre>" if command else "")


def _figure(name: str, draw: "Callable[[AuditReport], Figure]", report: AuditReport, caption: str = "") -> str:
    """A figure as SVG within the page, its letters as outlines: it looks the same wherever it is read."""
    need("matplotlib", "The page of an audit")
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.hashsalt": "feint", "svg.fonttype": "path"})
        figure = draw(report)
        figure.savefig(file, format="svg", metadata={"Date": None})
    words = {"evidence": "Evidence against the claim by row", "arms": "Pulls observed less expected by arm"}[name]
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{_inline(file.getvalue(), name, words)}{below}</figure>"


def _inline(text: str, name: str, words: str) -> str:
    """Matplotlib's SVG as an element of HTML: without header, comments and name spaces, with identifiers of its own."""
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"\n\s*\n+", "\n", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(words)}"', 1).strip()
