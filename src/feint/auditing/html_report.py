"""An audit as one self-contained HTML page: what was claimed, what was found, and how to repeat it.

No scripts, nothing from elsewhere and no date: the same report gives the same bytes. Whatever comes from the log is
escaped.
"""

import io
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from feint.auditing.facts import Facts, facts_of, superscript
from feint.auditing.picture import draw_arms, draw_evidence, shown_as
from feint.auditing.report import AuditReport
from feint.support.extras import need
from feint.support.facts import FactTable
from feint.support.html import escape, shell_words, table
from feint.support.page_style import PAGE
from feint.version import VERSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = f"""{PAGE}
body {{ margin: 0 auto; max-width: 60rem; padding: 1rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.7rem; line-height: 1.25; margin: .2rem 0 .6rem; }}
h2 {{ font-size: 1.2rem; margin: 2.2rem 0 .6rem; }}
.rejected {{ color: var(--no); }} .kept {{ color: var(--yes); }} .untested {{ color: var(--muted); }}
dl {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 0; }}
dl div {{ background: var(--soft); border-radius: 8px; padding: .5rem .8rem; }}
dt {{ color: var(--muted); font-size: .85rem; }} dd {{ margin: 0; font-size: 1.15rem; }}
figure {{ max-width: 36rem; }} figure svg {{ display: block; width: 100%; height: auto; }}
.scroll {{ overflow-y: auto; max-height: 34rem; }}
table {{ margin: .3rem 0; overflow-wrap: normal; }}
th, td {{ text-align: right; }}
th {{ background: var(--card); position: sticky; top: 0; vertical-align: bottom; }}
td {{ white-space: nowrap; font-variant-numeric: tabular-nums; }}
th:first-child, td:first-child {{ text-align: left; }}
td:first-child {{ white-space: normal; min-width: 7rem; max-width: 22rem; overflow-wrap: break-word; }}
.words td:first-child {{ min-width: 13rem; }}
pre {{ padding: .8rem; }}
@media (max-width: 40rem) {{ body {{ padding: .6rem; }} th, td {{ padding: .3rem .4rem; font-size: .8rem; }}
  td:first-child {{ min-width: 4.5rem; max-width: 9rem; }} .words td:first-child {{ min-width: 9rem; }} }}
@media print {{ .scroll {{ max-height: none; overflow: visible; }} th {{ position: static; }} }}
"""


def page(report: AuditReport, log: str, command: str) -> str:
    """Return the page for `report` on the log of this name, made by this command (empty if there was none).

    Examples
    --------
    >>> from feint.auditing import audit
    >>> report = audit([0, 1, 0], probabilities=[[0.5, 0.5]] * 3)
    >>> page(report, "log.csv", "feint audit log.csv").startswith("<!doctype html>")
    True
    """
    facts = facts_of(report, superscript)
    sections = _sections(facts)
    if report.calibrated:
        sections["arms"] += _figure("arms", draw_arms, report, _numbered(report))
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{escape(f'{_capital(facts.verdict)}: audit of {log}')}</title><style>{_STYLE}</style></head><body>",
        f"<p class='muted'>Audit of {escape(log)}</p><h1 class='{facts.tone}'>{escape(_capital(facts.verdict))}</h1>",
        f"<p>{escape(facts.meaning)}</p>",
        *(_section(name, _TITLES[name], content) for name, content in sections.items() if name in _BEFORE),
        _section("evidence", "Evidence over the rows", _evidence_section(report)),
        *(_section(name, _TITLES[name], content) for name, content in sections.items() if name not in _BEFORE),
        _section("repeat", "What was claimed and how to repeat it", _repeat(report, log, command)),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def fragment(report: AuditReport) -> str:
    """Return what the page says, without figures, for a notebook."""
    facts = facts_of(report, superscript)
    head = f"<b>{escape(_capital(facts.verdict))}</b> (α = {report.alpha:g}). {escape(facts.meaning)}"
    # A table, since notebooks let the terms of a list float, and long terms run into each other.
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.numbers
    )
    sections = _sections(facts) | {"numbers": f"<table>{rows}</table>"}
    shown = "".join(f"<p><b>{_TITLES[name]}</b></p>{content}" for name, content in sections.items())
    return f"<div><p>{head}</p>{shown}</div>"


