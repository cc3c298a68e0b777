"""The claims as a page of Markdown, `claims.md`: the paper's, ours and theorems in separate tables."""

from collections.abc import Iterable
from pathlib import Path

from feint.experiments import GROUPS
from feint.experiments.findings import KINDS, LEVEL, REFUTED, Finding, count_lines
from feint.support.files import write_whole

LEVEL_WORDS = (
    f"An interval misses the truth with probability at most {100 * LEVEL:g} %. A claim is shown if its interval lies "
    "inside what is claimed, refuted if outside, and otherwise undecided. Those marked * are exploratory: their "
    "settings were chosen after data had been seen."
)
ARMS_WORDS = (
    "In Figures 1 to 5 and what is claimed about them, arms and instances are numbered as in the paper, from 1; "
    "everywhere else they count from 0."
)


def write_claims(out: Path, claims: dict[str, list[Finding]], *, seed: int, quick: bool) -> None:
    """Write claims.md into `out`."""
    names = " ".join(next(([group] for group, names in GROUPS.items() if list(names) == list(claims)), claims))
    page = claims_page(claims, f"`feint reproduce {names}{' --quick' if quick else ''}`, seed {seed}")
    write_whole(out / "claims.md", lambda name: name.write_text(page, encoding="utf-8"), force=True)


def claims_page(claims: dict[str, list[Finding]], origin: str) -> str:
    """Return the page; `origin` says what made it."""
    everything = [claim for found in claims.values() for claim in found]
    parts = ["# Claims\n", f"Made by {origin}. {LEVEL_WORDS} {ARMS_WORDS}\n"]
    parts += [f"- {line}" for line in count_lines(everything)]
    for kind, title in KINDS.items():
        rows = [_row(name, claim) for name, found in claims.items() for claim in found if claim.kind == kind]
        if rows:
            parts += [f"\n## {title}\n", "| figure | claim | measured | interval | claimed | verdict |"]
            parts += ["| --- | --- | --- | --- | --- | --- |", *rows]
    parts += ["\n## What was measured\n", *_quantities(claims)]
    return "\n".join(parts) + "\n"


def _row(name: str, claim: Finding) -> str:
    verdict = f"**{claim.verdict}**" if claim.verdict == REFUTED else claim.verdict
    cells = (name, _escape_markup(marked(claim)), f"{claim.measured:.4g}", claim.interval, claim.claimed, verdict)
    return "| " + " | ".join(cells) + " |"


def _quantities(claims: dict[str, list[Finding]]) -> Iterable[str]:
    for found in claims.values():
        for claim in found:
            stated = f" The paper: “{_escape_markup(claim.stated)}”." if claim.stated else ""
            yield f"- **{_escape_markup(claim.name)}**: {_escape_markup(claim.quantity)}.{stated}"


def _escape_markup(text: str) -> str:
    """Escape stars and underscores, so that they are no markup."""
    return text.replace("*", "\\*").replace("_", "\\_")


def marked(claim: Finding) -> str:
    """Return the name of a claim, with a star if it is exploratory."""
    return claim.name + (" *" if claim.exploratory else "")
