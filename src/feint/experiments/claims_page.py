"""The claims as a page of Markdown, `claims.md`: the paper's, ours, and theorems apart."""

from collections.abc import Iterable
from pathlib import Path

from feint.experiments.claims import KINDS, LEVEL, REFUTED, Claim, count_lines
from feint.files import write_whole

LEVEL_WORDS = (
    f"An interval misses the truth with probability {100 * LEVEL:g} % at most; a claim is shown if it lies inside "
    "what is claimed, refuted if outside, and undecided else. Those marked * are exploratory: their settings were "
    "chosen after data had been seen."
)
ARMS_WORDS = "Arms count from 0; where the paper is quoted, from 1."


def write_claims(out: Path, claims: dict[str, list[Claim]], *, seed: int, quick: bool) -> None:
    """Write claims.md into `out`."""
    page = claims_page(claims, f"`feint reproduce{' --quick' if quick else ''}`, seed {seed}")
    write_whole(out / "claims.md", lambda name: name.write_text(page, encoding="utf-8"), force=True)


def claims_page(claims: dict[str, list[Claim]], origin: str) -> str:
    """The page; `origin` says what made it."""
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


def _row(name: str, claim: Claim) -> str:
    verdict = f"**{claim.verdict}**" if claim.verdict == REFUTED else claim.verdict
    cells = (name, _plain(marked(claim)), f"{claim.measured:.4g}", claim.interval, claim.claimed, verdict)
    return "| " + " | ".join(cells) + " |"


def _quantities(claims: dict[str, list[Claim]]) -> Iterable[str]:
    for found in claims.values():
        for claim in found:
            stated = f" The paper: “{_plain(claim.stated)}”." if claim.stated else ""
            yield f"- **{_plain(claim.name)}**: {_plain(claim.quantity)}.{stated}"


def _plain(text: str) -> str:
    """Stars and underscores that are no markup."""
    return text.replace("*", "\\*").replace("_", "\\_")


def marked(claim: Claim) -> str:
    """Its name, with a star if it is exploratory."""
    return claim.name + (" *" if claim.exploratory else "")