_TITLES = {
    "claim": "What was claimed",
    "numbers": "Key numbers",
    "arms": "Arms",
    "groups": "Groups",
    "diagnosis": "What explains the log",
    "warnings": "Warnings",
    "left-out": "Bad rows left out",
}
_BEFORE = ("claim", "numbers")  # the figure of the evidence


def _sections(facts: Facts) -> dict[str, str]:
    """Return the content of every section that follows from the facts alone."""
    numbers = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.numbers)
    found = {
        "claim": f"<p>{escape(facts.claim)}</p>",
        "numbers": f"<dl>{numbers}</dl>",
        "arms": _scrolling("arms", facts.arms),
    }
    if facts.groups is not None:
        found["groups"] = f"<p>{escape(facts.groups.says)}</p>" + _scrolling("groups", facts.groups)
    if facts.explanation is not None:
        best = f"<p><strong>{escape(_capital(facts.explanation.says))}.</strong></p>"
        found["diagnosis"] = best + _scrolling("words", facts.explanation)
    found["warnings"] = _list(_code(warning) for warning in facts.warnings) or "<p>None.</p>"
    found["left-out"] = "<p>None.</p>"
    if facts.bad_rows is not None:
        kinds = _scrolling("kinds", facts.bad_rows._replace(notes=()))
        examples = _list(_code(example) for example in facts.bad_rows.notes)
        found["left-out"] = f"{kinds}<p>{escape(facts.bad_rows.says)}</p>{examples}"
    return found


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _section(name: str, title: str, content: str) -> str:
    return f"<section id='{name}'><h2>{title}</h2>{content}</section>"


def _list(items: Iterable[str]) -> str:
    shown = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{shown}</ul>" if shown else ""


def _code(text: str) -> str:
    """Return a text escaped, with `names` as code."""
    return re.sub(r"`(\w+)`", r"<code>\1</code>", escape(text))


def _scrolling(kind: str, facts: FactTable) -> str:
    """Return a table in a box of its own, so that a wide one does not widen the page."""
    below = "".join(f"<p class='muted'>{escape(note)}</p>" for note in facts.notes)
    if not facts.rows:
        return below
    return f"<div class='scroll {kind}' tabindex='0'>{table('', *facts.with_marks())}</div>{below}"


def _numbered(report: AuditReport) -> str:
    """Return which arms the figure shows by their numbers."""
    numbered = [f"{shown_as(arm)} is {arm.label}" for arm in report.arms if shown_as(arm) == f"#{arm.arm}"]
    return "; ".join(dict.fromkeys(numbered))


def _evidence_section(report: AuditReport) -> str:
    goal = superscript(-math.log(report.alpha))
    words = (
        "E is what bets against the claim have made of a stake of 1. If the claim is true, the bets are fair. Once E "
        f"reaches 1/α = {goal}, the claim is rejected."
    )
    return f"<p>{escape(words)}</p>" + _figure("evidence", draw_evidence, report)


def _repeat(report: AuditReport, log: str, command: str) -> str:
    said = [
        ("log", log),
        ("claim", report.claim),
        ("level α", f"{report.alpha:g}"),
        ("arms", f"{report.n_arms:,}"),
        ("feint", VERSION),
    ]
    shown = _list(f"<span class='muted'>{escape(name)}:</span> {escape(value)}" for name, value in said)
    return shown + (f"<pre><code>{shell_words(command)}</code></pre>" if command else "")


def _figure(name: str, draw: "Callable[[AuditReport], Figure]", report: AuditReport, caption: str = "") -> str:
    """Return a figure as SVG within the page, its letters as outlines: it looks the same wherever it is read."""
    need("matplotlib", "The page of an audit")
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.hashsalt": "feint", "svg.fonttype": "path"})
        figure = draw(report)
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    words = {"evidence": "Evidence against the claim by row", "arms": "Pulls observed less expected by arm"}[name]
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{_inline(file.getvalue(), name, words)}{below}</figure>"


def _inline(text: str, name: str, words: str) -> str:
    """Return Matplotlib's SVG as an element of HTML: no header, comments and name spaces, but its own identifiers."""
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"\n\s*\n+", "\n", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(words)}"', 1).strip()
