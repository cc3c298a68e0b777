"""The report, one self-contained HTML page: figure, claims and settings of each experiment, errata and versions."""

import base64
import html
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from feint.experiments import PAPER_FIGURES, TITLES
from feint.experiments.claims_page import ARMS_WORDS, changes, level_words, marked
from feint.experiments.contract import Size, caption_of, load_experiment, settings_of
from feint.experiments.findings import Finding, count_lines
from feint.support.files import write_whole
from feint.version import VERSION

_LIBRARIES = ("numpy", "scipy", "numba", "xarray", "zarr", "matplotlib")

_ERRATA = (
    ("The exponent lost a factor", "With Γ as defined, log(1 − p*) ≈ −√(εT)·Γ(w), not −√(4εT)·Γ(w); w* is unaffected."),
    (
        "Gauss–Hermite with 32 nodes is not accurate enough",
        "On the paper's instance it misses reference probabilities by 15 to 64 %; see the figure “approximations”.",
    ),
    ("q-hat must be clipped at 1", "and it spends only 40 to 90 % of the budget for p from 0.1 to 1e-6."),
)

_SIZES: dict[Size, str] = {
    "quick": "A quick run: short horizons, few seeds.",
    "usual": "A run of minutes: what it leaves undecided, feint reproduce --full decides within an hour.",
    "full": "A full run: as many seeds as a pilot on other seeds asked for.",
}
_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --muted: #666; --line: #ddd; --back: #fff; --card: #fff;
  --yes: #00664b; --no: #b3261e; --open: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --text: #e8e8e8; --muted: #a0a0a0; --line: #3a3a3a; --back: #16181b;
  --card: #f6f6f6; --yes: #5fd3ae; --no: #ff8a80; --open: #f0c060; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
figure { margin: 1rem 0; padding: .5rem; background: var(--card); border-radius: 8px; }
figure img { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.shown { color: var(--yes); font-weight: 600; } .refuted { color: var(--no); font-weight: 600; }
.undecided { color: var(--open); font-weight: 600; }
small, .muted { color: var(--muted); }
td, dd, figcaption { overflow-wrap: anywhere; }
figcaption { color: #444; font-size: .85rem; padding: .4rem .2rem 0; }
nav ul { columns: 2; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; font-size: .8rem; margin: .4rem 0; }
dd { margin: 0; }
summary { color: var(--muted); font-size: .9rem; cursor: pointer; }
@media (max-width: 600px) { thead { display: none; } tr { display: block; padding: .5rem 0;
  border-bottom: 1px solid var(--line); } td { display: block; border: 0; padding: .1rem 0; }
  td[data-label]::before { content: attr(data-label) " "; color: var(--muted); } nav ul { columns: 1; }
  dl { grid-template-columns: 1fr; } }
"""


def _claims_table(claims: list[Finding]) -> str:
    rows = []
    for claim in claims:
        interval = f"<br><small>{claim.interval}</small>" if claim.interval else ""
        notes = [f"The paper: “{html.escape(claim.stated)}”"] if claim.stated else []
        notes += [f"* {changes(claim)}"] if claim.exploratory else []
        notes += [f"<strong>{html.escape(claim.words_in_doubt)}</strong>"] if claim.words_in_doubt else []
        stated = "".join(f"<br><small>{note}</small>" for note in notes)
        rows.append(
            f'<tr><td class="{claim.verdict}">{claim.verdict}</td>'
            f"<td>{html.escape(marked(claim))} <small>({claim.kind})</small>{stated}</td>"
            f"<td data-label='measured'>{claim.measured:.4g}{interval}</td>"
            f"<td data-label='claimed'>{claim.claimed}</td><td>{html.escape(claim.quantity)}</td></tr>"
        )
    head = "<th></th><th>claim</th><th>measured</th><th>claimed</th><th>what was measured</th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _pairs(values: dict[str, Any]) -> str:
    return (
        "<dl>" + "".join(f"<dt>{key}</dt><dd>{html.escape(str(value))}</dd>" for key, value in values.items()) + "</dl>"
    )


def _experiment_section(name: str, found: list[Finding], picture: bytes, size: Size) -> str:
    experiment = load_experiment(name)
    settings = settings_of(experiment, size)
    title, caption = html.escape(TITLES[name]), html.escape(caption_of(experiment, settings))
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return (
        f"<section id='{name}'><h2>{title}</h2>"
        f"<figure><img alt='{title}' src='{source}'><figcaption>{caption}</figcaption></figure>"
        f"{_claims_table(found)}<details><summary>Settings</summary>{_pairs(settings)}</details></section>"
    )


def _contents(title: str, places: dict[str, str]) -> str:
    links = "".join(f"<li><a href='#{place}'>{html.escape(text)}</a></li>" for place, text in places.items())
    return f"<nav><h2>{html.escape(title)}</h2><ul>{links}</ul></nav>"


def write_report(out: Path, claims: dict[str, list[Finding]], *, seed: int, size: Size) -> None:
    """Write report.html into `out` from the figures there; it has no date, so the same run gives the same bytes."""
    everything = [claim for found in claims.values() for claim in found]
    parted = {
        "The paper's figures": [name for name in claims if name in PAPER_FIGURES],
        "Beyond the paper": [name for name in claims if name not in PAPER_FIGURES],
    }
    versions = {"feint": VERSION, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<title>Deceptive exploration, reproduced</title>",
        f"<style>{_STYLE}</style></head><body>",
        "<h1>Deceptive Exploration in Multi-armed Bandits, reproduced</h1>",
        f"<p class='muted'>feint {VERSION}, seed {seed}.",
        f" <strong>{_SIZES[size]}</strong>",
        "</p><ul>",
        *(f"<li>{html.escape(line)}</li>" for line in count_lines(everything)),
        f"</ul><p>{html.escape(level_words(claims, seed))} {ARMS_WORDS}</p>",
        *(_contents(title, {name: TITLES[name] for name in names}) for title, names in parted.items() if names),
        _contents("And", {"errata": "Errata that matter", "versions": "Versions"}),
    ]
    for title, names in parted.items():
        parts += [f"<h1>{html.escape(title)}</h1>"] if names else []
        for name in names:
            parts.append(_experiment_section(name, claims[name], (out / "figures" / f"{name}.png").read_bytes(), size))
    parts.append("<h2 id='errata'>Errata that matter</h2><ul>")
    parts += [f"<li><strong>{html.escape(a)}.</strong> {html.escape(b)}</li>" for a, b in _ERRATA]
    parts.append(f"</ul><h2 id='versions'>Versions</h2>{_pairs(versions)}</body></html>")
    page = "".join(parts)
    write_whole(out / "report.html", lambda name: name.write_text(page, encoding="utf-8"), force=True)
