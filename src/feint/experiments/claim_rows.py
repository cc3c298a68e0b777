"""The claims of one experiment as an HTML table: one row per claim, shared by its arms or its instances."""

import html
import re
from collections.abc import Iterable

from feint.experiments.claims_page import changes
from feint.experiments.contract import join_words
from feint.experiments.findings import MEASUREMENT, REFUTED, SHOWN, THEOREM, Finding

_KINDS = {THEOREM: "a theorem", MEASUREMENT: "a measurement"}
_PART = re.compile(r"\b(arm|instance) (\d+)\b")


def merge(claims: Iterable[Finding]) -> list[list[Finding]]:
    """Return groups of claims that differ only in the one arm, or the one instance, that they name.

    >>> claims = [Finding(f"arm {arm} is fair", "", "share", 0.5, 0.4, 0.6, 0.3, 0.7) for arm in (1, 2)]
    >>> [merged_name(group) for group in merge(claims)]
    ['arms 1 and 2 is fair']
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for claim in claims:
        same = _PART.sub(r"\1", claim.name) if len(_PART.findall(claim.name)) == 1 else claim.name
        groups.setdefault((same, claim.kind, claim.stated, claim.claimed), []).append(claim)
    return list(groups.values())


def merged_name(group: list[Finding]) -> str:
    """Return the name of a group, with all of its arms."""
    if len(group) == 1:
        return group[0].name
    parts = [_PART.search(claim.name) for claim in group]
    numbers = join_words([part[2] for part in parts if part])
    return _PART.sub(lambda found: f"{found[1]}s {numbers}", group[0].name)


def merged_verdict(group: list[Finding]) -> str:
    """Return the verdict on all claims of a group together: refuted if one is, and shown only if all are."""
    verdicts = {claim.verdict for claim in group}
    return REFUTED if REFUTED in verdicts else next(iter(verdicts - {SHOWN}), SHOWN)


def with_subscripts(text: str) -> str:
    """Return a text for HTML, with subscripts as such.

    >>> with_subscripts("w_t < φ_{a,t}")
    'w<sub>t</sub> &lt; φ<sub>a,t</sub>'
    """
    return re.sub(r"(?<=[^\W\d_])_(?:\{([^}]*)\}|(\w)\b)", r"<sub>\1\2</sub>", html.escape(text))


def _html_row(group: list[Finding]) -> str:
    first, verdict = group[0], merged_verdict(group)
    notes = [f"The paper: “{with_subscripts(first.stated)}”"] if first.stated else []
    notes += [f"* {changes(first)}"] if first.exploratory else []
    doubtful = [claim.words_in_doubt for claim in group if claim.verdict == verdict and claim.words_in_doubt]
    notes += [f"<strong>{with_subscripts(words)}</strong>" for words in doubtful[:1]]
    star = " *" if first.exploratory else ""
    name = f"{with_subscripts(merged_name(group))}{star} <small>({_KINDS.get(first.kind, first.kind)})</small>"
    quantities = "<br>".join(with_subscripts(text) for text in dict.fromkeys(claim.quantity for claim in group))
    return (
        f"<tr><td class='verdict {verdict}'>{verdict}</td>"
        f"<td>{name}{''.join(f'<br><small>{note}</small>' for note in notes)}</td>"
        f"<td data-label='what was measured'>{quantities}</td><td data-label='claimed'>{first.claimed}</td>"
        f"<td class='number' data-label='measured'>{''.join(_measured(claim, group) for claim in group)}</td></tr>"
    )


def _measured(claim: Finding, group: list[Finding]) -> str:
    """Return what was measured, with the arm and, where they differ, with the verdict on this arm alone."""
    part = _PART.search(claim.name)
    of = f"{part[0]}: " if part and len(group) > 1 else ""
    alone = "" if claim.verdict == merged_verdict(group) else f" <small class='{claim.verdict}'>{claim.verdict}</small>"
    interval = f" <small>({claim.interval})</small>" if claim.interval else ""
    return f"<div>{of}{claim.measured:.4g}{interval}{alone}</div>"


def claims_table(claims: list[Finding]) -> str:
    """Return the table, in the order of the claims."""
    rows = "".join(_html_row(group) for group in merge(claims))
    head = "<th>verdict</th><th>claim</th><th>what was measured</th><th>claimed</th><th>measured</th>"
    return f"<table class='claims'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
