"""The claims as a page of Markdown, `claims.md`: the paper's, ours and theorems in separate tables."""

from collections.abc import Iterable
from pathlib import Path

from feint.experiments import GROUPS, SEEDS_SEEN
from feint.experiments.contract import Size, digest_settings
from feint.experiments.findings import KINDS, MEASUREMENT, REFUTED, Finding, count_lines, family_words
from feint.support.files import write_whole

ARMS_WORDS = (
    "In Figures 1 to 5, in what is claimed about them and in the comparison with the paper's approximations, arms are "
    "numbered as in the paper, from 1; everywhere else arms count from 0."
)


def write_claims(out: Path, claims: dict[str, list[Finding]], *, seed: int, size: Size) -> None:
    """Write claims.md into `out`."""
    names = " ".join(next(([group] for group, names in GROUPS.items() if list(names) == list(claims)), claims))
    words = f"{names}{'' if size == 'usual' else f' --{size}'}{f' --seed {seed}' if seed else ''}"
    page = claims_page(claims, f"`feint reproduce {words}` (settings {digest_settings(size)})", seed)
    write_whole(out / "claims.md", lambda name: name.write_text(page, encoding="utf-8"), force=True)


def level_words(claims: dict[str, list[Finding]], seed: int) -> str:
    """Return what the verdicts mean, the probability that any of them is wrong, and what the star means."""
    fresh = (
        f"No data of seed {seed} had been seen by then, so their intervals keep their level here."
        if seed not in SEEDS_SEEN
        else f"Data of seed {seed} had been seen by then, so the level of these is not guaranteed here."
    )
    return (
        f"{family_words(claim for found in claims.values() for claim in found)} A claim is shown if its interval lies "
        "inside what is claimed, refuted if outside, and otherwise undecided. Claims marked * are exploratory: their "
        f"settings, range or statistic were changed after data had been seen. {fresh}"
    )


def claims_page(claims: dict[str, list[Finding]], origin: str, seed: int) -> str:
    """Return the page; `origin` says what made it."""
    everything = [claim for found in claims.values() for claim in found]
    parts = ["# Claims\n", f"Made by {origin}. {level_words(claims, seed)} {ARMS_WORDS}\n"]
    parts += [f"- {line}" for line in count_lines(everything)]
    doubts = [f"- **{_escape_markup(claim.name)}**: {_escape_markup(claim.words_in_doubt)}" for claim in everything]
    if doubts := [line for line, claim in zip(doubts, everything, strict=True) if claim.words_in_doubt]:
        parts += ["\n## Where the paper's words are not shown\n", *doubts]
    for kind, title in KINDS.items():
        rows = [_markdown_row(name, claim) for name, found in claims.items() for claim in found if claim.kind == kind]
        columns = ("figure", "claim", "measured", "interval", "claimed", "verdict")[: 4 if kind == MEASUREMENT else 6]
        if rows:
            head = (f"| {' | '.join(columns)} |", f"| {' | '.join(['---'] * len(columns))} |")
            parts += [f"\n## {title}\n", *head, *rows]
    parts += ["\n## What was measured\n", *_quantities(claims)]
    return "\n".join(parts) + "\n"


def _markdown_row(name: str, claim: Finding) -> str:
    verdict = f"**{claim.verdict}**" if claim.verdict == REFUTED else claim.verdict
    cells = [name, _escape_markup(marked(claim)), f"{claim.measured:.4g}", claim.interval]
    cells += [] if claim.kind == MEASUREMENT else [claim.claimed, verdict]
    return "| " + " | ".join(cells) + " |"


def _quantities(claims: dict[str, list[Finding]]) -> Iterable[str]:
    for found in claims.values():
        for claim in found:
            stated = f" The paper: “{_escape_markup(claim.stated)}”." if claim.stated else ""
            changed = f" \\* {changes(claim)}" if claim.exploratory else ""
            yield f"- **{_escape_markup(claim.name)}**: {_escape_markup(claim.quantity)}.{stated}{changed}"


def _escape_markup(text: str) -> str:
    """Escape stars and underscores, so that they are not markup."""
    return text.replace("*", "\\*").replace("_", "\\_")


def changes(claim: Finding) -> str:
    """Return which commits changed an exploratory claim after data had been seen."""
    return f"Changed after data had been seen: {', '.join(claim.changed)}."


def marked(claim: Finding) -> str:
    """Return the name of a claim, with a star if it is exploratory."""
    return claim.name + (" *" if claim.exploratory else "")
